r"""Order statistics as upper confidence bounds on a quantile: no scale, no moment, any law.

*Assumes* nothing but that the arms are to be compared by their medians, or another quantile.  *Needs* no prior
knowledge.  *When that fails*: an arm with a higher mean but a lower median is given up.

*Formula*: of n sorted rewards, at :math:`L = \ln(1/\delta)`, the bound is

.. math::  X_{(k)}, \qquad k = \bigl\lceil n\tau + \sqrt{nL/2} \bigr\rceil,

or infinity if k > n.  It is below the quantile of level :math:`\tau`, by default 1/2, with probability at most
:math:`\delta`, by Hoeffding's inequality for the number of rewards below that quantile.  With :math:`\delta = t^{-c}`,
:class:`.RobustUCB` plays every arm at least :math:`2c \ln t` times, and its choices stay the same under every
increasing map of the rewards.

:class:`.MixtureOrderStatistic` has a bound that holds at all times at once.

*Cost*: a new reward moves those above it, O(n); at most 32 bytes per reward.  *Reference*: folklore; for quantiles in
bandits see Szörényi, Busa-Fekete, Weng, Hüllermeier (2015).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ...numerics import saturate
from ..entries import register_estimator
from ..parameters import Fraction
from ..parts.state.pool import Pool, append, init_pool


class OrderStatisticState(NamedTuple):
    """The rewards of each arm, sorted."""

    rewards: Pool


@register_estimator("order-statistic")
class OrderStatistic(NamedTuple):
    r"""Upper confidence bound on a quantile, for :class:`.RobustUCB`.

    Parameters
    ----------
    quantile
        :math:`\tau`, the level of the quantile.

    Examples
    --------
    >>> bound = OrderStatistic()
    >>> state = bound.init(n_arms=1, horizon=10)
    >>> for reward in (5.0, 1.0, 4.0, 2.0, 3.0):
    ...     bound.observe(state, 0, reward)
    >>> bound.value(state, 0), bound.refresh(state, 0, 0.5), bound.refresh(state, 0, 3.0)
    (3.0, 4.0, inf)
    """

    quantile: Fraction = 0.5

    def init(self, n_arms: int, horizon: int | None) -> OrderStatisticState:
        """Return a state without rewards."""
        return OrderStatisticState(init_pool(n_arms, horizon, 1))

    def initial_pulls(self) -> int:
        """Return how many pulls each arm gets before its index counts."""
        return 1

    def observe(self, state: OrderStatisticState, arm: int, reward: float) -> None:
        """Insert a reward in its place in the order."""
        end = append(state.rewards, arm)
        records, low, high = state.rewards.records, state.rewards.start[arm], end
        while low < high:
            middle = (low + high) // 2
            if records[middle] <= reward:
                low = middle + 1
            else:
                high = middle
        for i in range(end, low, -1):  # a plain loop, which the compiler makes fast
            records[i] = records[i - 1]
        records[low] = saturate(reward)

    def value(self, state: OrderStatisticState, arm: int) -> float:
        """Return the sample quantile."""
        n = state.rewards.size[arm]
        if n == 0:
            return math.nan
        return float(state.rewards.records[state.rewards.start[arm] + min(int(n * self.quantile), n - 1)])

    def rank_of(self, n: int, log_term: float) -> int:
        """Return k, counted from 1."""
        return math.ceil(n * self.quantile + math.sqrt(0.5 * n * log_term))

    def refresh(self, state: OrderStatisticState, arm: int, log_term: float) -> float:
        """Return the bound at L = ``log_term``; infinite if there are too few rewards."""
        n = state.rewards.size[arm]
        k = self.rank_of(n, log_term)
        return float(state.rewards.records[state.rewards.start[arm] + k - 1]) if 0 < k <= n else math.inf

    def until(self, state: OrderStatisticState, arm: int, log_term: float) -> float:
        """Return the L up to which the bound stays as it is if no reward comes."""
        n = state.rewards.size[arm]
        k = self.rank_of(n, log_term)
        return self.level_of(n, k) if 0 < k <= n else math.inf

    def level_of(self, n: int, k: int) -> float:
        """Return the L up to which k is the rank."""
        return 2.0 * (k - n * self.quantile) ** 2 / n

    def width(self, n: int) -> float:
        """Return zero: nothing is added to the bound."""
        return 0.0

    def factor(self, log_term: float) -> float:
        """Return zero: nothing is added to the bound."""
        return 0.0
