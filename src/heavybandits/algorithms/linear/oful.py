r"""OFUL: optimism in the face of uncertainty for linear rewards (Abbasi-Yadkori, Pál, Szepesvári 2011).

*Assumes* rewards :math:`x'\theta` plus sub-Gaussian noise.  *Must be told* the scale R of the noise and a bound S on
:math:`|\theta|`.  *When that fails*: it is least squares, so one reward of 1e6 spoils the estimate for about 1e6
rounds; heavy tails make regret linear.

*Formula*: with :math:`V = \lambda I + \sum x x'` and :math:`\hat\theta = V^{-1} \sum x r`, play the row with the
highest

.. math::  x'\hat\theta + \beta\,|x|_{V^{-1}}, \qquad
           \beta = R\,\sqrt{\ln(\det V/\lambda^d) + 2 \ln(1/\delta)} + \sqrt\lambda\,S.

For one-hot features and :math:`\lambda \to 0` it is UCB.  *Cost*: O(d²) for a reward, O(d²) per row for a choice;
8 (4 d² + 4 d) bytes.

*Reference*: Y. Abbasi-Yadkori, D. Pál, C. Szepesvári, Improved algorithms for linear stochastic bandits, NIPS 2011.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import Flag, Fraction, NonNegative, Positive
from ._rows import Fit, index_at, init_fit, learn_fit, optimistic, tame, value_at


class OFULState(NamedTuple):
    """The least-squares estimate."""

    fit: Fit


@register_policy(
    "oful",
    needs="scale, bound on theta",
    memory="8 (4 d² + 4 d) bytes in all",
    cost="O(K d²)",
    regret="O(d sqrt(T) ln T), for sub-Gaussian noise of that scale",
    reference="Abbasi-Yadkori, Pál, Szepesvári 2011",
    kind="linear",
    pinned={"beta_scale": 0.3},
    zoo={"beta_scale": 0.3},
)
class OFUL(NamedTuple):
    r"""OFUL.

    Parameters
    ----------
    scale
        R, the scale of the noise.
    bound
        S, an upper bound on the norm of theta.
    ridge
        :math:`\lambda`, the ridge penalty.
    delta
        :math:`\delta`, the failure probability of the bound.
    beta_scale
        Factor of the radius: 1 in the theory; about 0.3 does better.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> import numpy as np
    >>> policy = OFUL(scale=1.0)
    >>> state = policy.init(n_features=2, horizon=None)
    >>> policy.update(state, np.array([1.0, 0.0]), 0.5)
    >>> policy.value(state, np.array([1.0, 0.0]))
    0.25
    >>> policy.select(state, np.eye(2), 1, None)
    1
    """

    scale: Positive = 1.0
    bound: NonNegative = 1.0
    ridge: Positive = 1.0
    delta: Fraction = 0.01
    beta_scale: NonNegative = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> OFULState:
        return OFULState(init_fit(n_features, self.intercept, self.ridge))

    def beta(self, state: OFULState) -> float:
        """Return the radius."""
        grown = state.fit.design.log_det[0] - 2.0 * math.log(self.delta)
        return float(self.beta_scale * (self.scale * math.sqrt(grown) + math.sqrt(self.ridge) * self.bound))

    def select(self, state: OFULState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest index."""
        return optimistic(state.fit, features, self.beta(state))

    def update(self, state: OFULState, x: FloatArray, reward: float) -> None:
        """Update the least-squares estimate with a reward."""
        learn_fit(state.fit, x, tame(reward))

    def value(self, state: OFULState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.fit, x)

    def index_of(self, state: OFULState, x: FloatArray, t: int) -> float:
        """Return the upper end of the confidence interval."""
        return index_at(state.fit, x, self.beta(state))
