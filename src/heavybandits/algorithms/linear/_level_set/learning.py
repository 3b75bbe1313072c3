r"""How the linear level-set policies learn: the line, the law and scale of the noise, the ridge, and what to compare.

Until there are three more rewards than parameters, rows are played that span what is offered.  Then a *fit* is made
to the rows so far, and another whenever their number has grown by a quarter, as long as there is room to keep them.  If
there are many features, the ridge is large at first, so that rows determine few parameters and fits begin at once: the
line is *young*, see :func:`.sets.is_young`.  A fit determines

- the line, by reweighted least squares, starting from the current line and, while rewards are few, also from least
  absolute deviations;
- the law, as the likeliest of fourteen by half the log likelihood of the residuals, and the scale, which is shrunk
  towards the median deviation of the rewards while residuals are few, and is never below a ten-thousandth of it;
- the ridge, as 0.3 times what the size of the line suggests: with :math:`m_i` the mean square of feature i where it is
  not zero, or its variance if it lies far from 0, and V the variance of the noise,
  :math:`\lambda_i = 0.3\,m_i V/\tau^2` where :math:`\tau^2` is the mean of :math:`m_j(\theta_j^2 + V P_{jj})`, a step
  of expectation-maximisation; if the line is young, :math:`m_i V/\tau^2` with
  :math:`\tau^2 = \sum_j m_j\theta_j^2/(D - 1)`, MacKay's rule, at most :math:`f m_i` if f features of a row are not 0;
- the ridge of features that are products of others, by its likelihood, see :mod:`.product_ridge`;
- whether means are compared, by least squares: they are if rewards repeat, see :func:`.spreads.repeats`.

Between fits each reward moves the line and the scale by its scores, in O(d²).  When there is no more room, the line is
shrunk instead of fitted, see :mod:`.line_shrinkage`, unless it turns out then whether rewards repeat.  If there are
products, their ridge is learned instead.
"""

from __future__ import annotations

import math

from ....numerics import clip
from ....protocols import FloatArray, compilable, copy_into, rarely_called
from ...level_sets.spreads import learn_spread, repeats
from ...parts.means.median import median_in_place
from .._cholesky import invert
from .kept_rows import keep, write_squares
from .level_set import RENEWAL, update_kept
from .line_fit import complete, loss_of, reweigh, write_residuals
from .line_shrinkage import begin_shrinkage, renew_shrinkage, write_inverse
from .pending_line import renew_pending
from .product_ridge import can_learn_products, count_products, learn_product_ridge, own_ridge
from .robust_line import (
    RIDGE_SHARE,
    approach,
    begin,
    collect,
    dimension,
    fill_squares,
    follow,
    forget,
    is_product,
    predict,
    renew_offset,
    restrain,
)
from .sets import LARGEST_REWARD, LinearSets, compares_means, is_young
from .two_piece_laws import (
    FARTHEST_SCALES,
    GROSS,
    INFORMATION,
    RATIO,
    SHARPNESS,
    WEIGHT,
    log_likelihood,
    match,
    weight_at,
)

SMALLEST_SCALE, LARGEST_RATIO = 1e-300, 1e300
SPARE = 2.5  # rewards beyond the parameters at the first fit; not a whole number, as parameters are counted by a trace
FIT_GROWTH, YOUNG_GROWTH = 1.25, 1.5  # factors by which the rewards grow between two fits
HEAD_START, PENALTY = 0.7, 1.0  # in log likelihood: of the first law, Cauchy, and of those that are no Student laws
RICH = 20.0  # rewards per parameter that make a second start unnecessary
ENOUGH_DEGREES = 60.0  # degrees of freedom at which the residuals alone determine the scale
LOCATION_PRIOR, MEAN_PRIOR = 5.0, 3.0  # how many residuals the spread of the rewards counts for
MOST_SQUARES = LARGEST_REWARD * LARGEST_REWARD  # at which sums of squares stay, so that no scale is infinite
FLOOR_SHARE = 1e-4  # the least scale, as a share of the spread of rewards
CAUTION = 0.3  # share of the ridge that the size of the line suggests


@compilable
def prepare_rows(state: LinearSets, features: FloatArray) -> None:
    """Take the scale of the features from the rows on offer, as long as there is no reward."""
    if state.numbers[0].clock == 0 and state.model.pending[0] == 0:
        forget(state.model)
        for a in range(len(features)):
            collect(state.model, features[a], 1.0 / len(features))
        begin(state.model, is_young(state, dimension(state.model)))


