r"""Median of means (Bubeck, Cesa-Bianchi, Lugosi 2013; the estimator is older).

*Assumes* a mean :math:`\mu` and a central moment :math:`E|X - \mu|^p \le v`, :math:`p = 1 + \varepsilon \in (1, 2]`.
*Must be told* :math:`\varepsilon` and v.  *When that fails*: with v too small, the radius is too small and a good arm
may be given up.  Without a mean it is still a median of short means, which symmetric noise leaves where it should be.

*Formula*: with :math:`L = \ln(1/\delta)` cut the first kN rewards, in order of arrival, into k blocks of N,

.. math::  k = \max\{1, \lfloor \min(1 + 8L, n/2) \rfloor\}, \qquad N = \lfloor n/k \rfloor, \qquad
           \hat\mu = \mathrm{Med}\{\text{block means}\},

where the median of an even number is the mean of the middle two.  For :math:`n \ge 2 + 16L`, on each side with
probability :math:`1 - \delta`,

.. math::  |\hat\mu - \mu| \le (12 v)^{1/p} \Bigl(\frac{2 + 16L}{n}\Bigr)^{\varepsilon/p}.

*Cost*: differences of prefix sums would be quick, but one reward of 1e17 would wipe out all that come after it.  So
sums over aligned ranges of 1, 2, 4, ... rewards are kept: O(1) amortised per reward, and a few additions per block,
which involve no rewards but its own.  An estimate changes only when k or N does: with every second reward while
n < 2 + 16L, later with about one in k.  Usually only k grows, by one; then one block is new, and the median moves by at
most one rank.  Otherwise an estimate costs O(k log N).  At most 64 bytes per reward, and 160 bytes per arm.
"""

from __future__ import annotations

import functools
import math
from typing import Annotated, NamedTuple

import numpy as np

from ..._validate import in_range
from ...numerics import clip, power, saturate
from ...protocols import FloatArray, IntArray, compilable, rarely_called
from ..entries import register_estimator
from ..parameters import Positive
from ..parts.means.median import Middle, add_number, fill, init_middle, knows_median, median_in_place, median_of
from ..parts.state.pool import Pool, append, init_pool

MOST_BLOCKS = 1399  # 1 + 8 L at delta = t^-4, t = 2^63


class MedianOfMeansState(NamedTuple):
    """Sums over aligned ranges of each arm's rewards, and the estimates."""

    sums: Pool
    value: FloatArray  # per arm: last estimate
    length: IntArray  # per arm: N of that estimate
    middle: Middle  # per arm: the k block means of that estimate
    means: FloatArray  # scratch: the blocks' means


@register_estimator("median-of-means", example={"eps": 0.5, "v": 2.0})
class MedianOfMeans(NamedTuple):
    r"""Median of means, a robust mean for :class:`.RobustUCB`.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: the moment of order :math:`1 + \varepsilon` is finite.  0 makes the radius a constant, and
        the policy greedy: it plays the arm with the highest estimate.
    v
        Upper bound on that central moment.

    Notes
    -----
    There are at most 1399 blocks: the formula asks for no more below :math:`L = 4 \ln 2^{63}`.

    Examples
    --------
    >>> mean = MedianOfMeans(eps=0.5, v=4.0)
    >>> state = mean.init(n_arms=1, horizon=None)
    >>> for reward in (1, 2, 3, 4, 100, 6, 7, -50, 9, 10, 11, 12):
    ...     mean.observe(state, 0, reward)
    >>> log_term = 2 * math.log(20)  # delta = t^-2 at t = 20
    >>> mean.refresh(state, 0, log_term)
    6.5
    >>> round(mean.width(12) * mean.factor(log_term), 9)
    26.585238332
    """

    eps: Annotated[float, functools.partial(in_range, low=0, high=1)]
    v: Positive

    def init(self, n_arms: int, horizon: int | None) -> MedianOfMeansState:
        """Return a state without rewards."""
        return MedianOfMeansState(
            sums=init_pool(n_arms, horizon, 2),
            value=np.full(n_arms, math.nan),
            length=np.zeros(n_arms, np.int64),
            middle=init_middle(n_arms),
            means=np.zeros(MOST_BLOCKS),
        )

    def initial_pulls(self) -> int:
        """Return how many pulls each arm gets before its index counts."""
        return 2

    def observe(self, state: MedianOfMeansState, arm: int, reward: float) -> None:
        """Store a reward."""
        keep(state.sums, arm, reward)

    def value(self, state: MedianOfMeansState, arm: int) -> float:
        """Return the last estimate."""
        return float(state.value[arm])

    def refresh(self, state: MedianOfMeansState, arm: int, log_term: float) -> float:
        """Return the estimate at L = ``log_term``; infinite without rewards."""
        n = state.sums.size[arm]
        if n == 0:
            return math.inf
        # k is 1 + [8L] and not [1 + 8L]: the product is exact, so k changes at exactly the L that `until` returns.
        k = 1 + math.floor(clip(8.0 * log_term, MOST_BLOCKS - 1.0))
        if k > n // 2:
            k = n // 2
        if k < 1:
            k = 1
        if k != state.middle.size[arm] or n >= k * (state.length[arm] + 1):  # otherwise N is unchanged
            state.value[arm] = renew(state, arm, k)
        return float(state.value[arm])

    def until(self, state: MedianOfMeansState, arm: int, log_term: float) -> float:
        """Return the L at which the estimate changes if no reward comes."""
        k = state.middle.size[arm]
        return float(k / 8.0) if k < state.sums.size[arm] // 2 and k < MOST_BLOCKS else math.inf

    def width(self, n: int) -> float:
        """Return the radius after n rewards, in units of the factor."""
        p = 1.0 + self.eps
        return power(12.0 * self.v, 1.0 / p) / power(float(n), self.eps / p)

    def factor(self, log_term: float) -> float:
        """Return the common factor of the radii at L = ``log_term``."""
        return power(2.0 + 16.0 * log_term, self.eps / (1.0 + self.eps))


