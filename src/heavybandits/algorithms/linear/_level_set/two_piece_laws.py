r"""Two-piece Student laws, with which the linear level-set policies model the noise.

A law has degrees of freedom :math:`\nu_-` below and :math:`\nu_+` above its mode 0, and is q times as wide above as
below.  Its loss and weight at z, a residual in units of the lower scale, are

.. math::  \rho(z) = \tfrac{\nu + 1}{2} \ln(1 + y^2/\nu), \qquad
           w(z) = \rho'(z)/z = \frac{\nu + 1}{(\nu + y^2)\,q_\pm^2}

with the :math:`\nu` of its side, :math:`y = z/q_\pm`, and :math:`q_\pm` = 1 below and q above.  With the probabilities
:math:`p_\pm` of its sides, its *slack* is

.. math::  k = \frac32 \Bigl(\frac{p_-}{\nu_- + 1} + \frac{p_+}{\nu_+ + 1}\Bigr),

but 0.05 for least squares.

One more law is *contaminated*: normal noise, a share of which is replaced by gross errors, Cauchy noise of 5 scales.
No Student law resembles it, because it is normal in the middle however heavy its tails are.  With g the height of the
gross errors relative to that of the normal noise at 0,

.. math::  \rho(z) = -\ln\Bigl(e^{-z^2/2} + \frac{g}{1 + z^2/25}\Bigr).

In its width and its slack :math:`\nu + 1` is 4.

Each law is a row of a table, which also holds constants derived from these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from ....protocols import FloatArray, compilable, compiled_as, rarely_called

SYMMETRIC = ((1.0, 1.0, 1.0), (0.6, 0.6, 1.0), (2.0, 2.0, 1.0), (4.0, 4.0, 1.0), (30.0, 30.0, 1.0))  # Cauchy first
SKEWED = ((30.0, 1.0, 3.0), (4.0, 1.0, 2.0), (30.0, 2.0, 8.0), (30.0, 30.0, 3.0))
MIRRORED = tuple((above, below, 1.0 / ratio) for below, above, ratio in SKEWED)
NORMAL = 1e300  # degrees of freedom
CONTAMINATED = (NORMAL, NORMAL, 1.0, 0.1)  # the last number is the share of gross errors
LEARNED = (*SYMMETRIC, *SKEWED, *MIRRORED, CONTAMINATED)  # the likeliest of these is used
LEAST_SQUARES = (NORMAL, NORMAL, 1.0)  # all weights are 1, so that means are compared

# Columns of the table: degrees of freedom below and above, ratio of the scales, log of the normalising constant, Fisher
# information of the location, mean weight, slack of the level (see linear_level_set), Fisher information of the log
# scale, exponent of the lower tail that widths are computed with, and height of the gross errors.
BELOW, ABOVE, RATIO, NORM, INFORMATION, WEIGHT, SLACK, SHARPNESS, TAIL, GROSS = range(10)
BREADTH = 25.0  # squared scale of gross errors
GROSS_TAIL = 4.0  # with this exponent, the divergence of the contaminated law is right within a fifth up to six scales
MEAN_SLACK = 0.05  # slack of least squares
THIN = 2e6  # tails with a larger exponent count as normal
FARTHEST_SCALES = 1e100  # residuals beyond this many scales count as this many, so that their squares are finite
LARGE = 1e50  # products beyond this might soon be infinite
MOST_MATCHING_STEPS = 12  # most iterations when matching the scale and shift of a law


def two_piece_table(laws: Sequence[tuple[float, ...]]) -> FloatArray:
    """Return a row for each law: degrees of freedom below and above, ratio of the scales, any share of gross errors.

    Examples
    --------
    >>> cauchy = two_piece_table([(1.0, 1.0, 1.0)])[0]
    >>> float(cauchy[INFORMATION]), float(cauchy[WEIGHT]), float(cauchy[SLACK])
    (0.5, 1.0, 0.75)
    """
    return np.array([_row(*law) if len(law) == 3 else _contaminated_row(law[3]) for law in laws])


@cache
def _contaminated_row(share: float) -> tuple[float, ...]:
    height = share / (1.0 - share) * math.sqrt(2.0 / (math.pi * BREADTH))
    mass = math.sqrt(2.0 * math.pi) / (1.0 - share)
    information, sharpness = 0.0, -1.0
    step = 1e-3
    for i in range(
        1, 15_000
    ):  # the midpoint rule in x with z = sinh x, without NumPy, whose last bits depend on the CPU
        z = math.sinh((i - 0.5) * step)
        core, gross = math.exp(-0.5 * z * z), height / (1.0 + z * z / BREADTH)
        score = z * (core + 2.0 * gross / (BREADTH + z * z)) / (core + gross)
        chance = 2.0 * (core + gross) / mass * math.cosh((i - 0.5) * step) * step  # of both signs
        information += score * score * chance
        sharpness += score * z * score * z * chance
    return (
        NORMAL,
        NORMAL,
        1.0,
        math.log(mass),
        information,
        1.0 - share + share / BREADTH,
        1.5 / GROSS_TAIL,
        sharpness,
        GROSS_TAIL,
        height,
    )


def _row(below: float, above: float, ratio: float) -> tuple[float, ...]:
    lower, upper = _half_mass(below), ratio * _half_mass(above)
    p = lower / (lower + upper)  # probability of a residual below 0
    q = 1.0 - p
    slack = 1.5 * (p / (below + 1.0) + q / (above + 1.0))
    return (
        below,
        above,
        ratio,
        math.log(lower + upper),
        p * _shrunk(below) + q * _shrunk(above) / ratio**2,
        p + q / ratio**2,
        slack if below < NORMAL else MEAN_SLACK,
        2.0 * (p * below / (below + 3.0) + q * above / (above + 3.0)),
        min(below + 1.0, THIN),
        0.0,
    )


def _shrunk(degrees: float) -> float:
    return (degrees + 1.0) / (degrees + 3.0)


def _half_mass(degrees: float) -> float:
    """Return the integral of exp(-loss) over one side."""
    if degrees >= NORMAL:
        return math.sqrt(0.5 * math.pi)
    density = math.exp(math.lgamma(0.5 * (degrees + 1.0)) - math.lgamma(0.5 * degrees)) / math.sqrt(degrees * math.pi)
    return 0.5 / density


@compilable
def weight_at(law: FloatArray, z: float) -> float:
    """Return the weight of a residual of z scales.

    Examples
    --------
    >>> cauchy = two_piece_table([(1.0, 1.0, 1.0)])[0]
    >>> weight_at(cauchy, -1.0), weight_at(cauchy, math.inf)
    (1.0, 2e-200)
    """
    if law[GROSS] > 0.0:
        square = min(z * z, FARTHEST_SCALES * FARTHEST_SCALES)
        core, gross = math.exp(-0.5 * square), law[GROSS] / (1.0 + square / BREADTH)
        usual = core / (core + gross)  # the chance that this is no gross error
        return float(usual + (1.0 - usual) * 2.0 / (BREADTH + square))
    if z < 0.0:
        y = max(z, -FARTHEST_SCALES)
        return float((law[BELOW] + 1.0) / (law[BELOW] + y * y))
    y = min(z, FARTHEST_SCALES) / law[RATIO]
    return float((law[ABOVE] + 1.0) / (law[ABOVE] + y * y) / (law[RATIO] * law[RATIO]))


def weights_at(law: FloatArray, z: FloatArray) -> FloatArray:
    """Return what :func:`weight_at` returns, for many residuals.

    Examples
    --------
    >>> weights_at(two_piece_table([(1.0, 1.0, 1.0)])[0], np.array([-1.0, 0.0, 1.0])).tolist()
    [1.0, 2.0, 1.0]
    """
    if law[GROSS] > 0.0:  # NumPy's exponential has other last bits
        return np.array([weight_at(law, each) for each in z.tolist()])
    z = np.clip(z, -FARTHEST_SCALES, FARTHEST_SCALES)
    y = z / law[RATIO]
    above = (law[ABOVE] + 1.0) / (law[ABOVE] + y * y) / (law[RATIO] * law[RATIO])
    return np.asarray(np.where(z < 0.0, (law[BELOW] + 1.0) / (law[BELOW] + z * z), above))


@compilable
def loss_at(law: FloatArray, z: float) -> float:
    """Return the loss of a residual of z scales: minus the log density, up to a constant."""
    if law[GROSS] > 0.0:
        square = min(z * z, FARTHEST_SCALES * FARTHEST_SCALES)
        return -math.log(math.exp(-0.5 * square) + law[GROSS] / (1.0 + square / BREADTH))
    if z < 0.0:
        y = max(z, -FARTHEST_SCALES)
        return float(0.5 * (law[BELOW] + 1.0) * math.log1p(y * y / law[BELOW]))
    y = min(z, FARTHEST_SCALES) / law[RATIO]
    return float(0.5 * (law[ABOVE] + 1.0) * math.log1p(y * y / law[ABOVE]))


@compilable
def log_likelihood(law: FloatArray, residuals: FloatArray, n: int, shift: float, scale: float, unit: float) -> float:
    """Return the log likelihood of n residuals in units of ``unit``, under a law with its mode at ``shift``.

    A loss is a multiple of a logarithm, which takes long, so many residuals share that of a product.
    """
    total = -n * (law[NORM] + math.log(scale / unit))
    below, above = 1.0, 1.0
    for i in range(n):
        z = min(max((residuals[i] - shift) / scale, -FARTHEST_SCALES), FARTHEST_SCALES)
        if law[GROSS] > 0.0:
            total -= loss_at(law, z)
        elif z < 0.0:
            below *= 1.0 + z * z / law[BELOW]
        else:
            y = z / law[RATIO]
            above *= 1.0 + y * y / law[ABOVE]
        if max(below, above) > LARGE or i == n - 1:
            total -= 0.5 * ((law[BELOW] + 1.0) * math.log(below) + (law[ABOVE] + 1.0) * math.log(above))
            below, above = 1.0, 1.0
    return float(total)


@compilable
def weigh_one_by_one(
    law: FloatArray, residuals: FloatArray, n: int, shift: float, scale: float
) -> tuple[float, float, float]:
    """Do the same as :func:`weigh_all`."""
    weights, first, second = 0.0, 0.0, 0.0
    for i in range(n):
        z = min(max((residuals[i] - shift) / scale, -FARTHEST_SCALES), FARTHEST_SCALES)
        w = weight_at(law, z)
        weights += w
        first += w * z
        second += w * z * z
    return weights, first, second


@compiled_as(weigh_one_by_one)
def weigh_all(law: FloatArray, residuals: FloatArray, n: int, shift: float, scale: float) -> tuple[float, float, float]:
    """Return the sums of the weights of n residuals from a mode at ``shift``, and of their weighted first two powers.

    Examples
    --------
    >>> weigh_all(two_piece_table([(1.0, 1.0, 1.0)])[0], np.array([0.0, 2.0]), 2, 1.0, 1.0)
    (2.0, 0.0, 2.0)
    """
    z = np.clip((residuals[:n] - shift) / scale, -FARTHEST_SCALES, FARTHEST_SCALES)
    w = weights_at(law, z)
    weights, first, second = np.cumsum([w, w * z, w * z * z], axis=1)[:, -1].tolist()
    return weights, first, second


@rarely_called
def match(law: FloatArray, residuals: FloatArray, n: int, freedom: float, scale: float) -> tuple[float, float]:
    """Return the shift and scale at which the law is likeliest, to about a thousandth; ``scale`` is a first guess.

    With fewer degrees of ``freedom`` than residuals, the scale is larger, since the residuals of a fit are too small.

    Examples
    --------
    >>> residuals = np.array([0.3, -1.0, 2.0, -0.1, 5.0, -40.0, 0.7, 0.2])
    >>> shift, scale = match(two_piece_table([(2.0, 2.0, 1.0)])[0], residuals, 8, 6.0, 1.0)
    >>> round(shift, 1), round(scale, 1)
    (0.6, 2.4)
    """
    shift = 0.0
    for _ in range(MOST_MATCHING_STEPS):
        weights, first, second = weigh_all(law, residuals, n, shift, scale)
        shift += scale * first / weights
        excess = second / freedom
        scale = max(scale * math.exp(min(max(math.log(max(excess, 1e-30)) / law[SHARPNESS], -3.0), 3.0)), 1e-300)
        if abs(excess - 1.0) < 1e-3 and abs(first) < 1e-2 * weights:
            break
    return float(shift), float(scale)
