r"""A line whose predictions are shrunk, as James and Stein shrink means, wherever all of it is being learned.

Rows with a large part in common, such as rows of positive features, differ least along that part.  So what the part is
worth is learned last, and until then errors in all other directions choose the rows.  Let x be the mean row, G the
Gram matrix of the played rows with its ridge, and V the variance of the noise.  Of all lines that agree with
:math:`\theta` on what the mean row pays above a row of zeros, :math:`\theta_x = G^{-1}x\,x'\theta/(x'G^{-1}x)` varies
least over the rows.  The line becomes

.. math::  s\theta + (1 - s)\theta_x, \qquad s = \max\Bigl(1 - \frac{(d - 3)V}{|\theta - \theta_x|_G^2}, 0.01\Bigr).

With normal noise and rows that do not depend on the rewards, its expected squared errors of prediction are below those
of :math:`\theta`, whatever the truth (James and Stein 1961).  The mean row is that of the rows before the first fit,
which were chosen without rewards; later ones lie where the line already points.  Unless it is far from zero, its square
in the norm of the rows' inverse covariance above d, rows have little in common and nothing is shrunk.

Shrinkage by s amounts to adding :math:`(1/s - 1)(G - xx'/(x'G^{-1}x))` to G, so it also narrows widths.  That is safe
only while rows vary so much that all parameters are learned, whatever is played.  Therefore *growth* is required: while
the sum of the weights grew by some share, G grew by a share of its own in each direction, and growth is the harmonic
mean of these over the former.  It is close to 1 if rows are fresh, and close to 0 if they stay the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...._validate import require_within
from ....protocols import FloatArray, compilable, copy_into, rarely_called
from .._cholesky import factorise, invert
from .._design import dot, multiply
from .kept_rows import Rows
from .robust_line import RIDGE_SHARE, Model

LEAST_FACTOR = 0.01
LEAST_GROWTH = 0.4
SLIGHT = 0.01  # growth that each direction is granted, so that rounding cannot make it negative


class Shrinkage(NamedTuple):
    """How much the line is shrunk, and what is needed to decide that anew."""

    target: FloatArray  # (d,): x, the mean row before the first fit
    factor: FloatArray  # array of length one: s
    prior: FloatArray  # (d, d): what was added to the Gram matrix
    seen: FloatArray  # (d, d): Gram matrix at the latest look, see look
    mass: FloatArray  # array of length one: sum of the weights at that time
    gram: FloatArray  # (d, d): scratch
    spare: FloatArray  # (d, d): scratch
    right: FloatArray  # (d,): scratch

    def check(self, fresh: Shrinkage, n_arms: int) -> None:
        """Refuse an impossible factor."""
        require_within("factor", self.factor, LEAST_FACTOR, 1.0)


def init_shrinkage(n_features: int) -> Shrinkage:
    """Return a line that is not shrunk."""
    d = n_features
    vectors = {name: np.zeros(d) for name in ("target", "right")}
    matrices = {name: np.zeros((d, d)) for name in ("prior", "seen", "gram", "spare")}
    return Shrinkage(factor=np.ones(1), mass=np.zeros(1), **vectors, **matrices)


@rarely_called
def begin_shrinkage(shrinkage: Shrinkage, rows: Rows, model: Model, is_first: bool) -> None:
    """Start again after a fit, which shrinks nothing and leaves its Gram matrix in ``shrinkage.gram``."""
    if is_first:
        copy_into(shrinkage.target, rows.middle)
    shrinkage.factor[0] = 1.0
    shrinkage.prior[:] = 0.0
    note_gram(shrinkage, model)


@rarely_called
def renew_shrinkage(shrinkage: Shrinkage, rows: Rows, model: Model, variance: float) -> bool:
    """Decide anew how much to shrink the line, given the variance of the noise; return whether the line changed."""
    gram, prior, right, target = shrinkage.gram, shrinkage.prior, shrinkage.right, shrinkage.target
    slope, inverse, direction, d = model.line.slope, model.inverse, model.pull, len(target)
    is_far = model.line.mass[0] * multiply(inverse, target, direction) > d
    if not is_far and shrinkage.factor[0] == 1.0:
        return False
    write_inverse(rows, inverse, gram)
    multiply(gram, slope, right)
    for i in range(d):
        for j in range(d):
            gram[i, j] -= prior[i, j]
    grows = growth(shrinkage, rows, model) > LEAST_GROWTH and is_far and d > 3
    if not grows and shrinkage.factor[0] == 1.0:
        return False
    write_inverse(rows, gram, inverse)
    squares, size = multiply(inverse, right, slope), multiply(inverse, target, direction)
    worth, part = dot(target, slope), 1.0 / size if size > 0.0 else 0.0
    factor = factor_for(squares - worth * part * worth, (d - 3) * variance) if grows else 1.0
    rest = 1.0 - factor
    for i in range(d):
        slope[i] = factor * slope[i] + rest * worth * part * direction[i]
        for j in range(d):
            inverse[i, j] = factor * inverse[i, j] + rest * part * (direction[i] * direction[j])
            prior[i, j] = rest / factor * (gram[i, j] - part * (target[i] * target[j]))
    shrinkage.factor[0] = factor
    return True


@compilable
def factor_for(excess: float, noise: float) -> float:
    """Return the factor for predictions whose squares sum to ``excess``, about ``noise`` of which is due to noise.

    Examples
    --------
    >>> factor_for(10.0, noise=2.0), factor_for(2.0, noise=2.0)
    (0.8, 0.01)
    """
    return max(1.0 - noise / excess, LEAST_FACTOR) if excess > noise else LEAST_FACTOR


@compilable
def note_gram(shrinkage: Shrinkage, model: Model) -> None:
    """Note the Gram matrix, with a ridge that grows with the weights, so that all directions of equal rows grow."""
    seen, gram, mass = shrinkage.seen, shrinkage.gram, model.line.mass[0]
    copy_into(seen, gram)
    for i in range(len(seen)):
        seen[i, i] += RIDGE_SHARE * mass * model.square[i] - model.ridge[i]
    shrinkage.mass[0] = mass


@compilable
def growth(shrinkage: Shrinkage, rows: Rows, model: Model) -> float:
    """Return how evenly the Gram matrix has grown since the last look, at most about 1, and look at it."""
    seen, spare, lower, d = shrinkage.seen, shrinkage.spare, rows.gram, len(model.ridge)
    copy_into(spare, seen)
    share = 1.0 - shrinkage.mass[0] / model.line.mass[0]
    note_gram(shrinkage, model)
    if share < SLIGHT:
        return 0.0
    for i in range(d):
        for j in range(d):
            lower[i, j] = (1.0 + SLIGHT * share) * seen[i, j] - spare[i, j]
    factorise(lower)
    invert(lower, spare)
    total = 0.0
    for i in range(d):
        total += dot(spare[i], seen[i])
    return float(d / (share * total))


@compilable
def write_inverse(rows: Rows, matrix: FloatArray, inverse: FloatArray) -> None:
    """Write the inverse of a symmetric matrix, with the factor in ``rows.gram``."""
    copy_into(rows.gram, matrix)
    factorise(rows.gram)
    invert(rows.gram, inverse)
