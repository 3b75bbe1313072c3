r"""Hvt-UCB: Huber regression in one pass (Wang, Zhang, Zhao, Zhou 2025).

*Assumes* rewards :math:`x'\theta` plus noise with a moment of order :math:`1 + \varepsilon`; rows may change.  *Must be
told* :math:`\varepsilon`, a bound :math:`\nu^{1+\varepsilon}` on the central moment, a bound S on :math:`|\theta|`, and
the horizon T.  *When that fails*: errors are clipped only far out, so noise without that moment ruins the estimate, as
it does OFUL's.

*Formula*: let :math:`V_0 = \lambda I`, :math:`\alpha = 4`, :math:`e = (1-\varepsilon)/(2(1+\varepsilon))` and
:math:`s_{\min} = 1/\sqrt T`.  In round t the row with the highest :math:`x'\hat\theta + \beta_{t-1} |x|_{V^{-1}}` is
played.  Its reward r leads to

.. math::  \sigma = \max\Bigl(\nu, s_{\min}, \sqrt{\frac{2 \beta_{t-1}}{\tau_0 \sqrt\alpha\,t^e}}\,|x|_{V^{-1}}\Bigr),
           \qquad w = \frac{|x/\sigma|_{V^{-1}}}{\sqrt\alpha}, \qquad
           \tau = \tau_0 \frac{\sqrt{1 + w^2}}{w} t^e, \qquad V \leftarrow V + \frac{x x'}{\alpha \sigma^2},

and :math:`\hat\theta \leftarrow \Pi(\hat\theta + V^{-1} \mathrm{clip}((r - x'\hat\theta)/\sigma, \tau)\,x/\sigma)`,
where :math:`\Pi` is the projection onto :math:`|\theta| \le S` in the norm of V.  With
:math:`\ell = \ln(2T^2/\delta)`, the constants are

.. math::  \kappa = d \ln\Bigl(1 + \frac{T}{\alpha \lambda d\,s_{\min}^2}\Bigr), \qquad
           \tau_0 = \frac{\sqrt{2\kappa}\,\ln(3T)^e}{\ell^{1/(1+\varepsilon)}}, \qquad
           \beta_t = 107\,\ell\,\tau_0\,t^e + \sqrt{\lambda (2 + 4 S^2)}.

The update agrees with an independent summary of the paper; :math:`\kappa` and the factor 107 could not be confirmed,
and no published code was found.  The theory's radius is too wide to be of use: scale it down.

*Cost*: O(d²) for a reward, O(d³) if the estimate leaves the ball, O(d²) per row for a choice; 8 (5 d² + 7 d) bytes.

*Reference*: J. Wang, Y.-J. Zhang, P. Zhao, Z.-H. Zhou, Heavy-tailed linear bandits: Huber regression with one-pass
update, ICML 2025.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_same, require_within, required_horizon
from ...numerics import clip, power
from ...protocols import FloatArray, compilable
from ..entries import register_policy
from ..parameters import Flag, Fraction, NonNegative, Positive
from ._ball import into_ball
from ._design import dot, known_leverage
from ._growing_radius import GrowingRadius, exponent, first_level, init_growing_radius, radius_at
from ._rows import LARGEST_REWARD, Fit, index_at, init_fit, lift, optimistic, step, tame, value_at

ALPHA = 4.0
LEAST = 1e-150  # least w, so that a row of zeros causes no division by zero


class HvtUCBState(NamedTuple):
    """The estimate, and constants that depend on the horizon."""

    fit: Fit
    lower: FloatArray  # scratch for the projection
    scratch: FloatArray
    smallest: FloatArray  # s_min
    tau: FloatArray  # tau_0
    radius: GrowingRadius

    def check(self, fresh: HvtUCBState, n_arms: int) -> None:
        """Refuse a state made for another horizon, and an estimate too large to be projected onto the ball."""
        require_same(self, fresh, "smallest", "tau")
        require_within("theta", self.fit.theta, -LARGEST_REWARD, LARGEST_REWARD)


@compilable
def one_pass(fit: Fit, y: float, sigma: float, tau: float) -> None:
    """Take a clipped step for ``fit.row``; ``tau`` lacks the factor that depends on the row.

    Examples
    --------
    >>> fit = init_fit(n_features=2, intercept=False, ridge=2.0)
    >>> lift(fit.row, np.array([0.6, 0.8]))
    >>> one_pass(fit, 5.0, 1.0, 1.0)
    >>> fit.theta.round(9)
    array([0.8       , 1.06666667])
    """
    w = max(math.sqrt(known_leverage(fit.design, fit.row) / ALPHA) / sigma, LEAST)
    z = (y - dot(fit.theta, fit.row)) / sigma
    step(fit, clip(z, tau * math.sqrt(1.0 + w * w) / w) / sigma, 1.0 / (ALPHA * sigma * sigma))


@register_policy(
    "hvt-ucb",
    needs="horizon, moment order, moment bound, bound on theta",
    memory="8 (5 d² + 7 d) bytes in all",
    cost="O(K d²)",
    regret="O(d T^(1/(1 + eps))) up to logarithms, if the moment of order 1 + eps is at most nu^(1 + eps)",
    reference="Wang, Zhang, Zhao, Zhou 2025",
    kind="linear",
    example={"eps": 1.0, "nu": 1.0},
    pinned={"eps": 0.5, "nu": 1.0, "beta_scale": 0.0001},
    zoo={"eps": 0.5, "nu": 2.0, "beta_scale": 0.0001},
)
class HvtUCB(NamedTuple):
    r"""Hvt-UCB.

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
        Factor of the radius, also in :math:`\sigma`: 1 in the theory; about 1e-4 does well.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> policy = HvtUCB(eps=1.0, nu=1.0)
    >>> round(policy.beta(policy.init(n_features=10, horizon=10_000)), 6)
    8223.905943
    """

    eps: Fraction
    nu: Positive
    bound: Positive = 1.0
    ridge: NonNegative = 0.0
    delta: Fraction = 0.01
    beta_scale: NonNegative = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> HvtUCBState:
        rounds = required_horizon("HvtUCB", horizon, "radius")
        size = n_features + int(self.intercept)
        ridge = self.ridge if self.ridge > 0.0 else float(size)
        level, smallest = math.log(2.0 * rounds * rounds / self.delta), 1.0 / math.sqrt(rounds)
        kappa = size * math.log(1.0 + rounds / (ALPHA * ridge * size * smallest * smallest))
        tau = first_level(rounds, self.eps, self.delta, kappa)
        return HvtUCBState(
            fit=init_fit(n_features, self.intercept, ridge),
            lower=np.zeros((size, size)),
            scratch=np.zeros((3, size)),
            smallest=np.array([smallest]),
            tau=np.array([tau]),
            radius=init_growing_radius(
                slope=107.0 * level * tau, constant=math.sqrt(ridge * (2.0 + 4.0 * self.bound * self.bound))
            ),
        )

    def beta(self, state: HvtUCBState) -> float:
        """Return the radius."""
        return self.beta_scale * radius_at(state.radius, state.fit, self.eps)

    def select(self, state: HvtUCBState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest index."""
        return optimistic(state.fit, features, self.beta(state))

    def update(self, state: HvtUCBState, x: FloatArray, reward: float) -> None:
        """Take a clipped step, and project the estimate onto the ball."""
        fit = state.fit
        lift(fit.row, x)
        tau = state.tau[0] * power(fit.seen[0] + 1.0, exponent(self.eps))
        spread = math.sqrt(2.0 * self.beta(state) / (tau * math.sqrt(ALPHA)) * known_leverage(fit.design, fit.row))
        one_pass(fit, tame(reward), max(self.nu, state.smallest[0], spread), tau)
        into_ball(fit.theta, fit.design.inverse, self.bound, state.lower, state.scratch)

    def value(self, state: HvtUCBState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.fit, x)

    def index_of(self, state: HvtUCBState, x: FloatArray, t: int) -> float:
        """Return the upper end of the confidence interval."""
        return index_at(state.fit, x, self.beta(state))
