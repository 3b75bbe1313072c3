"""Pending decisions of a linear model: rows whose rewards are not yet known narrow widths, as in :mod:`._design`.

They count in a second inverse, with weight 1, centred at the mean row as of the first of these decisions or the latest
fit.  While a single row is pending and nobody asks, that inverse is not made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocols import FloatArray, copy_into, rarely_called
from .._design import absorb, add_outer, add_rows, multiply

if TYPE_CHECKING:
    from .robust_line import Model

LEAST_LINE_REMAINDER = 1e-6  # if removing a pending row leaves less of its direction, the inverse is recomputed


@rarely_called
def change_inverse(inverse: FloatArray, shift: FloatArray, product: FloatArray, weight: float) -> bool:
    """Update an inverse by a row, which a negative weight removes; return whether that is possible."""
    grown = 1.0 + weight * multiply(inverse, shift, product)
    if grown > LEAST_LINE_REMAINDER:
        absorb(inverse, shift, product, weight, grown)
    return grown > LEAST_LINE_REMAINDER


@rarely_called
def count_pending(model: Model) -> None:
    """Make the inverse with pending rows, if so far there has been no need of it."""
    if model.counted[0] == 0:
        copy_into(model.asked, model.inverse)
        model.waiting[:] = 0.0
        model.missing[:] = 0.0
        model.counted[0] = 1
        change_pending(model, model.alone, 1.0)


@rarely_called
def change_pending(model: Model, x: FloatArray, sign: float) -> None:
    """Add a pending row, or remove one if ``sign`` is negative."""
    shift = model.shift
    for i in range(len(x)):
        shift[i] = x[i] - model.anchor[i]
        model.missing[i] += sign * shift[i]
    add_outer(model.waiting, shift, sign)
    if not change_inverse(model.asked, shift, model.pull, sign):
        renew_pending(model)


@rarely_called
def renew_pending(model: Model) -> None:
    """Recompute the inverse with pending rows, if it has been made, centred where the line is now; O(d³)."""
    if model.counted[0] == 0:
        copy_into(model.anchor, model.line.centre)
        return
    waiting, missing, anchor, column, factor = model.waiting, model.missing, model.anchor, model.shift, model.factor
    d, pending = len(missing), model.counted[0]
    for i in range(d):
        column[i] = model.line.centre[i] - anchor[i]
        anchor[i] = model.line.centre[i]
    for i in range(d):
        for j in range(d):
            waiting[i, j] += pending * column[i] * column[j] - column[i] * missing[j] - missing[i] * column[j]
    for i in range(d):
        missing[i] -= pending * column[i]
    copy_into(model.asked, model.inverse)
    copy_into(factor, waiting)
    add_rows(model.asked, waiting, factor, column, model.pull)
