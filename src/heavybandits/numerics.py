"""Small numerical tools that compiled policies share, safe for every reward that is not NaN."""

from __future__ import annotations

import math

import numpy as np

from .protocols import FloatArray, IntArray, compilable, rarely_called

LARGEST = 1.7976931348623157e308


@compilable
def clip(x: float, limit: float) -> float:
    """``x`` cut to [-limit, limit]; the form min(1, limit/|x|) x would turn infinity into NaN.

    Examples
    --------
    >>> clip(math.inf, 2.0), clip(-3.0, 2.0), clip(0.5, 2.0)
    (2.0, -2.0, 0.5)
    """
    return limit if x > limit else -limit if x < -limit else x


@compilable
def saturate(x: float) -> float:
    """``x`` with infinities replaced by the largest float, so that sums and differences never give NaN.

    Examples
    --------
    >>> saturate(math.inf) == LARGEST and saturate(2.5) == 2.5
    True
    """
    return clip(x, LARGEST)


@compilable
def running_mean(mean: float, n: int, x: float) -> float:
    """Mean of n values, given the mean of the first n - 1 and the n-th: a form that cannot overflow.

    Examples
    --------
    >>> running_mean(2.0, 3, 8.0)
    4.0
    """
    return saturate(mean * (1.0 - 1.0 / n) + saturate(x) / n)


@compilable
def share(x: float, low: float, high: float) -> float:
    """How much of the way from ``low`` to ``high`` ``x`` is, from 0 to 1.

    Examples
    --------
    >>> share(3.0, 2.0, 6.0), share(-math.inf, 2.0, 6.0)
    (0.25, 0.0)
    """
    return (min(max(x, low), high) - low) / (high - low)


@compilable
def power(x: float, exponent: float) -> float:
    """``x`` to the power of a positive ``exponent``; quick for one half and for small whole numbers.

    Examples
    --------
    >>> power(3.0, 2.0), power(9.0, 0.5), power(32.0, 0.2)
    (9.0, 3.0, 2.0)
    """
    if exponent == 2.0:
        return x * x
    if exponent == 0.5:
        return math.sqrt(x)
    whole = int(min(exponent, 33.0))
    if whole == exponent:
        result = x
        for _ in range(whole - 1):
            result *= x
        return result
    return float(x**exponent)


@rarely_called
def small_median(values: FloatArray, n: int) -> float:
    """Median of ``values[:n]``, which it sorts in place; even n: the mean of the middle two.  For short arrays.

    Examples
    --------
    >>> small_median(np.array([5.0, 1.0, 3.0, 99.0]), 3)
    3.0
    """
    for i in range(1, n):
        x = values[i]
        j = i
        while j > 0 and values[j - 1] > x:
            values[j] = values[j - 1]
            j -= 1
        values[j] = x
    if n % 2 == 1:
        return float(values[n // 2])
    return float(0.5 * values[n // 2 - 1] + 0.5 * values[n // 2])


# Marsaglia and Tsang (2000), as laid out by Doornik (2005): the bell curve is covered by layers of equal area, of which
# the lowest has all that is beyond an edge.  Of each, half its width and the share of that which lies below the curve.
_LAYERS, _EDGE, _AREA = 128, 3.442619855899, 9.91256303526217e-3


def _layers() -> tuple[FloatArray, FloatArray]:
    widths = [_AREA * math.exp(0.5 * _EDGE * _EDGE), _EDGE]
    while len(widths) < _LAYERS:
        density = _AREA / widths[-1] + math.exp(-0.5 * widths[-1] * widths[-1])
        widths.append(math.sqrt(-2.0 * math.log(density)))
    return np.array(widths), np.array([*widths[1:], 0.0]) / widths


_WIDTHS, _SHARES = _layers()


@compilable
def next_number(stream: IntArray) -> int:
    """Next whole number, from 1 to 2147483562, of a generator whose two integers are ``stream``.

    The combined congruential generator of L'Ecuyer (1988), period 2.3e18.  All products fit 64 bits, so plain Python
    and compiled code agree exactly; and since it lives in a policy's state, a policy that smooths by noise is
    deterministic.

    Examples
    --------
    >>> stream = np.array([12345, 67890])
    >>> [int(next_number(stream)) for _ in range(3)]
    [2026359911, 1950599823, 315009702]
    """
    stream[0] = 40014 * stream[0] % 2147483563
    stream[1] = 40692 * stream[1] % 2147483399
    number: int = stream[0] - stream[1]
    return number if number > 0 else number + 2147483562


@compilable
def next_normal(stream: IntArray) -> float:
    """Next standard normal number of the generator, by the ziggurat method: one whole number makes one in 98 of 100.

    Examples
    --------
    >>> stream = np.array([12345, 67890])
    >>> [round(next_normal(stream), 3) for _ in range(3)]
    [0.872, 1.982, -1.355]
    """
    while True:
        number = next_number(stream)
        layer = number & (_LAYERS - 1)  # its last 7 bits; the other 24 say where in the layer, from -1 to 1
        place = ((number >> 7) + 0.5) / 8388608.0 - 1.0
        x = place * _WIDTHS[layer]
        if abs(place) < _SHARES[layer]:
            return float(x)
        if layer == 0:
            return math.copysign(next_in_tail(stream), place)
        outer, inner = _WIDTHS[layer], _WIDTHS[layer] * _SHARES[layer]
        low, high = math.exp(0.5 * (x - outer) * (x + outer)), math.exp(0.5 * (x - inner) * (x + inner))
        if low + next_number(stream) / 2147483563.0 * (high - low) < 1.0:  # in units of the density at x
            return float(x)


@rarely_called
def next_in_tail(stream: IntArray) -> float:
    """Next normal number beyond the ziggurat's edge."""
    while True:
        x = -math.log(next_number(stream) / 2147483563.0) / _EDGE
        y = -math.log(next_number(stream) / 2147483563.0)
        if 2.0 * y > x * x:
            return _EDGE + x
