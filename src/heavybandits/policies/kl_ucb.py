r"""KL-UCB for bounded rewards (Garivier, Cappé 2011).

*Assumes* rewards in [low, high].  *Must be told* these two.  *When that fails*: rewards outside are clipped, which makes
the policy robust but its means those of clipped rewards; arms whose clipped means differ little are told apart late.

*Formula*: with :math:`p_a` the mean of :math:`(r - \text{low})/(\text{high} - \text{low})` and
:math:`d(p, q) = p \ln(p/q) + (1 - p) \ln((1 - p)/(1 - q))`, play each arm once and then

.. math::  A_t = \arg\max_a\ \max\{q \ge p_a : n_a d(p_a, q) \le \ln t + c \ln\ln t\}.

Theory has c = 3, practice c = 0.  For normal noise the index is UCB's; for rewards of 0 and 1 it is asymptotically
optimal.  *Cost*: an index is some Newton steps, and an arm's is worked out anew only when an upper bound on it, valid
until t has grown by an eighth, says that it may win: O(K) comparisons for a choice, few indices.  57 bytes per arm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..numerics import running_mean
from ..parameters import Finite, NonNegative, validated
from ..protocols import FloatArray, IntArray, compilable


@compilable
def bernoulli_divergence(p: float, q: float) -> float:
    """Kullback-Leibler divergence between coins of heads probabilities p and q.

    Examples
    --------
    >>> bernoulli_divergence(0.5, 0.5), bernoulli_divergence(0.5, 1.0)
    (0.0, inf)
    """
    left = 0.0 if p <= 0.0 else (math.inf if q <= 0.0 else p * math.log(p / q))
    right = 0.0 if p >= 1.0 else (math.inf if q >= 1.0 else (1.0 - p) * math.log((1.0 - p) / (1.0 - q)))
    return left + right


@compilable
def bernoulli_bound(p: float, budget: float) -> float:
    """The largest q with divergence d(p, q) at most ``budget``, by Newton's method inside a bracket.

    Examples
    --------
    >>> round(bernoulli_bound(0.5, math.log(100) / 10), 9), round(bernoulli_bound(0.0, math.log(100) / 10), 9)
    (0.887908762, 0.369042656)
    """
    if p >= 1.0:
        return 1.0
    if p <= 0.0:
        return -math.expm1(-budget)
    low, high = p, 1.0
    q = min(p + math.sqrt(0.5 * budget), 0.5 * (p + 1.0))
    for _ in range(100):
        excess = bernoulli_divergence(p, q) - budget
        if excess > 0.0:
            high = q
        else:
            low = q
        slope = (q - p) / (q * (1.0 - q))
        new = q - excess / slope if slope > 0.0 else high
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - q) <= 1e-15 or new == low or new == high:
            return new
        q = new
    return q


class KLUCBState(NamedTuple):
    """Means of the scaled rewards, and bounds on the indices."""

    pulls: IntArray
    asked: IntArray
    mean: FloatArray
    open: npt.NDArray[np.bool_]
    ceiling: FloatArray  # per arm: no index is above it while t < until
    until: IntArray


@validated
class KLUCB(NamedTuple):
    """KL-UCB.

    Parameters
    ----------
    low, high
        Range of the rewards.
    c
        Weight of ln ln t.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.KLUCB(), n_arms=2)
    >>> agent.update_many([0, 0, 1], [1.0, 0.0, 1.0])
    >>> agent.select()
    1
    """

    low: Finite = 0.0
    high: Finite = 1.0
    c: NonNegative = 0.0

    def init(self, n_arms: int, horizon: int | None) -> KLUCBState:
        """Fresh state."""
        if not 0.0 < self.high - self.low < math.inf:
            raise ValueError(f"KLUCB: high must be above low by a finite amount, got low={self.low}, high={self.high}")
        return KLUCBState(
            np.zeros(n_arms, np.int64),
            np.zeros(n_arms, np.int64),
            np.zeros(n_arms),
            np.ones(n_arms, np.bool_),
            np.full(n_arms, math.inf),
            np.zeros(1, np.int64),
        )

    def threshold(self, t: int) -> float:
        """ln t + c ln ln t."""
        log = math.log(max(t, 1))
        return log + self.c * max(0.0, math.log(max(log, 1.0)))

    def select(self, state: KLUCBState, t: int, rng: Any) -> int:
        """Each arm once, then the highest index."""
        n_arms = len(state.pulls)
        if t >= state.until[0]:
            state.until[0] = t + t // 8 + 1
            for arm in range(n_arms):
                state.ceiling[arm] = self.bound_at(state, arm, state.until[0])
        best, highest = -1, -math.inf
        for arm in range(n_arms):
            if not state.open[arm]:
                continue
            if state.pulls[arm] == 0 and state.asked[arm] == 0:
                state.asked[arm] = 1
                return arm
            if best < 0 or state.ceiling[arm] > highest:
                bound = self.bound_at(state, arm, t)
                if best < 0 or bound > highest:
                    best, highest = arm, bound
        return best

    def bound_at(self, state: KLUCBState, arm: int, t: int) -> float:
        """Index in units of the range."""
        n = state.pulls[arm]
        return bernoulli_bound(state.mean[arm], self.threshold(t) / n) if n > 0 else math.inf

    def update(self, state: KLUCBState, arm: int, reward: float) -> None:
        """Move the arm's mean."""
        n = state.pulls[arm] + 1
        state.pulls[arm] = n
        scaled = (min(max(reward, self.low), self.high) - self.low) / (self.high - self.low)
        state.mean[arm] = min(max(running_mean(state.mean[arm], n, scaled), 0.0), 1.0)
        state.ceiling[arm] = self.bound_at(state, arm, state.until[0])

    def value(self, state: KLUCBState, arm: int) -> float:
        """Mean of the clipped rewards."""
        if state.pulls[arm] == 0:
            return math.nan
        return float(self.low + (self.high - self.low) * state.mean[arm])

    def index_of(self, state: KLUCBState, arm: int, t: int) -> float:
        """Largest mean compatible with the arm's rewards."""
        return float(self.low + (self.high - self.low) * self.bound_at(state, arm, t))
