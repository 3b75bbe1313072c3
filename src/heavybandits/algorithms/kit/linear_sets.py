r"""How the linear level-set policies learn: the line, the law and scale of the noise, the ridge, and what to compare.

Until there are three more rewards than parameters, rows are played to span what is offered.  Then a *fit* is made to
the rows so far, and again whenever there are a quarter more, while there is room to keep them.  A fit settles

- the line, by reweighted least squares from where it is and, at first, from least absolute deviations;
- the law, the likeliest of thirteen by half the log likelihood of the residuals, and the scale, which is shrunk to the
  median deviation of the rewards while residuals are few, and is never below a ten-thousandth of it;
- the ridge, 0.3 of what the line's own size suggests: with :math:`m_i` the mean square of feature i and V the
  variance of the noise, :math:`\lambda_i = 0.3\,m_i V/\tau^2` where :math:`\tau^2` is the mean of
  :math:`m_j(\theta_j^2 + V P_{jj})`, a step of expectation and maximisation;
- whether means are compared: if many rewards equal the one before them, by least squares.

Between fits each reward moves the line by its score and the scale by its own, in O(d²).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import LARGEST_COUNT, require_same, require_within
from ...protocols import FloatArray, IntArray, compilable, copy_into, rarely_called
from .line_fit import Rows, init_rows, invert, keep, loss_of, median, reweigh, write_residuals, write_squares
from .linear_level_set import RENEWAL, Arms, Width, init_arms, update_kept, width_for
from .numerics import clip
from .robust_line import (
    LEVEL,
    MASS,
    RIDGE,
    Model,
    approach,
    begin,
    collect,
    dimension,
    fill_squares,
    follow,
    forget,
    init_model,
    predict,
    renew_pending,
)  # fmt: skip
from .two_piece_laws import (
    FAR,
    INFORMATION,
    LEAST_SQUARES,
    RATIO,
    SHARPNESS,
    WEIGHT,
    log_likelihood,
    match,
    two_piece_table,
    weight_at,
)  # fmt: skip

LARGEST = 1e150  # rewards beyond this count as this: their squares are finite
SMALLEST = 1e-300
SPARE = 2.5  # rewards beyond the parameters at the first fit; one half, as parameters are counted by a trace
GROWTH = 1.25  # of the rewards between two fits
HEAD_START, PENALTY = 0.7, 1.0  # of the first law, Cauchy's, and of skewed ones, in log likelihood
RICH = 20.0  # rewards per parameter from which on a line needs no second start
ENOUGH = 60.0  # degrees of freedom from which on residuals alone tell the scale
LOCATION_PRIOR, MEAN_PRIOR = 5.0, 3.0  # residuals that the spread of rewards counts as, before
FLOOR_SHARE = 1e-4  # of the spread of rewards: the least scale
CAUTION = 0.3  # share of the ridge that the size of the line suggests
FEW_TIES, MANY_TIES, HEAVY, JUDGED = 0.1, 0.4, 2.0, 20  # see repeats
SCALE, FLOOR, SQUARES, FREEDOM, DUE, LAST = range(6)  # positions in LinearSets.noise
CLOCK, LAW, TIES, FITTED = range(4)  # positions in LinearSets.counts


class LinearSets(NamedTuple):
    """What linear level-set policies remember."""

    model: Model
    rows: Rows
    arms: Arms
    laws: FloatArray  # a row per law; the last is least squares
    noise: FloatArray  # scale, its floor, sum of squares and its degrees of freedom, next fit, latest reward
    counts: IntArray  # rewards, law in force, rewards that equal the one before, whether there was a fit
    told: FloatArray  # array of one: the scale, if it is known; else 0
    only_means: IntArray  # array of one: 1 if means are compared whatever the rewards

    def check(self, fresh: LinearSets, n_arms: int) -> None:
        """Refuse the number of a law that there is not, and laws that are others."""
        require_within("law", self.counts[LAW : LAW + 1], 0, len(self.laws) - 1)
        require_within("counts", self.counts, 0, LARGEST_COUNT)
        require_within("only_means", self.only_means, 0, 1)
        require_same(self, fresh, "laws")
        require_same(self, fresh, "told")
        require_within("noise", self.noise[[FLOOR, SQUARES, FREEDOM]], 0.0, math.inf)
        fitted, sums = bool(self.counts[FITTED]), self.model.line.sums
        least, most = math.ulp(0.0) if fitted else 0.0, LARGEST * LARGEST
        require_within("scale", self.noise[[SCALE]], least, most if fitted else math.inf)
        require_within("mass", sums[[MASS]], least, most)
        require_within("level", sums[[LEVEL]], -most, most)
        require_within("rows.y", self.rows.y, -LARGEST, LARGEST)


def init_linear_sets(
    n_features: int, horizon: int | None, laws: tuple[tuple[float, float, float], ...], scale: float, only_means: bool
) -> LinearSets:
    """Return a state before the first reward."""
    room = max(10 * n_features, min(30 * n_features, 600), 300)
    return LinearSets(
        model=init_model(n_features),
        rows=init_rows(n_features, room if horizon is None else min(room, horizon)),
        arms=init_arms(n_features),
        laws=two_piece_table((*laws, LEAST_SQUARES)),
        noise=np.array([math.inf, 0.0, 0.0, 0.0, 0.0, math.nan]),
        counts=np.array([0, len(laws) if only_means else 0, 0, 0]),
        told=np.array([scale]),
        only_means=np.array([int(only_means)]),
    )


@compilable
def width_of(state: LinearSets, c: float) -> Width:
    """Return what half widths are made of now."""
    law = state.laws[state.counts[LAW]]
    return width_for(law, state.noise[SCALE], state.counts[CLOCK] + 1.0, dimension(state.model), c)


@compilable
def prepare(state: LinearSets, features: FloatArray) -> None:
    """Before the first reward, take the scale of the features from what is offered."""
    if state.counts[CLOCK] == 0 and state.model.pending[0] == 0:
        forget(state.model)
        for a in range(len(features)):
            collect(state.model, features[a], 1.0 / len(features))
        begin(state.model)


@compilable
def learn(state: LinearSets, x: FloatArray, reward: float) -> None:
    """Learn from the reward of a row."""
    model, noise, counts = state.model, state.noise, state.counts
    if model.ridge[0] == 0.0:
        forget(model)
        collect(model, x, 1.0)
        begin(model)
    y = clip(reward, LARGEST)
    counts[TIES] += y == noise[LAST]
    noise[LAST] = y
    counts[CLOCK] += 1
    leverage = approach(model, model.inverse, x)
    residual = y - predict(model.line, x)
    if counts[FITTED] == 0:
        step = follow(model, leverage, residual, 1.0, 0.0)
    else:
        law = state.laws[counts[LAW]]
        z = min(max(residual / noise[SCALE], -FAR), FAR)
        w = weight_at(law, z)
        step = follow(model, leverage, residual, w / law[WEIGHT], w / law[INFORMATION])
        if counts[LAW] == len(state.laws) - 1:
            noise[SQUARES] += residual / (1.0 + leverage + 1.0 / step.mass) * residual
            noise[FREEDOM] += 1.0
            noise[SCALE] = max(math.sqrt(noise[SQUARES] / noise[FREEDOM]), noise[FLOOR])
        elif state.told[0] == 0.0:
            growth = math.exp((w * z * z - 1.0) / (law[SHARPNESS] * counts[CLOCK]))
            noise[SCALE] = max(noise[SCALE] * growth, noise[FLOOR])
    update_kept(state.arms, model, step)
    if keep(state.rows, x, y) and counts[CLOCK] >= max(noise[DUE], dimension(model) + SPARE):
        fit(state)


@rarely_called
def fit(state: LinearSets) -> None:
    """Fit line, law, scale and ridge to the rows that are kept."""
    model, rows, counts, line = state.model, state.rows, state.counts, state.model.line
    n, parameters, means = rows.size[0], dimension(state.model), len(state.laws) - 1
    state.noise[DUE] = max(n + 1.0, GROWTH * n)
    write_squares(rows, model.square)
    fill_squares(model.square)
    for k in range(n):
        rows.residuals[k] = rows.y[k]
    centre = median(rows.residuals, n)
    for k in range(n):
        rows.residuals[k] = abs(rows.y[k] - centre)
    spread = median(rows.residuals, n)
    if spread == 0.0:  # half the rewards are equal
        for k in range(n):
            spread += rows.residuals[k] / n
    spread = max(spread, SMALLEST)
    state.noise[FLOOR] = FLOOR_SHARE * spread
    begins = counts[FITTED] == 0
    if state.only_means[0] == 0 and n >= JUDGED:
        by_means = repeats(rows, counts[TIES])
        begins = begins or by_means != (counts[LAW] == means)
        if begins:
            counts[LAW] = means if by_means else 0
    if begins:
        line.slope[:] = 0.0
        line.sums[LEVEL] = centre
        for i in range(len(model.ridge)):
            model.ridge[i] = RIDGE * model.square[i] if model.square[i] > 0.0 else 1.0
    if counts[LAW] == means:
        fit_means(state, n - parameters, spread)
    else:
        fit_locations(state, n - parameters, spread, begins)
    invert(rows, model.inverse)
    counts[FITTED] = 1
    state.arms.age[0] = RENEWAL
    if model.pending[0] > 0:
        renew_pending(model)


@rarely_called
def fit_means(state: LinearSets, freedom: float, spread: float) -> None:
    """Fit by least squares."""
    model, rows, noise, law = state.model, state.rows, state.noise, state.laws[len(state.laws) - 1]
    reweigh(rows, model, model.line, law, 1.0, 1, False)
    write_residuals(rows, model.line)
    squares = 0.0
    for k in range(rows.size[0]):
        squares += rows.residuals[k] * rows.residuals[k]
    scale = shrink(max(math.sqrt(squares / freedom), noise[FLOOR]), 1.48 * spread, freedom, MEAN_PRIOR)
    noise[SCALE], noise[SQUARES], noise[FREEDOM] = scale, scale * scale * freedom, freedom
    learn_ridge(state, law)
    reweigh(rows, model, model.line, law, 1.0, 1, False)


@rarely_called
def fit_locations(state: LinearSets, freedom: float, spread: float, begins: bool) -> None:
    """Fit by the law in force, then by the likeliest."""
    model, rows, noise, line = state.model, state.rows, state.noise, state.model.line
    law, scale = state.laws[state.counts[LAW]], noise[SCALE]
    if begins:
        scale = spread
        reweigh(rows, model, line, law, scale, 15, True)
    elif rows.size[0] < RICH * (rows.size[0] - freedom):
        copy_into(rows.rival, line)
        reweigh(rows, model, rows.rival, law, scale, 6, True)
        reweigh(rows, model, rows.rival, law, scale, 3, False)
        if loss_of(rows, rows.rival, law, scale) < loss_of(rows, line, law, scale):
            copy_into(line, rows.rival)
    reweigh(rows, model, line, law, scale, 3, False)
    write_residuals(rows, line)
    choose_law(state, freedom, scale)
    law = state.laws[state.counts[LAW]]
    scale = shrink(noise[SCALE], 2.0 * spread / (1.0 + law[RATIO]), freedom, LOCATION_PRIOR)
    noise[SCALE] = scale = state.told[0] if state.told[0] > 0.0 else max(scale, noise[FLOOR])
    learn_ridge(state, law)
    reweigh(rows, model, line, law, scale, 2, False)


@compilable
def shrink(scale: float, guess: float, freedom: float, weight: float) -> float:
    """Return the scale, shrunk towards a guess while there are few residuals."""
    if freedom >= ENOUGH:
        return scale
    return scale * math.exp(weight * math.log(guess / scale) / (freedom + weight))


@rarely_called
def choose_law(state: LinearSets, freedom: float, guess: float) -> None:
    """Settle on the likeliest law, its scale, and where it lies: the line is moved there."""
    residuals, n, line = state.rows.residuals, state.rows.size[0], state.model.line
    best, level = -math.inf, line.sums[LEVEL]
    for j in range(len(state.laws) - 1):
        law = state.laws[j]
        shift, scale = match(law, residuals, n, freedom, guess)
        evidence = 0.5 * freedom / n * log_likelihood(law, residuals, n, shift, scale, guess)
        evidence += HEAD_START if j == 0 else 0.0
        evidence -= PENALTY if law[RATIO] != 1.0 else 0.0
        if evidence > best:
            best, state.counts[LAW], state.noise[SCALE], line.sums[LEVEL] = evidence, j, scale, level + shift


@rarely_called
def learn_ridge(state: LinearSets, law: FloatArray) -> None:
    """Let the ridge be what the size of the line suggests, with caution; the last Gram matrix is that of the rows."""
    model, slope, d = state.model, state.model.line.slope, len(state.model.ridge)
    variance = state.noise[SCALE] * state.noise[SCALE] / law[INFORMATION]
    invert(state.rows, model.inverse)
    size = 0.0
    for i in range(d):
        size += model.square[i] * (slope[i] * slope[i] + variance * model.inverse[i, i]) / d
    if 0.0 < size < math.inf:
        for i in range(d):
            model.ridge[i] = max(RIDGE, CAUTION * variance / size) * model.square[i]


@rarely_called
def repeats(rows: Rows, ties: int) -> bool:
    """Return whether rewards repeat so often that means are to be compared.

    More than a tenth must equal the reward before them; and unless four tenths do, the standard deviation must be below
    twice the mean absolute deviation, as it is not in heavy-tailed rewards that were rounded.
    """
    n, mean, squares, deviations = rows.size[0], 0.0, 0.0, 0.0
    for k in range(n):
        mean += rows.y[k] / n
    for k in range(n):
        deviation = abs(rows.y[k] - mean)
        squares += deviation * deviation / n
        deviations += deviation / n
    return bool(ties > FEW_TIES * n and (ties > MANY_TIES * n or math.sqrt(squares) < HEAVY * deviations))
