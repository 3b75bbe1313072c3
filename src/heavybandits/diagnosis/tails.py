r"""How heavy a tail is: Hill's estimator with its first-order bias removed, and an interval that may reach infinity.

The *tail index* :math:`\alpha` of a law with :math:`P\{X > x\} \approx x^{-\alpha}` says which moments exist: those of
order below :math:`\alpha`.  Normal, exponential and log-normal laws have all of them, :math:`\alpha = \infty`.

Let :math:`y_1 \ge y_2 \ge \dots` be the distances to the median on one side of it.  The scaled log-spacings
:math:`Z_j = j \ln(y_j/y_{j+1})` are nearly independent and exponential, with means that approach
:math:`\gamma = 1/\alpha` for small j/k.  Hill's estimate of :math:`\gamma` is the mean of :math:`Z_1, \dots, Z_k`.  It
is biased if the law is Pareto's only far out, and by the median that was subtracted.  So we fit the line

.. math::  E Z_j = \gamma + b\,j/(k+1)

instead, as Beirlant, Dierckx, Goegebeur and Matthys (1999) and Feuerverger and Hall (1999) do, and take the intercept.
That doubles the standard deviation, but lets k be a fixed share of the data: a fifth of one side up to 5000 values, and
growing as their cube root beyond.  The interval is the normal one for :math:`\gamma`, with the variance of exponential
spacings.

Within any one sample a log-normal tail looks like a power law, whose index grows too slowly to be noticed.  Its
spacings fall like the Mills ratio of the normal law.  Only if the observed ones fall significantly less (a one-sided
test of the trend of :math:`Z_j` over that ratio, 5%) is the index finite beyond doubt; otherwise the interval extends
to infinity.

Rounded amounts tie, and a tie has a spacing of zero.  So equal values are spread evenly over the step to which they are
rounded, the smallest that separates two of the values used, and only values of at least ten steps are used.  Where the
largest value occurs three times, as at a cap, or one value makes up more than a quarter of those used, nobody can tell
what the tail would be.

With 100 to 100,000 rewards, the intervals held the true index in 92 to 96% of Cauchy samples, in 93 to 97% of Pareto
samples with index 1.5 and Student samples with index 3, and in 98% or more of normal and log-normal samples.  Anything
rarer than the tenth of the data that is used goes unnoticed: for normal noise mixed with 5% Cauchy noise, the intervals
describe the mixture, and almost none holds the index 1 that it has far out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..protocols import FloatArray

FEWEST_IN_TAIL = 25  # values on one side, for an estimate
FEWEST_USED = 10  # of these, at the end of the tail
OFTEN = 3  # times that an extreme value must occur so that it is no accident: a cap, or a side of a coin
COMMONEST = 0.25  # largest share of the values used that may be equal
FEWEST_STEPS = 10.0  # of rounding in any value used
EQUAL_UP_TO = 1e-9  # relative difference of two values below which they are equal but for rounding errors
TAIL_QUANTILE = 1.959964  # normal quantile of a 95% interval
TREND_QUANTILE = 1.644854  # normal quantile of a test at 5%


def two_digits(value: float) -> float:
    """Round a number to two digits, as it is printed.

    Examples
    --------
    >>> two_digits(1.04), two_digits(128.0), two_digits(math.inf)
    (1.0, 130.0, inf)
    """
    return float(f"{value:.2g}")


class Estimate(NamedTuple):
    """A number with a 95% interval; NaN if there are too few data for it, or if data cannot tell: then from 0 to inf.

    Examples
    --------
    >>> print(Estimate(1.52, 1.3, math.inf), Estimate(140.0, 101.0, 204.0), sep=", ")
    1.5 (1.3 to inf), 140 (100 to 200)
    """

    value: float
    low: float
    high: float

    @property
    def cannot_tell(self) -> bool:
        """Whether there are data, but they cannot tell."""
        return math.isnan(self.value) and not math.isnan(self.low)

    def mirrored(self) -> Estimate:
        """Return the estimate of the number with its sign changed."""
        return Estimate(0.0 - self.value, 0.0 - self.high, 0.0 - self.low)

    def exceeds(self, level: float) -> bool:
        """Return whether the interval is above a level, also when rounded as it is printed.

        Examples
        --------
        >>> Estimate(1.5, 1.04, 2.0).exceeds(1), Estimate(1.5, 1.1, 2.0).exceeds(1)
        (False, True)
        """
        return two_digits(self.low) > level

    def is_at_most(self, level: float) -> bool:
        """Return whether the interval ends at a level or below, also when rounded as it is printed.

        Examples
        --------
        >>> Estimate(1.5, 1.1, 2.04).is_at_most(2), Estimate(1.5, 1.1, 2.1).is_at_most(2)
        (True, False)
        """
        return two_digits(self.high) <= level

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "cannot tell" if self.cannot_tell else "-"
        value, low, high = map(two_digits, self)
        return f"{value:g} ({low:g} to {high:g})"


UNKNOWN_ESTIMATE = Estimate(math.nan, math.nan, math.nan)
CANNOT_TELL = Estimate(math.nan, 0.0, math.inf)


def distances(rewards: FloatArray, median: float, side: int) -> FloatArray:
    """Return distances to the median on one side, 1 or -1, largest first, without infinities and zeros.

    Examples
    --------
    >>> distances(np.array([1.0, 2.0, 3.0, 7.0, np.inf]), 2.0, 1).tolist()
    [5.0, 1.0]
    """
    away = side * (rewards - median)
    return np.sort(away[(away > 0) & np.isfinite(away)])[::-1]


def is_capped(by_arm: list[FloatArray], side: int) -> bool:
    """Return whether the most extreme reward on a side, 1 or -1, occurs several times, as timeouts do.

    Examples
    --------
    >>> waits = [np.array([1.0, 30.0, 2.0]), np.array([30.0, 4.0, 30.0])]
    >>> is_capped(waits, 1), is_capped(waits, -1)
    (True, False)
    """
    extreme = max(float((side * rewards).max()) for rewards in by_arm)
    return math.isfinite(extreme) and sum(int(np.count_nonzero(side * x == extreme)) for x in by_arm) >= OFTEN


def end_at_caps(upper: Estimate, lower: Estimate, by_arm: list[FloatArray]) -> tuple[Estimate, Estimate]:
    """Return the tail indices of pooled residuals, which cannot tell on a side where rewards are capped.

    Residuals alone do not show it: one cap is at another distance to each arm's median.

    Examples
    --------
    >>> found = Estimate(1.5, 1.3, math.inf)
    >>> print(*end_at_caps(found, found, [np.array([1.0, 30.0, 30.0]), np.array([2.0, 30.0])]), sep=", ")
    cannot tell, 1.5 (1.3 to inf)
    """
    first, second = (
        CANNOT_TELL if not math.isnan(tail.value) and is_capped(by_arm, side) else tail
        for tail, side in ((upper, 1), (lower, -1))
    )
    return first, second


def order_count(size: int) -> int:
    """Return how many of the largest of ``size`` values the estimate uses.

    Examples
    --------
    >>> [order_count(size) for size in (25, 1000, 5000, 500_000)]
    [10, 200, 1000, 4641]
    """
    return max(FEWEST_USED, min(size // 5, int(1000 * (size / 5000) ** (1 / 3))))


def tail_index(sizes: FloatArray) -> Estimate:
    """Estimate the tail index of values in falling order, the :func:`distances` on one side.

    Examples
    --------
    >>> quantiles = (1 - np.arange(0.5, 10_000) / 10_000) ** (-1 / 1.5)  # Pareto's law with index 1.5
    >>> print(tail_index(np.sort(quantiles)[::-1]))
    1.5 (1.4 to 1.7)
    >>> print(tail_index(np.sort(np.minimum(quantiles, 10))[::-1]))
    cannot tell
    """
    if len(sizes) < FEWEST_IN_TAIL:
        return UNKNOWN_ESTIMATE
    least = (1 - EQUAL_UP_TO) * sizes[order_count(len(sizes))]  # and all that equal it
    used = _untied(sizes[: np.searchsorted(-sizes, -least, side="right")])
    if used is None:
        return CANNOT_TELL
    spacings = log_spacings(used)
    k = len(spacings)
    rank = np.arange(1, k + 1) / (k + 1)
    lean = rank - rank.mean()
    slope = float(lean @ spacings) / float(lean @ lean)
    weights = 1 / k - rank.mean() * lean / float(lean @ lean)  # of the intercept
    gamma, hill = float(weights @ spacings), float(spacings.mean())
    # exponential spacings have standard deviations equal to their means, which are positive even where the line is not
    error = TAIL_QUANTILE * math.sqrt(float(np.sum((weights * np.maximum(gamma + slope * rank, 0.2 * hill)) ** 2)))
    low = gamma - error if _falls_less_than_log_normal(spacings, len(sizes)) else 0.0
    return Estimate(_inverse(gamma), _inverse(gamma + error), _inverse(low))


def log_spacings(sizes: FloatArray) -> FloatArray:
    """Return the scaled spacings of the logarithms of values in falling order, one fewer than the values.

    Examples
    --------
    >>> log_spacings(np.exp([3.0, 2.5, 2.0])).round(6).tolist()
    [0.5, 1.0]
    """
    return np.asarray(np.arange(1.0, len(sizes)) * -np.diff(np.log(sizes)))


def _untied(sizes: FloatArray) -> FloatArray | None:
    """Spread equal values over the step of their rounding; None if they are too many, or the step is too wide."""
    starts = np.concatenate(([True], sizes[:-1] - sizes[1:] > EQUAL_UP_TO * sizes[:-1]))
    group, first = np.cumsum(starts) - 1, np.flatnonzero(starts)
    counts = np.diff(first, append=len(sizes))
    if counts[0] >= OFTEN:
        return None
    if len(first) == len(sizes):
        return sizes
    step = float(np.min(-np.diff(sizes[first])))
    place = (np.arange(len(sizes)) - first[group] + 0.5) / counts[group]
    used = (sizes + step * (0.5 - place))[sizes >= FEWEST_STEPS * step]
    if len(used) <= FEWEST_USED or counts[group[: len(used)]].max() > COMMONEST * len(used):
        return None
    return np.asarray(used)


def hill_estimates(sizes: FloatArray) -> FloatArray:
    """Return Hill's own estimates of the tail index from the largest 2, 3, ... values, as a Hill plot shows them.

    Examples
    --------
    >>> hill_estimates(np.exp([3.0, 2.5, 2.0])).round(6).tolist()
    [2.0, 1.333333]
    """
    sums = np.cumsum(log_spacings(sizes))
    with np.errstate(divide="ignore"):
        return np.asarray(np.arange(1, len(sizes)) / sums)


def _falls_less_than_log_normal(spacings: FloatArray, size: int) -> bool:
    from scipy import special

    share = np.arange(1, len(spacings) + 1) / (2 * size + 1)
    score = special.ndtri(share)
    mills = share * math.sqrt(2 * math.pi) * np.exp(score**2 / 2)
    ratios, lean = spacings / mills, 1 / mills - np.mean(1 / mills)
    noise = float(ratios.mean()) * math.sqrt(float(lean @ lean))
    return noise > 0 and float(lean @ ratios) / noise > TREND_QUANTILE


def _inverse(gamma: float) -> float:
    return 1 / gamma if gamma > 0 else math.inf