@compilable
def learn_line(state: LinearSets, x: FloatArray, reward: float) -> None:
    """Learn from the reward of a row."""
    numbers = state.numbers[0]
    model = state.model
    if model.ridge[0] == 0.0:
        forget(model)
        collect(model, x, 1.0)
        begin(model, is_young(state, dimension(model)))
    y = clip(reward, LARGEST_REWARD)
    numbers.clock += 1
    # The residual is that of a row which the line has not seen; its variance is 1 + leverage times that of the noise.
    leverage = approach(model, x)
    residual = y - predict(model.line, x)
    if numbers.fitted == 0:
        step = follow(model, leverage, residual, 1.0, 0.0)
    else:
        law = state.laws[numbers.law]
        z = min(max(residual / numbers.scale, -FARTHEST_SCALES), FARTHEST_SCALES)
        w = weight_at(law, z)
        # The gain divides by the expected curvature, not by the observed one, which is negative for far residuals.
        step = follow(model, leverage, residual, w / law[WEIGHT], w / law[INFORMATION])
        if compares_means(state):
            square = residual / (1.0 + leverage + 1.0 / step.mass) * residual
            numbers.squares = min(numbers.squares + square, MOST_SQUARES)
            numbers.freedom += 1.0
            numbers.scale = max(math.sqrt(numbers.squares / numbers.freedom), numbers.floor)
        elif numbers.told == 0.0:
            growth = math.exp((w * z * z - 1.0) / (law[SHARPNESS] * numbers.clock))
            numbers.scale = max(numbers.scale * growth, numbers.floor)
    if numbers.clock % RENEWAL == 0:
        renew_offset(model)
    for i in range(len(x)):
        model.played[i] += 1.0 if x[i] != 0.0 else 0.0
    update_kept(state.arms, model, step)
    learn_spread(state.spreads, 0, y)
    has_room = keep(state.rows, x, y)
    if numbers.clock >= numbers.due and numbers.clock >= dimension(model) + SPARE:
        pause = YOUNG_GROWTH if is_young(state, dimension(model)) else FIT_GROWTH
        numbers.due = max(numbers.clock + 1.0, pause * numbers.clock)
        by_means = numbers.only_means == 1 or repeats(state.spreads)
        if has_room or by_means != compares_means(state):
            fit(state, by_means)
        else:
            shrink(state)


@rarely_called
def shrink(state: LinearSets) -> None:
    """Decide anew how much to shrink the line or, if there are products of features, these alone."""
    numbers = state.numbers[0]
    variance = numbers.scale * numbers.scale / state.laws[numbers.law][INFORMATION]
    if can_learn_products(state.model):
        write_inverse(state.rows, state.model.inverse, state.shrinkage.gram)
        learn_product_ridge(state)
        invert(state.rows.gram, state.model.inverse)
        restrain(state.model)
        renew_derived(state)
    elif renew_shrinkage(state.shrinkage, state.rows, state.model, variance):
        renew_derived(state)


@rarely_called
def renew_derived(state: LinearSets) -> None:
    """Compute anew what is derived from the line and its inverse."""
    state.arms.age[0] = RENEWAL
    renew_offset(state.model)
    if state.model.pending[0] > 0:
        renew_pending(state.model)


@rarely_called
def fit(state: LinearSets, by_means: bool) -> None:
    """Fit the line, law, scale and ridge to the rows that are kept, by means or by locations."""
    numbers = state.numbers[0]
    model, rows, line = state.model, state.rows, state.model.line
    n, parameters = rows.size[0], dimension(state.model)
    filled = write_squares(rows, model.square)
    fill_squares(model.square)
    for k in range(n):
        rows.residuals[k] = rows.y[k]
    centre = median_in_place(rows.residuals, n)
    for k in range(n):
        rows.residuals[k] = abs(rows.y[k] - centre)
    spread = median_in_place(rows.residuals, n)
    if spread == 0.0:  # half the rewards are equal
        for k in range(n):
            spread += rows.residuals[k] / n
    spread = max(spread, SMALLEST_SCALE)
    numbers.floor = FLOOR_SHARE * spread
    begins = numbers.fitted == 0 or by_means != compares_means(state)
    if begins:
        numbers.law = len(state.laws) - 1 if by_means else 0
        line.slope[:] = 0.0
        line.level[0] = centre
        share = filled if is_young(state, parameters) else RIDGE_SHARE
        for i in range(len(model.ridge)):
            model.ridge[i] = share * model.square[i] if model.square[i] > 0.0 else 1.0
    if by_means:
        fit_means(state, n - parameters, spread, filled)
    else:
        fit_locations(state, n - parameters, spread, begins, filled)
    complete(rows, model, line, state.laws[numbers.law], numbers.scale, state.shrinkage.gram)
    if can_learn_products(state.model):
        learn_product_ridge(state)
    invert(rows.gram, model.inverse)
    restrain(model)
    begin_shrinkage(state.shrinkage, rows, model, numbers.fitted == 0)
    numbers.fitted = 1
    copy_into(model.origin, rows.origin)
    renew_derived(state)


