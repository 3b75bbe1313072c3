"""Numerics behind the noises: fast draws, quantiles by bisection, means by quadrature, and the stable law."""

import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...jit.compiled import jit
from ...protocols import compilable

Floats = NDArray[np.float64]

# Lambert's continued fraction of the tangent, ten terms deep, as numerator and denominator in powers of w^2.
# On |w| <= 1/2 the error of cot(pi w) is 2e-15.
_A0, _A1, _A2, _A3, _A4 = (
    c * math.pi ** (2 * k + 1) for k, c in enumerate((654729075, -91891800, 2837835, -25740, 55))
)
_B0, _B1, _B2, _B3, _B4, _B5 = (
    c * math.pi ** (2 * k) for k, c in enumerate((654729075, -310134825, 18918900, -315315, 1485, -1))
)
_BLOCK = 4096  # numbers that fit in the cache with all intermediate results

# The double exponential rule on (0, 1).
_T = np.arange(-32, 33) * 0.1
_NODES = 1 / (1 + np.exp(-math.pi * np.sinh(_T)))
_WEIGHTS = 0.1 * math.pi * np.cosh(_T) * _NODES * _NODES[::-1]

_LIMIT = 700.0  # e^700 is a double, and e^-700 negligible
_STEP = 0.12
_CHUNK = 256  # points of the stable law at a time, so that their nodes stay in the cache


def cotangent(u: Floats, shift: float, scale: float) -> None:
    """Replace u by scale cot(pi w), w = u - shift, in place, for a contiguous array with 0 < |w| <= 1/2.

    It uses arithmetic alone, so the result is the same on every machine, compiled or not.  It is compiled if numba is
    already loaded: it then takes a fifth of the time, and threads do not wait for each other after each operation.

    Examples
    --------
    >>> u = np.array([0.25, 0.625])
    >>> cotangent(u, 0.5, 1.0)
    >>> u.round(6)
    array([-1.      ,  2.414214])
    """
    flat = u.reshape(-1)
    if "numba" in sys.modules and (loop := _compiled()):
        loop(flat, float(shift), float(scale))
        return
    for start in range(0, flat.size, _BLOCK):
        flat[start : start + _BLOCK] = _cotangent(flat[start : start + _BLOCK], shift, scale)


@compilable
def _cotangent(u: Any, shift: float, scale: float) -> Any:
    w = u - shift
    z = w * w
    top = ((((_B5 * z + _B4) * z + _B3) * z + _B2) * z + _B1) * z + _B0
    return scale * (top / (w * ((((_A4 * z + _A3) * z + _A2) * z + _A1) * z + _A0)))


def _each_cotangent(u: Floats, shift: float, scale: float) -> None:
    for i in range(len(u)):
        u[i] = _cotangent(u[i], shift, scale)


@cache
def _compiled() -> Any:
    return jit(_each_cotangent, np.zeros(1), 0.0, 0.0, error_model="numpy")  # which divides by zero without a check


def log_hypot(x: Floats) -> Floats:
    """Return log sqrt(1 + x^2), with neither overflow nor loss of digits.

    Examples
    --------
    >>> log_hypot(np.array([1e-9, 1e300]))
    array([5.00000000e-19, 6.90775528e+02])
    """
    small = np.minimum(np.abs(x), 1.0)
    return np.where(np.abs(x) < 1, 0.5 * np.log1p(small * small), np.log(np.hypot(1.0, x)))


def invert_cdf(cdf: Callable[[Floats], Floats], u: Floats, low: ArrayLike, high: ArrayLike) -> Floats:
    """Return the smallest double x in [low, high] with cdf(x) >= u, and ``high`` where u = 1.

    It bisects the doubles by their rank, not by their value, so 64 steps are enough, however wide the bracket.

    Examples
    --------
    >>> invert_cdf(lambda x: x**3, np.array([0.125, 1e-300]), 0.0, 1.0)
    array([5.e-001, 1.e-100])
    """
    below, above = (_rank(np.broadcast_to(np.asarray(end, float), u.shape)) for end in (low, high))
    with np.errstate(all="ignore"):  # on the way it meets the largest and the smallest doubles
        for _ in range(64):
            middle = (below >> 1) + (above >> 1) + (below & above & 1)
            reached = cdf(_unrank(middle)) >= u
            below, above = np.where(reached, below, middle), np.where(reached, middle, above)
    return np.where(u == 1, high, _unrank(above))


