r"""What linear policies know of the rows they have played: an inverse that follows each row in O(d²).

With :math:`A = \lambda I + \sum_i w_i x_i x_i^T` a row x has the *leverage* :math:`h = x^T A^{-1} x`: it is to a linear
policy what one over the number of pulls is to an arm.  :math:`P = A^{-1}` follows :math:`A + w x x^T` by

.. math::  P - \frac{w}{1 + w h}\,(P x)(P x)^T,

written to both triangles, so that P stays symmetric to the last bit.

**Pending decisions** narrow widths and leave estimates alone, as in GP-BUCB (Desautels, Krause, Burdick 2014): rows
that were asked for and whose rewards are not known yet count in a second inverse Q, with weight 1.  While something is
pending leverages are taken from Q; otherwise from P, bit for bit as if there were no such thing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import require_within
from ...protocols import FloatArray, IntArray, compilable, copy_into, rarely_called

STEEP = 1e-4  # of a row taken out: if less than this share of its direction is left, the inverse is worked out anew


class Design(NamedTuple):
    """Inverses for the rows that are known, and for those and the pending ones; part of the state of a linear policy.

    Attributes
    ----------
    inverse
        P, of the rows whose rewards are known.
    asked
        Q, of the pending rows too; out of date while nothing is pending.
    waiting
        The sum of x x' over the pending rows.
    product
        P x of the row that was learned last, before it was: what an estimate moves along.
    log_det
        ln(det A / det A_0).
    pending
        Number of pending rows.
    """

    inverse: FloatArray
    asked: FloatArray
    waiting: FloatArray
    product: FloatArray
    log_det: FloatArray
    pending: IntArray

    def check(self, fresh: Design, n_arms: int) -> None:
        """Refuse an inverse that is not positive definite, and a determinant that is too small."""
        sizes = np.linalg.eigvalsh(self.inverse) if np.isfinite(self.inverse).all() else np.full(1, -np.inf)
        if sizes.min() < -1e-9 * sizes.max():
            raise ValueError("inverse must be positive definite")
        require_within("log_det", self.log_det, -1e-6, np.inf)

    def ask(self, x: FloatArray) -> None:
        """Note that the reward of a row is pending."""
        if self.pending[0] == 0:
            copy_into(self.asked, self.inverse)
            self.waiting[:] = 0.0
        self.pending[0] += 1
        add_outer(self.waiting, x, 1.0)
        leverage = multiply(self.asked, x, self.product)
        add_outer(self.asked, self.product, -1.0 / (1.0 + leverage))

    def settle(self, x: FloatArray) -> None:
        """Note that a pending row is pending no more: its reward was learned just now, or will never come."""
        if self.pending[0] == 0:
            return
        self.pending[0] -= 1
        if self.pending[0] == 0:
            return
        add_outer(self.waiting, x, -1.0)
        left = 1.0 - multiply(self.asked, x, self.product)
        if left > STEEP:
            add_outer(self.asked, self.product, 1.0 / left)
        else:
            renew(self)


def init_design(n_features: int, ridge: float) -> Design:
    """Return the design before the first row: A is ``ridge`` times the identity.

    Examples
    --------
    >>> design = init_design(2, ridge=1.0)
    >>> x = np.array([1.0, 0.0])
    >>> float(learn(design, x, 1.0)), float(leverage(design, x))
    (1.0, 0.5)
    >>> design.ask(x)
    >>> float(leverage(design, x)), float(known_leverage(design, x))
    (0.33333333333333337, 0.5)
    >>> design.settle(x)
    >>> float(leverage(design, x))
    0.5
    """
    square = (n_features, n_features)
    return Design(
        inverse=np.eye(n_features) / ridge,
        asked=np.zeros(square),
        waiting=np.zeros(square),
        product=np.zeros(n_features),
        log_det=np.zeros(1),
        pending=np.zeros(1, np.int64),
    )


@compilable
def learn(design: Design, x: FloatArray, weight: float) -> float:
    """Add a row with this weight, which may be negative, and return its leverage before that; see ``product``."""
    if design.pending[0] > 0:
        shrunk = weight / (1.0 + weight * multiply(design.asked, x, design.product))
        add_outer(design.asked, design.product, -shrunk)
    leverage = multiply(design.inverse, x, design.product)
    grown = 1.0 + weight * leverage
    add_outer(design.inverse, design.product, -weight / grown)
    design.log_det[0] += math.log(grown)
    return leverage


@compilable
def leverage(design: Design, x: FloatArray) -> float:
    """Return the row's leverage among known and pending rows: what widths are made of."""
    return quadratic(design.asked, x) if design.pending[0] > 0 else quadratic(design.inverse, x)


@compilable
def known_leverage(design: Design, x: FloatArray) -> float:
    """Return the row's leverage among the rows whose rewards are known."""
    return quadratic(design.inverse, x)


@compilable
def quadratic(matrix: FloatArray, x: FloatArray) -> float:
    """Return x' M x for a symmetric matrix; zeros among the features cost nothing."""
    total = 0.0
    for i in range(len(x)):
        if x[i] != 0.0:
            inner = 0.0
            for j in range(i):
                inner += matrix[i, j] * x[j]
            total += x[i] * (2.0 * inner + matrix[i, i] * x[i])
    return max(total, 0.0)


@compilable
def multiply(matrix: FloatArray, x: FloatArray, product: FloatArray) -> float:
    """Write M x to ``product`` and return x' M x, for a symmetric matrix."""
    product[:] = 0.0
    for i in range(len(x)):
        if x[i] != 0.0:
            for j in range(len(x)):
                product[j] += matrix[i, j] * x[i]
    return max(dot(x, product), 0.0)


@compilable
def dot(x: FloatArray, y: FloatArray) -> float:
    """Return x'y."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@compilable
def add_outer(matrix: FloatArray, x: FloatArray, scale: float) -> None:
    """Add ``scale`` x x' to a symmetric matrix, which stays symmetric to the last bit."""
    for i in range(len(x)):
        if x[i] != 0.0:
            for j in range(len(x)):
                matrix[i, j] += scale * (x[i] * x[j])


@rarely_called
def renew(design: Design) -> None:
    """Work the second inverse out anew from the first and the pending rows, in O(d³).

    A policy that writes its ``inverse`` anew, as after a fit, calls this if something is pending.
    """
    n = len(design.product)
    copy_into(design.asked, design.inverse)
    invert(design.asked)
    for i in range(n):
        for j in range(n):
            design.asked[i, j] += design.waiting[i, j]
    invert(design.asked)


@compilable
def invert(matrix: FloatArray) -> None:
    """Invert a symmetric positive definite matrix in its place, in O(d³).

    Examples
    --------
    >>> matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> invert(matrix)
    >>> (3.0 * matrix).round(12).tolist()
    [[2.0, -1.0], [-1.0, 2.0]]
    """
    n = matrix.shape[0]
    for k in range(n):
        pivot = matrix[k, k]
        matrix[k, k] = 1.0
        for j in range(n):
            matrix[k, j] /= pivot
        for i in range(n):
            if i != k:
                factor = matrix[i, k]
                matrix[i, k] = 0.0
                for j in range(n):
                    matrix[i, j] -= factor * matrix[k, j]
    for i in range(n):
        for j in range(i):
            middle = 0.5 * (matrix[i, j] + matrix[j, i])
            matrix[i, j] = middle
            matrix[j, i] = middle
