r"""The ridge of *products*: features that are products of others, such as those of an arm and a visitor.

Most of them may have no effect at all, and there are many, so that they would cost many rewards if they were shrunk no
more than others.  Their ridge is therefore learned by itself, after each fit.  With G the Gram matrix of the rows,
:math:`\Lambda` the ridge, V the variance of the noise and b what the rewards say, such that the line is
:math:`(G + \Lambda)^{-1}b`, the log likelihood of a ridge is

.. math::  \tfrac12 \ln|\Lambda| - \tfrac12 \ln|G + \Lambda| + \tfrac{1}{2V} b'(G + \Lambda)^{-1} b.

The ridge of products becomes four times as large if that is likelier, by half a unit as long as the line is young; or a
quarter as large if the log likelihood rises by more than one.  It rises only as far as all of them together still count
as one parameter, :math:`\sum_i G_{ii}/\Lambda_{ii} > 1`: beyond, the likelihood is flat, and would not lead back.
"""

from __future__ import annotations

import math

from ....protocols import compilable, copy_into, rarely_called
from .._cholesky import factorise, solve_lower, solve_upper
from .._design import dot, multiply
from .robust_line import RIDGE_SHARE, dimension
from .sets import LinearSets, is_young
from .two_piece_laws import INFORMATION, WEIGHT

RIDGE_STEP = 4.0  # effects twice as large or half as large
EARLY_EVIDENCE = 0.5  # in log likelihood, to shrink products more while the line is young
OPPOSING_EVIDENCE = 1.0  # to shrink them less: each time, all arms are explored again
VANISHING_VARIANCE = 1e-300  # that of rewards which are all equal is 0


@compilable
def count_products(state: LinearSets) -> int:
    """Return how many features are products."""
    count = 0
    for i in range(len(state.model.product)):
        count += state.model.product[i]
    return count


@compilable
def product_parameters(state: LinearSets) -> float:
    """Return as how many parameters all products count together, if there are far fewer than products."""
    model, gram, total = state.model, state.shrinkage.gram, 0.0
    for i in range(len(model.product)):
        if model.product[i] > 0:
            total += gram[i, i] / model.ridge[i] - 1.0
    return total


@rarely_called
def learn_product_ridge(state: LinearSets) -> None:
    """Learn the ridge of products, and change the line accordingly.

    The Gram matrix with its ridge must be in ``shrinkage.gram``; its factor is left in ``rows.gram``.
    """
    model, rows, gram = state.model, state.rows, state.shrinkage.gram
    numbers, slope, share = state.numbers[0], state.model.line.slope, state.model.product_ridge
    law, n_products = state.laws[numbers.law], count_products(state)
    multiply(gram, slope, rows.course)
    for i in range(len(slope)):
        # At the line, the ridge balances the scores of the rewards.  A score is worth the step of Newton's method.
        score = model.ridge[i] * slope[i]
        rows.image[i] = rows.course[i] + (law[WEIGHT] / law[INFORMATION] - 1.0) * score
    ratio, here = 1.0, evidence(state, 1.0, n_products)
    margin = EARLY_EVIDENCE if is_young(state, dimension(model)) else 0.0
    may_rise, may_fall = product_parameters(state) > RIDGE_STEP, share[0] >= RIDGE_STEP * RIDGE_SHARE
    if may_rise and evidence(state, RIDGE_STEP, n_products) > here + margin:
        ratio = RIDGE_STEP
    elif may_fall and evidence(state, 1.0 / RIDGE_STEP, n_products) > here + OPPOSING_EVIDENCE:
        ratio = 1.0 / RIDGE_STEP
    share[0] *= ratio
    factorise_with(state, ratio)
    for i in range(len(slope)):
        if model.product[i] > 0:
            gram[i, i] += (ratio - 1.0) * model.ridge[i]
            model.ridge[i] *= ratio
    solve_lower(rows.gram, rows.course)
    solve_upper(rows.gram, rows.course)
    copy_into(slope, rows.course)


@rarely_called
def evidence(state: LinearSets, ratio: float, n_products: int) -> float:
    """Return the log likelihood, up to a constant, if the ridge of products were ``ratio`` times what it is."""
    rows, numbers = state.rows, state.numbers[0]
    factorise_with(state, ratio)
    copy_into(rows.right, rows.image)
    solve_lower(rows.gram, rows.right)
    variance = max(numbers.scale * numbers.scale / state.laws[numbers.law][INFORMATION], VANISHING_VARIANCE)
    total = 0.5 * n_products * math.log(ratio) + 0.5 * dot(rows.right, rows.right) / variance
    for i in range(len(rows.right)):
        total -= math.log(rows.gram[i, i])
    return float(total)


@rarely_called
def factorise_with(state: LinearSets, ratio: float) -> None:
    """Write the factor of the Gram matrix whose products have ``ratio`` times their ridge to ``rows.gram``."""
    model, lower = state.model, state.rows.gram
    copy_into(lower, state.shrinkage.gram)
    for i in range(len(lower)):
        if model.product[i] > 0:
            lower[i, i] += (ratio - 1.0) * model.ridge[i]
    factorise(lower)
