"""Plots of regret over rounds: one line per policy, with its name at the right end."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from .._validate import visible
from ..palette import FAINT, INK, Look, look
from ..protocols import FloatArray, IntArray

MOST_LABELS = 14  # more names do not fit beside a panel
LONGEST_NAME = 22  # characters, with the arrow and the value of a line that leaves the axis
FAR_ABOVE = 2.0  # a policy with more than this many times the regret of the next better one may leave the panel


class NotebookFigure(Figure):
    """A figure that notebooks show even if pyplot is not loaded."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()


def plain(text: str) -> str:
    r"""Return text that matplotlib shows as it is: no formulas, no control characters.

    Examples
    --------
    >>> print(plain(r"$\frac$"))
    \$\frac\$
    """
    return visible(text).replace("\n", " ").replace("$", r"\$")


def plot_regret(
    axes: Axes, rounds: IntArray, regret: Mapping[str, FloatArray], band: Sequence[str] = (), *,
    limit: float = math.nan, scale: str = "linear",
) -> None:  # fmt: skip
    """Draw mean regret over rounds into an axis.

    Parameters
    ----------
    axes
        Where to draw.
    rounds
        The checkpoints.
    regret
        Regret by the name of the policy: (replication, round).
    band
        Names of the policies with a band from the 10% to the 90% quantile.
    limit
        What a unit of ln(t) adds to the Lai-Robbins limit.  The limit is drawn if it lies below all curves after the
        first tenth of the rounds.
    scale
        ``"linear"``, or ``"log"`` for two logarithmic axes.
    """
    looks = {name: look(name) for name in regret}
    means = {name: curves.mean(axis=0) for name, curves in regret.items()}
    lines = []
    for order, name in enumerate(sorted(means, key=lambda name: looks[name].width)):  # bold lines on top
        lines += axes.plot(rounds, means[name], label=plain(name), zorder=3 + 0.01 * order, **looks[name].line)
        if name in band:
            low, high = np.quantile(regret[name], (0.1, 0.9), axis=0)
            axes.fill_between(rounds, low, high, color=looks[name].colour, alpha=0.14, linewidth=0, zorder=1)
    if scale == "log":
        axes.set(xscale="log", yscale="log")
    else:
        axes.set(xlim=(0, rounds[-1]), ylim=(0, visible_top([float(mean[-1]) for mean in means.values()])))
    if limit_shown(rounds, list(means.values()), limit):
        bound = limit * np.log(rounds)
        lines += axes.plot(
            rounds[bound > 0], bound[bound > 0], color=INK, linestyle=":", linewidth=1, label="Lai-Robbins", zorder=2
        )
    tidy(axes)
    name_lines(axes, lines)


def limit_shown(rounds: IntArray, means: Sequence[FloatArray], limit: float) -> bool:
    """Return whether the Lai-Robbins limit is known and lies below all curves after the first tenth of the rounds.

    Examples
    --------
    >>> rounds = np.array([1, 10, 100])
    >>> [limit_shown(rounds, [np.array([0.0, 3.0, 5.0])], limit) for limit in (1.0, 2.0, math.nan)]
    [True, False, False]
    """
    late = rounds >= rounds[-1] // 10
    return math.isfinite(limit) and all((limit * np.log(rounds[late]) <= mean[late]).all() for mean in means)


def visible_top(ends: Sequence[float]) -> float:
    """Return where an axis should end so that one policy far above does not flatten the others.

    The better half of the policies is always visible.

    Examples
    --------
    >>> visible_top([1.0, 2.0, 3.0, 10.0]), visible_top([1.0, 2.0, 3.0, 5.0]), visible_top([0.0])
    (3.75, 5.4, 1.0)
    """
    ordered = sorted(ends)
    for number in range((len(ordered) - 1) // 2, len(ordered) - 1):
        if ordered[number + 1] > FAR_ABOVE * ordered[number] > 0:
            return 1.25 * ordered[number]
    return 1.08 * ordered[-1] or 1.0


def tidy(axes: Axes) -> None:
    """Remove the box and show thousands as 1k."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=INK, length=3, color=FAINT)
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "linear":
            axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        else:
            few_log_ticks(axis)
        axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.grid(axis="y", color=FAINT, alpha=0.35, linewidth=0.6)
    axes.set_axisbelow(True)


def few_log_ticks(axis: Any) -> None:
    """Put ticks at powers of ten, with more between them only if there would be fewer than two."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = sorted(axis.get_view_interval())
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 50 * low else (1.0, 2.0, 5.0), numticks=6))
    axis.set_minor_locator(NullLocator())


