r"""The Huber bandit: forced sampling and two Huber regressions per arm (Kang, Kim 2023).

*Assumes* that each arm has its own theta, that all arms share the context z of a round, and noise with a moment of
order :math:`1 + \varepsilon`.  *Must be told* :math:`\varepsilon`, the scale :math:`\nu` of the noise, a gap h between
arms that differ, the number of arms K, and the number q of forced samples in a row.  *When that fails*: if h is too
small, the best arm may be excluded for a long time; no confidence bound brings it back before the next forced sample.

*Formula*: features are blocks: the row of arm i is z in the i-th of K equal blocks and 0 elsewhere.  Arm i is forced in
the rounds :math:`(2^n - 1) K q + j`, :math:`n = 0, 1, \dots`, :math:`j = q(i-1)+1, \dots, qi`.  Each arm has two fits

.. math::  b(M) = \arg\min_b \sum_{s \in M} \rho_\tau(r_s - z_s'b), \qquad
           \tau = \nu \Bigl(\frac{|M|}{\ln(t^2 (2d + 1)/\delta)}\Bigr)^{1/(1+\varepsilon)}

with Huber's :math:`\rho`, one to its forced samples :math:`T_i` and one to all of its samples :math:`S_i`.  In other
rounds arms with :math:`z'b(T_i) < \max_j z'b(T_j) - h/2` are excluded, and of the rest the one with the highest
:math:`z'b(S_i)` is played.  A ridge of :math:`10^{-6}` makes fits to few samples unique.  In the paper a forced round
changes only :math:`b(T_i)`; here it also changes :math:`b(S_i)`, since otherwise an arm that was never chosen freely
would keep the estimate 0.

*Cost*: the fit to all samples is recomputed when their number has grown by 5%, and moves by one step per sample in
between; the fit to forced samples is recomputed after each of them.  O(d²) for a reward and its share of the fits, O(d)
per row for a choice; at most 64 (d + 1) bytes per reward, as forced samples are kept twice.

*Reference*: M. Kang, G.-S. Kim, Heavy-tailed linear bandit with Huber regression, UAI 2023.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...numerics import clip, power
from ...protocols import FloatArray, IntArray, compilable, rarely_called
from ..entries import register_policy
from ..parameters import Count, Flag, Fraction, Positive
from ..parts.state.pool import Pool, append, init_pool
from ._design import absorb, dot, multiply
from ._rows import lift, tame

REFIT_GROWTH = 1.05  # refit when the number of samples has grown by this factor
MOST_STEPS = 30
PRECISE = 1e-12  # stop when a step gains less than this, in units of tau²
RIDGE = 1e-6


class HuberBanditState(NamedTuple):
    """Two sets of samples per arm and a fit to each: first K sets of forced samples, then K sets of all samples."""

    samples: Pool  # records of a context and its reward
    inverse: FloatArray  # (2 K, d, d): inverses of the sums of z z'
    theta: FloatArray  # (2 K, d)
    due: IntArray  # (2 K,): number of samples at which to refit
    seen: IntArray  # total number of rewards
    context: FloatArray  # scratch
    gradient: FloatArray  # scratch
    product: FloatArray  # scratch


@compilable
def forced_arm(moment: int, n_arms: int, q: int) -> int:
    """Return the arm forced in round ``moment``, where rounds count from 1; -1 if there is none.

    Examples
    --------
    >>> [forced_arm(moment, n_arms=2, q=2) for moment in range(1, 17)]
    [0, 0, 1, 1, 0, 0, 1, 1, -1, -1, -1, -1, 0, 0, 1, 1]
    """
    block = n_arms * q
    first = 0
    while first + block < moment:
        first = 2 * first + block
    return (moment - first - 1) // q if moment > first else -1


@compilable
def arm_of(x: FloatArray, size: int) -> int:
    """Return the number of the first block that is not all 0.

    Examples
    --------
    >>> arm_of(np.array([0.0, 0.0, 0.0, 5.0]), 2)
    1
    """
    for i in range(len(x)):
        if x[i] != 0.0:
            return i // size
    return 0


@rarely_called
def refit(state: HuberBanditState, number: int, tau: float) -> None:
    """Minimise the loss over a set of samples."""
    theta, inverse, gradient = state.theta[number], state.inverse[number], state.gradient
    size, records = len(gradient), state.samples.records
    for _ in range(MOST_STEPS):
        for i in range(size):
            gradient[i] = -RIDGE * theta[i]
        at = state.samples.start[number]
        for _ in range(state.samples.size[number]):
            context = records[at : at + size]
            force = clip(records[at + size] - dot(theta, context), tau)
            for i in range(size):
                gradient[i] += force * context[i]
            at += size + 1
        gain = multiply(inverse, gradient, state.product)
        for i in range(size):
            theta[i] += state.product[i]
        if gain <= PRECISE * tau * tau:
            break


@register_policy(
    "huber-bandit",
    needs="moment order, scale, gap, number of arms, block features",
    memory="64 (d + 1) n bytes in all",
    cost="O(K d), O(d²) amortised",
    regret="O(sqrt(d) T^(1/(1 + eps)) ln(dT)^(eps/(1 + eps))), if arms that differ do so by at least h",
    reference="Kang, Kim 2023",
    kind="linear",
    example={"n_arms": 2, "eps": 1.0, "nu": 1.0},
    pinned={"n_arms": 3, "eps": 0.5, "nu": 1.0},
    zoo={"n_arms": 3, "eps": 0.5, "nu": 1.0},
)
class HuberBandit(NamedTuple):
    r"""The Huber bandit.

    Parameters
    ----------
    n_arms
        K, the number of blocks that the features are divided into.
    eps
        :math:`\varepsilon`: the moment of order :math:`1 + \varepsilon` is finite.
    nu
        :math:`\nu`, the scale of the noise and of the levels.
    gap
        h, the gap between arms that differ.
    forced
        q, the number of forced samples of an arm in a row.
    delta
        :math:`\delta`, the failure probability in the levels.
    intercept
        Whether to append a constant 1 to each arm's context.

    Examples
    --------
    >>> import numpy as np
    >>> policy = HuberBandit(n_arms=2, eps=1.0, nu=1.0)
    >>> state = policy.init(n_features=2, horizon=None)
    >>> for _ in range(4):
    ...     policy.update(state, np.array([1.0, 0.0]), 0.0)
    ...     policy.update(state, np.array([0.0, 1.0]), 1.0)
    >>> policy.select(state, np.eye(2), 8, None)
    1
    """

    n_arms: Count
    eps: Fraction
    nu: Positive
    gap: Positive = 0.2
    forced: Count = 2
    delta: Fraction = 0.01
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> HuberBanditState:
        if n_features % self.n_arms != 0:
            raise ValueError(f"HuberBandit: n_features must be a multiple of n_arms={self.n_arms}, got {n_features}")
        size, sets = n_features // self.n_arms + int(self.intercept), 2 * self.n_arms
        return HuberBanditState(
            samples=init_pool(sets, None if horizon is None else 2 * horizon, size + 1),
            inverse=np.tile(np.eye(size) / RIDGE, (sets, 1, 1)),
            theta=np.zeros((sets, size)),
            due=np.ones(sets, np.int64),
            seen=np.zeros(1, np.int64),
            context=np.ones(size),
            gradient=np.zeros(size),
            product=np.zeros(size),
        )

    def level(self, state: HuberBanditState, n: int) -> float:
        """Return tau, the level for n samples."""
        t, d = max(float(state.seen[0]), 1.0), len(state.context)
        return self.nu * power(n / math.log(t * t * (2.0 * d + 1.0) / self.delta), 1.0 / (1.0 + self.eps))

    def arm(self, state: HuberBanditState, x: FloatArray) -> int:
        """Return the arm of a row, and copy its context to ``state.context``."""
        size = len(x) // self.n_arms
        arm = arm_of(x, size)
        lift(state.context, x[arm * size : (arm + 1) * size])
        return arm

    def select(self, state: HuberBanditState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row of the arm that is forced now, or else of the best arm that forced samples do not exclude."""
        forced, highest = forced_arm(t + 1, self.n_arms, self.forced), -math.inf
        for a in range(len(features)):
            arm = self.arm(state, features[a])
            if arm == forced:
                return a
            highest = max(highest, dot(state.theta[arm], state.context))
        best, largest = 0, -math.inf
        for a in range(len(features)):
            arm = self.arm(state, features[a])
            if dot(state.theta[arm], state.context) >= highest - 0.5 * self.gap:
                value = dot(state.theta[self.n_arms + arm], state.context)
                if value > largest:
                    best, largest = a, value
        return best

    def update(self, state: HuberBanditState, x: FloatArray, reward: float) -> None:
        """Add the reward to the samples of its arm, and update the arm's fits."""
        arm, y = self.arm(state, x), tame(reward)
        state.seen[0] += 1
        if arm == forced_arm(state.seen[0], self.n_arms, self.forced):
            self.take_in(state, arm, y)
            state.due[arm] = 1
        self.take_in(state, self.n_arms + arm, y)

    def take_in(self, state: HuberBanditState, number: int, y: float) -> None:
        """Add a sample with context ``state.context`` to a set, and refit if that is due, or else take one step."""
        samples, context, size = state.samples, state.context, len(state.context)
        at = append(samples, number)
        for i in range(size):
            samples.records[at + i] = context[i]
        samples.records[at + size] = y
        n = samples.size[number]
        tau, theta = self.level(state, n), state.theta[number]
        grown = 1.0 + multiply(state.inverse[number], context, state.product)
        absorb(state.inverse[number], context, state.product, 1.0, grown)
        if n >= state.due[number]:
            state.due[number] = math.ceil(REFIT_GROWTH * n)
            refit(state, number, tau)
            return
        force = clip(y - dot(theta, context), tau)
        for i in range(size):
            theta[i] += force / grown * state.product[i]

    def value(self, state: HuberBanditState, x: FloatArray) -> float:
        """Return the value estimated from all samples of the arm."""
        return float(dot(state.theta[self.n_arms + self.arm(state, x)], state.context))

    def index_of(self, state: HuberBanditState, x: FloatArray, t: int) -> float:
        """Return the estimated value: there is no bonus."""
        return self.value(state, x)
