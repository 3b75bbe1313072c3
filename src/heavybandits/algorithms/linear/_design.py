r"""What linear policies know about the rows they have played: an inverse that is updated with each row in O(d²).

With :math:`A = \lambda I + \sum_i w_i x_i x_i^T`, a row x has the *leverage* :math:`h = x^T A^{-1} x`, which plays the
part that one over the number of pulls plays for an arm.  When A becomes :math:`A + w x x^T`, its inverse P becomes

.. math::  P - \frac{w}{1 + w h}\,(P x)(P x)^T,

written to both triangles, so that P stays symmetric to the last bit.

**Pending decisions** narrow widths and leave estimates alone, as in GP-BUCB (Desautels, Krause, Burdick 2014): rows
that were selected but whose rewards are not yet known count in a second inverse Q, with weight 1.  While any are
pending, leverages are taken from Q; otherwise they are taken from P, so that Q has no effect at all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import require_within
from ...numerics import EXCESS
from ...protocols import FloatArray, IntArray, compilable, copy_into, rarely_called

LARGEST_LEVERAGE = 1e12  # rows with a larger one are added with care: a plain update would keep at most four digits
PIVOT_ROUNDING = 1e-12  # a pivot below this share of the diagonal is nothing but rounding
LEAST_REMAINDER = 1e-4  # if removing a row leaves less than this share of its direction, the inverse is recomputed


class Design(NamedTuple):
    """Inverses for the known rows, and for known and pending rows together; part of the state of a linear policy.

    Attributes
    ----------
    inverse
        P, for the rows whose rewards are known.
    asked
        Q, which includes the pending rows; out of date while nothing is pending.
    waiting
        The sum of x x' over the pending rows.
    product
        P x for the row learned last, with P as it was before: the direction in which an estimate moves.
    factor, column
        Scratch.
    log_det
        ln(det A / det A_0).
    pending
        Number of pending rows.
    """

    inverse: FloatArray
    asked: FloatArray
    waiting: FloatArray
    product: FloatArray
    factor: FloatArray
    column: FloatArray
    log_det: FloatArray
    pending: IntArray

    def check(self, fresh: Design, n_arms: int) -> None:
        """Refuse an inverse that is infinite or has a negative diagonal, and a determinant that is too small."""
        least = self.inverse.diagonal().min() if np.isfinite(self.inverse).all() else np.nan
        if not least >= -1e-9 * fresh.inverse.max():  # which rounding errors are a share of
            raise ValueError(f"inverse must be finite, with no negative diagonal; the least there is {least}")
        require_within("log_det", self.log_det, -1e-6, np.inf)

    def ask(self, x: FloatArray) -> None:
        """Note that the reward of a row is pending."""
        if self.pending[0] == 0:
            copy_into(self.asked, self.inverse)
            self.waiting[:] = 0.0
        self.pending[0] += 1
        add_outer(self.waiting, x, 1.0)
        grown = 1.0 + multiply(self.asked, x, self.product)
        absorb(self.asked, x, self.product, 1.0, grown)

    def settle(self, x: FloatArray) -> None:
        """Note that a row is no longer pending: its reward has just been learned, or will never come."""
        if self.pending[0] == 0:
            return
        self.pending[0] -= 1
        if self.pending[0] == 0:
            return
        add_outer(self.waiting, x, -1.0)
        left = 1.0 - multiply(self.asked, x, self.product)
        if left > LEAST_REMAINDER:
            add_outer(self.asked, self.product, 1.0 / left)
        else:
            renew(self)


def init_design(n_features: int, ridge: float) -> Design:
    """Return the design before the first row: A is ``ridge`` times the identity.

    Examples
    --------
    >>> design = init_design(2, ridge=1.0)
    >>> x = np.array([1.0, 0.0])
    >>> float(add_row(design, x, 1.0)), float(leverage(design, x))
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
        factor=np.zeros(square),
        column=np.zeros(n_features),
        log_det=np.zeros(1),
        pending=np.zeros(1, np.int64),
    )


@compilable
def add_row(design: Design, x: FloatArray, weight: float) -> float:
    """Add a row with this weight, which may be negative, set ``product``, and return the row's leverage before."""
    if design.pending[0] > 0:
        grown = 1.0 + weight * multiply(design.asked, x, design.product)
        absorb(design.asked, x, design.product, weight, grown)
    leverage = multiply(design.inverse, x, design.product)
    grown = 1.0 + weight * leverage
    absorb(design.inverse, x, design.product, weight, grown)
    design.log_det[0] += math.log(grown)
    return leverage


@compilable
def leverage(design: Design, x: FloatArray) -> float:
    """Return the row's leverage among known and pending rows, which determines its width."""
    return quadratic(design.asked, x) if design.pending[0] > 0 else quadratic(design.inverse, x)


@compilable
def known_leverage(design: Design, x: FloatArray) -> float:
    """Return the row's leverage among the rows whose rewards are known."""
    return quadratic(design.inverse, x)


