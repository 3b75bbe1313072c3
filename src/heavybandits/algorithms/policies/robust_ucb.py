r"""Robust UCB (Bubeck, Cesa-Bianchi, Lugosi 2013): the index of UCB with a robust mean.

*Assumes* and *must be told* the same as the robust mean, which is usually the order :math:`p = 1 + \varepsilon` of a
moment and a bound on it.  *When that fails*, the radius may be too small, and regret may be linear.  *Formula*: after t
rewards let :math:`L = q \ln t`, that is, :math:`\delta = t^{-q}`, and

.. math::  A_t = \arg\max_a\ \hat\mu_a(n_a, L) + w(n_a)\,s(L), \qquad
           w(n)\,s(L) = v^{1/p} \Bigl(\frac{cL}{n}\Bigr)^{\varepsilon/p} \text{ or similar}.

The paper has q = 2 and :math:`R_T \le \sum_a 2c\,(v/\Delta_a)^{1/\varepsilon} \ln T + 5 \Delta_a`.  Its proof needs
q = 4, and misses a factor: what it shows is
:math:`E\,n_a \le \lceil 4c\,2^{p/\varepsilon} v^{1/\varepsilon} \Delta_a^{-p/\varepsilon} \ln T \rceil + 3`.

*Cost*: the mean's, for the arm with a new reward; the others' estimates stay as they are until L passes a value known
in advance.  O(log K) per choice, and O(K) when such an estimate is due.

A *robust mean* is an estimator with some more methods: see :mod:`heavybandits.algorithms.estimators`.  Its radius is a
product :math:`w(n)\,s(L)`, so that only s changes for arms that get no reward.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from ...protocols import FloatArray, IntArray
from ..entries import register_policy, register_preset
from ..estimators.catoni import Catoni
from ..estimators.catoni_infinite_variance import CatoniInfiniteVariance
from ..estimators.median_of_means import MedianOfMeans
from ..estimators.mixture_order_statistic import MixtureOrderStatistic
from ..estimators.order_statistic import OrderStatistic
from ..estimators.truncated_mean import TruncatedMean
from ..parameters import Positive, has_methods
from ..parts.choice.tournament import Tournament, choose, init_tournament, set_line


class RobustUCBState(NamedTuple):
    """Estimates for the rewards seen so far; the tournament has them, and the radii in units of the factor."""

    pulls: IntArray
    mean: Any
    tournament: Tournament
    until: FloatArray  # per arm: L at which its estimate is due
    due: FloatArray  # a lower bound on all of them
    clock: IntArray  # rewards seen
    log_term: FloatArray  # L after these; NaN before the first


@register_policy(
    "robust-ucb",
    needs="moment order, moment bound",
    memory="the mean's",
    cost="the mean's, O(log K)",
    regret="sum_a O((v/Delta_a)^(1/eps) ln T), if the moment of order 1 + eps is at most v",
    reference="Bubeck, Cesa-Bianchi, Lugosi 2013",
    example={"estimator": {"kind": "median-of-means", "eps": 0.5, "v": 2.0}},
    zoo={"estimator": {"kind": "median-of-means", "eps": 0.0, "v": 1.0}},
    look="orange short",
)
class RobustUCB(NamedTuple):
    r"""Robust UCB.

    Parameters
    ----------
    estimator
        A robust mean: :class:`.MedianOfMeans`, :class:`.TruncatedMean`, :class:`.Catoni`,
        :class:`.CatoniInfiniteVariance`, or your own.
    exponent
        q in :math:`\delta = t^{-q}`: 2 as published; the proof needs 4.

    Examples
    --------
    >>> import heavybandits as hb
    >>> policy = RobustUCB(TruncatedMean(eps=0.5, u=10.0))
    >>> state = policy.init(n_arms=2, horizon=None)
    >>> for arm, reward in ((0, 1.0), (1, 1e300), (1, 2.0)):
    ...     policy.update(state, arm, reward)
    >>> policy.value(state, 1)  # 1e300 is cut off
    1.0
    >>> int(policy.select(state, 3, None))  # and arm 0 has been tried less
    0
    """

    estimator: Annotated[Any, has_methods("refresh", "until", "width", "factor", "initial_pulls")]
    exponent: Positive = 2.0

    def init(self, n_arms: int, horizon: int | None) -> RobustUCBState:
        return RobustUCBState(
            pulls=np.zeros(n_arms, np.int64),
            mean=self.estimator.init(n_arms, horizon),
            tournament=init_tournament(n_arms),
            until=np.full(n_arms, math.inf),
            due=np.zeros(1),
            clock=np.zeros(1, np.int64),
            log_term=np.array([math.nan]),
        )

    def log_term(self, t: int) -> float:
        """Return L after t rewards; positive, as if there were at least two."""
        return self.exponent * math.log(t if t > 2 else 2)

    def level(self, state: RobustUCBState, t: int) -> float:
        """Return the common factor of the radii."""
        known = t == state.clock[0] and state.log_term[0] > 0.0  # usually so, which saves a logarithm
        return float(self.estimator.factor(state.log_term[0] if known else self.log_term(t)))

    def select(self, state: RobustUCBState, t: int, rng: Any) -> int:
        """Return each arm for its initial pulls, then the one with the highest index."""
        return choose(self, state, t, self.estimator.initial_pulls(), 1)

    def update(self, state: RobustUCBState, arm: int, reward: float) -> None:
        """Record the reward, and refresh all estimates that it or the new L puts out of date."""
        mean, pulls, until, due = state.mean, state.pulls, state.until, state.due
        pulls[arm] += 1
        state.clock[0] += 1
        self.estimator.observe(mean, arm, reward)
        log_term = self.log_term(state.clock[0])
        state.log_term[0] = log_term
        first, last = arm, arm + 1
        if log_term >= due[0]:
            first, last = 0, len(pulls)
            due[0] = math.inf
        for other in range(first, last):
            if other == arm or log_term >= until[other]:
                estimate = self.estimator.refresh(mean, other, log_term)
                until[other] = self.estimator.until(mean, other, log_term)
                set_line(state.tournament, other, pulls[other], estimate, self.estimator.width(pulls[other]))
            if until[other] < due[0]:
                due[0] = until[other]

    def value(self, state: RobustUCBState, arm: int) -> float:
        """Return the robust mean; NaN before there is one."""
        return float(self.estimator.value(state.mean, arm))


@register_preset(
    "rucb-median",
    RobustUCB,
    lambda policy: isinstance(policy.estimator, MedianOfMeans),
    memory="64 n bytes",
    cost="O(ln T log n) for one reward in two, O(log K)",
    example={"eps": 1.0, "v": 1.0},
    zoo={"eps": 0.5, "v": 10.0},
    look="orange solid",
)
def rucb_median(eps: float, v: float, exponent: float = 2.0) -> RobustUCB:
    """Make Robust UCB with the median of means; ``v`` bounds the central moment of order 1 + ``eps``.

    Examples
    --------
    >>> rucb_median(eps=1, v=1)
    RobustUCB(estimator=MedianOfMeans(eps=1.0, v=1.0), exponent=2.0)
    """
    return RobustUCB(MedianOfMeans(eps, v), exponent)


@register_preset(
    "rucb-truncated",
    RobustUCB,
    lambda policy: isinstance(policy.estimator, TruncatedMean),
    memory="O(log n)",
    cost="O(log n), O(log K)",
    example={"eps": 0.5, "u": 2.0},
    zoo={"eps": 0.5, "u": 10.0},
    look="orange dashed",
)
def rucb_truncated(eps: float, u: float, exponent: float = 2.0) -> RobustUCB:
    """Make Robust UCB with the truncated mean; ``u`` bounds the raw moment of order 1 + ``eps``.

    Examples
    --------
    >>> rucb_truncated(eps=0.5, u=10)
    RobustUCB(estimator=TruncatedMean(eps=0.5, u=10.0), exponent=2.0)
    """
    return RobustUCB(TruncatedMean(eps, u), exponent)


@register_preset(
    "rucb-catoni",
    RobustUCB,
    lambda policy: isinstance(policy.estimator, Catoni | CatoniInfiniteVariance),
    memory="32 n bytes",
    cost="O(1) amortised, O(log K)",
    reference="Bubeck et al. 2013; Bhatt et al. 2022",
    example={"v": 1.0},
    zoo={"eps": 0.5, "v": 10.0},
    look="orange dash-dot",
)
def rucb_catoni(v: float, eps: float = 1.0, exponent: float = 2.0) -> RobustUCB:
    """Make Robust UCB with Catoni's estimator; ``v`` bounds the variance, or the central moment of order 1 + ``eps``.

    Examples
    --------
    >>> rucb_catoni(v=1)
    RobustUCB(estimator=Catoni(v=1.0), exponent=2.0)
    >>> rucb_catoni(v=1, eps=0.5).estimator
    CatoniInfiniteVariance(eps=0.5, v=1.0, h=0.5, tau=1.0)
    """
    return RobustUCB(Catoni(v) if eps == 1.0 else CatoniInfiniteVariance(eps, v), exponent)


@register_preset(
    "order-statistic-ucb",
    RobustUCB,
    lambda policy: isinstance(policy.estimator, OrderStatistic | MixtureOrderStatistic),
    needs="how much to explore",
    memory="32 n bytes",
    cost="O(n) moves, O(log K)",
    reference="Szörényi et al. 2015",
    regret="sum_a O(ln T/(F_a(m*) - 1/2)^2) Delta_a, for medians and c > 2, where m* is the highest median",
    example={"c": 0.25},
    zoo={"c": 0.5},
    look="purple short",
)
def order_statistic_ucb(
    c: float, quantile: float = 0.5, bound: Literal["hoeffding", "mixture"] = "hoeffding"
) -> RobustUCB:
    """Make a policy whose index is an order statistic of the arm's rewards.

    It is above the arm's quantile, by default the median, with probability 1 - t^-c, whatever the law.  The ``bound``
    is Hoeffding's, which holds for each number of rewards, or that of a mixture, which holds for all numbers at once.

    Examples
    --------
    >>> order_statistic_ucb(c=1)
    RobustUCB(estimator=OrderStatistic(quantile=0.5), exponent=1.0)
    >>> order_statistic_ucb(c=1, bound="mixture")
    RobustUCB(estimator=MixtureOrderStatistic(quantile=0.5), exponent=1.0)
    """
    kinds = {"hoeffding": OrderStatistic, "mixture": MixtureOrderStatistic}
    if bound not in kinds:
        raise ValueError(f"order-statistic-ucb: bound must be 'hoeffding' or 'mixture', got {bound!r}")
    return RobustUCB(kinds[bound](quantile), c)
