r"""Student noise with learned tails: how far residuals count.

With :math:`\nu` degrees of freedom and scale s, a residual r has the score and every reward the information

.. math::  \psi(r) = \frac{(\nu + 1)\,r}{\nu s^2 + r^2}, \qquad I = \frac{\nu + 1}{(\nu + 3)\,s^2},

so that :math:`\psi(r)/I` takes the place of the residual: it is about r if r is small, and falls off beyond
:math:`\sqrt\nu\,s`.  The scale is the most likely one, and so is :math:`\nu`, of 1, 2, 4, 10 and infinity.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...protocols import FloatArray, compilable

FREEDOMS = np.array([1.0, 2.0, 4.0, 10.0, math.inf])
GAUSSIAN = len(FREEDOMS) - 1
# logarithm of the height of each density at 0, for scale 1
PEAKS = np.array(
    [math.lgamma((n + 1) / 2) - math.lgamma(n / 2) - 0.5 * math.log(n * math.pi) for n in FREEDOMS[:-1].tolist()]
    + [-0.5 * math.log(2.0 * math.pi)]
)
SCALE_STEPS = 12  # of the fixed-point iteration for the scale, which about halves the error
LEAST_SCALE = 1e-6  # in units of the spread of the first rewards


class Law(NamedTuple):
    """A law of the noise; each field is an array of length one."""

    freedom: FloatArray
    scale: FloatArray


@compilable
def weight_of(z: float, freedom: float) -> float:
    """Return by what a residual of z scales is multiplied in the score."""
    return 1.0 if freedom == math.inf else (freedom + 1.0) / (freedom + z * z)


@compilable
def information(freedom: float, scale: float) -> float:
    """Return the information of a reward about the location."""
    return (1.0 if freedom == math.inf else (freedom + 1.0) / (freedom + 3.0)) / (scale * scale)


@compilable
def effective_residual(r: float, freedom: float, scale: float) -> float:
    """Return the score of a residual divided by the information.

    Examples
    --------
    >>> effective_residual(3.0, math.inf, 1.0), round(effective_residual(3.0, 1.0, 1.0), 6)
    (3.0, 1.2)
    """
    z = r / scale
    return r * weight_of(z, freedom) / (scale * scale * information(freedom, scale))


@compilable
def fit_law(law: Law, residuals: FloatArray, n: int, only_gaussian: bool) -> None:
    """Replace the law with the most likely one, given the first n residuals.

    Examples
    --------
    >>> law = Law(freedom=np.ones(1), scale=np.ones(1))
    >>> fit_law(law, np.random.default_rng(0).standard_t(2.0, 4000), 4000, False)
    >>> float(law.freedom[0]), float(law.scale[0].round(1))
    (2.0, 1.0)
    """
    highest, start = -math.inf, law.scale[0]
    for i in range(GAUSSIAN if only_gaussian else 0, GAUSSIAN + 1):
        freedom, scale = FREEDOMS[i], start
        for _ in range(SCALE_STEPS):
            total = 0.0
            for k in range(n):
                z = residuals[k] / scale
                total += weight_of(z, freedom) * z * z
            scale = max(scale * math.sqrt(total / n), LEAST_SCALE)
        log_likelihood = n * (PEAKS[i] - math.log(scale))
        for k in range(n):
            z = residuals[k] / scale
            if i == GAUSSIAN:
                log_likelihood -= 0.5 * z * z
            else:
                log_likelihood -= 0.5 * (freedom + 1.0) * math.log1p(z * z / freedom)
        if log_likelihood > highest:
            highest = log_likelihood
            law.freedom[0], law.scale[0] = freedom, scale