@compilable
def quadratic(matrix: FloatArray, x: FloatArray) -> float:
    """Return x' M x for a symmetric matrix; features that are zero cost nothing."""
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
    """Write M x to ``product`` and return x' M x, for a positive semidefinite matrix.

    Rounding may take over if features differ by so much that M is singular to the last digit.  If it makes x' M x
    negative, all is zero.  Otherwise no entry of M x is larger than Cauchy and Schwarz allow: x' M x is at least its
    square over the diagonal of M.  So an update by that row leaves a diagonal that is not negative.

    Examples
    --------
    >>> float(multiply(np.array([[1.0, 1.0], [1.0, 0.5]]), np.array([1.0, -1.0]), np.zeros(2)))  # instead of -0.5
    0.0
    >>> float(multiply(np.array([[1.0, 3.0], [3.0, 1.0]]), np.array([1.0, 0.0]), np.zeros(2)))  # instead of 1
    9.0
    """
    apply(matrix, x, product)
    return size_of(matrix, x, product)


@compilable
def apply(matrix: FloatArray, x: FloatArray, product: FloatArray) -> None:
    """Write M x to ``product``, for a symmetric matrix; features that are zero cost nothing."""
    product[:] = 0.0
    for i in range(len(x)):
        if x[i] != 0.0:
            for j in range(len(x)):
                product[j] += matrix[i, j] * x[i]


@compilable
def size_of(matrix: FloatArray, x: FloatArray, product: FloatArray) -> float:
    """Return x' M x, given M x; see :func:`multiply` for what rounding may not do."""
    size = dot(x, product)
    if size < 0.0:
        product[:] = 0.0
        return 0.0
    is_odd, most = False, EXCESS * size
    for i in range(len(x)):
        is_odd |= product[i] * product[i] > most * matrix[i, i]
    return reconcile(matrix, product, size) if is_odd else size


@rarely_called
def reconcile(matrix: FloatArray, product: FloatArray, size: float) -> float:
    """Return the least value that x' M x may have beside the entries of M x; where M has no diagonal, they become 0."""
    for i in range(len(product)):
        if matrix[i, i] > 0.0:
            size = max(size, product[i] / matrix[i, i] * product[i])
        else:
            product[i] = 0.0
    return size


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


@compilable
def absorb(inverse: FloatArray, x: FloatArray, product: FloatArray, weight: float, grown: float) -> None:
    """Update an inverse P by a row with this weight, given P x and what the determinant grows by, 1 + w x'P x."""
    if grown > LARGEST_LEVERAGE:
        add_far_row(inverse, x, product, weight, 1.0 / grown)
    else:
        add_outer(inverse, product, -weight / grown)


@rarely_called
def add_far_row(inverse: FloatArray, shift: FloatArray, product: FloatArray, weight: float, shrink: float) -> None:
    """Update an inverse P by a row v of huge leverage so that it stays positive definite (Joseph's form).

    With k = w P v/(1 + w v'P v), it becomes (I - k v')P(I - v k') + k k'/w.

    Examples
    --------
    >>> inverse, row = np.eye(2), np.array([1e12, 1.0])
    >>> add_far_row(inverse, row, inverse @ row, 1.0, 1.0 / (1.0 + row @ row))
    >>> inverse.diagonal().round(30)
    array([2.e-24, 1.e+00])
    """
    d, share = len(shift), weight * shrink
    for i in range(d):
        gain, rest, before = share * product[i], 0.0, inverse[i, i]
        for j in range(d):
            inverse[i, j] -= gain * product[j]
            rest += inverse[i, j] * shift[j]
        for j in range(d):
            inverse[i, j] += share * product[j] * (gain / weight - rest)
        inverse[i, i] = min(max(inverse[i, i], gain * gain / weight), before)
    for i in range(d):
        for j in range(i):
            most = math.sqrt(inverse[i, i]) * math.sqrt(inverse[j, j])
            inverse[i, j] = inverse[j, i] = min(max(0.5 * (inverse[i, j] + inverse[j, i]), -most), most)


@rarely_called
def renew(design: Design) -> None:
    """Recompute the second inverse from the first and the pending rows, in O(d³)."""
    copy_into(design.asked, design.inverse)
    copy_into(design.factor, design.waiting)
    add_rows(design.asked, design.waiting, design.factor, design.column, design.product)


@rarely_called
def add_rows(
    inverse: FloatArray, gram: FloatArray, factor: FloatArray, column: FloatArray, product: FloatArray
) -> None:
    """Update an inverse by rows of which only the sum of x x' is known, in O(d³).

    ``factor`` is a copy of that sum; like ``column`` and ``product``, it is overwritten.

    Examples
    --------
    >>> inverse, gram = np.eye(2), np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> add_rows(inverse, gram, gram.copy(), np.zeros(2), np.zeros(2))
    >>> (8.0 * inverse).round(12).tolist()
    [[3.0, -1.0], [-1.0, 3.0]]
    """
    for k in range(len(column)):  # each column of its Cholesky factor is a row to be added
        pivot = factor[k, k]
        if pivot > PIVOT_ROUNDING * gram[k, k]:
            for i in range(len(column)):
                column[i] = factor[i, k] / math.sqrt(pivot) if i >= k else 0.0
            add_outer(factor, column, -1.0)
            absorb(inverse, column, product, 1.0, 1.0 + multiply(inverse, column, product))
