"""One page that holds everything: its opening, the main figure, and each study with its tables and provenance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from .._files import named
from ..results.study_result import StudyResult
from .drawing import page_colours
from .opening import Opening, opening_of
from .provenance import in_short, what_was_run
from .section import Section, file_name, key_style, study_section

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE_FILES = ("page.css", "charts.js", "tables.js")


def write_report(studies: StudyResult | Sequence[StudyResult], directory: str | Path) -> Path:
    """Write ``report.html``, ``figures/`` and ``tables/`` into a directory, and return the page's path.

    Parameters
    ----------
    studies
        The results of one study, or of several, shown in this order.
    directory
        Created if it does not exist; files of the same names are replaced.

    Examples
    --------
    >>> import tempfile
    >>> import heavybandits as hb
    >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
    >>> study = StudyResult("cauchy", "Cauchy noise", "", {"Env2": result}, {"UCB": "UCB"}, {}, {}, {})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     page = write_report(study, directory)
    ...     [path.name for path in sorted(page.parent.glob("*/*"))]
    ['cauchy.pdf', 'cauchy.png', 'cauchy.svg', 'cauchy.csv', 'cauchy.tex']
    """
    directory, studies = Path(directory), [studies] if isinstance(studies, StudyResult) else studies
    if not all(isinstance(study, StudyResult) for study in studies):
        raise TypeError(f"write_report: studies must be results such as hb.load_study(folder), got {studies!r}")
    if not studies or len({file_name(study.name) for study in studies}) < len(studies):
        given = [study.name for study in studies]
        raise ValueError(f"write_report: studies must be one or more, with different names, got {given!r}")
    return write_page(directory, [study_section(directory, study) for study in studies])


def write_page(directory: Path, sections: Sequence[Section], opening: Opening | None = None) -> Path:
    """Write the page for studies whose figures and tables exist already: the last step of :func:`write_report`."""
    studies = [section.study for section in sections]
    folder = Path(__file__).parent / "templates"
    html = templates("heavybandits.report").get_template("page.html.j2").render(
        opening=opening or opening_of(studies), sections=sections, summary=what_was_run(studies),
        short=in_short(studies), colours=page_colours(),
        **{part.replace(".", "_"): (folder / part).read_text(encoding="utf-8") for part in PAGE_FILES},
    )  # fmt: skip
    page = directory / "report.html"
    with named(page):
        page.write_text(html, encoding="utf-8")
    return page


def templates(package: str) -> Environment:
    """Return the templates of a package, which may use our filters."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["key_style"], environment.filters["unbroken"] = key_style, unbroken
    return environment


def unbroken(text: str) -> Markup:
    r"""Return a text whose lines do not break around ±, within a hyphenated name or before a number.

    Examples
    --------
    >>> print(ascii(unbroken("UCB 58 ± 6, KL-UCB 7")))
    Markup('UCB\xa058\xa0\xb1\xa06, <span class="whole">KL-UCB\xa07</span>')
    """
    joined = re.sub(r" (?=±|\d)|(?<=±) ", "\N{NO-BREAK SPACE}", escape(text))
    return Markup(re.sub(r"[^ ]*-[^ ]*", r'<span class="whole">\g<0></span>', joined))
