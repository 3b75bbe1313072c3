r"""Truncated mean (Bubeck, Cesa-Bianchi, Lugosi 2013), kept exactly while its threshold moves.

*Assumes* a raw moment :math:`E|X|^p \le u`, :math:`p = 1 + \varepsilon \in (1, 2]`, about 0 and not about the mean: if
rewards are far from 0, u must be large, or a guess of their mean must be subtracted first.  *Must be told*
:math:`\varepsilon` and u.  *When that fails*: with u too small, large rewards are taken for noise and the estimate
shrinks towards 0, without any warning.

*Formula*: with :math:`L = \ln(1/\delta)`,

.. math::  \hat\mu = \frac1n \sum_{s=1}^n X_s\,1\Bigl\{|X_s| \le \Bigl(\frac{us}{L}\Bigr)^{1/p}\Bigr\}, \qquad
           |\hat\mu - \mu| \le 4 u^{1/p} \Bigl(\frac Ln\Bigr)^{\varepsilon/p}

on each side with probability :math:`1 - \delta`.

*Cost*: reward s counts while :math:`L \le \kappa_s = us/|X_s|^p`, and L only grows, so a reward that was left out never
returns.  The sum of those that count is kept, with a heap of their :math:`\kappa_s`; those with
:math:`\kappa_s \ge 4 \ln 2^{63} = 175` need not be stored.  O(log n) to add a reward, and to leave one out.  If the
assumption holds, :math:`P(\kappa_s < 175) \le 175/s`, so no more than about 175 ln n rewards are in memory.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...numerics import saturate
from ...protocols import FloatArray, IntArray, compilable
from ..entries import register_estimator
from ..parameters import Fraction, Positive
from ..parts.state.pool import Pool, append, init_pool

FOR_GOOD = 4.0 * 63.0 * math.log(2.0)  # L at delta = t^-4, t = 2^63


class TruncatedMeanState(NamedTuple):
    """Sums of the rewards that count, and those among them that may still be left out."""

    heap: Pool  # per arm: pairs (kappa, X), the lowest kappa on top
    total: FloatArray  # per arm: sum of the rewards that count; before the first estimate, of those not in the heap
    pulls: IntArray
    log_term: FloatArray  # per arm: L of the last estimate
    value: FloatArray  # per arm: last estimate, NaN before the first


@register_estimator("truncated-mean", example={"eps": 0.5, "u": 2.0})
class TruncatedMean(NamedTuple):
    r"""Truncated mean, a robust mean for :class:`.RobustUCB`.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: the moment of order :math:`1 + \varepsilon` is finite.
    u
        Upper bound on that raw moment.

    Notes
    -----
    The L of successive estimates of an arm never decreases; a lower one is replaced by the highest so far.

    Examples
    --------
    >>> mean = TruncatedMean(eps=0.5, u=10.0)
    >>> state = mean.init(n_arms=1, horizon=None)
    >>> for reward in (1.0, -2.0, 50.0, 3.0, -8.0, 0.5):
    ...     mean.observe(state, 0, reward)
    >>> log_term = 2 * math.log(20)  # delta = t^-2 at t = 20: 50 and -8 do not count
    >>> round(mean.refresh(state, 0, log_term), 9)
    0.416666667
    >>> round(mean.width(6) * mean.factor(log_term), 9)
    18.557547142
    """

    eps: Fraction
    u: Positive

    def init(self, n_arms: int, horizon: int | None) -> TruncatedMeanState:
        """Return a state without rewards."""
        return TruncatedMeanState(
            heap=init_pool(n_arms, horizon, 2),
            total=np.zeros(n_arms),
            pulls=np.zeros(n_arms, np.int64),
            log_term=np.zeros(n_arms),
            value=np.full(n_arms, math.nan),
        )

    def initial_pulls(self) -> int:
        """Return how many pulls each arm gets before its index counts."""
        return 1

    def observe(self, state: TruncatedMeanState, arm: int, reward: float) -> None:
        """Count a reward: for good, as long as L allows, or not at all."""
        x = saturate(float(reward))
        n = state.pulls[arm] + 1
        state.pulls[arm] = n
        # In logarithms, because |x|^p may overflow.
        log_kappa = math.inf if x == 0.0 else math.log(self.u) + math.log(n) - (1.0 + self.eps) * math.log(abs(x))
        if log_kappa >= math.log(FOR_GOOD):
            state.total[arm] = saturate(float(state.total[arm]) + x)
            return
        kappa = math.exp(log_kappa)
        if kappa >= state.log_term[arm]:
            _push(state.heap, arm, kappa, x)
            if not math.isnan(state.value[arm]):
                state.total[arm] = saturate(float(state.total[arm]) + x)

    def value(self, state: TruncatedMeanState, arm: int) -> float:
        """Return the last estimate."""
        return float(state.value[arm])

    def refresh(self, state: TruncatedMeanState, arm: int, log_term: float) -> float:
        """Return the estimate at L = ``log_term``; infinite without rewards."""
        if state.pulls[arm] == 0:
            return math.inf
        heap, at, first = state.heap, state.heap.start[arm], math.isnan(state.value[arm])
        total = float(state.total[arm])
        while heap.size[arm] > 0 and heap.records[at] < log_term:
            x = _pop(heap, arm)
            if not first:
                total = saturate(total - x)
        if first:
            # Only now is it known which rewards count: had the others ever been in the sum, 1e17 would have ruined it.
            for i in range(heap.size[arm]):
                total = saturate(total + float(heap.records[at + 2 * i + 1]))
        state.log_term[arm] = max(state.log_term[arm], log_term)
        state.total[arm] = total
        state.value[arm] = total / state.pulls[arm]
        return float(state.value[arm])

    def until(self, state: TruncatedMeanState, arm: int, log_term: float) -> float:
        """Return the L above which the estimate changes if no reward comes."""
        return float(state.heap.records[state.heap.start[arm]]) if state.heap.size[arm] > 0 else math.inf

    def width(self, n: int) -> float:
        """Return the radius after n rewards, in units of the factor."""
        p = 1.0 + self.eps
        return float(4.0 * self.u ** (1.0 / p) * float(n) ** (-self.eps / p))

    def factor(self, log_term: float) -> float:
        """Return the common factor of the radii at L = ``log_term``."""
        return float(log_term ** (self.eps / (1.0 + self.eps)))


@compilable
def _push(heap: Pool, arm: int, kappa: float, x: float) -> None:
    append(heap, arm)
    records, at, i = heap.records, heap.start[arm], heap.size[arm] - 1
    while i > 0 and records[at + 2 * ((i - 1) // 2)] > kappa:
        parent = (i - 1) // 2
        records[at + 2 * i], records[at + 2 * i + 1] = records[at + 2 * parent], records[at + 2 * parent + 1]
        i = parent
    records[at + 2 * i], records[at + 2 * i + 1] = kappa, x


@compilable
def _pop(heap: Pool, arm: int) -> float:
    """Take the lowest kappa from the heap and return its reward."""
    records, at, n = heap.records, heap.start[arm], heap.size[arm] - 1
    heap.size[arm] = n
    top = float(records[at + 1])
    kappa, x = records[at + 2 * n], records[at + 2 * n + 1]
    i, child = 0, 1
    while child < n:
        if child + 1 < n and records[at + 2 * child + 2] < records[at + 2 * child]:
            child += 1
        if records[at + 2 * child] >= kappa:
            break
        records[at + 2 * i], records[at + 2 * i + 1] = records[at + 2 * child], records[at + 2 * child + 1]
        i, child = child, 2 * child + 1
    records[at + 2 * i], records[at + 2 * i + 1] = kappa, x
    return top
