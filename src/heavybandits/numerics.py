"""Small numerical tools that compiled policies share, safe for every reward that is not NaN."""

from __future__ import annotations

import math

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
    >>> import numpy as np
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


# Wichura (1988), algorithm AS 241: numerators and denominators of the two rational functions, highest power first.
_CENTRE_TOP = (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
               13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608)  # fmt: skip
_CENTRE_BOTTOM = (5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
                  5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0)  # fmt: skip
_TAIL_TOP = (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
             3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734)  # fmt: skip
_TAIL_BOTTOM = (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
                0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0)  # fmt: skip


@compilable
def _polynomial(c: tuple[float, ...], x: float) -> float:
    """A polynomial of degree 7, summed in pairs, which takes half the time of Horner's rule."""
    square = x * x
    low = (c[7] + c[6] * x) + (c[5] + c[4] * x) * square
    high = (c[3] + c[2] * x) + (c[1] + c[0] * x) * square
    return low + high * (square * square)


@compilable
def next_normal(stream: IntArray) -> float:
    """Next standard normal number of a generator whose two integers are ``stream``.

    Uniform numbers come from the combined congruential generator of L'Ecuyer (1988), period 2.3e18, and go through the
    normal quantile function, relative error 1e-16.  All products fit 64 bits, so plain Python and compiled code agree
    exactly; and since the generator lives in a policy's state, a policy that smooths by noise is deterministic.

    Examples
    --------
    >>> import numpy as np
    >>> stream = np.array([12345, 67890])
    >>> round(next_normal(stream), 6), round(next_normal(stream), 6)
    (1.58571, 1.330474)
    """
    stream[0] = 40014 * stream[0] % 2147483563
    stream[1] = 40692 * stream[1] % 2147483399
    difference = stream[0] - stream[1]
    p = (difference if difference > 0 else difference + 2147483562) / 2147483563.0
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return float(q * _polynomial(_CENTRE_TOP, r) / _polynomial(_CENTRE_BOTTOM, r))
    r = math.sqrt(-math.log(p if q < 0.0 else 1.0 - p)) - 1.6
    return math.copysign(_polynomial(_TAIL_TOP, r) / _polynomial(_TAIL_BOTTOM, r), q)
