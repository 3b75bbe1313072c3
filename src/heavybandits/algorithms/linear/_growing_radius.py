r"""The radius of TOFU, Heavy-OFUL and Hvt-UCB, which grows with the number of rewards.

For noise with a moment of order :math:`1 + \varepsilon` it is

.. math::  \beta_t = b\,t^e + c, \qquad e = \frac{1 - \varepsilon}{2(1 + \varepsilon)},

and the levels beyond which rewards are clipped also grow as :math:`t^e`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import require_same
from ...numerics import power
from ...protocols import FloatArray, compilable
from ._rows import Fit


class GrowingRadius(NamedTuple):
    """Constants that depend on the horizon; each field is an array of length one."""

    slope: FloatArray  # b
    constant: FloatArray  # c

    def check(self, fresh: GrowingRadius, n_arms: int) -> None:
        """Refuse a radius made for another horizon."""
        require_same(self, fresh, *self._fields)


def init_growing_radius(slope: float, constant: float) -> GrowingRadius:
    """Return a radius with these constants."""
    return GrowingRadius(slope=np.array([slope]), constant=np.array([constant]))


@compilable
def exponent(eps: float) -> float:
    """Return e, the exponent at which the radius grows."""
    return 0.5 * (1.0 - eps) / (1.0 + eps)


@compilable
def growth(fit: Fit, eps: float) -> float:
    """Return t to the power of e, where t is the number of rewards in a fit."""
    return power(max(float(fit.seen[0]), 1.0), exponent(eps))


@compilable
def radius_at(radius: GrowingRadius, fit: Fit, eps: float) -> float:
    """Return the radius for the number of rewards in a fit.

    Examples
    --------
    >>> from heavybandits.algorithms.linear._rows import init_fit
    >>> fit = init_fit(n_features=1, intercept=False, ridge=1.0)
    >>> fit.seen[0] = 64
    >>> radius_at(init_growing_radius(slope=3.0, constant=1.0), fit, eps=0.5)  # 3 * 64^(1/6) + 1
    7.0
    """
    return float(radius.slope[0] * growth(fit, eps) + radius.constant[0])


def first_level(rounds: int, eps: float, delta: float, kappa: float) -> float:
    r"""Return :math:`\tau_0 = \sqrt{2\kappa}\,\ln(3T)^e/\ln(2T^2/\delta)^{1/(1+\varepsilon)}`."""
    spread, level = math.log(3.0 * rounds) ** exponent(eps), math.log(2.0 * rounds * rounds / delta)
    return float(math.sqrt(2.0 * kappa) * spread / level ** (1.0 / (1.0 + eps)))
