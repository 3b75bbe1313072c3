"""What all figures share: how a policy is drawn, and what a figure says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..engine.results import StudyResult
from ..palette import OKABE_ITO

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Dotted is left to limits.  Five styles and eight colours make forty pairs, and neighbours differ in both.
LINES: tuple[Any, ...] = ("-", "--", "-.", (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (2.5, 1)))
SMALL = 8  # points
PLAIN = "{x:g}"  # a tick's number


class Drawing(NamedTuple):
    """A figure and the text that belongs under it."""

    figure: Figure
    caption: str


def look(place: int) -> dict[str, Any]:
    """How the curve of the policy at this place is drawn: a colour and a line style.

    Examples
    --------
    >>> look(1)
    {'color': '#D55E00', 'linestyle': '--'}
    """
    return {"color": OKABE_ITO[place % len(OKABE_ITO)], "linestyle": LINES[place % len(LINES)]}


def shown(study: StudyResult) -> dict[str, str]:
    """Names in the figures of the policies that are drawn, by label: the best variant of each family."""
    return {label: label if family in label else f"{family}: {label}" for family, label in study.best.items()}


def variants_note(study: StudyResult) -> str:
    """A sentence on what was left out, if anything was."""
    if len(study.best) == len(study.families):
        return ""
    return (
        " Of each family only the best variant is drawn: the one whose mean regret at the horizon has the smallest "
        "geometric mean over the instances. The table has all of them."
    )


def tidy(axes: Axes) -> None:
    """Small ticks, no box."""
    axes.tick_params(labelsize=SMALL)
    axes.spines[["top", "right"]].set_visible(False)


def plain_log_ticks(axis: Axis, low: float, high: float) -> None:
    """A few ticks with plain numbers on a logarithmic axis; minor ones would take most of the time to draw."""
    from matplotlib.ticker import LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 50 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(PLAIN)
    axis.set_minor_locator(NullLocator())


def save(figure: Figure, stem: Path) -> None:
    """Write ``stem.png`` and ``stem.svg``; the same figure makes the same files."""
    from matplotlib import rc_context

    figure.savefig(f"{stem}.png")
    with rc_context({"svg.hashsalt": "heavybandits"}):
        figure.savefig(f"{stem}.svg", metadata={"Date": None})


def add_legend(figure: Figure, axes: Axes, columns: int) -> float:
    """One legend for the figure, at its bottom; returns its height in inches."""
    handles, labels = axes.get_legend_handles_labels()
    columns = min(columns, len(labels))
    figure.legend(handles, labels, loc="lower center", ncols=columns, frameon=False, fontsize=9, handlelength=3.2)
    return 0.15 + 0.21 * -(-len(labels) // columns)
