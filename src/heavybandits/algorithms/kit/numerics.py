"""Small numerical tools that compiled policies share, safe for every reward that is not NaN."""

from __future__ import annotations

import math

import numpy as np

from ...protocols import FloatArray, IntArray, compilable, rarely_called

LARGEST = 1.7976931348623157e308
SUMMABLE = 1e290  # rewards clipped to this may be added up: 1e18 of them do not overflow


@compilable
def clip(x: float, limit: float) -> float:
    """``x`` cut to [-limit, limit]; the form min(1, limit/|x|) x would turn infinity into NaN.

    Examples
    --------
    >>> clip(math.inf, 2.0), clip(-3.0, 2.0), clip(0.5, 2.0)
    (2.0, -2.0, 0.5)
    """
    above = x if x > -limit else -limit
    return above if above < limit else limit


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
def power_of_two(x: float) -> float:
    """Return the least power of two above ``|x|``, within 2^-1000 and 2^1000: an exact unit for numbers like ``x``.

    Examples
    --------
    >>> power_of_two(3.0), power_of_two(-0.1), power_of_two(4.0)
    (4.0, 0.125, 8.0)
    """
    return math.ldexp(1.0, min(max(math.frexp(x)[1], -1000), 1000))


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
    """``x`` to the power of an ``exponent`` that is not negative; quick for one half and for small whole numbers.

    Examples
    --------
    >>> power(3.0, 2.0), power(9.0, 0.5), power(32.0, 0.2)
    (9.0, 3.0, 2.0)
    """
    if exponent == 2.0:
        return x * x
    if exponent == 0.5:
        return math.sqrt(x)
    if exponent == 0.0:
        return 1.0
    whole = int(min(exponent, 33.0))
    if whole == exponent:
        result = x
        for _ in range(whole - 1):
            result *= x
        return result
    return float(x**exponent)


@compilable
def log_factorial(n: int) -> float:
    """Logarithm of n!, to twelve digits by Stirling's series; compiled code has no other that agrees to the last bit.

    Examples
    --------
    >>> round(log_factorial(3), 12), round(abs(log_factorial(0)), 12)
    (1.791759469228, 0.0)
    """
    shift = 1.0
    while n < 16:
        n += 1
        shift *= n
    square = float(n) * float(n)
    series = (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * square)) / square) / square) / n
    return (n + 0.5) * math.log(n) - n + 0.5 * math.log(2.0 * math.pi) + series - math.log(shift)


@rarely_called
def small_median(values: FloatArray, n: int) -> float:
    """Median of ``values[:n]``, which it sorts in position; even n: the mean of the middle two.  For short arrays.

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


SEED = 1234567890123456789  # of a generator; any number between 0 and the modulus will do
_MULTIPLIER, _WORD = 1253407776, (1 << 31) - 1


@compilable
def next_number(stream: IntArray) -> int:
    """Next whole number, from 0 to 2147483647, of a generator whose state is ``stream[0]``.

    Marsaglia's multiplication with carry: the lower 31 bits of the state are the number, the upper ones the carry.  The
    modulus 1253407776 * 2^31 - 1 is a safe prime, so the period is half of it, 1.3e18.  Nothing exceeds 63 bits, so
    plain Python and compiled code agree exactly; and since it lives in a policy's state, a policy that smooths by noise
    is deterministic.

    Examples
    --------
    >>> stream = np.array([SEED])
    >>> [int(next_number(stream)) for _ in range(3)]
    [1339256968, 244676074, 1758822581]
    """
    state: int = stream[0]
    stream[0] = _MULTIPLIER * (state & _WORD) + (state >> 31)
    return int(stream[0] & _WORD)


# Marsaglia and Tsang (2000): the bell curve is covered by layers of equal area, of which the lowest has all that is
# beyond an edge.  Positions in a layer are the odd numbers between -2^24 and 2^24.  Of each layer: the width of one
# position, and the first position that may be above the curve.
_LAYERS, _POSITIONS, _EDGE, _AREA = 128, 1 << 24, 3.442619855899, 9.91256303526217e-3


def _layers() -> tuple[FloatArray, IntArray]:
    widths = [_AREA * math.exp(0.5 * _EDGE * _EDGE), _EDGE]
    while len(widths) < _LAYERS:
        density = _AREA / widths[-1] + math.exp(-0.5 * widths[-1] * widths[-1])
        widths.append(math.sqrt(-2.0 * math.log(density)))
    shares = np.array([*widths[1:], 0.0]) / widths
    return np.array(widths) / _POSITIONS, np.floor(_POSITIONS * shares).astype(np.int64)


_WIDTHS, _BELOW = _layers()


@compilable
def next_normal(stream: IntArray) -> float:
    """Next standard normal number of the generator, by the ziggurat method: one whole number makes one in 97 of 100.

    Examples
    --------
    >>> stream = np.array([SEED])
    >>> [round(next_normal(stream), 3) for _ in range(3)]
    [0.669, -0.719, 1.076]
    """
    number = next_number(stream)
    layer, position = number & (_LAYERS - 1), (number >> 6 | 1) - _POSITIONS  # its last 7 bits, and the other 24
    if abs(position) < _BELOW[layer]:
        return float(position * _WIDTHS[layer])
    return next_from_rim(stream, layer, position)


@rarely_called
def next_from_rim(stream: IntArray, layer: int, position: int) -> float:
    """Next normal number if the first position tried may be above the curve, or is in the layer with the tail."""
    x = position * _WIDTHS[layer]
    while abs(position) >= _BELOW[layer]:
        share = (next_number(stream) + 0.5) / (_WORD + 1)
        if layer == 0:
            x = -math.log(share) / _EDGE
            share = (next_number(stream) + 0.5) / (_WORD + 1)
            if -2.0 * math.log(share) > x * x:
                return math.copysign(_EDGE + x, position)
        else:
            outer, inner = _POSITIONS * _WIDTHS[layer], _BELOW[layer] * _WIDTHS[layer]
            low, high = math.exp(0.5 * (x - outer) * (x + outer)), math.exp(0.5 * (x - inner) * (x + inner))
            if low + share * (high - low) < 1.0:  # in units of the density at x
                break
            number = next_number(stream)
            layer, position = number & (_LAYERS - 1), (number >> 6 | 1) - _POSITIONS
            x = position * _WIDTHS[layer]
    return float(x)
