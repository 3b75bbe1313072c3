r"""The ridge of *products*: features that are products of an arm's own feature and one of a visitor.

Most of them may have no effect at all, and there are many, so that they would cost many rewards if they were shrunk no
more than others.  Their ridge is therefore learned by itself, after each fit.  With G the Gram matrix of the rows,
:math:`\Lambda` the ridge, V the variance of the noise and b what the rewards say, such that the line is
:math:`(G + \Lambda)^{-1}b`, the log likelihood of a ridge is

.. math::  \tfrac12 \ln|\Lambda| - \tfrac12 \ln|G + \Lambda| + \tfrac{1}{2V} b'(G + \Lambda)^{-1} b.

The ridge of products becomes four times as large if that is likelier, by one unit as long as the line is young; or a
quarter as large if the log likelihood rises by more than one.  It rises only as far as all of them together still count
as one parameter, :math:`\sum_i G_{ii}/\Lambda_{ii} > 1`: beyond, the likelihood is flat, and would not lead back.

What some arms tell holds for the others only as far as those have been played.  Otherwise an arm that has had bad luck
with its first rewards would be given up: while others are played, products seem useless, since one model explains these
rewards, and the interval of the arm narrows without a reward of its own.  So from the first fit on, the products of an
arm with n rewards have a ridge of at most :math:`8\,(1 + (n/12)^2)` times their mean squares.  At 8 times, eight of
them make rewards vary as much as the noise does.  The sum above is the one without this bound.
"""

from __future__ import annotations

import math

from ....protocols import compilable, copy_into, rarely_called
from .._cholesky import factorise, solve_lower, solve_upper
from .._design import dot, multiply
from .robust_line import RIDGE_SHARE, Model, dimension, is_product
from .sets import LinearSets, is_young
from .two_piece_laws import INFORMATION, WEIGHT

RIDGE_STEP = 4.0  # effects twice as large or half as large
EARLY_EVIDENCE = 1.0  # in log likelihood, to shrink products more while the line is young
OPPOSING_EVIDENCE = 1.0  # to shrink them less: each time, all arms are explored again
VANISHING_VARIANCE = 1e-300  # that of rewards which are all equal is 0
UNPLAYED_SHARE = 8.0  # of mean squares: the largest ridge of products of an arm without rewards
TELLING_REWARDS = 12.0  # of an arm, at which that has doubled


@compilable
def count_products(model: Model) -> int:
    """Return how many features are products."""
    count = 0
    for i in range(len(model.owner)):
        count += 1 if is_product(model, i) else 0
    return count


@compilable
def can_learn_products(model: Model) -> bool:
    """Return whether there are products, and a row that was not all 0."""
    return count_products(model) > 0 and model.square[0] > 0.0


@compilable
def own_ridge(model: Model, product: int, share: float) -> float:
    """Return the ridge of a product, if that of arms with many rewards is this share of mean squares."""
    rewards = model.played[model.owner[product]] / TELLING_REWARDS
    return float(min(share, UNPLAYED_SHARE * (1.0 + rewards * rewards)) * model.square[product])


@compilable
def product_parameters(state: LinearSets) -> float:
    """Return as how many parameters all products would count without that bound, if these are far fewer."""
    model, gram, total = state.model, state.shrinkage.gram, 0.0
    for i in range(len(model.ridge)):
        if is_product(model, i):
            total += (gram[i, i] - model.ridge[i]) / (model.product_ridge[0] * model.square[i])
    return total


@rarely_called
def learn_product_ridge(state: LinearSets) -> None:
    """Learn the ridge of products, and change the line accordingly.

    The Gram matrix with its ridge must be in ``shrinkage.gram``; its factor is left in ``rows.gram``.
    """
    model, rows, gram = state.model, state.rows, state.shrinkage.gram
    numbers, slope, share = state.numbers[0], state.model.line.slope, state.model.product_ridge
    law = state.laws[numbers.law]
    multiply(gram, slope, rows.course)
    for i in range(len(slope)):
        # At the line, the ridge balances the scores of the rewards.  A score is worth the step of Newton's method.
        score = model.ridge[i] * slope[i]
        rows.image[i] = rows.course[i] + (law[WEIGHT] / law[INFORMATION] - 1.0) * score
    here, best = evidence(state, share[0]), share[0]
    margin = EARLY_EVIDENCE if is_young(state, dimension(model)) else 0.0
    may_rise, may_fall = product_parameters(state) > RIDGE_STEP, share[0] >= RIDGE_STEP * RIDGE_SHARE
    if may_rise and evidence(state, RIDGE_STEP * share[0]) > here + margin:
        best = RIDGE_STEP * share[0]
    elif may_fall and evidence(state, share[0] / RIDGE_STEP) > here + OPPOSING_EVIDENCE:
        best = share[0] / RIDGE_STEP
    share[0] = best
    factorise_with(state, best)
    for i in range(len(slope)):
        if is_product(model, i):
            ridge = own_ridge(model, i, best)
            gram[i, i] += ridge - model.ridge[i]
            model.ridge[i] = ridge
    solve_lower(rows.gram, rows.course)
    solve_upper(rows.gram, rows.course)
    copy_into(slope, rows.course)


@rarely_called
def evidence(state: LinearSets, share: float) -> float:
    """Return the log likelihood, up to a constant, if the ridge of products were this share of mean squares."""
    model, rows, numbers = state.model, state.rows, state.numbers[0]
    factorise_with(state, share)
    copy_into(rows.right, rows.image)
    solve_lower(rows.gram, rows.right)
    variance = max(numbers.scale * numbers.scale / state.laws[numbers.law][INFORMATION], VANISHING_VARIANCE)
    total = 0.5 * dot(rows.right, rows.right) / variance
    for i in range(len(rows.right)):
        total -= math.log(rows.gram[i, i])
        if is_product(model, i):
            total += 0.5 * math.log(own_ridge(model, i, share) / model.ridge[i])
    return float(total)


@rarely_called
def factorise_with(state: LinearSets, share: float) -> None:
    """Write the factor of the Gram matrix, if the ridge of products is this share of mean squares, to ``rows.gram``."""
    model, lower = state.model, state.rows.gram
    copy_into(lower, state.shrinkage.gram)
    for i in range(len(lower)):
        if is_product(model, i):
            lower[i, i] += own_ridge(model, i, share) - model.ridge[i]
    factorise(lower)
