r"""Clipped-SGD-UCB for linear rewards: the step of Dorn, Katrutsa, Latypov and Pudovikov (2024) in d dimensions.

*Assumes* rewards :math:`x'\theta` plus noise that is symmetric about zero; no moment need exist.  *Must be told* a
clipping level R, best about the median absolute deviation of the noise.  *When that fails*: if R is too large, the
estimate stays noisy; under skewed noise the clipped errors do not average to zero, so regret is linear unless
``intercept`` is set.

*Formula*: with :math:`V = \lambda I + \sum x x'`, after t rewards play the row with the highest
:math:`x'\hat\theta + c\,\sqrt{\ln t}\,|x|_{V^{-1}}`, then update V and

.. math::  \hat\theta \leftarrow \hat\theta + V^{-1} x\,\mathrm{clip}(r - x'\hat\theta, R)\ \text{(second order)}, \quad
           \hat\theta \leftarrow \hat\theta + \gamma\,x\,\mathrm{clip}(r - x'\hat\theta, R) \ \text{(first order)}

with the paper's constant step :math:`\gamma = 1/\ln(4(T+1)T^2)`.  With a single feature that is always 1, the second
order takes steps of :math:`1/(n + \lambda)`, and the first order those of Clipped-SGD-UCB.

*Cost*: O(d²) for a reward, O(d²) per row for a choice; 8 (4 d² + 4 d) bytes.

*Reference*: the step is the paper's, whose arms have no features; the rest is this library's.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from ..._validate import required_horizon
from ...numerics import clip
from ...protocols import FloatArray
from ...theory import practical_step
from ..entries import register_policy
from ..parameters import Flag, NonNegative, Positive
from ._design import add_row, dot
from ._rows import Fit, index_at, init_fit, lift, optimistic, step, tame, value_at


class LinearClippedSGDUCBState(NamedTuple):
    """The iterate, the design, and the step."""

    fit: Fit
    gamma: FloatArray  # the constant step, or 0 to step by the inverse of the design


@register_policy(
    "linear-clipped-sgd-ucb",
    needs="scale, symmetry; horizon for the first order",
    memory="8 (4 d² + 4 d) bytes in all",
    cost="O(K d²)",
    regret="none",
    reference="this library, after Dorn, Katrutsa, Latypov, Pudovikov 2024",
    kind="linear",
    pinned={"intercept": True},
    zoo={"coeff": 0.3},
)
class LinearClippedSGDUCB(NamedTuple):
    r"""Clipped-SGD-UCB for linear rewards.

    Parameters
    ----------
    clip
        R, the clipping level.
    coeff
        c, the weight of the exploration bonus.
    order
        ``"second"`` for steps by the inverse of the design, ``"first"`` for the paper's constant step.
    ridge
        :math:`\lambda`, the ridge penalty.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> import numpy as np
    >>> policy = LinearClippedSGDUCB(clip=1.0)
    >>> state = policy.init(n_features=2, horizon=None)
    >>> policy.update(state, np.array([1.0, 0.0]), 1e300)
    >>> policy.value(state, np.array([1.0, 0.0]))
    0.5
    """

    clip: Positive = 1.0
    coeff: NonNegative = 0.3
    order: Literal["second", "first"] = "second"
    ridge: Positive = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> LinearClippedSGDUCBState:
        step = (
            practical_step(required_horizon("LinearClippedSGDUCB", horizon, "step")) if self.order == "first" else 0.0
        )
        return LinearClippedSGDUCBState(init_fit(n_features, self.intercept, self.ridge), np.array([step]))

    def beta(self, t: int) -> float:
        """Return the radius after t rewards."""
        return self.coeff * math.sqrt(math.log(t)) if t > 1 else 0.0

    def select(self, state: LinearClippedSGDUCBState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest index."""
        return optimistic(state.fit, features, self.beta(t))

    def update(self, state: LinearClippedSGDUCBState, x: FloatArray, reward: float) -> None:
        """Take a clipped step."""
        fit, gamma = state.fit, state.gamma[0]
        lift(fit.row, x)
        error = clip(tame(reward) - dot(fit.theta, fit.row), self.clip)
        if gamma == 0.0:
            step(fit, error, 1.0)
            return
        add_row(fit.design, fit.row, 1.0)
        for i in range(len(fit.theta)):
            fit.theta[i] += gamma * error * fit.row[i]

    def value(self, state: LinearClippedSGDUCBState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.fit, x)

    def index_of(self, state: LinearClippedSGDUCBState, x: FloatArray, t: int) -> float:
        """Return the estimated value plus the bonus."""
        return index_at(state.fit, x, self.beta(t))
