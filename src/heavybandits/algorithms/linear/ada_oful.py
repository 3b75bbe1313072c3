r"""AdaOFUL: adaptive soft Huber regression under OFU, for noise with a variance (Li, Sun 2023).

*Assumes* rewards :math:`x'\theta` plus noise with a variance; rows may change.  *Must be told* a bound :math:`\nu^2` on
that variance, a bound S on :math:`|\theta|`, the horizon T, and the radius.  *When that fails*: the loss grows only
linearly far out, which limits the effect of outliers.  But levels grow with the number of rewards, so noise without a
mean ruins the estimate in the end.

*Formula*: adaptive regression with the soft loss :math:`\tau(\sqrt{\tau^2 + z^2} - \tau)` (:mod:`._adaptive_huber`),
with :math:`|x| = |x|_{H^{-1}}` and :math:`\ell = \ln(2T^2/\delta)`,

.. math::  \sigma = \max\Bigl(\nu, \frac1{\sqrt T}, |x|, \sqrt{|x|}\,(42\,\ell/d)^{1/4}\Bigr), \qquad
           w = \frac{|x|}\sigma, \qquad \tau = \tau_0 \frac{\sqrt{1 + w^2}}{w},

and the row with the highest :math:`x'\hat\theta + \beta\,|x|_{H^{-1}}` is played.  The formulas and the defaults
:math:`\lambda = 0.1`, :math:`\tau_0 = 1`, :math:`\beta = 1` are those of public code; the theory's radius and
:math:`\tau_0` could not be confirmed and are not offered.  In the paper :math:`\nu` may change every round; here it is
constant.

*Cost*: O(d²) for a reward, plus 20 to 100 times O(d) as its share of the fits; O(d³) if the estimate leaves the ball;
O(d²) per row for a choice; at most 32 (d + 3) bytes per reward.

*Reference*: X. Li, Q. Sun, Variance-aware robust reinforcement learning with linear function approximation under
heavy-tailed rewards, 2023.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..._validate import required_horizon
from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import Flag, Fraction, NonNegative, Positive
from ._adaptive_huber import (
    AdaptiveHuber,
    Scales,
    init_adaptive_huber,
    init_scales,
    level_of,
    scale_of,
    take_in,
    width_of,
)
from ._rows import index_at, optimistic, tame, value_at


class AdaOFULState(NamedTuple):
    """The regression, and the scales, which depend on the horizon."""

    huber: AdaptiveHuber
    scales: Scales


@register_policy(
    "ada-oful",
    needs="horizon, variance bound, bound on theta, radius",
    memory="32 (d + 3) n bytes in all",
    cost="O(K d²) amortised",
    regret="none with a constant radius; O(d sqrt(T)) up to logarithms with the theory's, if the variance is finite",
    reference="Li, Sun 2023",
    kind="linear",
    example={"nu": 1.0},
    pinned={"nu": 1.0, "intercept": True},
    zoo={"nu": 2.0},
)
class AdaOFUL(NamedTuple):
    r"""AdaOFUL.

    Parameters
    ----------
    nu
        The variance of the noise is at most :math:`\nu^2`.
    beta
        The radius.
    bound
        S, an upper bound on the norm of theta.
    tau
        :math:`\tau_0`, the factor of the levels.
    ridge
        :math:`\lambda`, the ridge penalty.
    delta
        :math:`\delta`, the failure probability in the scales.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> import numpy as np
    >>> policy = AdaOFUL(nu=1.0)
    >>> state = policy.init(n_features=2, horizon=100)
    >>> policy.update(state, np.array([1.0, 0.0]), 1e300)
    >>> policy.select(state, np.eye(2), 1, None)
    0
    """

    nu: Positive
    beta: NonNegative = 1.0
    bound: Positive = 1.0
    tau: Positive = 1.0
    ridge: Positive = 0.1
    delta: Fraction = 0.001
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> AdaOFULState:
        rounds = required_horizon("AdaOFUL", horizon, "scale")
        level = math.log(2.0 * rounds * rounds / self.delta)
        size = n_features + int(self.intercept)
        return AdaOFULState(
            huber=init_adaptive_huber(n_features, self.intercept, self.ridge, rounds),
            scales=init_scales(smallest=1.0 / math.sqrt(rounds), per_width=1.0, per_root=(42.0 * level / size) ** 0.25),
        )

    def select(self, state: AdaOFULState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest index."""
        return optimistic(state.huber.fit, features, self.beta)

    def update(self, state: AdaOFULState, x: FloatArray, reward: float) -> None:
        """Update the fit with a reward, whose scale and level depend on its row."""
        width = width_of(state.huber, x)
        scale = scale_of(state.scales, self.nu, width)
        take_in(state.huber, tame(reward), scale, level_of(self.tau, width / scale), self.bound, True)

    def value(self, state: AdaOFULState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.huber.fit, x)

    def index_of(self, state: AdaOFULState, x: FloatArray, t: int) -> float:
        """Return the upper end of the confidence interval."""
        return index_at(state.huber.fit, x, self.beta)
