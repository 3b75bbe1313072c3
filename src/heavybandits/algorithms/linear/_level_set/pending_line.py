r"""Pending decisions of a linear model: rows whose rewards are not yet known narrow widths, as in :mod:`._design`.

They count in a second inverse, with weight 1.  As in the first, its rows are centred at their mean, which here is that
of known and pending rows.  Two rows of which one has been played show why: around any fixed point between them, both
are known equally well, and the same one would be chosen until a reward comes.  Let N be the weight of all these rows
and v how far a row is from their mean.  Then adding it adds :math:`vv'N/(N + 1)` to the Gram matrix, and taking it out
subtracts :math:`vv'N/(N - 1)`.

The sums of pending rows are those around an *anchor*, the mean of known rows as of the first pending decision or the
latest fit.  While a single row is pending and nobody asks, the second inverse is not made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocols import FloatArray, compilable, copy_into, rarely_called
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


@compilable
def joint_mean(model: Model, mean: FloatArray) -> float:
    """Write the mean of known and counted rows to ``mean``; return their weight."""
    line, counted = model.line, model.counted[0]
    total = line.mass[0] + counted
    for i in range(len(mean)):
        mean[i] = line.centre[i]
        if counted > 0:
            mean[i] += (model.missing[i] + counted * (model.anchor[i] - line.centre[i])) / total
    return float(total)


@rarely_called
def count_pending(model: Model) -> None:
    """Make the inverse with pending rows, if so far there has been no need of it."""
    if model.counted[0] == 0:
        copy_into(model.asked, model.inverse)
        model.waiting[:] = 0.0
        model.missing[:] = 0.0
        change_pending(model, model.alone, 1)


@rarely_called
def change_pending(model: Model, x: FloatArray, change: int) -> None:
    """Add a pending row if ``change`` is 1, or remove one if it is -1."""
    shift = model.shift
    before = joint_mean(model, shift)
    for i in range(len(x)):
        shift[i] = x[i] - shift[i]
    is_possible = before == 0.0 or change_inverse(model.asked, shift, model.pull, change * before / (before + change))
    for i in range(len(x)):
        shift[i] = x[i] - model.anchor[i]
        model.missing[i] += change * shift[i]
    add_outer(model.waiting, shift, change)
    model.counted[0] += change
    if not is_possible:
        renew_pending(model)


@rarely_called
def learn_beside_pending(model: Model, shift: FloatArray, weight: float) -> None:
    """Add a row whose reward has come, given its place beside the mean of those known before."""
    away = model.alone  # which is free, as that row counts
    before = joint_mean(model, away)
    for i in range(len(shift)):
        away[i] = model.line.centre[i] + shift[i] - away[i]
    change_inverse(model.asked, away, model.factor[0], weight * before / (before + weight))


@rarely_called
def renew_pending(model: Model) -> None:
    """Recompute the inverse with pending rows, if it has been made, and centre them where the line is now; O(d³)."""
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
    add_outer(factor, missing, -1.0 / (model.line.mass[0] + pending))
    add_rows(model.asked, waiting, factor, column, model.pull)
