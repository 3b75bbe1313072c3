"""Formatting of numbers and small tables for readers; tables for notebooks need no JavaScript."""

from __future__ import annotations

import html
import math
from collections.abc import Collection, Sequence
from typing import Any

from ._validate import visible


def number(value: Any) -> str:
    """Format a number, rounded to about three significant digits.

    Examples
    --------
    >>> [number(value) for value in (12, 0.0123456, 3.0, 1234.5, 1e9, 0.0, math.nan, math.inf)]
    ['12', '0.0123', '3.00', '1234', '1.00e+09', '0', '-', 'inf']
    """
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return "-"
    if math.isinf(value) or value == 0 or (value == int(value) and not isinstance(value, float)):
        return f"{value:g}"
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.2e}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def plural(count: int, noun: str, several: str = "") -> str:
    """Return a count with its noun, in the plural unless the count is 1.

    Examples
    --------
    >>> plural(1, "reward"), plural(1500, "reward"), plural(2, "study", "studies")
    ('1 reward', '1,500 rewards', '2 studies')
    """
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def in_time(days: float) -> str:
    """Return a length of time in words.

    Examples
    --------
    >>> [in_time(days) for days in (0.01, 0.3, 1.5, 12.2, 1000.0)]
    ['15 minutes', '7 hours', '36 hours', '12 days', '2.7 years']
    """
    minutes = max(round(days * 24.0 * 60.0), 1)
    if minutes < 100:
        return "1 minute" if minutes == 1 else f"{minutes if minutes < 10 else 5 * math.ceil(minutes / 5)} minutes"
    if days < 2.0:
        return plural(round(days * 24.0), "hour")
    return plural(round(days), "day") if days < 730.0 else f"{days / 365.25:.1f} years"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table for a terminal, with the first column aligned left and the others right.

    Examples
    --------
    >>> print(text_table(["arm", "pulls"], [["green", "3"]]))
    arm    pulls
    green      3
    """
    table = (head, *rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:]))).rstrip() for row in table
    )


def html_table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], bold: Collection[tuple[int, int]] = (),
    colours: Sequence[str] = (),
) -> str:  # fmt: skip
    """Return a table for a notebook.

    Parameters
    ----------
    caption
        What the table shows.
    head, rows
        Text, which is escaped; the first column is aligned left, the others right.
    bold
        Cells in bold, by row and column.
    colours
        A colour for each row, shown before its first cell.

    Examples
    --------
    >>> html_table("Arms", ["arm"], [["<b>"]])
    '<table><caption style="text-align:left">Arms</caption><thead><tr><th style="text-align:left">arm</th>...'
    """
    lines = [f'<caption style="text-align:left">{_escaped(caption)}</caption><thead><tr>']
    lines += [f'<th style="text-align:{_side(at)}">{_escaped(text)}</th>' for at, text in enumerate(head)]
    lines.append("</tr></thead><tbody>")
    for number, row in enumerate(rows):
        cells = []
        for at, text in enumerate(row):
            cell = f"<b>{_escaped(text)}</b>" if (number, at) in bold else _escaped(text)
            key = (
                f'<span style="color:{colours[number]}" aria-hidden="true">&#9632;</span> '
                if colours and not at
                else ""
            )
            cells.append(f'<td style="text-align:{_side(at)}">{key}{cell}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</tbody></table>"


def _side(column: int) -> str:
    return "right" if column else "left"


def _escaped(text: str) -> str:
    return html.escape(visible(str(text)))