def _rank(x: Floats) -> NDArray[np.int64]:
    """Return the ranks of doubles in their order from -inf to inf."""
    bits = np.array(x).view(np.int64)
    return bits ^ ((bits >> 63) & np.iinfo(np.int64).max)


def _unrank(rank: NDArray[np.int64]) -> Floats:
    return (rank ^ ((rank >> 63) & np.iinfo(np.int64).max)).view(np.float64)


def integrate(function: Callable[[Floats], Floats], breaks: Floats) -> float:
    """Integrate over (0, 1) a function that is smooth between ``breaks``, though maybe singular there.

    Each piece gets the double exponential rule.  A piece on which every other node alone gives another result
    hides a kink, and is halved.

    Examples
    --------
    >>> round(integrate(lambda u: np.abs(u - 0.3) / np.sqrt(u), np.array([0.3])), 9)
    0.504844712
    """
    edges = np.unique(np.concatenate(([0.0, 1.0], breaks)))
    left, width = edges[:-1], np.diff(edges)
    total = 0.0
    for _ in range(30):
        nodes = left[:, None] + width[:, None] * _NODES
        heights = function(np.clip(nodes, np.finfo(float).tiny, 1 - 2.0**-53)) * _WEIGHTS * width[:, None]
        if np.isposinf(heights).any():
            return math.inf
        fine, coarse = heights.sum(axis=1), 2 * heights[:, ::2].sum(axis=1)
        rough = np.abs(fine - coarse) > 1e-7  # otherwise the error of the finer sum is about 1e-14
        total += float(fine[~rough].sum())
        if not rough.any():
            break
        width = np.repeat(width[rough] / 2, 2)
        left = np.repeat(left[rough], 2)
        left[1::2] += width[1::2]
    return total


