"""Cholesky factors: a positive definite matrix as L L', with L lower triangular, updated and solved in place."""

from __future__ import annotations

import math
from typing import Any

from ...numerics import EXCESS, clip
from ...protocols import FloatArray, compilable, rarely_called

SMALLEST_PIVOT, LEAST_PIVOT_SHARE = 1e-300, 1e-18
LARGEST_SOLUTION = 1e200  # rounding in the factor of a singular matrix could make solutions infinite, and then NaN
LARGEST_COSINE = 1e4  # beyond this, rounding errors would grow too much in the quicker form of an update


@compilable
def add_to_factor(lower: FloatArray, x: FloatArray) -> None:
    """Update the factor to that of L L' + x x', in O(d²); x is overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> lower = np.eye(2)
    >>> add_to_factor(lower, np.array([2.0, 1.0]))
    >>> (lower @ lower.T).round(12)
    array([[5., 2.],
           [2., 2.]])
    """
    n = len(x)
    for k in range(n):
        if x[k] == 0.0:
            continue
        pivot = lower[k, k]
        grown = math.sqrt(pivot * pivot + x[k] * x[k])
        cosine, sine = grown / pivot, x[k] / pivot
        lower[k, k] = grown
        if cosine < LARGEST_COSINE:
            for i in range(k + 1, n):
                lower[i, k] = (lower[i, k] + sine * x[i]) / cosine
                x[i] = cosine * x[i] - sine * lower[i, k]
        else:
            rotate(lower, x, k, pivot / grown, x[k] / grown)


@rarely_called
def rotate(lower: FloatArray, x: FloatArray, k: int, cosine: float, sine: float) -> None:
    """Rotate a column of the factor and x; unlike the quicker form, this never lengthens what is left of x."""
    for i in range(k + 1, len(x)):
        below = lower[i, k]
        lower[i, k] = cosine * below + sine * x[i]
        x[i] = cosine * x[i] - sine * below


@compilable
def factorise(lower: FloatArray) -> None:
    """Replace the lower triangle of a positive semidefinite matrix with its factor, in O(d³).

    What lies above the diagonal becomes the transposed factor, so that the innermost loops run along rows.

    Rounding may take over if the matrix is singular to the last digit, but it never makes the factor NaN: no pivot is
    below a share ``LEAST_PIVOT_SHARE`` of the diagonal, or ``SMALLEST_PIVOT``, and no entry exceeds the root of its
    row's diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> lower = np.array([[4.0, 0.0], [2.0, 5.0]])
    >>> factorise(lower)
    >>> lower
    array([[2., 1.],
           [1., 2.]])
    """
    n = len(lower)
    for i in range(n):
        for j in range(i):
            lower[j, i] = lower[i, j]
    for i in range(n):
        row, diagonal = lower[i], lower[i, i]
        subtract_rows(row[i:], lower, i, row, i)
        pivot = math.sqrt(max(row[i], LEAST_PIVOT_SHARE * diagonal, SMALLEST_PIVOT))
        row[i] = pivot
        for j in range(i + 1, n):
            entry = row[j] / pivot
            if entry * entry > EXCESS * lower[j, j]:
                entry = math.copysign(math.sqrt(max(lower[j, j], 0.0)), row[j])
            row[j] = lower[j, i] = entry


@compilable
def subtract_rows(part: FloatArray, matrix: FloatArray, first: int, shares: FloatArray, count: int) -> None:
    """Subtract ``shares[k]`` times row k of a matrix, from column ``first`` on, for each of ``count`` rows in turn.

    Loops run over views from their start: compilers do not vectorise those whose first index is only known later.
    """
    whole = count // 4 * 4
    for k in range(0, whole, 4):
        p, q, r, s = shares[k], shares[k + 1], shares[k + 2], shares[k + 3]
        a, b, c, d = matrix[k, first:], matrix[k + 1, first:], matrix[k + 2, first:], matrix[k + 3, first:]
        for j in range(len(part)):
            part[j] = (((part[j] - p * a[j]) - q * b[j]) - r * c[j]) - s * d[j]
    for k in range(whole, count):
        share, row = shares[k], matrix[k, first:]
        for j in range(len(part)):
            part[j] -= share * row[j]


