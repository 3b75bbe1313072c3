r"""Robust regression on waves: a smooth function from rewards at points, with its uncertainty.

The function is :math:`\theta' w(x)` (:mod:`._waves`), with a prior variance of :math:`\tau` times that of the noise in
all, spread over the waves by the length scale :math:`\ell`; the noise is Student's (:mod:`._student_noise`).  Given
:math:`\theta`, each reward is replaced with what it effectively says, the value of its point plus the effective
residual.  Least squares on these replaced rewards give the next :math:`\theta`: Fisher scoring, which needs
:math:`G = \sum w w'` only.  With P the diagonal of prior variances in units of the noise's, and b the sum of the
replaced rewards times their waves,

.. math::  \theta = (G + P^{-1})^{-1} b, \qquad \mathrm{cov}(\theta) = (G + P^{-1})^{-1}/I, \qquad
           L = -\tfrac12 \ln\det(1 + P^{1/2} G P^{1/2}) + \tfrac12 I\,b'(G + P^{-1})^{-1} b,

where L is the log marginal likelihood up to a constant.  Of all :math:`(\ell, \tau)` on a grid whose L is within 2 of
the highest, the one with the shortest :math:`\ell`, and for that the largest :math:`\tau`, is used: as long as rewards
do not rule out a wilder function, a smooth one is not taken for granted.

Between such fits, each reward takes one step of scoring, in :math:`O(m^2 + m c)` for m waves and c points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...protocols import FloatArray, IntArray, compilable, rarely_called
from ..linear._cholesky import eliminate, factorise, invert, solve_lower, solve_upper, subtract_rows
from ._student_noise import Law, effective_residual, fit_law, information
from ._waves import wave_heights, wave_variance

LENGTH_SCALES = np.array([0.1, 0.17, 0.28, 0.47, 0.78, 1.3])  # sides of the cube
SIGNALS = np.array([0.3, 3.0, 30.0, 300.0, 3000.0])  # variance of the function, in units of the noise's
LOG_LIKELIHOOD_SLACK = 2.0  # by how much the log likelihood of the function that is assumed may be below the highest
OFFSET_VARIANCE = 1000.0  # prior variance of the constant, beyond that of the other waves
LEAST_PRIOR = 1e-10  # least share of a wave in the prior variance
SCORING_STEPS = 3  # of scoring in a fit
LEAST_FREE = 0.2  # share of the rewards that are taken to be free, however many waves there are


class SmoothFit(NamedTuple):
    """What is known about the function at the first points, whose waves are the columns of ``heights``."""

    waves: FloatArray  # (m, dim)
    heights: FloatArray  # (m, points)
    gram: FloatArray  # G
    theta: FloatArray
    covariance: FloatArray  # of theta
    mean: FloatArray  # per point
    variance: FloatArray  # per point
    prior: FloatArray  # P
    law: Law
    matrix: FloatArray  # scratch: (m, m)
    vectors: FloatArray  # scratch: (3, m)
    sums: FloatArray  # scratch: per point, and for the covariance of a reward with the points
    residuals: FloatArray  # scratch: per reward that is kept
    marginals: FloatArray  # scratch: the log marginal likelihood by length scale and signal


def init_smooth_fit(waves: FloatArray, points: FloatArray, room: int, kept: int) -> SmoothFit:
    """Return a fit without rewards to these points, with room for more, and for so many rewards."""
    m = len(waves)
    heights = np.zeros((m, room))
    heights[:, : len(points)] = wave_heights(waves, points)
    return SmoothFit(
        waves=waves,
        heights=heights,
        gram=np.zeros((m, m)),
        theta=np.zeros(m),
        covariance=np.zeros((m, m)),
        mean=np.zeros(room),
        variance=np.zeros(room),
        prior=np.ones(m),
        law=Law(freedom=np.array([4.0]), scale=np.ones(1)),
        matrix=np.zeros((m, m)),
        vectors=np.zeros((3, m)),
        sums=np.zeros(room),
        residuals=np.zeros(kept),
        marginals=np.zeros((len(LENGTH_SCALES), len(SIGNALS))),
    )


@compilable
def count_row(fit: SmoothFit, point: int) -> None:
    """Add the waves of a point to the Gram matrix."""
    m, row = len(fit.theta), fit.vectors[0]
    for i in range(m):
        row[i] = fit.heights[i, point]
    for i in range(m):
        height = row[i]
        for j in range(m):
            fit.gram[i, j] += height * row[j]


@compilable
def take_step(fit: SmoothFit, size: int, point: int, y: float) -> None:
    """Learn from one reward by a step of scoring; :func:`count_row` has put the waves of its point into ``vectors``."""
    m, row, gain, shared = len(fit.theta), fit.vectors[0], fit.vectors[1], fit.sums
    freedom, scale = fit.law.freedom[0], fit.law.scale[0]
    total = 1.0 / information(freedom, scale) + fit.variance[point]
    step = effective_residual(y - fit.mean[point], freedom, scale) / total
    gain[:] = 0.0
    subtract_rows(gain, fit.covariance, 0, row, m)  # gain is negative,
    shared[:] = 0.0
    subtract_rows(shared, fit.heights, 0, gain, m)  # and this positive
    for c in range(size):
        fit.mean[c] += shared[c] * step
        fit.variance[c] = max(fit.variance[c] - shared[c] * shared[c] / total, 0.0)
    for i in range(m):
        fit.theta[i] -= gain[i] * step
        share = gain[i] / total
        for j in range(m):
            fit.covariance[i, j] -= share * gain[j]


@compilable
def set_values(fit: SmoothFit, first: int, last: int) -> None:
    """Work out the means of points from theta."""
    for c in range(first, last):
        fit.mean[c] = 0.0
    for i in range(len(fit.theta)):
        for c in range(first, last):
            fit.mean[c] += fit.theta[i] * fit.heights[i, c]


@rarely_called
def set_variances(fit: SmoothFit, size: int) -> None:
    """Work out the variances of the first points from the covariance of theta, which is symmetric."""
    shared, heights = fit.sums, fit.heights
    for c in range(size):
        fit.variance[c] = 0.0
    for i in range(len(fit.theta)):
        half = 0.5 * fit.covariance[i, i]
        for c in range(size):
            shared[c] = 0.0 - half * heights[i, c]
        eliminate(shared, heights, fit.covariance[i], 0, i, size)
        for c in range(size):
            fit.variance[c] -= 2.0 * shared[c] * heights[i, c]
    for c in range(size):
        fit.variance[c] = max(fit.variance[c], 0.0)


@compilable
def set_prior(fit: SmoothFit, length_scale: float, signal: float) -> None:
    """Spread the variance of the function over the waves."""
    total = 0.0
    for i in range(len(fit.prior)):
        fit.prior[i] = wave_variance(fit.waves[i], length_scale)
        total += fit.prior[i]
    for i in range(len(fit.prior)):
        fit.prior[i] = max(fit.prior[i] * signal / total, LEAST_PRIOR * signal)
    fit.prior[0] = OFFSET_VARIANCE * (1.0 + signal)


@compilable
def factor_prior(fit: SmoothFit) -> None:
    """Put the factor of 1 + P^(1/2) G P^(1/2) into the scratch matrix, and the roots of P into the first vector."""
    roots = fit.vectors[0]
    for i in range(len(roots)):
        roots[i] = math.sqrt(fit.prior[i])
        for j in range(i + 1):
            fit.matrix[i, j] = roots[i] * fit.gram[i, j] * roots[j]
        fit.matrix[i, i] += 1.0
    factorise(fit.matrix)


@compilable
def log_marginal(fit: SmoothFit, b: FloatArray) -> float:
    """Return the log marginal likelihood under the prior in force, up to a constant; it is left factored."""
    roots, turned = fit.vectors[0], fit.vectors[2]
    factor_prior(fit)
    for i in range(len(b)):
        turned[i] = roots[i] * b[i]
    solve_lower(fit.matrix, turned)
    square, log_det = 0.0, 0.0
    for i in range(len(b)):
        square += turned[i] * turned[i]
        log_det += math.log(fit.matrix[i, i])
    return 0.5 * information(fit.law.freedom[0], fit.law.scale[0]) * square - log_det


@rarely_called
def choose_prior(fit: SmoothFit, b: FloatArray) -> None:
    """Assume the shortest length scale that the likelihood does not rule out, and for that the largest signal."""
    heights, highest = fit.marginals, -math.inf
    for i in range(len(LENGTH_SCALES)):
        for j in range(len(SIGNALS)):
            set_prior(fit, LENGTH_SCALES[i], SIGNALS[j])
            heights[i, j] = log_marginal(fit, b)
            highest = max(highest, heights[i, j])
    for i in range(len(LENGTH_SCALES)):
        for j in range(len(SIGNALS) - 1, -1, -1):
            if heights[i, j] >= highest - LOG_LIKELIHOOD_SLACK:
                set_prior(fit, LENGTH_SCALES[i], SIGNALS[j])
                return


@compilable
def solve_theta(fit: SmoothFit, b: FloatArray) -> None:
    """Set theta to the solution of least squares under the prior in force."""
    log_marginal(fit, b)
    roots, turned = fit.vectors[0], fit.vectors[2]
    solve_upper(fit.matrix, turned)
    for i in range(len(b)):
        fit.theta[i] = roots[i] * turned[i]


@compilable
def set_covariance(fit: SmoothFit, n: float) -> None:
    """Work out the covariance of theta after n rewards from the factor in the scratch matrix.

    Residuals are the smaller the more waves n rewards can be fitted by, so the variance of the noise is taken to be
    n/(n - k) times what they suggest, for k effective waves.
    """
    m, roots = len(fit.theta), fit.vectors[0]
    invert(fit.matrix, fit.covariance)
    waves = float(m)
    for i in range(m):
        waves -= fit.covariance[i, i]
    variance = n / max(n - waves, LEAST_FREE * n) / information(fit.law.freedom[0], fit.law.scale[0])
    for i in range(m):
        for j in range(m):
            fit.covariance[i, j] *= variance * (roots[i] * roots[j])


@rarely_called
def refit(
    fit: SmoothFit, size: int, points: IntArray, rewards: FloatArray, n: int, frozen: FloatArray, by_means: bool
) -> None:
    """Fit the law, the prior and the function to n rewards and to the sums of replaced ones that are kept no more.

    Variances of points are left to :func:`set_variances`.
    """
    b, residuals = fit.vectors[1], fit.residuals
    for step in range(SCORING_STEPS):
        set_values(fit, 0, size)
        for k in range(n):
            residuals[k] = rewards[k] - fit.mean[points[k]]
        fit_law(fit.law, residuals, n, by_means)
        freedom, scale = fit.law.freedom[0], fit.law.scale[0]
        for c in range(size):
            fit.sums[c] = frozen[c]
        for k in range(n):
            point = points[k]
            fit.sums[point] += fit.mean[point] + effective_residual(residuals[k], freedom, scale)
        b[:] = 0.0
        for c in range(size):
            if fit.sums[c] != 0.0:  # most points were never played
                for i in range(len(b)):
                    b[i] += fit.heights[i, c] * fit.sums[c]
        if step == SCORING_STEPS - 1:
            choose_prior(fit, b)
        solve_theta(fit, b)
    set_covariance(fit, fit.gram[0, 0])
    set_values(fit, 0, size)
