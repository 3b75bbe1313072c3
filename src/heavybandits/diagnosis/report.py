"""The diagnosis of a file in words: tables, what they mean, which policy fits, and what it would have earned."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from .._format import html_table
from .advice import HEAVY, LIGHT, Advice, is_symmetric
from .read import Rewards
from .replay import Replay
from .shape import Shape
from .tails import Estimate

ROWS = 20  # arms in the table
SURE = 0.01  # p-value of a drift that is reported

LEGEND = """\
median    the reward in the middle, of two the lower
spread    between the quartiles
tails     tail index with a 95% interval: moments of higher order do not exist
skew      from -1 to 1, and 0 if symmetric, with a 95% interval
ties      share of rewards equal to another of their arm
outliers  rewards beyond three spreads from the quartiles
drift     p-value: how likely such changes of level are if there is none
pooled    all rewards, each less the median of its arm
"""


@dataclass(frozen=True)
class Report:
    """What :func:`.diagnosis` found.

    Attributes
    ----------
    rewards
        The file.
    arms
        The shapes of the arms with the most rewards, by their numbers.
    pooled
        The shape of all residuals about the arms' medians.
    advice
        Which policy fits.
    replay
        What policies would have earned.
    """

    rewards: Rewards
    arms: dict[int, Shape]
    pooled: Shape
    advice: Advice
    replay: Replay

    @cached_property
    def snippet(self) -> str:
        """A program that uses the advised policy online."""
        return self.advice.snippet(self.rewards.labels, len(self.rewards.rewards), float(self.rewards.rewards[-1]))

    def text(self) -> str:
        """The whole report, as plain text."""
        program = "".join(f"    {line}".rstrip() + "\n" for line in self.snippet.splitlines())
        parts = [
            self._heading(),
            self._measured(),
            "What this says\n" + "".join(f"- {line}\n" for line in findings(self)),
            f"Which policy fits: {self.advice.name}\n{self.advice.reason}\n\n{program}",
            self._replayed(),
        ]
        return "\n".join(parts)

    __str__ = text

    def _repr_html_(self) -> str:
        """Show the arms, what the rewards say and which policy fits in a notebook."""
        head = ("arm", "rewards", "median", "upper tail index", "lower tail index", "skew")
        shapes = [(self.rewards.labels[arm], shape) for arm, shape in self.arms.items()]
        rows = [
            (label, *_row(label, shape)[1:3], *_row(label, shape)[4:7])
            for label, shape in (*shapes, ("pooled", self.pooled))
        ]
        said = "".join(f"<li>{html.escape(line)}</li>" for line in findings(self))
        return (
            html_table(self._heading().strip(), head, rows) + f"<ul>{said}</ul><p>Which policy fits: "
            f"<b>{html.escape(self.advice.name)}</b>. {html.escape(self.advice.reason)}</p>"
            f"<pre>{html.escape(self.snippet)}</pre>"
        )

    def _heading(self) -> str:
        labels, count = self.rewards.labels, len(self.rewards.rewards)
        order = "in order of time" if self.rewards.timed else "in the order of the file"
        return f"{self.rewards.source}: {_plural(count, 'reward')} of {_plural(len(labels), 'arm')}, {order}\n"

    def _measured(self) -> str:
        header = ("arm", "count", "median", "spread", "upper tail", "lower tail", "skew", "ties", "outliers", "drift")
        shown = [(self.rewards.labels[arm], shape) for arm, shape in self.arms.items()]
        rows = [_row(label, shape) for label, shape in (*shown, ("pooled", self.pooled))]
        missing = len(self.rewards.labels) - len(self.arms)
        more = f"(and {_plural(missing, 'arm')} with fewer rewards)\n" if missing else ""
        return table(header, rows) + more + "\n" + LEGEND

    def _replayed(self) -> str:
        replay = self.replay
        if not replay.earned:
            return f"Replay\n{replay.note}\n"
        best = self.rewards.labels[replay.best_arm]
        rows = [(label, *map(_band, earned)) for label, earned in replay.earned.items()]
        return (
            f"Replay: {replay.replays} times {replay.pulls} pulls that pay rewards of their arm drawn from the file\n"
            + table(("policy", "mean per pull", "median per pull", f"share of {best!r}"), rows)
            + f"\n{replay.note}\nMean and median are those of the arms pulled; {best!r} has the highest median, and of "
            "several such arms the highest mean.\n"
        )


def findings(report: Report) -> list[str]:
    """What the numbers mean, in a sentence each."""
    pooled = report.pooled
    said = [_tail("upper", pooled.upper), _tail("lower", pooled.lower)]
    if pooled.infinite:
        said.append(f"Infinite: {_plural(pooled.infinite, 'reward')}; tail indices leave them out, averages cannot.")
    if math.isnan(pooled.skew.value):
        said.append("Symmetry: too few different rewards to tell.")
    elif is_symmetric(pooled):
        said.append("Symmetry: no skew worth mentioning, so mean (if any) and median rank the arms alike.")
    else:
        longer = "upper" if pooled.skew.value > 0 else "lower"
        said.append(f"Symmetry: the {longer} side reaches further, so mean and median may rank the arms differently.")
    if pooled.ties > 0.5:
        said.append(f"Ties: {pooled.ties:.0%} of the rewards repeat; they are counts, rounded, or often zero.")
    if pooled.outliers > 0:
        share = pooled.outliers / pooled.size
        said.append(
            f"Outliers: {_plural(pooled.outliers, 'reward')} ({share:.2g} of all); of normal ones 2e-06 would be."
        )
    if math.isnan(pooled.drift.p_value):
        said.append("Drift: too few different rewards to tell.")
    elif pooled.drift.p_value < SURE:
        after, shift = pooled.drift.after, pooled.drift.shift
        said.append(
            f"Drift: the level changes, most likely after row {after} and by {shift:.3g}.  No policy here forgets, so "
            "start a fresh agent from time to time."
        )
    else:
        said.append("Drift: none seen over all arms together, so old rewards are as good as new ones.")
    return said


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side, the first to the left and the others to the right.

    Examples
    --------
    >>> print(table(("arm", "count"), [("blue", "7")]), end="")
    arm   count
    blue      7
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, *rows):
        first, *others = row
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def _row(label: str, shape: Shape) -> tuple[str, ...]:
    numbers = (shape.median, shape.spread)
    drift = "-" if math.isnan(shape.drift.p_value) else f"{shape.drift.p_value:.2g}"
    return (label, f"{shape.size}", *(f"{x:.4g}" for x in numbers), str(shape.upper), str(shape.lower),
            str(shape.skew), f"{shape.ties:.0%}", f"{shape.outliers}", drift)  # fmt: skip


def _tail(side: str, tail: Estimate) -> str:
    if math.isnan(tail.value):
        return f"The {side} tail: too few rewards on that side of the median to tell."
    if tail.low == math.inf:
        return f"The {side} tail is none: the most extreme reward on that side is a common one."
    if tail.low > LIGHT:
        return f"The {side} tail is light, its index above {tail.low:.2g}: averages settle as with normal noise."
    if tail.low <= 1 and tail.value <= HEAVY:
        return f"The {side} tail is very heavy, index {tail}: even the mean may not exist, and averages mislead."
    if tail.value <= HEAVY:
        return f"The {side} tail is heavy, index {tail}: a mean seems to exist, a variance not; averages settle slowly."
    return f"The {side} tail is moderate, index {tail}: a variance seems to exist, but outliers still move averages."


def _band(values: tuple[float, float, float]) -> str:
    return "-" if math.isnan(values[0]) else f"{values[0]:.4g} ({values[1]:.4g} to {values[2]:.4g})"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