def stable_tail(x: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return log P(X > x) and the log-density at x >= 0, if the characteristic function is exp(-|t|^alpha).

    ``alpha`` lies in (0, 2) and is not 1.  The first call for an ``alpha`` makes a table, in about 0.1 s.
    The probability is accurate to eight decimal places, and in the tail to five significant digits.

    Examples
    --------
    >>> probability, density = np.exp(stable_tail(np.array([2.0]), 1.5))
    >>> print(probability.round(6), density.round(6))
    [0.10504] [0.08454]
    """
    table, scale, end = _stable_table(alpha)
    with np.errstate(over="ignore"):
        z = np.arcsinh(x / scale)
    excess = np.maximum(z - end, 0.0)  # beyond the table both are powers of x
    log_probability, log_density = np.moveaxis(table(np.minimum(z, end)), -1, 0)
    return log_probability - alpha * excess, log_density - (1 + alpha) * excess


@cache
def _stable_table(alpha: float) -> tuple[Callable[[Floats], Floats], float, float]:
    """Return a spline of both logarithms in arcsinh(x / scale), the scale, and where the spline ends."""
    from scipy.interpolate import CubicSpline

    log_peak = math.lgamma(1 + 1 / alpha) - math.log(math.pi)
    log_scale = max(-600.0, 0.5 * (math.lgamma(1 / alpha) - math.lgamma(3 / alpha)))  # curvature at the peak
    end = min(_LIMIT, max(40.0, 23 / alpha) - log_scale)  # where the tail is a power to ten digits
    z = np.linspace(0.0, end, min(4000, math.ceil(40 * end)))
    x = math.exp(log_scale) * np.sinh(z[1:])
    chunks = [_stable_integrals(x[i : i + _CHUNK], alpha) for i in range(0, x.size, _CHUNK)]
    logs = np.log(np.concatenate(chunks))
    return CubicSpline(z, np.vstack(([-math.log(2), log_peak], logs))), math.exp(log_scale), end


def _stable_integrals(x: Floats, alpha: float) -> Floats:
    r"""Return P(X > x) and the density, in two columns, to about nine digits.

    The representation of Chambers, Mallows and Stuck, :math:`|X| = A(\theta)\,E^{-(1-\alpha)/\alpha}` with a
    standard exponential :math:`E` and :math:`\theta` uniform on :math:`(0, \pi/2)`, gives the tail once
    :math:`E` is integrated out (Zolotarev's integral).  With :math:`G = (A(\theta)/x)^{\alpha/(1-\alpha)}`,

    .. math:: P(X > x) = \frac1\pi \int_0^{\pi/2} (1 - e^{-G})\,d\theta \quad (\alpha < 1), \qquad
              P(X > x) = \frac1\pi \int_0^{\pi/2} e^{-G}\,d\theta \quad (\alpha > 1).

    :math:`G` is monotone, and the integrand turns where :math:`G = 1`, the more sharply the nearer
    :math:`\alpha` is to 1.  So the integral is split there, in the variable
    :math:`s = \ln(\theta / (\pi/2 - \theta))`, which resolves both ends.  On either side the trapezoidal rule
    runs over nodes that crowd double exponentially at the split, on the scale of the turn, and are evenly
    spaced far from it, where the integrand decays exponentially.
    """
    log_x = np.log(x)
    low, high = np.full_like(x, -_LIMIT), np.full_like(x, _LIMIT)
    for _ in range(62):  # log A increases with s
        split = 0.5 * (low + high)
        beyond = _log_a(split, alpha)[0] > log_x
        low, high = np.where(beyond, low, split), np.where(beyond, split, high)
    nodes, weights = _rule(alpha)
    power = alpha / (1 - alpha)
    log_a, slope = _log_a(np.clip(split[:, None] + nodes, -_LIMIT, _LIMIT), alpha)
    g = np.exp(np.minimum(power * (log_a - log_x[:, None]), _LIMIT))
    decay = np.exp(-g)
    slope *= weights / math.pi
    # Sum the one of P(X > x) and P(0 < X < x) that has its mass beside the split; together they are a half.
    right = split > 0
    part = (np.where((right == (alpha > 1))[:, None], decay, -np.expm1(-g)) * slope).sum(axis=1)
    density = abs(power) / x * (g * decay * slope).sum(axis=1)
    return np.column_stack((np.where(right, part, 0.5 - part), density))


def _rule(alpha: float) -> tuple[Floats, Floats]:
    """Return nodes, relative to the split, and weights of the quadrature over s."""
    reach = max(1.0, 1 / alpha - 1)  # the slowest decay is e^(-s / reach)
    spread = 2 * math.sqrt(reach)
    ratio = min(1.0, abs(1 - alpha)) / spread  # of the turn's width to the scale of even spacing
    t = np.arange(-3.6, 28 * reach / spread - math.log(ratio), _STEP)
    q = ratio * np.exp(t - np.exp(-t))
    nodes = spread * np.log1p(q)
    weights = _STEP * spread * q / (1 + q) * (1 + np.exp(-t))
    return np.concatenate((-nodes, nodes)), np.concatenate((weights, weights))


def _log_a(s: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return log A and d theta / ds, with no cancellation in the angles that vanish at either end."""
    decay = np.exp(-np.abs(s))
    near, far = 0.5 * math.pi * decay / (1 + decay), 0.5 * math.pi / (1 + decay)
    left = s < 0
    rest = np.where(left, far, near)  # pi / 2 - theta
    sine = np.sin(alpha * near + np.where(left, 0.0, 0.5 * math.pi * (2 - alpha)))  # sin(alpha theta)
    cosine = np.sin(0.5 * math.pi * min(alpha, 2 - alpha) + abs(1 - alpha) * rest)  # cos((1 - alpha) theta)
    log_a = np.log(sine) - np.log(np.sin(rest)) / alpha + (1 / alpha - 1) * np.log(cosine)
    return log_a, near / (1 + decay)