@compilable
def keep(sums: Pool, arm: int, reward: float) -> None:
    """Store a reward, and the sums over the ranges that it completes, in a pool of width 2."""
    leaf = append(sums, arm)
    records, i = sums.records, sums.size[arm] - 1
    total = saturate(float(reward))
    records[leaf] = total
    # The sum of the `size` rewards from number a on, a multiple of `size`, is stored at position 2a + size - 1.
    size = 1
    while i & size:
        total = saturate(float(records[leaf + 1 - 3 * size]) + total)
        size *= 2
        records[leaf + 1 - size] = total


@rarely_called
def renew(state: MedianOfMeansState, arm: int, k: int) -> float:
    """Return the median of the means of k blocks; if only the last block is new, reuse the others' means."""
    middle, length = state.middle, state.sums.size[arm] // k
    one_more = length == state.length[arm] and k == middle.size[arm] + 1 and k > 1
    state.length[arm] = length
    if one_more:
        add_number(middle, arm, _range_sum(state.sums, arm, (k - 1) * length, k * length) / length)
    if not one_more or not knows_median(middle, arm):
        _block_means(state.sums, arm, k, state.means)
        fill(middle, arm, state.means, k)
    return median_of(middle, arm)


@compilable
def median_of_blocks(sums: Pool, arm: int, k: int, means: FloatArray) -> float:
    """Return the median of the means of k blocks of equal length; ``means`` is scratch.

    Examples
    --------
    >>> sums = init_pool(n_arms=1, horizon=None, width=2)
    >>> for reward in (1.0, 3.0, 10.0, -2.0, 0.0, 4.0, 99.0):
    ...     keep(sums, 0, reward)
    >>> median_of_blocks(sums, 0, 3, np.zeros(3))  # 99 is left over
    2.0
    """
    _block_means(sums, arm, k, means)
    return median_in_place(means, k)


@compilable
def _block_means(sums: Pool, arm: int, k: int, means: FloatArray) -> None:
    length = sums.size[arm] // k
    for block in range(k):
        means[block] = _range_sum(sums, arm, block * length, (block + 1) * length) / length


@compilable
def _range_sum(sums: Pool, arm: int, begin: int, end: int) -> float:
    """Return the sum of the arm's rewards begin, ..., end - 1, from as few stored sums as possible."""
    records, start = sums.records, sums.start[arm]
    total, size = 0.0, begin & -begin
    while size > 0 and begin + size <= end:  # ranges grow until the next would reach too far ...
        total = saturate(total + float(records[start + 2 * begin + size - 1]))
        begin += size
        size = begin & -begin
    size = 1
    while 2 * size <= end - begin:
        size *= 2
    while begin < end:  # ... and shrink again
        if begin + size <= end:
            total = saturate(total + float(records[start + 2 * begin + size - 1]))
            begin += size
        size //= 2
    return total
