r"""TOFU: truncation under OFU (Shao, Yu, King, Lyu 2018).

*Assumes* rewards :math:`x'\theta` plus noise, where the rewards themselves have a moment of order
:math:`1 + \varepsilon`.  *Must be told* :math:`\varepsilon`, a bound u on that raw moment, a bound S on
:math:`|\theta|`, and the horizon T.  *When that fails*: if u is too small, most rewards are dropped and the estimate
shrinks towards 0.  The estimate depends on the origin of the rewards, and on the axes of the features.

*Formula*: with :math:`V = \lambda I + \sum x x'` and columns :math:`U_s = V^{-1/2} x_s`, the s-th reward counts in the
i-th coordinate if :math:`|U_{is} r_s| \le b_t`,

.. math::  \hat\theta = V^{-1/2} \Bigl(\sum_s U_{is} r_s\,1[|U_{is} r_s| \le b_t]\Bigr)_i, \qquad
           b_t = \Bigl(\frac{u}{\ln(2T/\delta)}\Bigr)^{1/(1+\varepsilon)} t^{e}, \qquad
           e = \frac{1 - \varepsilon}{2(1 + \varepsilon)},

and the row with the highest :math:`x'\hat\theta + \beta_t\,|x|_{V^{-1}}` is played,
:math:`\beta_t = 4 \sqrt d\,u^{1/(1+\varepsilon)} \ln(2dT/\delta)^{\varepsilon/(1+\varepsilon)}\,t^e + \sqrt\lambda S`.
Two public reimplementations agree on all but the arguments of the logarithms, which could not be checked against the
paper.  In :math:`b_t` they use the exponent 1/2 instead of :math:`1/(1+\varepsilon)`, which is the same at
:math:`\varepsilon = 1`, and they divide :math:`\beta_t` by 5.

*Cost*: every reward changes V and the threshold, and so which earlier rewards count.  Therefore the estimate is
recomputed only when the number of rewards has grown by 5%, O(20 d²) per reward amortised; V is updated with every
reward.  O(d²) per row for a choice; at most 32 (d + 1) bytes per reward.

*Reference*: H. Shao, X. Yu, I. King, M. R. Lyu, Almost optimal algorithms for linear stochastic bandits with
heavy-tailed payoffs, NeurIPS 2018.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_same, required_horizon
from ...protocols import FloatArray, IntArray, rarely_called
from ..entries import register_policy
from ..parameters import Flag, Fraction, NonNegative, Positive
from ..parts.state.pool import Pool, append, init_pool
from ._design import add_row, dot
from ._growing_radius import GrowingRadius, growth, init_growing_radius, radius_at
from ._roots import square_root
from ._rows import Fit, index_at, init_fit, lift, optimistic, tame, value_at

REFIT_GROWTH = 1.05  # recompute the estimate when the number of rewards has grown by this factor


class TOFUState(NamedTuple):
    """All rewards with their features, and the estimate from those that count."""

    fit: Fit
    rewards: Pool  # records of a row and its reward
    due: IntArray  # number of rewards at which to recompute the estimate
    root: FloatArray  # V to the power -1/2 when the estimate was computed
    work: FloatArray  # scratch
    vectors: FloatArray  # scratch
    kept: FloatArray  # scratch: per coordinate, the sum over the rewards that count
    threshold: FloatArray  # b_1
    radius: GrowingRadius

    def check(self, fresh: TOFUState, n_arms: int) -> None:
        """Refuse a state made for another horizon."""
        require_same(self, fresh, "threshold")


@rarely_called
def truncated_fit(state: TOFUState, threshold: float) -> None:
    """Compute the estimate from all rewards."""
    fit, root, kept, records = state.fit, state.root, state.kept, state.rewards.records
    size = len(kept)
    square_root(fit.design.inverse, root, state.work, state.vectors)
    for i in range(size):
        kept[i] = 0.0
    at = state.rewards.start[0]
    for _ in range(state.rewards.size[0]):
        row, reward = records[at : at + size], records[at + size]
        for i in range(size):
            part = dot(root[i], row) * reward
            if abs(part) <= threshold:
                kept[i] += part
        at += size + 1
    for i in range(size):
        fit.theta[i] = dot(root[i], kept)


@register_policy(
    "tofu",
    needs="horizon, moment order, moment bound, bound on theta",
    memory="32 (d + 1) n bytes in all",
    cost="O(K d²) amortised",
    regret="O(d T^(1/(1 + eps))) up to logarithms, if E|r|^(1 + eps) is at most u",
    reference="Shao, Yu, King, Lyu 2018",
    kind="linear",
    example={"eps": 1.0, "u": 3.0},
    pinned={"eps": 0.5, "u": 3.0, "beta_scale": 0.02},
    zoo={"eps": 0.5, "u": 3.0, "beta_scale": 0.02},
)
class TOFU(NamedTuple):
    r"""TOFU.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: the moment of order :math:`1 + \varepsilon` is finite.
    u
        Upper bound on that raw moment of the rewards.
    bound
        S, an upper bound on the norm of theta.
    ridge
        :math:`\lambda`, the ridge penalty.
    delta
        :math:`\delta`, the failure probability of the bound.
    beta_scale
        Factor of the radius: 1 in the theory, 0.2 in the public experiments.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> import numpy as np
    >>> policy = TOFU(eps=1.0, u=3.0)
    >>> state = policy.init(n_features=2, horizon=100)
    >>> for x, reward in ((1.0, 0.0), 0.5), ((0.0, 1.0), 8.0), ((0.6, 0.8), 0.9):
    ...     policy.update(state, np.array(x), reward)
    >>> state.fit.theta.round(9)
    array([0.07094856, 0.2310335 ])
    """

    eps: Fraction
    u: Positive
    bound: NonNegative = 1.0
    ridge: Positive = 1.0
    delta: Fraction = 0.01
    beta_scale: NonNegative = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> TOFUState:
        rounds = required_horizon("TOFU", horizon, "threshold")
        size, order = n_features + int(self.intercept), 1.0 + self.eps
        scale = self.u ** (1.0 / order)
        level = math.log(2.0 * size * rounds / self.delta) ** (self.eps / order)
        threshold = scale / math.log(2.0 * rounds / self.delta) ** (1.0 / order)
        return TOFUState(
            fit=init_fit(n_features, self.intercept, self.ridge),
            rewards=init_pool(1, horizon, size + 1),
            due=np.ones(1, np.int64),
            root=np.zeros((size, size)),
            work=np.zeros((size, size)),
            vectors=np.zeros((size, size)),
            kept=np.zeros(size),
            threshold=np.array([threshold]),
            radius=init_growing_radius(
                slope=4.0 * math.sqrt(size) * scale * level, constant=math.sqrt(self.ridge) * self.bound
            ),
        )

    def beta(self, state: TOFUState) -> float:
        """Return the radius."""
        return self.beta_scale * radius_at(state.radius, state.fit, self.eps)

    def select(self, state: TOFUState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest index."""
        return optimistic(state.fit, features, self.beta(state))

    def update(self, state: TOFUState, x: FloatArray, reward: float) -> None:
        """Keep the reward, and recompute the estimate if that is due."""
        fit, records, size = state.fit, state.rewards.records, len(state.kept)
        lift(fit.row, x)
        at = append(state.rewards, 0)
        for i in range(size):
            records[at + i] = fit.row[i]
        records[at + size] = tame(reward)
        add_row(fit.design, fit.row, 1.0)
        fit.seen[0] += 1
        if fit.seen[0] >= state.due[0]:
            state.due[0] = math.ceil(REFIT_GROWTH * fit.seen[0])
            truncated_fit(state, state.threshold[0] * growth(fit, self.eps))

    def value(self, state: TOFUState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.fit, x)

    def index_of(self, state: TOFUState, x: FloatArray, t: int) -> float:
        """Return the upper end of the confidence interval."""
        return index_at(state.fit, x, self.beta(state))