@rarely_called
def fit_means(state: LinearSets, freedom: float, spread: float, filled: float) -> None:
    """Fit by least squares."""
    numbers = state.numbers[0]
    model, rows, law = state.model, state.rows, state.laws[len(state.laws) - 1]
    reweigh(rows, model, model.line, law, 1.0, 1, False)
    write_residuals(rows, model.line)
    squares = 0.0
    for k in range(rows.size[0]):
        squares += rows.residuals[k] * rows.residuals[k]
    squares = min(squares, MOST_SQUARES)
    scale = shrink_scale(max(math.sqrt(squares / freedom), numbers.floor), 1.48 * spread, freedom, MEAN_PRIOR)
    numbers.scale, numbers.squares, numbers.freedom = scale, min(scale * scale * freedom, MOST_SQUARES), freedom
    learn_ridge(state, law, rows.size[0] - freedom, filled)


@rarely_called
def fit_locations(state: LinearSets, freedom: float, spread: float, begins: bool, filled: float) -> None:
    """Fit by the current law, then by the likeliest one."""
    numbers = state.numbers[0]
    model, rows, line = state.model, state.rows, state.model.line
    law, scale = state.laws[numbers.law], numbers.scale
    if begins:
        scale = spread
        reweigh(rows, model, line, law, scale, 15, True)
    elif rows.size[0] < RICH * (rows.size[0] - freedom):
        # The loss is not convex, and a line that began in the wrong valley would never leave it.  A second start from
        # least absolute deviations, whose sum is convex, gives it a way out while rewards are few.
        copy_into(rows.rival, line)
        reweigh(rows, model, rows.rival, law, scale, 6, True)
        reweigh(rows, model, rows.rival, law, scale, 3, False)
        if loss_of(rows, rows.rival, law, scale) < loss_of(rows, line, law, scale):
            copy_into(line, rows.rival)
    reweigh(rows, model, line, law, scale, 3, False)
    write_residuals(rows, line)
    choose_law(state, freedom, scale)
    law = state.laws[numbers.law]
    scale = shrink_scale(numbers.scale, 2.0 * spread / (1.0 + law[RATIO]), freedom, LOCATION_PRIOR)
    numbers.scale = scale = numbers.told if numbers.told > 0.0 else max(scale, numbers.floor)
    learn_ridge(state, law, rows.size[0] - freedom, filled)
    reweigh(rows, model, line, law, scale, 1, False)


@compilable
def shrink_scale(scale: float, guess: float, freedom: float, weight: float) -> float:
    """Return the scale, shrunk towards a guess while there are few residuals."""
    if freedom >= ENOUGH_DEGREES:
        return scale
    ratio = min(max(guess / scale, SMALLEST_SCALE), LARGEST_RATIO)  # a scale of equal rewards may be next to 0
    return scale * math.exp(weight * math.log(ratio) / (freedom + weight))


@rarely_called
def choose_law(state: LinearSets, freedom: float, guess: float) -> None:
    """Choose the likeliest law with its scale and location, and move the line to that location."""
    numbers = state.numbers[0]
    residuals, n, line = state.rows.residuals, state.rows.size[0], state.model.line
    best, level = -math.inf, line.level[0]
    for j in range(len(state.laws) - 1):
        law = state.laws[j]
        shift, scale = match(law, residuals, n, freedom, guess)
        # Half, because residuals are not independent of a line that was fitted to them.
        evidence = 0.5 * freedom / n * log_likelihood(law, residuals, n, shift, scale, guess)
        evidence += HEAD_START if j == 0 else 0.0
        evidence -= PENALTY if law[RATIO] != 1.0 or law[GROSS] > 0.0 else 0.0
        if evidence > best:
            best, numbers.law, numbers.scale, line.level[0] = evidence, j, scale, level + shift


@rarely_called
def learn_ridge(state: LinearSets, law: FloatArray, parameters: float, filled: float) -> None:
    """Set the ridge to a share of what the line's size suggests; from the first fit on, products have their own."""
    numbers = state.numbers[0]
    model, slope, d = state.model, state.model.line.slope, len(state.model.ridge)
    variance = numbers.scale * numbers.scale / law[INFORMATION]
    size, caution, freedom = 0.0, CAUTION, parameters - 1.0
    n_others = d - count_products(model)
    for i in range(d):
        if is_product(model, i):
            freedom -= 1.0 - min(model.ridge[i] * model.inverse[i, i], 1.0)
    if is_young(state, parameters):
        # P is mostly that of the ridge then, and a share of its size would fade away from fit to fit.
        caution = 1.0
        for i in range(d):
            if not is_product(model, i):
                size += model.square[i] * (slope[i] * slope[i]) / max(freedom, 1.0)
        size = max(size, variance / filled)
    else:
        for i in range(d):
            if not is_product(model, i):
                size += model.square[i] * (slope[i] * slope[i] + variance * model.inverse[i, i]) / n_others
    if 0.0 < size < math.inf:
        share = max(RIDGE_SHARE, caution * variance / size)
        if numbers.fitted == 0 or n_others == d:
            model.product_ridge[0] = share
        for i in range(d):
            own = own_ridge(model, i, model.product_ridge[0]) if is_product(model, i) else share * model.square[i]
            model.ridge[i] = own
