r"""Projection onto a ball in the norm of a design.

Among :math:`|\theta| \le S` the point with the least :math:`|\theta - \theta_0|_A` is
:math:`\theta(m) = (I + m P)^{-1} \theta_0`, where :math:`P = A^{-1}` and m is such that the point has length S.
Newton steps for :math:`1/|\theta(m)| = 1/S` increase from m = 0 and never overshoot.
"""

from __future__ import annotations

import math

from ...protocols import FloatArray, rarely_called
from ._cholesky import factorise, solve_lower, solve_upper
from ._design import dot

MOST_BALL_STEPS = 60


@rarely_called
def into_ball(theta: FloatArray, inverse: FloatArray, bound: float, lower: FloatArray, scratch: FloatArray) -> None:
    """Project theta onto the ball of radius ``bound``; O(d), or O(d³) if it is outside.

    ``lower`` (d, d) and ``scratch`` (3, d) are overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> theta, inverse = np.array([1.5, -1.0]), np.linalg.inv(np.array([[4.0, 1.0], [1.0, 2.0]]))
    >>> into_ball(theta, inverse, 1.0, np.zeros((2, 2)), np.zeros((3, 2)))
    >>> theta.round(9)
    array([ 0.92682598, -0.37549114])
    """
    n, start, unit, image = len(theta), scratch[0], scratch[1], scratch[2]
    length = math.sqrt(dot(theta, theta))
    if length <= bound:
        return
    for i in range(n):
        start[i] = theta[i]
    m = 0.0
    for _ in range(MOST_BALL_STEPS):
        for i in range(n):
            for j in range(i + 1):
                lower[i, j] = m * inverse[i, j] + (1.0 if i == j else 0.0)
            theta[i] = start[i]
        factorise(lower)
        solve_lower(lower, theta)
        solve_upper(lower, theta)
        length = math.sqrt(dot(theta, theta))
        if length <= bound * (1.0 + 1e-12):
            break
        for i in range(n):
            unit[i] = theta[i] / length
        for i in range(n):
            image[i] = dot(inverse[i], unit)
        solve_lower(lower, unit)
        solve_lower(lower, image)
        m += (length / bound - 1.0) / dot(unit, image)
