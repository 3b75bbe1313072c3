"""What the page shows of a study: pictures, tables and how it was made."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from .._files import named
from .._format import number
from ..palette import Look, look
from ..results.study_result import StudyResult
from ..results.summary import with_error
from .curves import draw_curves
from .drawing import Drawing, PanelPicture, best_variants, picture, save, variable
from .matrix import advice, draw_matrix, ratio_matrix
from .provenance import missing, origin
from .runtimes import NOTE, best_times, draw_runtimes, runtime_table
from .sweep import draw_sweep, swept_parameter
from .tables import latex_table, lowest_of_instance, summary_table

MOST_COLUMNS = 6  # instances side by side in a table that fits on the page
SHOWN_IN_LATEX = ["instance", "policy", "mean", "se", "median", "q10", "q90", "worst", "failed", "above best",
                  "above best low", "above best high", "ns per pull"]  # fmt: skip
FIGURES = {"curves": draw_curves, "sweep": draw_sweep, "runtime": draw_runtimes, "matrix": draw_matrix}


class Cell(NamedTuple):
    """A cell of a table: what it shows, and the key it is sorted by; text is sorted as text."""

    text: str
    key: Any
    note: str = ""
    best: bool = False
    look: Look | None = None


class Sheet(NamedTuple):
    """A table of the page."""

    title: str
    note: str
    columns: list[str]
    rows: list[list[Cell]]
    files: str = ""  # the name of its files, without suffix; empty if there are none


class Section(NamedTuple):
    """What the page shows of a study."""

    study: StudyResult
    anchor: str
    pictures: list[PanelPicture]
    wide: bool  # whether the pictures are as wide as the page
    caption: str
    advice: list[str]
    tables: list[Sheet]
    details: list[Sheet]
    origin: dict[str, str]
    missing: str
    spec: str


def file_name(name: str) -> str:
    """Return a study's name in a form that is safe in file names.

    Examples
    --------
    >>> file_name("Cauchy & Pareto/1.5")
    'Cauchy-Pareto-1.5'
    """
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "study"


def study_section(directory: Path, study: StudyResult) -> Section:
    """Write the figure and the tables of a study, and return what the page shows of it."""
    kind = study.figure
    with named(directory):
        for folder in ("figures", "tables"):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        name, drawing = file_name(study.name), draw_figure(study)
        save(drawing.figure, directory / "figures" / name)

        summary = summary_table(study)
        brief = summary[SHOWN_IN_LATEX].rename(columns={"above best low": "low", "above best high": "high"})
        _write(directory, name, summary, latex_table(brief, {"mean": lowest_of_instance(summary, "mean")}))
        if kind == "runtime":
            times = runtime_table(study)
            _write(directory, f"{name}-times", times, latex_table(times, best_times(study, times)))
        if kind == "matrix":
            ratio_matrix(study).to_csv(directory / "tables" / f"{name}-matrix.csv", index_label="policy")
    return Section(
        study=study, anchor=f"study-{name}", caption=drawing.caption, wide=drawing.panels[0].width > 5,
        pictures=[picture(panel, f"{name}-{number}") for number, panel in enumerate(drawing.panels)],
        advice=advice(study) if kind == "matrix" else [], tables=sheets(study),
        details=[all_numbers(summary, name)], origin=origin(study),
        missing=missing(study), spec=json.dumps(study.spec, indent=2, default=str),
    )  # fmt: skip


def _write(directory: Path, name: str, frame: pd.DataFrame, latex: str) -> None:
    frame.to_csv(directory / "tables" / f"{name}.csv", index=False)
    (directory / "tables" / f"{name}.tex").write_text(latex + "\n", encoding="utf-8")


def policy_cell(family: str, label: str) -> Cell:
    """Return the cell that names a policy, with its line, and its setting if it has one."""
    setting = label.removeprefix(family).strip()
    return Cell(family, label, setting, look=look(family))


def regret_sheet(study: StudyResult) -> Sheet | None:
    """Return mean regret by policy and instance, at the best settings; None if there are too many instances."""
    if len(study.results) > MOST_COLUMNS:
        return None
    order, rows = list(study.families), []
    means = {instance: result.regret.to_numpy()[:, :, -1].mean(axis=1) for instance, result in study.results.items()}
    names = best_variants(study)
    best = {instance: min(mean[order.index(label)] for label in names) for instance, mean in means.items()}
    for label, family in names.items():
        cells, row = [policy_cell(family, label)], order.index(label)
        for instance, result in study.results.items():
            final, lost = result.regret.to_numpy()[row, :, -1], int(result.failed[row].sum())
            mean = float(means[instance][row])
            error = final.std(ddof=1) / math.sqrt(len(final)) if len(final) > 1 else math.nan
            note = f"{lost} of {len(final)} failed" if lost else ""
            cells.append(Cell(with_error(mean, float(error)), mean, note, best=bool(mean == best[instance])))
        rows.append(cells)
    title = f"Regret after {_horizons(study)} pulls, in units of reward (mean ± standard error)"
    note = "A replication failed if its regret still grew linearly at the end."
    return Sheet(title, note, ["policy", *study.results], rows, file_name(study.name))


def _horizons(study: StudyResult) -> str:
    horizons = sorted({result.horizon for result in study.results.values()})
    return " to ".join(f"{horizon:,}" for horizon in (horizons[0], horizons[-1])[: len(horizons)])


def sheets(study: StudyResult) -> list[Sheet]:
    """Return the tables of the policies at their best settings."""
    if study.figure == "runtime":
        return times_sheets(study)
    sheet = regret_sheet(study)
    return [sheet] if sheet else []


def times_sheets(study: StudyResult) -> list[Sheet]:
    """Return a table per instance and target: how long each policy takes to reach it, at the best settings."""
    names, times, sheets = best_variants(study), runtime_table(study), []
    times = times[times["policy"].isin(list(names))]
    best = best_times(study, times)
    for instance, result in study.results.items():
        here = times[times["instance"] == instance].to_dict("index")
        for target in study.targets:
            columns = [f"ms to {target:g}", f"pulls to {target:g}", f"fails at {target:g}"]
            rows = [[policy_cell(names[row["policy"]], row["policy"]),
                     *(Cell("never" if row[column] == math.inf else number(row[column]), row[column],
                            best=bool(best[column][at])) for column in columns)]
                    for at, row in here.items()]  # fmt: skip
            heads = ["policy", "time (ms)", "pulls", f"never (of {result.regret.shape[1]} replications)"]
            sheets.append(Sheet(f"Reaching a regret per pull below {target:g} in {instance}", "", heads, rows))
    sheets[-1] = sheets[-1]._replace(note=NOTE)
    return sheets


def all_numbers(summary: pd.DataFrame, files: str) -> Sheet:
    """Return the summary of all settings, with related numbers in one column."""
    rows = []
    for row in summary.to_dict("records"):
        above, low, high = row["above best"], row["above best low"], row["above best high"]
        interval = f"{number(low)} to {number(high)}" if not math.isnan(low) else ""
        rows.append([
            Cell(row["instance"], row["instance"]), Cell(row["policy"], row["policy"], look=look(row["family"])),
            Cell(f"{number(row['mean'])} ± {number(row['se'])}", row["mean"]),
            *(Cell(number(row[name]), row[name]) for name in ("median", "q10", "q90", "worst")),
            Cell(f"{row['failed']} of {row['replications']}", row["failed"]),
            Cell(number(above) if above else "best", above, interval if above else ""),
            *(Cell(number(row[name]), row[name]) for name in ("ns per pull", "ratio to Lai-Robbins")),
        ])  # fmt: skip
    heads = ["instance", "policy", "mean regret ± standard error", "median", "10% quantile", "90% quantile", "worst",
             "failed (replications)", "above the best (95% interval)", "cost (ns per pull)",
             "ratio to Lai-Robbins"]  # fmt: skip
    return Sheet("All settings and numbers", "", heads, rows, files)


def key_style(drawn: Look) -> str:
    """Return the CSS of a short line in the policy's look."""
    dashes = " ".join(f"{2 * part:g}" for part in drawn.dashes)
    return f"stroke:{variable(drawn.colour)};stroke-width:{drawn.width + 0.5:g}" + (
        f";stroke-dasharray:{dashes}" if dashes else ""
    )


def draw_figure(study: StudyResult) -> Drawing:
    """Draw what ``spec["report"]["figure"]`` asks for: curves (the default), sweep, runtime or matrix.

    A sweep of no parameter, or of several at once, is drawn as curves.

    Examples
    --------
    >>> import heavybandits as hb
    >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
    >>> study = StudyResult("cauchy", "Cauchy noise", "", {"Env2": result}, {"UCB": "UCB"}, {}, {}, {})
    >>> draw_figure(study).caption
    'Mean regret over 5 replications on common noise. The bands hold 80% of the replications of UCB; ...'
    """
    kind = study.figure
    if kind not in FIGURES:
        raise ValueError(f"study {study.name!r}: report.figure must be one of {', '.join(FIGURES)}, got {kind!r}")
    if kind == "sweep" and swept_parameter(study) is None:
        kind = "curves"
    return FIGURES[kind](study)
