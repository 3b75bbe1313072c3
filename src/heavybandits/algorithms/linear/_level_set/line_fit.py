"""Fits of a robust line to the first rows: the rows themselves, reweighted least squares, and its matrices."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...._validate import require_within
from ....numerics import clip
from ....protocols import FloatArray, IntArray, compilable, rarely_called
from .._cholesky import factorise, solve_lower, solve_upper
from .._rows import LARGEST_REWARD
from .robust_line import Line, Model, init_line, predict
from .two_piece_laws import FARTHEST_SCALES, WEIGHT, loss_at, weight_at

CENTRING_ROUNDING = (
    1e-14  # share of the squares that centring leaves at least: less is rounding, as after one huge feature
)
REMOTE = 1e-4  # a variance below this share of the mean square: the feature lies far from 0, as a year or a time does
VARIANCE_ROUNDING = 1e-24  # a variance below this share may be rounding
NEAR = 0.05  # scales within which least absolute deviations are smoothed
SETTLED = 1e-3  # iterations end at a change below this share of a scale over the root of n


class Rows(NamedTuple):
    """The first rows and their rewards, and scratch for fits to them."""

    x: FloatArray  # (row, d)
    y: FloatArray  # (row,)
    size: IntArray  # array of length one: number of rows
    residuals: FloatArray  # (row,)
    gram: FloatArray  # (d, d): lower triangle of the centred, weighted Gram matrix, then its Cholesky factor
    right: FloatArray  # (d,)
    total: FloatArray  # (d,)
    middle: FloatArray  # (d,): mean row
    rival: Line  # a second start

    def check(self, fresh: Rows, n_arms: int) -> None:
        """Refuse more rows than there is room for."""
        require_within("size", self.size, 0, len(self.y))


def init_rows(n_features: int, room: int) -> Rows:
    """Return no rows, with room for ``room`` of them."""
    d = n_features
    return Rows(
        x=np.zeros((room, d)),
        y=np.zeros(room),
        size=np.zeros(1, np.int64),
        residuals=np.zeros(room),
        gram=np.zeros((d, d)),
        right=np.zeros(d),
        total=np.zeros(d),
        middle=np.zeros(d),
        rival=init_line(d),
    )


@compilable
def keep(rows: Rows, x: FloatArray, reward: float) -> bool:
    """Keep a row if there is room, and return whether there was."""
    n = rows.size[0]
    if n == len(rows.y):
        return False
    for i in range(len(x)):
        rows.x[n, i] = x[i]
    rows.y[n] = reward
    rows.size[0] = n + 1
    return True


@rarely_called
def write_squares(rows: Rows, square: FloatArray) -> None:
    """Write the mean square of each feature, or its variance if the feature lies far from 0.

    The model has an intercept, so that distance says nothing about how large a coefficient is to be expected.
    """
    n = rows.size[0]
    square[:] = 0.0
    for k in range(n):
        for i in range(len(square)):
            square[i] += rows.x[k, i] * rows.x[k, i] / n
    for i in range(len(square)):
        mean, variance = 0.0, 0.0
        for k in range(n):
            mean += rows.x[k, i] / n
        for k in range(n):
            variance += (rows.x[k, i] - mean) * (rows.x[k, i] - mean) / n
        if VARIANCE_ROUNDING * square[i] < variance < REMOTE * square[i]:
            square[i] = variance


@compilable
def write_residuals(rows: Rows, line: Line) -> None:
    """Write the residual of each reward."""
    for k in range(rows.size[0]):
        rows.residuals[k] = rows.y[k] - predict(line, rows.x[k])


@rarely_called
def loss_of(rows: Rows, line: Line, law: FloatArray, scale: float) -> float:
    """Return the summed loss of a line."""
    total = 0.0
    for k in range(rows.size[0]):
        total += loss_at(law, (rows.y[k] - predict(line, rows.x[k])) / scale)
    return total


@rarely_called
def reweigh(rows: Rows, model: Model, line: Line, law: FloatArray, scale: float, steps: int, absolute: bool) -> None:
    """Improve a line by at most ``steps`` steps of reweighted least squares, or least absolute deviations.

    The Cholesky factor of the last Gram matrix plus ridge is left in ``gram``.
    """
    x, y, gram, right, total, middle = rows.x, rows.y, rows.gram, rows.right, rows.total, rows.middle
    slope, centre, n, d = line.slope, line.centre, rows.size[0], len(line.slope)
    origin = clip(line.level[0], LARGEST_REWARD)  # near most rewards, so that subtracting it keeps precision
    for i in range(d):
        middle[i] = 0.0
    for k in range(n):
        for i in range(d):
            middle[i] += x[k, i] / n
    for step in range(steps):
        gram[:] = 0.0
        right[:] = 0.0
        total[:] = 0.0
        mass, reward = 0.0, 0.0
        for k in range(n):
            z = (y[k] - predict(line, x[k])) / scale
            w = (
                1.0 / min(max(abs(z), NEAR), FARTHEST_SCALES * FARTHEST_SCALES)
                if absolute
                else weight_at(law, z) / law[WEIGHT]
            )
            mass += w
            reward += w * (y[k] - origin)
            for i in range(d):
                v = w * (x[k, i] - middle[i])
                total[i] += v
                right[i] += v * (y[k] - origin)
                for j in range(i + 1):
                    gram[i, j] += v * (x[k, j] - middle[j])
        for i in range(d):
            right[i] -= total[i] * reward / mass
            noise = CENTRING_ROUNDING * gram[i, i]
            for j in range(i + 1):
                gram[i, j] -= total[i] * total[j] / mass
            gram[i, i] = max(gram[i, i], noise) + model.ridge[i]
        factorise(gram)
        solve_lower(gram, right)
        solve_upper(gram, right)
        level = origin + reward / mass
        change = abs(level - line.level[0])
        for i in range(d):
            change = max(change, abs(right[i] - slope[i]) * math.sqrt(model.square[i]))
            slope[i] = right[i]
            centre[i] = middle[i] + total[i] / mass
        line.level[0], line.mass[0] = level, mass
        if step > 0 and change < SETTLED * scale / math.sqrt(n):
            break


@rarely_called
def invert(rows: Rows, inverse: FloatArray) -> None:
    """Write the inverse of the matrix whose Cholesky factor is in ``gram``."""
    right = rows.right
    d = len(right)
    for j in range(d):
        right[:] = 0.0
        right[j] = 1.0
        solve_lower(rows.gram, right)
        solve_upper(rows.gram, right)
        for i in range(d):
            inverse[i, j] = right[i]
    for i in range(d):
        for j in range(i):
            inverse[i, j] = inverse[j, i] = 0.5 * (inverse[i, j] + inverse[j, i])
