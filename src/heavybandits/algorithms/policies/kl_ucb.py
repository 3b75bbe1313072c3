r"""KL-UCB for bounded rewards, counts and waiting times (Garivier, Cappé 2011).

*Assumes* rewards in [low, high], or rewards whose law belongs to a family: Poisson, or exponential.  *Must be told* the
range or the family.  *When that fails*: rewards outside the range, or negative ones of these families, are clipped.
That makes the policy robust, but it then compares clipped means, and is slow to tell apart arms whose clipped means
differ little.  If rewards vary more than the family says, it explores too little.

*Formula*: with :math:`p_a` the mean of :math:`(r - \text{low})/(\text{high} - \text{low})`, or of the rewards
themselves, and the divergence d of the family, pull each arm once, then

.. math::  A_t = \arg\max_a\ \max\{q \ge p_a : n_a d(p_a, q) \le \ln t + c \ln\ln t\}.

* Bernoulli, for any rewards in [low, high]: :math:`d(p, q) = p \ln(p/q) + (1 - p) \ln((1 - p)/(1 - q))`;
* Poisson: :math:`d(p, q) = q - p + p \ln(p/q)`;
* exponential: :math:`d(p, q) = p/q - 1 - \ln(p/q)`.

Rewards that are rounded to 0 or nearly so, which hardly any exponential law pays, would rule out every other mean for
very long.  So for this family :math:`p_a` is at least :math:`\max_b p_b/(n_a + 1)`: as if all rewards of the arm were 0
and one more was as large as the highest mean.  That can only raise an index, and after :math:`o(\ln T)` pulls it no
longer matters.

The proof has c = 3; in practice c = 0 does better.  For rewards of 0 and 1, and for those of the family, the policy is
asymptotically optimal.

*Cost*: a few logarithms per reward.  A choice computes one index q, that of the arm chosen last, and asks of every
other arm only whether its index is higher, that is, whether :math:`n_a d(p_a, q) < \ln t + c \ln\ln t`.  That takes two
products, since the divergence is linear in two functions of q.  49 bytes per arm.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from ..._validate import require_range, require_same
from ...numerics import running_mean, saturate, share
from ...protocols import BoolArray, FloatArray, IntArray, compilable
from ..entries import register_policy
from ..level_sets.mean_sets import right_root
from ..parameters import Finite, NonNegative
from ..parts.choice.late import Late, init_late
from ._scan import narrowed, unseen

FAMILIES = ("bernoulli", "poisson", "exponential")
BERNOULLI, POISSON, EXPONENTIAL = range(3)


@compilable
def bernoulli_bound(p: float, budget: float) -> float:
    """Return the largest q with divergence d(p, q) at most ``budget``, to the last digit, by Halley's method.

    Examples
    --------
    >>> round(bernoulli_bound(0.5, math.log(100) / 10), 9), round(bernoulli_bound(0.0, math.log(100) / 10), 9)
    (0.887908762, 0.369042656)
    """
    if p >= 1.0 or budget <= 0.0:
        return p
    if p <= 1e-300:  # as good as 0, and x/p below cannot overflow
        return -math.expm1(-budget)
    rest = 1.0 - p
    x = math.sqrt(2.0 * p * rest * budget)  # x is q - p: first its expansion for small budgets
    if x < 0.5 * rest:
        x += 2.0 / 3.0 * (1.0 - 2.0 * p) * budget
    if not 0.0 < x < 0.5 * rest:  # otherwise an upper bound, which is close for large budgets
        x = rest - rest * math.exp((p * math.log(p) - budget) / rest)
    for _ in range(5):  # from there three steps are enough for every p and budget
        room = rest - x
        if room <= 0.0:
            return 1.0
        excess = -p * math.log1p(x / p) - rest * math.log1p(-x / rest) - budget
        slope = x / ((p + x) * room)
        bend = p / ((p + x) * (p + x)) + rest / (room * room)
        step = 2.0 * excess * slope / (2.0 * slope * slope - excess * bend)
        x -= step
        if abs(step) <= 1e-5 * min(x, room):  # the next step would be about the cube of this one
            break
    return p + x


@compilable
def poisson_bound(p: float, budget: float) -> float:
    """Return the largest q with divergence d(p, q) at most ``budget``, between Poisson laws of these means.

    Examples
    --------
    >>> q = poisson_bound(2.0, 0.5)
    >>> round(q - 2.0 + 2.0 * math.log(2.0 / q), 12), poisson_bound(0.0, 0.5)
    (0.5, 0.5)
    """
    if budget <= 0.0:
        return p
    if p <= 1e-300:  # as good as 0
        return budget
    return p + p * right_root(budget / p)


@compilable
def exponential_bound(p: float, budget: float) -> float:
    r"""Return the largest q with divergence d(p, q) at most ``budget``, between exponential laws of these means.

    It is :math:`p e^s` with :math:`e^{-s} - 1 + s` equal to the budget, found by Halley's method.

    Examples
    --------
    >>> q = exponential_bound(2.0, 0.5)
    >>> round(2.0 / q - 1.0 - math.log(2.0 / q), 12), exponential_bound(0.0, 0.5)
    (0.5, 0.0)
    """
    if budget <= 0.0:
        return p
    s = math.sqrt(2.0 * budget) + budget / 3.0 if budget < 1.0 else 1.0 + budget - math.exp(-1.0 - budget)
    for _ in range(4):
        slope = -math.expm1(-s)
        excess = s - slope - budget
        step = 2.0 * excess * slope / (2.0 * slope * slope - excess * (1.0 - slope))
        s -= step
        if abs(step) <= 1e-6 * s:  # the next step would be about the cube of this one
            break
    return float(p * math.exp(min(max(s, 0.0), 700.0)))  # tiny budgets are lost in rounding


class KLUCBState(NamedTuple):
    """Means of the scaled rewards."""

    pulls: IntArray
    late: Late
    mean: FloatArray
    constant: FloatArray  # per arm: the part of n d(p, q) free of q, such as n (p ln p + (1 - p) ln(1 - p))
    open: BoolArray
    last: IntArray  # the arm chosen last
    family: IntArray  # array of length one: position in FAMILIES

    def check(self, fresh: KLUCBState, n_arms: int) -> None:
        """Refuse a state of another family."""
        require_same(self, fresh, "family")


@register_policy(
    "kl-ucb",
    needs="range, or family",
    memory="49 bytes",
    cost="O(K)",
    regret="sum_a Delta_a ln T/d(mu_a, mu*) asymptotically, for rewards in the range; optimal for rewards of 0 and 1, "
    "and for those of the family",
    reference="Garivier, Cappé 2011",
    example={"c": 3.0},
    zoo={"low": {"instance": "lowest"}, "high": {"instance": "highest"}},
    look="grey dashed",
)
class KLUCB(NamedTuple):
    """KL-UCB.

    Parameters
    ----------
    low, high
        Range of the rewards; only for the family ``"bernoulli"``.
    c
        Weight of ln ln t.
    family
        ``"bernoulli"`` for rewards in the range, ``"poisson"`` for counts, ``"exponential"`` for waiting times.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.KLUCB(), n_arms=2)
    >>> agent.update_many([0, 0, 1], [1.0, 0.0, 1.0])
    >>> agent.select()
    1
    >>> hb.KLUCB(high=9.0, family="poisson")
    Traceback (most recent call last):
        ...
    ValueError: KLUCB: low and high must be left out for the family 'poisson', got low=0.0, high=9.0
    """

    low: Finite = 0.0
    high: Finite = 1.0
    c: NonNegative = 0.0
    family: Literal["bernoulli", "poisson", "exponential"] = "bernoulli"

    def check(self) -> None:
        """Refuse an empty range, and a range for families without one."""
        require_range("KLUCB", self.low, self.high)
        if self.family != "bernoulli" and (self.low, self.high) != (0.0, 1.0):
            given = f"low={self.low}, high={self.high}"
            raise ValueError(f"KLUCB: low and high must be left out for the family {self.family!r}, got {given}")

    def init(self, n_arms: int, horizon: int | None) -> KLUCBState:
        return KLUCBState(
            pulls=np.zeros(n_arms, np.int64),
            late=init_late(n_arms),
            mean=np.zeros(n_arms),
            constant=np.zeros(n_arms),
            open=np.ones(n_arms, np.bool_),
            last=np.zeros(1, np.int64),
            family=np.array([FAMILIES.index(self.family)]),
        )

    def threshold(self, t: int) -> float:
        """Return ln t + c ln ln t."""
        log = math.log(max(t, 1))
        return log + self.c * math.log(max(log, 1.0))

    def bound_at(self, state: KLUCBState, arm: int, threshold: float, highest_mean: float) -> float:
        """Return the index in units of the range."""
        n, p = state.pulls[arm], state.mean[arm]
        if n == 0:
            return math.inf
        if state.family[0] == BERNOULLI:
            return bernoulli_bound(p, threshold / n)
        if state.family[0] == POISSON:
            return saturate(poisson_bound(p, threshold / n))
        return saturate(exponential_bound(max(p, highest_mean / (n + 1.0)), threshold / n))

    def select(self, state: KLUCBState, t: int, rng: Any) -> int:
        """Return each arm once, then the one with the highest index."""
        first = unseen(state, 1)
        if first >= 0:
            return first
        n_arms, threshold, family = len(state.pulls), self.threshold(t), state.family[0]
        highest_mean = state.mean.max() if family == EXPONENTIAL else 0.0
        best, highest = -1, -math.inf
        below, slope, offset = -math.inf, 0.0, 0.0  # a number a little below the highest index, and functions of it
        for turn in range(-1, n_arms):
            arm = turn if turn >= 0 else min(state.last[0], n_arms - 1)  # the arm chosen last comes first
            n, p = state.pulls[arm], state.mean[arm]
            if not state.open[arm] or arm == best or n == 0:
                continue
            rest = 1.0 - p if family == BERNOULLI else 1.0
            raised = p < highest_mean / (n + 1.0)
            if p < below and not raised and state.constant[arm] - n * (p * slope + rest * offset) > threshold:
                continue
            bound = narrowed(state, arm, p, self.bound_at(state, arm, threshold, highest_mean))
            fewer = best >= 0 and (n < state.pulls[best] or (n == state.pulls[best] and arm < best))
            if bound > highest or (bound == highest and fewer):
                best, highest, below = arm, bound, bound - 1e-9 * (1.0 if family == BERNOULLI else bound)
                if family == BERNOULLI:
                    if 0.0 < below < 1.0:
                        slope, offset = math.log(below), math.log(1.0 - below)
                elif below > 0.0:
                    log = math.log(below)
                    slope, offset = (log, -below) if family == POISSON else (-1.0 / below, -log)
        state.last[0] = best
        return best

    def update(self, state: KLUCBState, arm: int, reward: float) -> None:
        """Update the arm's mean."""
        n, family = state.pulls[arm] + 1, state.family[0]
        x = share(reward, self.low, self.high) if family == BERNOULLI else saturate(max(reward, 0.0))
        p = max(running_mean(state.mean[arm], n, x), 0.0)
        if family == BERNOULLI:
            p = min(p, 1.0)
            constant = n * (p * math.log(p) + (1.0 - p) * math.log(1.0 - p)) if 0.0 < p < 1.0 else 0.0
        elif family == POISSON:
            constant = n * (p * math.log(p) - p) if p > 0.0 else 0.0
        else:
            constant = -n * (1.0 + math.log(p)) if p > 0.0 else math.inf
        state.pulls[arm], state.mean[arm], state.constant[arm] = n, p, constant

    def value(self, state: KLUCBState, arm: int) -> float:
        """Return the mean of the clipped rewards."""
        if state.pulls[arm] == 0:
            return math.nan
        return float(self.low + (self.high - self.low) * state.mean[arm])

    def index_of(self, state: KLUCBState, arm: int, t: int) -> float:
        """Return the largest mean compatible with the arm's rewards."""
        bound = self.bound_at(state, arm, self.threshold(t), state.mean.max())
        return float(self.low + (self.high - self.low) * bound)
