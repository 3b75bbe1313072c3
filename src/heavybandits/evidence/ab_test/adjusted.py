r"""Rewards less what a column from before the experiment explains, so that differences need fewer rewards.

The first rows decide up to which amounts the reward y and the column u count, and fit :math:`\theta`, the slope of the
one in the other, with the arms taken together.  They are left out.  Of every later row counts

.. math:: z = \bar y - \theta\,(\bar u - c),

where bars clip and c is the mean of the first :math:`\bar u`.  If arms are not chosen by u, its mean is the same for
all arms; so the means of z differ between arms by exactly as much as those of :math:`\bar y`.  Because z lies between
known limits and all constants are fixed before it comes, everything that holds of clipped rewards at all times holds of
z.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...protocols import FloatArray, IntArray
from ..measures import ClippedMean, Measure, measures
from ..scale import LEAST_SPREAD, SPREADS, Clip, ladder
from ..tally import Tally, add, is_sized_up, new_tally

FIT_AFTER = 50  # rewards that are not zero, and values of the column: the first rows that fit the slope


class Adjustment(NamedTuple):
    """What is counted of a row, and the rows that counted."""

    limits: tuple[float, float]  # of rewards
    before: tuple[float, float]  # of the column
    slope: float
    centre: float
    tally: Tally  # of adjusted rewards
    total: FloatArray  # (1,): the sum of the column, less the centre, over these rows

    def residuals(self, column: FloatArray) -> FloatArray:
        """Return the clipped column, less its centre."""
        return np.asarray(np.clip(column, *self.before) - self.centre)

    def adjusted(self, rewards: FloatArray, column: FloatArray) -> FloatArray:
        """Return adjusted rewards."""
        return np.asarray(np.clip(rewards, *self.limits) - self.slope * self.residuals(column))


def fit_slope(arms: IntArray, rewards: FloatArray, column: FloatArray, n_arms: int,
        limits: tuple[float, float], before: tuple[float, float]) -> Adjustment:  # fmt: skip
    """Fit the slope to the first rows, arms taken together.

    Examples
    --------
    >>> u = np.tile([0.0, 1.0, 2.0, 3.0], 20)
    >>> found = fit_slope(np.arange(80) // 4 % 2, 1.0 + 0.5 * u, u, 2, (0.0, 5.0), (0.0, 3.0))
    >>> found.slope, found.centre
    (0.5, 1.5)
    """
    y, u = np.clip(rewards, *limits), np.clip(column, *before)
    centre, n = float(u.mean()), np.bincount(arms, minlength=n_arms).clip(1)
    y_left, u_left = (x - (np.bincount(arms, x, n_arms) / n)[arms] for x in (y, u))
    spread = float(u_left @ u_left)
    slope = float(u_left @ y_left) / spread if spread > 0.0 else 0.0
    ends = [limits[at] - slope * (end - centre) for at in (0, 1) for end in before]
    low, high = min(ends), max(ends)
    tally = new_tally(n_arms, limits=(low, high))
    z = (y - slope * (u - centre) - low) / (high - low)
    m = float(z.mean())
    tally.scale[SPREADS] = min(max(z.var() / max(m * (1.0 - m), LEAST_SPREAD), LEAST_SPREAD), 1.0)
    return Adjustment(limits, before, slope, centre, tally, np.zeros(1))


class Adjusted:
    """The rewards of arms with a column from before the experiment.

    Parameters
    ----------
    n_arms
        How many arms there are.
    limits
        Between what rewards count, if it is stated.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> u = rng.exponential(1.0, 4000)
    >>> arms, rewards = rng.integers(2, size=4000), u + rng.exponential(1.0, 4000)
    >>> kept = Adjusted(2)
    >>> kept.add(arms, rewards + 0.2 * arms, u)
    >>> plain, adjusted = (ladder[0].log_evidence(1, 0) for ladder in (measures(kept.tally), kept.measures()))
    >>> adjusted > plain + 3.0
    True
    """

    def __init__(self, n_arms: int, limits: tuple[float, float] | None = None) -> None:
        self.tally, self.column = new_tally(n_arms, limits=limits), new_tally(n_arms)
        self.parts: list[Adjustment] = []  # one for each clip, once the first rows are in
        self._first: list[tuple[IntArray, FloatArray, FloatArray]] = []
        self.left_out = 0

    def add(self, arms: IntArray, rewards: FloatArray, column: FloatArray) -> None:
        """Take in rows in the order in which they came; the column must be finite."""
        add(self.tally, arms, rewards)
        add(self.column, arms, column)
        if not self.parts:
            self._first.append((arms, rewards, column))
            arms, rewards, column = (np.concatenate(parts) for parts in zip(*self._first, strict=True))
            end = max(_place(rewards), _place(column))
            if end > len(arms):
                return
            self._settle(arms[:end], rewards[:end], column[:end])
            arms, rewards, column = arms[end:], rewards[end:], column[end:]
        for part in self.parts:
            add(part.tally, arms, part.adjusted(rewards, column))
            part.total[0] += part.residuals(column).sum()

    def _settle(self, arms: IntArray, rewards: FloatArray, column: FloatArray) -> None:
        self.left_out, self._first = len(arms), []
        clips, others = ladder(self.tally.scale), ladder(self.column.scale)
        self.parts = [
            fit_slope(arms, rewards, column, len(self.tally.n), clip.limits(self.tally.scale),
                others[min(rung, len(others) - 1)].limits(self.column.scale))
            for rung, clip in enumerate(clips)
        ]  # fmt: skip

    def measures(self) -> list[Measure]:
        """Return the measures, from the narrowest clip to the widest: without adjustment until the slope is fitted."""
        plain = measures(self.tally)
        if not self.parts:
            return plain
        return [AdjustedMean(one, part) for one, part in zip(plain, self.parts, strict=False)
                if isinstance(one, ClippedMean)]  # fmt: skip

    def log_imbalance(self) -> float:
        """Return the logarithm of the evidence that the column's mean differs between two arms, however many there are.

        It should not: a column from before the experiment knows nothing of the arm.
        """
        if not is_sized_up(self.column):
            return 0.0
        one = measures(self.column)[0]
        means, n_arms = one.estimates(), len(self.column.n)
        if n_arms < 2 or np.isnan(means).any():
            return 0.0
        pair = int(np.argmax(means)), int(np.argmin(means))
        return one.log_evidence(*pair) - math.log(n_arms * (n_arms - 1))


def _place(values: FloatArray) -> int:
    """Return how many rows it takes until enough values are not zero: more than there are, if they do not suffice."""
    found = np.flatnonzero(values)
    return int(found[FIT_AFTER - 1]) + 1 if len(found) >= FIT_AFTER else len(values) + 1


class AdjustedMean:
    """The mean of clipped rewards, compared by adjusted rewards: what :class:`.measures.Measure` describes.

    The mean of one arm, and ratios of means, are bounded without adjustment: it moves all means alike.
    """

    def __init__(self, plain: ClippedMean, part: Adjustment) -> None:
        self.plain, self.part = plain, part
        self.share, self.limits = plain.share, plain.limits
        clip: Clip = ladder(part.tally.scale)[0]
        self._adjusted = ClippedMean(part.tally, clip, plain.share)
        self.log_evidence, self.least_difference = self._adjusted.log_evidence, self._adjusted.least_difference
        self.interval, self.least_ratio = plain.interval, plain.least_ratio

    def estimates(self) -> FloatArray:
        """Return the adjusted means, moved so that all rows together have the mean that they have."""
        n = self.part.tally.rows.sum()
        shift = self.part.slope * float(self.part.total[0]) / n if n else 0.0
        return np.asarray(self._adjusted.estimates() + shift)
