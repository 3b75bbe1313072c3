"""What the terminal shows when a report is made: enough to know whether to open it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .._validate import visible
from ..results.study_result import StudyResult
from .section import Cell, Sheet, sheets

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text


def terminal_summary(studies: Sequence[StudyResult]) -> Iterator[Group]:
    """Yield the tables of each study, as on the page.

    Examples
    --------
    >>> import heavybandits as hb
    >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
    >>> study = StudyResult("cauchy", "Cauchy noise", "", {"Env2": result}, {"UCB": "UCB"}, {}, {}, {})
    >>> [str(table.renderables[0]) for table in terminal_summary([study])]
    ['Cauchy noise: regret after 100 pulls, in units of reward (mean ± standard error)']
    """
    for study in studies:
        for sheet in sheets(study):
            title = f"{study.title or study.name}: {sheet.title[0].lower()}{sheet.title[1:]}"
            yield terminal_table(sheet._replace(title=title))


def terminal_table(sheet: Sheet) -> Group:
    """Return a table for ``rich.print``, its title above it; policies have their colours, and the best is bold.

    Examples
    --------
    >>> title, table = terminal_table(Sheet("Regret", "", ["policy"], [[Cell("UCB", "UCB")]])).renderables
    >>> str(title), table.row_count
    ('Regret', 1)
    """
    from rich.box import SIMPLE
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE, collapse_padding=True, pad_edge=False)
    for number, name in enumerate(sheet.columns):
        table.add_column(Text(_plain(name)), justify="right" if number else "left", no_wrap=not number)
    for row in sheet.rows:
        table.add_row(*map(_text, row))
    return Group(Text(_plain(sheet.title)), table)


def _text(cell: Cell) -> Text:
    from rich.text import Text

    if cell.look is None:
        return Text(_plain(cell.text), style="bold" if cell.best else "")
    style = f"bold {cell.look.colour}" if cell.look.width > 2 else cell.look.colour
    return Text.assemble((_plain(cell.text), style), f" {_plain(cell.note)}" if cell.note else "")


def _plain(text: str) -> str:
    return visible(text).replace("\n", " ")