def short(value: float) -> str:
    """Format a number as a tick label.

    Examples
    --------
    >>> [short(value) for value in (0.0, 0.05, 800.0, 2500.0, 10_000.0, 3e6, 2e12)]
    ['0', '0.05', '800', '2.5k', '10k', '3M', '2e+12']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if size <= abs(value) < 1e9:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def name_lines(axes: Axes, lines: Sequence[Line2D]) -> None:
    """Write the name of each line at its right end; names stay apart even if the axis changes later.

    A line that leaves the axis is marked with an arrow and its last value.  If there are too many names, only the
    lowest lines are named.
    """
    ordered = sorted(lines, key=lambda line: float(np.asarray(line.get_ydata())[-1]))
    named = ordered if len(ordered) <= MOST_LABELS else ordered[: MOST_LABELS - 1]
    texts = {}
    for line in named:
        drawn = Look(str(line.get_color()), (), line.get_linewidth())
        texts[line] = axes.text(
            1.0, 0.0, "", transform=axes.transAxes, color=drawn.text, va="center",
            weight="bold" if drawn.width > 2 else "normal", in_layout=True,
        )  # fmt: skip
    rest = len(ordered) - len(named)
    if rest:
        axes.text(1.02, 1.0, f"and {rest} more above", transform=axes.transAxes, color=INK, va="bottom")
    arranger = _Arranger(axes, texts)
    axes.add_artist(arranger)
    arranger.arrange()


class _Arranger(Artist):
    """An artist that moves names apart before each drawing; it draws nothing itself."""

    def __init__(self, axes: Axes, texts: dict[Line2D, Text]) -> None:
        super().__init__()
        self._axes, self._texts = axes, texts
        self.set_zorder(-100)
        self.set_in_layout(False)

    def draw(self, renderer: object) -> None:
        self.arrange()

    def arrange(self) -> None:
        """Keep each name as near to the end of its line as the others allow."""
        axes, figure = self._axes, self._axes.get_figure(root=True)
        if not self._texts or figure is None:
            return
        (low, high), transform = axes.get_ylim(), axes.transData + axes.transAxes.inverted()
        right = axes.get_xlim()[1]
        points = max(float(text.get_fontsize()) for text in self._texts.values())
        gap = 1.2 * points * figure.dpi / 72 / max(axes.bbox.height, 1.0)
        wanted = []
        for line, text in self._texts.items():
            end = float(np.asarray(line.get_ydata())[-1])
            beyond = end > high
            at = 1.0 if beyond else float(transform.transform((right, max(end, low)))[1])
            where = f" \N{UPWARDS ARROW} {short(float(f'{end:.2g}'))}" if beyond else ""
            text.set_text(brief(str(line.get_label()), LONGEST_NAME - len(where)) + where)
            wanted.append((at, end, text))
        wanted.sort(key=lambda one: one[:2])
        for at, (_, _, text) in zip(apart([one[0] for one in wanted], gap), wanted, strict=True):
            text.set_position((1.02, at))


def brief(name: str, length: int = LONGEST_NAME) -> str:
    """Return a name that is cut if it is long.

    Examples
    --------
    >>> brief("SGD-UCB-SMoM", 8)
    'SGD-UCB…'
    """
    return name if len(name) <= length else name[: length - 1].removesuffix("\\") + "…"


def apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Return increasing positions at least a gap apart, as close as possible to the wanted ones, which increase.

    Those that would be too close form a group centred on what its members want.  All are at most 1, and at least 0 if
    there is room.

    Examples
    --------
    >>> apart([0.25, 0.5, 0.5, 1.0, 1.0], 0.125)
    [0.25, 0.4375, 0.5625, 0.875, 1.0]
    """
    groups: list[list[float]] = []  # the sum of what the members want, each less its own offset; and their number
    for number, value in enumerate(wanted):
        groups.append([value - number * gap, 1])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, size = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += size
    starts = [total / size for total, size in groups for _ in range(int(size))]
    last = 1 - (len(wanted) - 1) * gap
    return [min(max(start, 0.0), last) + number * gap for number, start in enumerate(starts)]
