"""One page that holds everything: verdicts, and for each study its figure, its tables and how it was made."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pandas as pd

from ..engine.results import StudyResult
from .drawing import save
from .figures import draw
from .matrix import advice, ratio_matrix
from .provenance import facts, missing, what_was_run
from .runtimes import NOTE, best_times, runtime_table
from .tables import failed_table, latex_table, lowest, number, summary_table

SHOWN_IN_LATEX = ["instance", "policy", "mean", "se", "median", "q10", "q90", "worst", "failed", "above best",
                  "above best low", "above best high", "ns per pull"]  # fmt: skip


class Verdict(Protocol):
    """What the page says of a claim."""

    @property
    def claim(self) -> str: ...
    @property
    def where(self) -> str: ...
    @property
    def study(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def numbers(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def note(self) -> str: ...


class Difference(Protocol):
    """Where the text of a paper and its published code differ."""

    @property
    def topic(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def here(self) -> str: ...


class Cell(NamedTuple):
    """What a cell of a table shows, and what it is sorted by; text is sorted as text."""

    text: str
    key: Any


class Sheet(NamedTuple):
    """A table of the page."""

    title: str
    note: str
    columns: list[str]
    rows: list[list[Cell]]
    files: str  # the name of its files, without suffix; empty if there are none


class Section(NamedTuple):
    """What the page shows of a study."""

    study: StudyResult
    anchor: str
    image: str
    caption: str
    advice: list[str]
    failed: Sheet
    sheets: list[Sheet]
    facts: dict[str, str]
    missing: str
    spec: str


def write_report(
    studies: StudyResult | Sequence[StudyResult], directory: str | Path, verdicts: Sequence[Verdict] = (),
    differences: Sequence[Difference] = (),
) -> Path:  # fmt: skip
    """Write ``report.html``, ``figures/`` and ``tables/`` into a directory, and return the page's path.

    Parameters
    ----------
    studies
        The results of a study, or of several, which are shown in this order.
    directory
        Made if there is none; files of the same names are replaced.
    verdicts
        Claims and what the studies say of them; shown first.
    differences
        Where the text that makes the claims and its published code differ; shown after the verdicts.

    Examples
    --------
    >>> import tempfile
    >>> import heavybandits as hb
    >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
    >>> study = StudyResult("cauchy", "Cauchy noise", "", {"Env2": result}, {"UCB": "UCB"}, {}, {}, {})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     page = write_report(study, directory)
    ...     [path.name for path in sorted(page.parent.glob("*/*"))]
    ['cauchy.png', 'cauchy.svg', 'cauchy.csv', 'cauchy.tex']
    """
    directory, studies = Path(directory), [studies] if isinstance(studies, StudyResult) else studies
    if not studies or len({file_name(study.name) for study in studies}) < len(studies):
        given = [study.name for study in studies]
        raise ValueError(f"write_report: studies must be at least one, each with a name of its own, got {given!r}")
    return write_page(directory, [study_section(directory, study) for study in studies], verdicts, differences)


def write_page(
    directory: Path, sections: Sequence[Section], verdicts: Sequence[Verdict] = (),
    differences: Sequence[Difference] = (),
) -> Path:  # fmt: skip
    """The last step of :func:`write_report`, for studies whose figures and tables are there already."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("heavybandits.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    page = directory / "report.html"
    html = environment.get_template("page.html.j2").render(
        sections=sections, verdicts=verdicts, differences=differences,
        counts=Counter(verdict.verdict for verdict in verdicts),
        anchors={section.study.name: section.anchor for section in sections},
        summary=what_was_run([section.study for section in sections]),
    )  # fmt: skip
    page.write_text(html, encoding="utf-8")
    return page


def file_name(name: str) -> str:
    """A study's name as it can stand in names of files.

    Examples
    --------
    >>> file_name("Cauchy & Pareto/1.5")
    'Cauchy-Pareto-1.5'
    """
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "study"


def study_section(directory: Path, study: StudyResult) -> Section:
    """Write the figure and the tables of a study, and return what the page shows of it."""
    for folder in ("figures", "tables"):
        (directory / folder).mkdir(parents=True, exist_ok=True)
    name, drawing = file_name(study.name), draw(study)
    save(drawing.figure, directory / "figures" / name)
    image = base64.b64encode((directory / "figures" / f"{name}.png").read_bytes()).decode()

    summary = summary_table(study)
    brief = summary[SHOWN_IN_LATEX].rename(columns={"above best low": "low", "above best high": "high"})
    _write(directory, name, summary, latex_table(brief, {"mean": lowest(summary, "mean")}))
    sheets = [_summary_sheet(summary, name)]
    kind = study.figure
    if kind == "runtime":
        times = runtime_table(study)
        _write(directory, f"{name}-times", times, latex_table(times, best_times(study, times)))
        sheets.insert(0, _sheet("Time to reach a regret per pull", NOTE, times, f"{name}-times"))
    if kind == "matrix":
        ratio_matrix(study).to_csv(directory / "tables" / f"{name}-matrix.csv", index_label="policy")
    failed = failed_table(study).reset_index(names="policy")
    return Section(
        study=study, anchor=f"study-{name}", image=image, caption=drawing.caption,
        advice=advice(study) if kind == "matrix" else [], failed=_sheet("", "", failed, ""), sheets=sheets,
        facts=facts(study), missing=missing(study), spec=json.dumps(study.spec, indent=2, default=str),
    )  # fmt: skip


def _write(directory: Path, name: str, frame: pd.DataFrame, latex: str) -> None:
    frame.to_csv(directory / "tables" / f"{name}.csv", index=False)
    (directory / "tables" / f"{name}.tex").write_text(latex + "\n", encoding="utf-8")


def _summary_sheet(summary: pd.DataFrame, files: str) -> Sheet:
    """The summary with columns that belong together in one."""
    rows = []
    for row in summary.to_dict("records"):
        cells = {name: Cell(number(value), value) for name, value in row.items()}
        low, high = (cells.pop(f"above best {end}").text for end in ("low", "high"))
        above = row["above best"]
        cells["above best"] = Cell(f"{number(above)} ({low} to {high})" if above else "best", above)
        cells["failed"] = Cell(f"{row['failed']} of {row['replications']}", row["failed"])
        for name in ("family", "failures", "replications"):
            del cells[name]
        rows.append(cells)
    return Sheet("All policies", "", list(rows[0]), [list(cells.values()) for cells in rows], files)


def _sheet(title: str, note: str, frame: pd.DataFrame, files: str) -> Sheet:
    rows = [[Cell(number(value), value) for value in row] for row in frame.itertuples(index=False)]
    return Sheet(title, note, list(frame.columns), rows, files)
