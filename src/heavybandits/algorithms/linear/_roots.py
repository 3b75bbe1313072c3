"""Square roots of positive semidefinite matrices by Jacobi rotations, without allocation."""

from __future__ import annotations

import math

from ...protocols import FloatArray, rarely_called

SWEEPS = 40  # far more than are needed: the rotations converge quadratically


@rarely_called
def square_root(matrix: FloatArray, root: FloatArray, work: FloatArray, vectors: FloatArray) -> None:
    """Write the symmetric square root of a symmetric matrix to ``root``, in O(d³); the last two arguments are scratch.

    Examples
    --------
    >>> import numpy as np
    >>> matrix = np.array([[5.0, 4.0], [4.0, 5.0]])
    >>> root = np.zeros((2, 2))
    >>> square_root(matrix, root, np.zeros((2, 2)), np.zeros((2, 2)))
    >>> root.round(12)
    array([[2., 1.],
           [1., 2.]])
    """
    n = len(matrix)
    for i in range(n):
        for j in range(n):
            work[i, j] = matrix[i, j]
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        rotated = False
        for p in range(n):
            for q in range(p + 1, n):
                if abs(work[p, q]) > 1e-16 * math.sqrt(abs(work[p, p]) * abs(work[q, q])):
                    rotate(work, vectors, p, q)
                    rotated = True
        if not rotated:
            break
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += vectors[i, k] * math.sqrt(max(work[k, k], 0.0)) * vectors[j, k]
            root[i, j] = root[j, i] = total


@rarely_called
def rotate(work: FloatArray, vectors: FloatArray, p: int, q: int) -> None:
    """Rotate coordinates p and q so that the entry between them becomes 0."""
    ratio = (work[q, q] - work[p, p]) / (2.0 * work[p, q])
    tangent = 1.0 / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
    if ratio < 0.0:
        tangent = -tangent
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for k in range(len(work)):
        one, two = work[k, p], work[k, q]
        work[k, p], work[k, q] = cosine * one - sine * two, sine * one + cosine * two
    for k in range(len(work)):
        one, two = work[p, k], work[q, k]
        work[p, k], work[q, k] = cosine * one - sine * two, sine * one + cosine * two
        one, two = vectors[k, p], vectors[k, q]
        vectors[k, p], vectors[k, q] = cosine * one - sine * two, sine * one + cosine * two
