r"""Statements about independent numbers with known limits, and the evidence for them at all times.

Each is like those of :mod:`.bets`: whoever denies the statement must accept fixed bets that do not win on average, so
their wealth, a mixture over sizes of bets, is a nonnegative supermartingale.  It ever reaches :math:`1/\alpha` with a
probability of at most :math:`\alpha`, whatever the law of the numbers and however often one looks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from ..jit.compiled import compiled
from ..protocols import FloatArray, IntArray
from .bets import SIZED_UP
from .quantiles import gains, log_quantile_evidence

# Parts of the wealth that a bet can lose: 95%, and half as much again and again.  Numbers that hardly vary, compared
# with their limits, call for the largest; so it gets half of the weight, and others in proportion to k^(-3/2).
STAKES = 0.95 * 0.5 ** np.arange(10)
LOG_STAKE_WEIGHTS = np.log(np.arange(1, 11) ** -1.5 / (np.arange(1, 11) ** -1.5).sum())
TINIEST = 1e-300
RATIO_STEP, RATIO_LIMIT = 0.02, 32.0  # ratios of means are known to 2%, if they are between 1/32 and 32


class Statement(Protocol):
    """Something that numbers may show."""

    def log_evidence(self, times: float = 1.0) -> float:
        """Return the logarithm of the evidence, as if the numbers had come so many times."""
        ...


class MeanAbove:
    """That the mean of numbers, none of which can be below ``-least``, is above 0.

    Numbers that do not vary are no proof: n of them leave a chance of about log(1/alpha)/n for what has not been seen.

    Examples
    --------
    >>> all_alike = np.full(100, 0.01)
    >>> [round(MeanAbove(all_alike, least).log_evidence(), 1) for least in (1.0, 0.1)]
    [0.7, 8.4]
    """

    def __init__(self, numbers: FloatArray, least: float) -> None:
        least = max(least, TINIEST)
        if (numbers < -least * (1.0 + 1e-9)).any():
            raise ValueError(f"no number may be below {-least:g}, got {numbers.min():g}")
        self._logs = np.log1p(np.outer(STAKES, numbers / least)).sum(axis=1)

    def log_evidence(self, times: float = 1.0) -> float:
        """Return the logarithm of the evidence; see :class:`Statement`."""
        return float(np.logaddexp.reduce(LOG_STAKE_WEIGHTS + times * self._logs))


class PairedNumbers(NamedTuple):
    """Numbers from 0 on that come in pairs; none of the first can exceed ``most``."""

    first: FloatArray
    second: FloatArray
    most: float


class ProductBelow:
    r"""That the product of ratios of means, each of independent pairs of numbers, is below 1.

    Who denies it must hold that :math:`\mu_i \ge c_i \nu_i` for all ratios :math:`\mu_i/\nu_i` and some
    :math:`c_i` whose product is 1.  The evidence is the least wealth over all such :math:`c`, from bets on each
    :math:`c_i y - x` being above 0.  It grows in :math:`c_i`, so values on a grid, rounded down, bound it from below.

    Examples
    --------
    >>> half, one = np.full(100, 0.1), np.full(100, 0.2)
    >>> pair = PairedNumbers(half, one, 0.5)
    >>> [round(ProductBelow(pairs).log_evidence(), 1) for pairs in ([pair], [pair, pair])]
    [16.7, 32.8]
    """

    def __init__(self, pairs: Sequence[PairedNumbers]) -> None:
        self._reach = math.ceil(math.log(RATIO_LIMIT) / RATIO_STEP)
        ratios = np.exp(RATIO_STEP * np.arange(-self._reach, self._reach + 1))
        ratios[0] = 0.0  # for all that are smaller
        self._logs = [
            np.array([np.log1p(np.outer(STAKES, (c * second - first) / most)).sum(axis=1) for c in ratios])
            for first, second, most in pairs
        ]

    def log_evidence(self, times: float = 1.0) -> float:
        """Return the logarithm of the evidence; see :class:`Statement`."""
        least = np.zeros(1)  # by the sum of the places on the grid
        for logs in self._logs:
            wealth = np.logaddexp.reduce(LOG_STAKE_WEIGHTS + times * logs, axis=1)
            sums = np.full(len(least) + len(wealth) - 1, math.inf)
            for place, log in enumerate(wealth):
                part = slice(place, place + len(least))
                sums[part] = np.minimum(sums[part], log + least)
            least = sums
        ratios = len(self._logs)
        return float(least[ratios * self._reach - (ratios - 1) :].min())


class QuantileAbove:
    """That a quantile of some numbers is above that of others; only their order matters.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.exponential(size=(2, 300))
    >>> QuantileAbove(3.0 * b, a, 0.9).log_evidence() > 3.0 > QuantileAbove(a, b, 0.9).log_evidence()
    True
    """

    def __init__(self, higher: FloatArray, lower: FloatArray, level: float) -> None:
        slots = np.unique(np.concatenate([[-math.inf], higher, lower]))  # the first is below all numbers
        self._rows = np.array(
            [np.bincount(np.searchsorted(slots, some), minlength=len(slots)) for some in (higher, lower)], float
        )
        self._gains = gains(SIZED_UP, level)

    @cached_property
    def _slots(self) -> IntArray:
        return np.arange(self._rows.shape[1])

    def log_evidence(self, times: float = 1.0) -> float:
        """Return the logarithm of the evidence; see :class:`Statement`."""
        arguments = SIZED_UP, self._gains, self._rows, self._slots, 0, 1
        return float(compiled(log_quantile_evidence, *arguments, 1.0)(*arguments, times))


class AllOf:
    """That all of several statements hold: if one of them is wrong, it must have been shown wrongly itself."""

    def __init__(self, *statements: Statement) -> None:
        self._statements = statements

    def log_evidence(self, times: float = 1.0) -> float:
        """Return the logarithm of the least evidence; see :class:`Statement`."""
        return min(statement.log_evidence(times) for statement in self._statements)
