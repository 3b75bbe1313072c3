r"""What can be said about an arm's rewards without assuming that they have a mean.

*Spread* is the interquartile range.  *Skew* is :math:`(q_{90} + q_{10} - 2 q_{50})/(q_{90} - q_{10})`, from -1 to 1 and
0 for a symmetric law; quantiles exist for every law, moments do not.  Its interval comes from a bootstrap: the levels
at which three order statistics cut the law are jointly sums of a Dirichlet vector, so resampling need not touch the
data.

*Drift* is sought in ranks, which outliers cannot move.  The ranks, centred and summed over time, form a bridge; its
largest height, divided by :math:`\sqrt{n/12}`, follows Kolmogorov's law if nothing changes.  The time of that height is
the most likely time of a change, whose size is measured by the goal: in means or in medians.

*Outliers* lie more than three spreads below the lower or above the upper quartile, as two in a million normal rewards
do.  If the quartiles are equal or infinite, only infinite rewards are outliers for sure.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..numerics import power_of_two, saturate
from ..protocols import FloatArray
from .tails import UNKNOWN_ESTIMATE, Estimate, distances, tail_index

FEWEST_IN_SHAPE = 20  # rewards, for a skew or a drift
SKEW_DRAWS = 4000  # bootstrap samples
FENCE = 3.0  # spreads from the quartiles to an outlier
RELATIVE_ROUNDING = 1e-14  # share of two numbers below which their difference is due to rounding
MEASURES = {"mean": "mean", "location": "median"}  # what arms are compared by, for each goal


class Drift(NamedTuple):
    """Whether the level changes over time: a p-value, the row after which it does, and the change of mean or median."""

    p_value: float
    after: int
    shift: float


NOT_SOUGHT = Drift(math.nan, 0, math.nan)


class Shape(NamedTuple):
    """A summary of rewards in numbers."""

    size: int
    median: float
    spread: float
    upper: Estimate  # tail index
    lower: Estimate  # tail index
    skew: Estimate
    ties: float  # share of rewards that are equal to another
    outliers: int  # including infinite rewards, and nothing else unless `has_fences`
    infinite: int
    drift: Drift

    @property
    def has_fences(self) -> bool:
        """Whether the spread tells outliers from other rewards: not if it is zero or infinite."""
        return 0 < self.spread < math.inf

    def mirrored(self) -> Shape:
        """Return the shape of the negated rewards: costs, if these are rewards."""
        return self._replace(
            median=0.0 - self.median, upper=self.lower, lower=self.upper, skew=self.skew.mirrored(),
            drift=self.drift._replace(shift=-self.drift.shift),
        )  # fmt: skip


def measure(rewards: FloatArray, goal: str = "location") -> Shape:
    """Describe rewards that are in order of time, and whose mean or location is the goal.

    Examples
    --------
    >>> shape = measure(np.random.default_rng(0).standard_t(3, 10_000))
    >>> print(shape.size, shape.upper, shape.skew)
    10000 3 (2.6 to inf) 0.014 (-0.014 to 0.037)
    """
    ordered = np.sort(rewards)
    with np.errstate(invalid="ignore", over="ignore"):
        low, median, high = (quantile(ordered, level) for level in (0.25, 0.5, 0.75))
        spread = high - low if high > low else 0.0  # also if both are infinite
        outside = (rewards < low - FENCE * spread) | (rewards > high + FENCE * spread)
        upper, lower = (tail_index(distances(rewards, median, side)) for side in (1, -1))
    infinite = int(np.count_nonzero(np.isinf(rewards)))
    outliers = int(np.count_nonzero(outside)) if 0 < spread < math.inf else infinite
    return Shape(
        size=len(rewards), median=median, spread=spread, upper=upper, lower=lower, skew=skewness(ordered),
        ties=repeated(ordered) / len(rewards), outliers=outliers, infinite=infinite, drift=drift(rewards, goal),
    )  # fmt: skip


def quantile(ordered: FloatArray, level: float) -> float:
    """Return a quantile of sorted values: between two of them the lower, so that infinities do no harm.

    Examples
    --------
    >>> quantile(np.array([1.0, 2.0, np.inf]), 0.5)
    2.0
    """
    return float(ordered[max(0, math.ceil(level * len(ordered)) - 1)])


def level(rewards: FloatArray, goal: str) -> float:
    """Return the mean, in a way that never overflows, or the median.

    Examples
    --------
    >>> level(np.array([0.0, 0.0, 1.5e308, 1.5e308]), "mean"), level(np.array([0.0, 0.0, 6.0]), "location")
    (7.5e+307, 0.0)
    """
    return average(rewards) if goal == "mean" else quantile(np.sort(rewards), 0.5)


@np.errstate(invalid="ignore", over="ignore")
def average(values: FloatArray) -> float:
    """Return the mean, which neither overflows nor leaves the range of the values by rounding.

    Examples
    --------
    >>> average(np.full(3, 0.1)), average(np.full(3, 1.7e308)), float(np.mean(np.full(3, 0.1)))
    (0.1, 1.7e+308, 0.10000000000000002)
    """
    unit = power_of_two(float(np.abs(values).max()))
    return float(np.clip(unit * np.mean(values / unit), values.min(), values.max()))


def skewness(ordered: FloatArray) -> Estimate:
    """Return the quantile skewness of sorted values, with a 95% interval.

    Examples
    --------
    >>> skewness(np.arange(-500.0, 501.0)).value
    0.0
    """
    n = len(ordered)
    if n < FEWEST_IN_SHAPE:
        return UNKNOWN_ESTIMATE
    ranks = np.ceil(np.array([0.1, 0.5, 0.9]) * n)
    gaps = np.diff(ranks, prepend=0, append=n + 1)
    levels = np.cumsum(np.random.default_rng(0).dirichlet(gaps, SKEW_DRAWS)[:, :3], axis=1)
    drawn = ordered[np.minimum((levels * n).astype(np.int64), n - 1)]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        values = _lopsided(*drawn.T)
        value = float(_lopsided(*ordered[ranks.astype(np.int64) - 1]))
    values = values[np.isfinite(values)]
    if not len(values) or not math.isfinite(value):
        return UNKNOWN_ESTIMATE
    low, high = np.quantile(values, (0.025, 0.975))
    return Estimate(value, float(low), float(high))


def _lopsided(low: FloatArray, middle: FloatArray, high: FloatArray) -> FloatArray:
    return ((high - middle) - (middle - low)) / (high - low)


def drift(rewards: FloatArray, goal: str = "location") -> Drift:
    """Look for a change of level, and measure it by the goal.

    Examples
    --------
    >>> noise = np.random.default_rng(0).standard_cauchy(2000)
    >>> found = drift(np.where(np.arange(2000) < 1500, noise, noise + 1))
    >>> found.p_value < 1e-6, abs(found.after - 1500) < 100, round(found.shift)
    (True, True, 1)
    """
    return drift_of_ranks(centred_ranks(rewards), rewards, goal)


def centred_ranks(rewards: FloatArray) -> FloatArray:
    """Return ranks from -1/2 to 1/2; equal rewards share the mean of their ranks.

    Examples
    --------
    >>> centred_ranks(np.array([5.0, 1.0, 5.0, np.inf])).tolist()
    [0.0, -0.375, 0.0, 0.375]
    """
    _, which, counts = np.unique(rewards, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # of each value
    return np.asarray((ranks[which] - 0.5) / len(rewards) - 0.5)


def drift_of_ranks(ranks: FloatArray, rewards: FloatArray, goal: str) -> Drift:
    """Look for a change of level in centred ranks; its size is measured in ``rewards``, by the goal."""
    from scipy import special

    n, norm = len(ranks), math.sqrt(float(ranks @ ranks))
    if n < FEWEST_IN_SHAPE or norm == 0.0:
        return NOT_SOUGHT
    bridge = np.abs(np.cumsum(ranks))
    after = int(np.argmax(bridge[:-1])) + 1
    before, later = level(rewards[:after], goal), level(rewards[after:], goal)
    shift = later - before
    if math.isfinite(before) and math.isfinite(later):
        shift = saturate(shift)
    return Drift(float(special.kolmogorov(bridge[after - 1] / norm)), after, shift)


def repeated(ordered: FloatArray) -> int:
    """Count the sorted values that are equal to another.

    Examples
    --------
    >>> repeated(np.array([1.0, 1.0, 2.0, 5.0, 5.0, 5.0]))
    5
    """
    new = np.concatenate(([True], ordered[1:] != ordered[:-1], [True]))
    return len(ordered) - int(np.count_nonzero(new[1:] & new[:-1]))
