r"""CRT: confidence region with truncation (Medina, Yang 2016).

*Assumes* rewards :math:`x'\theta` plus noise with a moment of order :math:`1 + \varepsilon`, :math:`|x| \le 1` and
:math:`|\theta| \le 1`.  *Must be told* :math:`\varepsilon`, a bound v on the central moment, and the horizon T.  *When
that fails*: the truncation level starts at 1 and grows slowly, so rewards in large units are all dropped at first; if v
is too small, a good row may be abandoned.

*Formula*: the t-th reward is permanently replaced by 0 if :math:`|r_t| > t^{1/(2(1+\varepsilon))}`.  With
:math:`V = I + \sum x x'` and :math:`\hat\theta = V^{-1} \sum x r`, play the row with the highest
:math:`x'\hat\theta + \beta_t\,|x|_{V^{-1}}`,

.. math::  \beta_t = 2\,\sqrt{2\,t^{1/(1+\varepsilon)} \bigl(\ln(\sqrt{\det V}/\delta) + v^2 \ln T\bigr)} + 1,

as in the paper's theorem 1.  The public reimplementation instead has
:math:`2 \sqrt{2 t^{1/(1+\varepsilon)} \ln(\sqrt{\det V}/\delta)} + \sqrt{2 v^2 \ln t} + 1`, divided by 10.

*Cost*: O(d²) for a reward, O(d²) per row for a choice; 8 (4 d² + 4 d) bytes.

*Reference*: A. M. Medina, S. Yang, No-regret algorithms for heavy-tailed linear bandits, ICML 2016.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_same, required_horizon
from ...numerics import power
from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import Flag, Fraction, NonNegative, Positive
from ._rows import Fit, index_at, init_fit, learn_fit, optimistic, value_at


class CRTState(NamedTuple):
    """The estimate from truncated rewards, and the term of the radius that depends on the horizon."""

    fit: Fit
    moment: FloatArray  # v² ln T

    def check(self, fresh: CRTState, n_arms: int) -> None:
        """Refuse a state made for another horizon."""
        require_same(self, fresh, "moment")


@register_policy(
    "crt",
    needs="horizon, moment order, moment bound",
    memory="8 (4 d² + 4 d) bytes in all",
    cost="O(K d²)",
    regret="O(T^((2 + eps)/(2 (1 + eps)))) up to logarithms, if the moment of order 1 + eps is at most v",
    reference="Medina, Yang 2016",
    kind="linear",
    example={"eps": 1.0, "v": 1.0},
    pinned={"eps": 0.5, "v": 2.0, "beta_scale": 0.03},
    zoo={"eps": 0.5, "v": 3.0, "beta_scale": 0.03},
)
class CRT(NamedTuple):
    r"""CRT.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: the moment of order :math:`1 + \varepsilon` is finite.
    v
        Upper bound on that central moment.
    delta
        :math:`\delta`, the failure probability of the bound.
    beta_scale
        Factor of the radius: 1 in the theory, 0.1 in the public experiments.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> import numpy as np
    >>> policy = CRT(eps=1.0, v=1.0)
    >>> state = policy.init(n_features=2, horizon=10)
    >>> for x, reward in ((1.0, 0.0), 0.5), ((0.0, 1.0), -3.0), ((0.6, 0.8), 0.9):
    ...     policy.update(state, np.array(x), reward)
    >>> state.fit.theta.round(12)  # -3 is dropped
    array([0.4, 0.2])
    """

    eps: Fraction
    v: Positive
    delta: Fraction = 0.01
    beta_scale: NonNegative = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> CRTState:
        rounds = required_horizon("CRT", horizon, "radius")
        return CRTState(init_fit(n_features, self.intercept, 1.0), np.array([self.v * self.v * math.log(rounds)]))

    def beta(self, state: CRTState) -> float:
        """Return the radius."""
        t = max(float(state.fit.seen[0]), 1.0)
        level = 0.5 * state.fit.design.log_det[0] - math.log(self.delta) + state.moment[0]
        return float(self.beta_scale * (2.0 * math.sqrt(2.0 * power(t, 1.0 / (1.0 + self.eps)) * level) + 1.0))

    def select(self, state: CRTState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest index."""
        return optimistic(state.fit, features, self.beta(state))

    def update(self, state: CRTState, x: FloatArray, reward: float) -> None:
        """Update the estimate with a reward, or with 0 if the reward is beyond the level."""
        level = power(state.fit.seen[0] + 1.0, 0.5 / (1.0 + self.eps))
        learn_fit(state.fit, x, reward if abs(reward) <= level else 0.0)

    def value(self, state: CRTState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.fit, x)

    def index_of(self, state: CRTState, x: FloatArray, t: int) -> float:
        """Return the upper end of the confidence interval."""
        return index_at(state.fit, x, self.beta(state))
