r"""Heavy-OFUL: adaptive Huber regression under OFU (Huang, Zhong, Wang, Yang 2023).

*Assumes* rewards :math:`x'\theta` plus noise with a moment of order :math:`1 + \varepsilon`; rows may change.  *Must be
told* :math:`\varepsilon`, a bound :math:`\nu^{1+\varepsilon}` on the central moment, a bound S on :math:`|\theta|`, and
the horizon T.  *When that fails*: after 10 000 rewards levels are about 100 times the scale of the noise, so hardly
anything is ever clipped, and noise without that moment ruins the estimate, as it does OFUL's.

*Formula*: adaptive Huber regression (:mod:`._adaptive_huber`) with, in round t and for :math:`|x| = |x|_{H^{-1}}`,

.. math::  \sigma = \max\Bigl(\nu, \frac1{\sqrt T}, \frac{|x|}{c_0}, \frac{\sqrt{|x|}}{(2 c_1 \kappa)^{1/4}}\Bigr),
           \qquad w = \frac{|x|}\sigma, \qquad \tau = \tau_0 \frac{\sqrt{1 + w^2}}{w} t^e, \qquad
           e = \frac{1 - \varepsilon}{2(1 + \varepsilon)}.

The row with the highest :math:`x'\hat\theta + \beta_t\,|x|_{H^{-1}}` is played.  With :math:`\ell = \ln(2T^2/\delta)`
and :math:`\kappa = d \ln(1 + T^2/(d\lambda))`,

.. math::  c_0 = \frac1{\sqrt{23 \ell}}, \quad c_1 = \frac{\ln(3T)^{2e}}{48\,\ell^{2/(1+\varepsilon)}}, \quad
           \tau_0 = \frac{\sqrt{2\kappa}\,\ln(3T)^e}{\ell^{1/(1+\varepsilon)}}, \quad
           \beta_t = 3 \sqrt\lambda\,S + 24\,t^e \sqrt{2\kappa}\,\ln(3T)^e\,\ell^{\varepsilon/(1+\varepsilon)}.

These constants agree with public code, which has :math:`\lambda = d/100` and divides :math:`\beta_t` by 10 000.  There
:math:`\nu` may change every round; here it is constant.

*Cost*: O(d²) for a reward, plus 20 to 100 times O(d) as its share of the fits; O(d³) if the estimate leaves the ball;
O(d²) per row for a choice; at most 32 (d + 3) bytes per reward.

*Reference*: J. Huang, H. Zhong, L. Wang, L. F. Yang, Tackling heavy-tailed rewards in reinforcement learning with
function approximation: minimax optimal and instance-dependent regret bounds, NeurIPS 2023.
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
from ._growing_radius import GrowingRadius, exponent, first_level, init_growing_radius, radius_at
from ._rows import index_at, optimistic, tame, value_at


class HeavyOFULState(NamedTuple):
    """The regression, and constants that depend on the horizon."""

    huber: AdaptiveHuber
    scales: Scales
    tau: FloatArray  # tau_0
    radius: GrowingRadius

    def check(self, fresh: HeavyOFULState, n_arms: int) -> None:
        """Refuse a state made for another horizon."""
        require_same(self, fresh, "tau")


@register_policy(
    "heavy-oful",
    needs="horizon, moment order, moment bound, bound on theta",
    memory="32 (d + 3) n bytes in all",
    cost="O(K d²) amortised",
    regret="O(d T^(1/(1 + eps))) up to logarithms, if the moment of order 1 + eps is at most nu^(1 + eps)",
    reference="Huang, Zhong, Wang, Yang 2023",
    kind="linear",
    example={"eps": 1.0, "nu": 1.0},
    pinned={"eps": 0.5, "nu": 1.0, "beta_scale": 0.0001},
    zoo={"eps": 0.5, "nu": 2.0, "beta_scale": 0.0001},
)
class HeavyOFUL(NamedTuple):
    r"""Heavy-OFUL.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: the moment of order :math:`1 + \varepsilon` is finite.
    nu
        That central moment is at most :math:`\nu^{1+\varepsilon}`.
    bound
        S, an upper bound on the norm of theta.
    ridge
        :math:`\lambda`, the ridge penalty; 0 for the theory's value, the number of features.
    delta
        :math:`\delta`, the failure probability of the bound.
    beta_scale
        Factor of the radius: 1 in the theory, 1e-4 in the public experiments.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> policy = HeavyOFUL(eps=1.0, nu=1.0)
    >>> round(policy.beta(policy.init(n_features=10, horizon=10_000)), 6)
    1952.420148
    """

    eps: Fraction
    nu: Positive
    bound: Positive = 1.0
    ridge: NonNegative = 0.0
    delta: Fraction = 0.01
    beta_scale: NonNegative = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> HeavyOFULState:
        rounds = required_horizon("HeavyOFUL", horizon, "radius")
        size, order = n_features + int(self.intercept), 1.0 + self.eps
        ridge = self.ridge if self.ridge > 0.0 else float(size)
        level, spread = math.log(2.0 * rounds * rounds / self.delta), math.log(3.0 * rounds) ** exponent(self.eps)
        kappa = size * math.log(1.0 + float(rounds) * rounds / (size * ridge))
        c1 = spread * spread / (48.0 * level ** (2.0 / order))
        return HeavyOFULState(
            huber=init_adaptive_huber(n_features, self.intercept, ridge, rounds),
            scales=init_scales(
                smallest=1.0 / math.sqrt(rounds),
                per_width=math.sqrt(23.0 * level),
                per_root=(2.0 * c1 * kappa) ** -0.25,
            ),
            tau=np.array([first_level(rounds, self.eps, self.delta, kappa)]),
            radius=init_growing_radius(
                slope=24.0 * math.sqrt(2.0 * kappa) * spread * level ** (self.eps / order),
                constant=3.0 * math.sqrt(ridge) * self.bound,
            ),
        )

    def beta(self, state: HeavyOFULState) -> float:
        """Return the radius."""
        return self.beta_scale * radius_at(state.radius, state.huber.fit, self.eps)

    def select(self, state: HeavyOFULState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest index."""
        return optimistic(state.huber.fit, features, self.beta(state))

    def update(self, state: HeavyOFULState, x: FloatArray, reward: float) -> None:
        """Update the fit with a reward, whose scale and level depend on its row."""
        huber = state.huber
        width = width_of(huber, x)
        scale = scale_of(state.scales, self.nu, width)
        level = level_of(state.tau[0], width / scale) * power(huber.fit.seen[0] + 1.0, exponent(self.eps))
        take_in(huber, tame(reward), scale, level, self.bound, False)

    def value(self, state: HeavyOFULState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.huber.fit, x)

    def index_of(self, state: HeavyOFULState, x: FloatArray, t: int) -> float:
        """Return the upper end of the confidence interval."""
        return index_at(state.huber.fit, x, self.beta(state))