@rarely_called
def invert(lower: FloatArray, inverse: FloatArray) -> None:
    """Write the inverse of the matrix with this factor, which :func:`factorise` made, in O(d³).

    Examples
    --------
    >>> import numpy as np
    >>> lower, inverse = np.array([[4.0, 2.0], [2.0, 5.0]]), np.zeros((2, 2))
    >>> factorise(lower)
    >>> invert(lower, inverse)
    >>> (16.0 * inverse).tolist()
    [[5.0, -2.0], [-2.0, 4.0]]
    """
    d = len(lower)
    for i in range(d):  # L^-1, row by row
        for j in range(d):
            inverse[i, j] = 1.0 if i == j else 0.0
        eliminate(inverse[i], inverse, lower[i], 0, i, i)
        divide(inverse[i], lower[i, i], i + 1)
    for i in range(d - 1, -1, -1):  # then the columns of the inverse up to the diagonal, from below
        eliminate(inverse[i], inverse, lower[i], i + 1, d, i + 1)
        divide(inverse[i], lower[i, i], i + 1)
    for i in range(d):
        for j in range(i):
            inverse[j, i] = inverse[i, j]


@compilable
def eliminate(row: FloatArray, matrix: FloatArray, share: FloatArray, first: int, end: int, length: int) -> None:
    """Subtract ``share[j]`` times row j of a matrix from the start of a row, for each j from ``first`` to ``end``."""
    whole = first + (end - first) // 4 * 4
    for j in range(first, whole, 4):
        p, q, r, s = share[j], share[j + 1], share[j + 2], share[j + 3]
        for k in range(length):
            row[k] -= (p * matrix[j, k] + q * matrix[j + 1, k]) + (r * matrix[j + 2, k] + s * matrix[j + 3, k])
    for j in range(whole, end):
        for k in range(length):
            row[k] -= share[j] * matrix[j, k]


@compilable
def divide(row: FloatArray, pivot: float, length: int) -> None:
    """Divide the start of a row by a pivot; quotients are clipped to ``LARGEST_SOLUTION``."""
    for k in range(length):
        row[k] = min(max(row[k] / pivot, -LARGEST_SOLUTION), LARGEST_SOLUTION)


@compilable
def solve_lower(lower: FloatArray, b: FloatArray) -> None:
    """Replace b with the solution z of L z = b, which is clipped to ``LARGEST_SOLUTION``."""
    for i in range(len(b)):
        total = b[i]
        for j in range(i):
            total -= lower[i, j] * b[j]
        b[i] = total / lower[i, i]
        if abs(total) > LARGEST_SOLUTION * lower[i, i]:
            b[i] = math.copysign(LARGEST_SOLUTION, total)


@compilable
def solve_upper(lower: FloatArray, b: FloatArray) -> None:
    """Replace b with the solution z of L' z = b, which is clipped to ``LARGEST_SOLUTION``.

    Examples
    --------
    >>> import numpy as np
    >>> lower, b = np.array([[2.0, 0.0], [1.0, 2.0]]), np.array([8.0, 12.0])
    >>> solve_lower(lower, b)
    >>> solve_upper(lower, b)
    >>> lower @ lower.T @ b
    array([ 8., 12.])
    """
    for i in range(len(b) - 1, -1, -1):
        total = b[i]
        for j in range(i + 1, len(b)):
            total -= lower[j, i] * b[j]
        b[i] = total / lower[i, i]
        if abs(total) > LARGEST_SOLUTION * lower[i, i]:
            b[i] = math.copysign(LARGEST_SOLUTION, total)


@compilable
def draw_around(lower: FloatArray, centre: FloatArray, scale: float, drawn: FloatArray, rng: Any) -> None:
    """Draw from the normal law with this centre and the covariance ``scale``² (L L')^-1.

    Draws are clipped to ``LARGEST_SOLUTION``.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = np.zeros(2)
    >>> draw_around(np.diag([1.0, 100.0]), np.array([5.0, 7.0]), 0.01, drawn, np.random.default_rng(0))
    >>> drawn.round(4)
    array([5.0013, 7.    ])
    """
    for i in range(len(drawn)):
        drawn[i] = rng.standard_normal()
    solve_upper(lower, drawn)
    for i in range(len(drawn)):
        drawn[i] = clip(centre[i] + scale * drawn[i], LARGEST_SOLUTION)
