r"""The largest mean of a law that has a bounded moment and is near the given rewards.

In units in which the bound is 1, minimise :math:`F = \lambda_1 + \lambda_2 - G`, where
:math:`G = e^{-C} \exp(\frac1n \sum_s \ln z_s)` and :math:`z_s = \lambda_1 - x_s + \lambda_2 |x_s|^p`, over the pairs
for which :math:`\lambda_1 - y + \lambda_2 |y|^p` is nowhere negative.  As that is least at
:math:`y = (p \lambda_2)^{-1/\varepsilon}`, the condition is :math:`\lambda_1 \ge \varphi(\lambda_2) = \varepsilon y/p`.
This border is convex, with :math:`\varphi' = -y^p` and :math:`\varphi'' = p y^p/(\varepsilon \lambda_2)`.  F is convex
too: its gradient is 1 minus G times the means of :math:`(1/z, |x|^p/z)`, and its Hessian is G times their covariance.

Newton's method steps to the minimum of the quadratic model.  If that lies beyond the border, it steps to the minimum on
the border's tangent instead, with the border's curvature added.  If F has no minimum, no law is near enough; the search
stops when F falls below -1, the lowest mean there can be.
"""

from __future__ import annotations

import math

from ...protocols import FloatArray, rarely_called
from ..parts.state.pool import Pool

LAMBDA_1, LAMBDA_2, LOG_MEAN, OPTIMUM = range(4)  # columns of a table of optima; the last two: mean of ln z, and F
EXACT_DECREMENT = 1e-9  # decrement at which the quadratic model is exact to the last digits
HESSIAN_RIDGE = 1.0 + 1e-10  # keeps the Hessian regular: the covariance of two rewards has rank one


@rarely_called
def moments(rewards: Pool, arm: int, first: float, second: float) -> tuple[float, float, float, float, float, float]:
    """Return the mean of ln z, the means of 1/z and a/z, and the variance, covariance and variance of these two.

    Records are pairs (x, a), where a = |x|^p.

    Examples
    --------
    >>> from heavybandits.algorithms.parts.state.pool import append, init_pool
    >>> pool = init_pool(n_arms=1, horizon=None, width=2)
    >>> at = append(pool, 0)
    >>> pool.records[at : at + 2] = 1.0, 1.0
    >>> [float(x) for x in moments(pool, 0, 1.5, 0.5)]
    [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    """
    records, start, n = rewards.records, rewards.start[arm], rewards.size[arm]
    least = 1e-14 * first  # rounding must not make z negative
    log, product = 0.0, 1.0  # one logarithm of a product is cheaper than many logarithms
    sum_1, sum_2, sum_11, sum_12, sum_22 = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(start, start + 2 * n, 2):
        a = float(records[i + 1])
        z = max(first - float(records[i]) + second * a, least)
        if z > 1e50:
            log += math.log(z)
        else:
            product *= z
            if not 1e-50 < product < 1e50:
                log += math.log(product)
                product = 1.0
        inverse = 1.0 / z
        weighted = a * inverse
        sum_1 += inverse
        sum_2 += weighted
        sum_11 += inverse * inverse
        sum_12 += inverse * weighted
        sum_22 += weighted * weighted
    log += math.log(product)
    m1, m2 = sum_1 / n, sum_2 / n
    return log / n, m1, m2, max(sum_11 / n - m1 * m1, 0.0), sum_12 / n - m1 * m2, max(sum_22 / n - m2 * m2, 0.0)


@rarely_called
def solve(rewards: Pool, arm: int, optima: FloatArray, budget: float, eps: float) -> None:
    """Replace the arm's row of ``optima`` with the optimum at C = ``budget``, starting from the pair in that row."""
    p = 1.0 + eps
    shrink = 1.0 - max(0.2, math.exp(-3.0 * eps))  # largest relative step down of the second: y grows at most 20-fold
    first, second = float(optima[arm, LAMBDA_1]), float(optima[arm, LAMBDA_2])
    log, m1, m2, c11, c12, c22 = moments(rewards, arm, first, second)
    value = math.inf
    for _ in range(100):
        g = math.exp(min(log - budget, 700.0))
        value = first + second - g
        if value <= -1.0:
            break
        slope_1, slope_2 = 1.0 - g * m1, 1.0 - g * m2
        h11, h12, h22 = g * c11 * HESSIAN_RIDGE + 1e-300, g * c12, g * c22 * HESSIAN_RIDGE + 1e-300
        y = (p * second) ** (-1.0 / eps)
        slack, steep = max(first - eps * y / p, 0.0), y**p
        determinant = h11 * h22 - h12 * h12
        step_1, step_2 = 0.0, 0.0
        if determinant > 0.0:
            step_1 = (slope_2 * h12 - slope_1 * h22) / determinant
            step_2 = (slope_1 * h12 - slope_2 * h11) / determinant
        if determinant <= 0.0 or slack + step_1 + steep * step_2 < 0.0:
            bend = h11 * steep * steep - 2.0 * h12 * steep + h22 + max(slope_1, 0.0) * p * steep / (eps * second)
            step_2 = -(slope_2 - slope_1 * steep - slack * (h12 - h11 * steep)) / max(bend, 1e-300)
            step_1 = -slack - steep * step_2
        decrement = -(slope_1 * step_1 + slope_2 * step_2)
        if decrement <= EXACT_DECREMENT:
            value -= 0.5 * max(decrement, 0.0)
            break
        part = min(1.0, shrink * second / max(-step_2, 1e-300), 4.0 * second / max(step_2, 1e-300))
        improved = False
        for _ in range(30):
            second_new = second + part * step_2
            border = eps / p * (p * second_new) ** (-1.0 / eps)
            first_new = max(first + part * step_1, border)
            log, m1, m2, c11, c12, c22 = moments(rewards, arm, first_new, second_new)
            improved = first_new + second_new - math.exp(min(log - budget, 700.0)) <= value - 1e-4 * part * decrement
            if improved:
                break
            part *= 0.25
        if not improved:  # this is as good as rounding allows
            log = moments(rewards, arm, first, second)[0]
            break
        first, second = first_new, second_new
    optima[arm, LAMBDA_1], optima[arm, LAMBDA_2], optima[arm, LOG_MEAN] = first, second, log
    optima[arm, OPTIMUM] = min(max(value, -1.0), 1.0)
