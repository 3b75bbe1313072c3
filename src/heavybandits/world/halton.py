"""Points that fill the unit cube evenly, whatever their number: those of Halton (1960)."""

from __future__ import annotations

import numpy as np

from ..protocols import FloatArray


def halton(size: int, dim: int) -> FloatArray:
    """Return the first points of Halton's sequence, which begins near the middle, as a (size, dim) array.

    Examples
    --------
    >>> halton(3, 2).round(3).tolist()
    [[0.5, 0.333], [0.25, 0.667], [0.75, 0.111]]
    """
    points = np.zeros((size, dim))
    for axis, base in enumerate(_primes(dim)):
        number, weight = np.arange(1, size + 1), 1.0
        while number.any():
            weight /= base
            points[:, axis] += weight * (number % base)
            number = number // base
    return points


def _primes(count: int) -> list[int]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found
