"""Small numerical tools for compiled policies, safe for any reward that is not NaN."""

from __future__ import annotations

import math

from .protocols import FloatArray, compilable, rarely_called

LARGEST_FLOAT = 1.7976931348623157e308
EXCESS = 1.0 + 1e-13  # what exceeds a bound by less than this factor is left as it is: the bound was rounded too
SUMMABLE = 1e290  # rewards clipped to this may be summed: even 1e18 of them do not overflow


@compilable
def clip(x: float, limit: float) -> float:
    """Clip ``x`` to [-limit, limit]; the formula ``min(1, limit/|x|) x`` would turn infinity into NaN.

    Examples
    --------
    >>> clip(math.inf, 2.0), clip(-3.0, 2.0), clip(0.5, 2.0)
    (2.0, -2.0, 0.5)
    """
    above = x if x > -limit else -limit
    return above if above < limit else limit


@compilable
def saturate(x: float) -> float:
    """Replace infinities with the largest float, so that sums and differences are never NaN.

    Examples
    --------
    >>> saturate(math.inf) == LARGEST_FLOAT and saturate(2.5) == 2.5
    True
    """
    return clip(x, LARGEST_FLOAT)


@compilable
def power_of_two(x: float) -> float:
    """Return the least power of two above ``|x|``, from 2^-1000 to 2^1000: an exact unit for numbers like ``x``.

    Examples
    --------
    >>> power_of_two(3.0), power_of_two(-0.1), power_of_two(4.0)
    (4.0, 0.125, 8.0)
    """
    return math.ldexp(1.0, min(max(math.frexp(x)[1], -1000), 1000))


@compilable
def running_mean(mean: float, n: int, x: float) -> float:
    """Return the mean of n values from the mean of the first n - 1 and the n-th, without overflow.

    Examples
    --------
    >>> running_mean(2.0, 3, 8.0)
    4.0
    """
    return saturate(mean * (1.0 - 1.0 / n) + saturate(x) / n)


@compilable
def share(x: float, low: float, high: float) -> float:
    """Return where ``x`` lies between ``low`` (0) and ``high`` (1), clipped to [0, 1].

    Examples
    --------
    >>> share(3.0, 2.0, 6.0), share(-math.inf, 2.0, 6.0)
    (0.25, 0.0)
    """
    return (min(max(x, low), high) - low) / (high - low)


@compilable
def power(x: float, exponent: float) -> float:
    """Return ``x`` to the power of a nonnegative ``exponent``; quick for one half and for small whole numbers.

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
    """Return the logarithm of n!, to twelve digits by Stirling's series, with the same bits compiled and interpreted.

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
    """Return the median of ``values[:n]``, an array that it sorts; for even n, the mean of the middle two.

    Examples
    --------
    >>> import numpy as np
    >>> small_median(np.array([5.0, 1.0, 3.0, 99.0]), 3)
    3.0
    """
    gap = 1
    while gap < n // 64:  # Shell's sort: long arrays are sorted coarsely first, or time would grow as n squared
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            x = values[i]
            j = i
            while j >= gap and values[j - gap] > x:
                values[j] = values[j - gap]
                j -= gap
            values[j] = x
        gap //= 3
    if n % 2 == 1:
        return float(values[n // 2])
    return float(0.5 * values[n // 2 - 1] + 0.5 * values[n // 2])
