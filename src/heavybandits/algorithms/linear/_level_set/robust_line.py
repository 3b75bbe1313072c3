r"""A linear model with an intercept, updated reward by reward: the centre of the linear level sets.

Rewards are predicted as :math:`b + (x - \bar x)'\theta`, where :math:`\bar x` is the weighted mean of the played rows.
Centring separates the intercept from the rest, so that only P, the inverse of the centred, weighted Gram matrix plus a
ridge, has to be kept.  Let :math:`v = x - \bar x`, :math:`u = Pv`, W the sum of the weights so far and
:math:`W' = W + w`.  A row x with residual e, weight w (1 on average) and gain g changes the model to

.. math::  P - \frac{a}{1 + a v'u} uu',\quad a = \frac{wW}{W'},\qquad
           \theta + \frac{W}{W'}\frac{ge}{1 + a v'u} u,\qquad b + \frac{w\,v'\theta + ge}{W'},\qquad
           \bar x + \frac{w}{W'} v.

With w = g = 1 this is least squares.

**Sparse rows.**  Most features of a row may be zero, as those of categories are.  v is not sparse then, but x - o is,
where the *origin* o has the usual value of features that are never zero, and is zero elsewhere.  With
:math:`q = P(\bar x - o)`, which is kept, u is :math:`P(x - o) - q`, and h is
:math:`(x - o)'P(x - o) - 2(x - o)'q + (\bar x - o)'q`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...._validate import LARGEST_COUNT, require_within
from ....numerics import EXCESS
from ....protocols import FloatArray, IntArray, compilable, copy_into, rarely_called
from .._design import LARGEST_LEVERAGE, add_far_row, add_outer, apply, multiply, size_of
from .pending_line import change_pending, count_pending, joint_mean, learn_beside_pending

RIDGE_SHARE = 1e-6  # the least ridge, as a share of a feature's mean square
LEAST_SQUARE = 1e-80  # if rows of 1e-100 set the ridge, a row of 1e100 would have an infinite leverage
NOBODY = -1  # owner of features that all arms share
SPARSE_SHARE = 4  # a row is sparse if at most one in so many of its features differs from the origin
VECTORS = ("ridge", "square", "played", "offered", "origin", "offset", "shift", "pull", "missing", "anchor", "alone")


class Line(NamedTuple):
    """The coefficients of the model."""

    slope: FloatArray  # (d,): theta
    centre: FloatArray  # (d,): weighted mean of the rows
    mass: FloatArray  # array of length one: sum of the weights
    level: FloatArray  # array of length one: prediction at the centre


class Model(NamedTuple):
    """A line, how precisely it is known, and scratch for one step."""

    line: Line
    inverse: FloatArray  # (d, d): P
    ridge: FloatArray  # (d,): 0 until there is a row that is not all 0
    square: FloatArray  # (d,): mean square of each feature where it is not zero
    played: FloatArray  # (d,): number of rewards of rows in which the feature was not zero
    offered: FloatArray  # (d,): how often random rows would have had a feature that may be overdue; see sets
    owner: IntArray  # (d,): the arm's own feature, for this one and its products with visitors; -1 for all others
    product_ridge: FloatArray  # array of length one: the ridge of products, as a share of their mean squares
    origin: FloatArray  # (d,): o, which sparse rows mostly agree with
    offset: FloatArray  # (d,): q
    shift: FloatArray  # (d,): v of the latest row
    pull: FloatArray  # (d,): u of the latest row
    asked: FloatArray  # (d, d): the inverse with pending rows; out of date while there are none, or one alone
    waiting: FloatArray  # (d, d): sum of the pending rows' outer products, centred at the anchor
    missing: FloatArray  # (d,): sum of the pending rows, centred there
    anchor: FloatArray  # (d,)
    alone: FloatArray  # (d,): the first pending row; scratch once it is counted
    factor: FloatArray  # (d, d): scratch to factorise ``waiting``
    pending: IntArray  # array of length one: number of pending rows
    counted: IntArray  # array of length one: how many of them count in ``asked``

    def ask(self, x: FloatArray) -> None:
        """Note that the reward of a row is pending."""
        if self.ridge[0] == 0.0:
            return
        if self.pending[0] == 0:
            copy_into(self.alone, x)
            copy_into(self.anchor, self.line.centre)
        else:
            count_pending(self)
            change_pending(self, x, 1)
        self.pending[0] += 1

    def settle(self, x: FloatArray) -> None:
        """Note that a row is no longer pending: its reward has just been learned, or will never come."""
        if self.pending[0] > 1:
            change_pending(self, x, -1)
        else:
            self.counted[0] = 0
        self.pending[0] = max(self.pending[0] - 1, 0)

    def check(self, fresh: Model, n_arms: int) -> None:
        """Refuse an impossible number of pending rows or rewards, and owners that do not exist."""
        require_within("pending", self.pending, 0, LARGEST_COUNT)
        require_within("owner", self.owner, NOBODY, len(self.owner) - 1)
        require_within("played", self.played, 0.0, LARGEST_COUNT)
        require_within("product_ridge", self.product_ridge, 0.0, math.inf)
        pending = int(self.pending[0])
        require_within("counted", self.counted, 0 if pending <= 1 else pending, pending)


class Step(NamedTuple):
    """The change that a row made, for code that keeps its own leverages and predictions."""

    weight: float
    mass: float  # W, before
    leverage: float  # v'u
    along: float  # how far theta moved along u


def init_line(n_features: int) -> Line:
    """Return a line that predicts 0."""
    return Line(slope=np.zeros(n_features), centre=np.zeros(n_features), mass=np.zeros(1), level=np.zeros(1))


def init_model(n_features: int) -> Model:
    """Return a model before the first row."""
    d = n_features
    vectors = {name: np.zeros(d) for name in VECTORS}
    matrices = {name: np.zeros((d, d)) for name in ("inverse", "asked", "waiting", "factor")}
    return Model(
        line=init_line(d),
        owner=np.full(d, NOBODY),
        product_ridge=np.zeros(1),
        pending=np.zeros(1, np.int64),
        counted=np.zeros(1, np.int64),
        **vectors,
        **matrices,
    )


@compilable
def is_product(model: Model, feature: int) -> bool:
    """Return whether a feature is the product of an arm's own feature and another."""
    return bool(model.owner[feature] != NOBODY and model.owner[feature] != feature)


@rarely_called
def forget(model: Model) -> None:
    """Reset what :func:`collect` gathers for :func:`begin`."""
    model.square[:] = 0.0
    model.pull[:] = 0.0
    model.line.centre[:] = 0.0
    model.origin[:] = 1.0


@rarely_called
def collect(model: Model, x: FloatArray, share: float) -> None:
    """Add a row to the mean row, to the mean squares, and to the shares of rows in which a feature is not zero."""
    for i in range(len(x)):
        model.square[i] += share * (x[i] * x[i])
        model.line.centre[i] += share * x[i]
        model.pull[i] += share if x[i] != 0.0 else 0.0
        if x[i] == 0.0:
            model.origin[i] = 0.0


@rarely_called
def begin(model: Model, young: bool = False) -> None:
    """Set the ridge to a share of the features' mean squares, and the inverse to that of the ridge.

    That of a young line is as large as if line and noise made rewards vary by as much: with q the mean squares where
    features are not zero, the ridge f q does that, where f is how many features of a row are not zero.
    """
    filled = 0.0
    for i in range(len(model.square)):
        filled += model.pull[i]
        if model.pull[i] > 0.0:
            model.square[i] /= model.pull[i]
    fill_squares(model.square)
    share = max(filled, 1.0) if young else RIDGE_SHARE
    model.product_ridge[0] = share
    for i in range(len(model.ridge)):
        model.ridge[i] = share * model.square[i]
        model.origin[i] *= model.line.centre[i]
        if model.ridge[i] > 0.0:
            model.inverse[i, i] = 1.0 / model.ridge[i]
    renew_offset(model)


@compilable
def fill_squares(square: FloatArray) -> None:
    """Give features that were always 0 the largest mean square; no other is below ``LEAST_SQUARE``."""
    largest = 0.0
    for i in range(len(square)):
        if square[i] > 0.0:
            square[i] = max(square[i], LEAST_SQUARE)
        largest = max(largest, square[i])
    for i in range(len(square)):
        square[i] = square[i] if square[i] > 0.0 else largest


@rarely_called
def restrain(model: Model) -> None:
    """Make an inverse that was computed anew no larger than that of the ridge, as it is unless rounding takes over."""
    inverse = model.inverse
    for i in range(len(inverse)):
        if not 0.0 <= inverse[i, i] * model.ridge[i] <= EXCESS:
            inverse[i, i] = 1.0 / model.ridge[i]
    for i in range(len(inverse)):
        for j in range(i):
            most = math.sqrt(inverse[i, i]) * math.sqrt(inverse[j, j])
            if abs(inverse[i, j]) > EXCESS * most:
                inverse[i, j] = inverse[j, i] = math.copysign(most, inverse[i, j])


@compilable
def predict(line: Line, x: FloatArray) -> float:
    """Return the predicted reward of a row."""
    value = line.level[0]
    for i in range(len(x)):
        value += (x[i] - line.centre[i]) * line.slope[i]
    return float(value)


@rarely_called
def renew_offset(model: Model) -> None:
    """Compute q; each step changes it in O(d), with some rounding."""
    for i in range(len(model.shift)):
        model.shift[i] = model.line.centre[i] - model.origin[i]
    apply(model.inverse, model.shift, model.offset)


@compilable
def differs_little(origin: FloatArray, x: FloatArray) -> bool:
    """Return whether a row is sparse."""
    differing = 0
    for i in range(len(x)):
        differing += 1 if x[i] != origin[i] else 0
    return SPARSE_SHARE * differing <= len(x)


@compilable
def approach(model: Model, x: FloatArray) -> float:
    """Compute ``shift`` and ``pull`` of a row; return its leverage, about one over the number of rows like it."""
    shift, pull, origin, d = model.shift, model.pull, model.origin, len(x)
    for i in range(d):
        shift[i] = x[i] - model.line.centre[i]
    if not differs_little(origin, x):
        return multiply(model.inverse, shift, pull)
    for i in range(d):
        pull[i] = -model.offset[i]
    for i in range(d):
        if x[i] != origin[i]:
            for j in range(d):
                pull[j] += model.inverse[i, j] * (x[i] - origin[i])
    return size_of(model.inverse, shift, pull)


@compilable
def leverage_with_pending(model: Model, x: FloatArray) -> float:
    """Return the leverage of a row among known and pending rows."""
    if model.pending[0] == 0:
        return approach(model, x)
    count_pending(model)
    joint_mean(model, model.shift)
    for i in range(len(x)):
        model.shift[i] = x[i] - model.shift[i]
    return multiply(model.asked, model.shift, model.pull)


@compilable
def follow(model: Model, leverage: float, residual: float, weight: float, gain: float) -> Step:
    """Update the model with the row last passed to :func:`approach`; a ``gain`` of 0 moves only the intercept."""
    line, shift, pull = model.line, model.shift, model.pull
    before = line.mass[0]
    after = before + weight
    pace, share = weight * before / after, weight / after
    shrink = 1.0 / (1.0 + pace * leverage)
    along = before / after * gain * residual * shrink
    lift, bend = 0.0, share * leverage
    for i in range(len(shift)):
        lift += shift[i] * line.slope[i]
        bend += pull[i] * (line.centre[i] - model.origin[i])
    turn = share - pace * shrink * bend
    if model.counted[0] > 0:
        learn_beside_pending(model, shift, weight)
    line.mass[0] = after
    line.level[0] += share * lift + (gain * residual if gain > 0.0 else residual) / after
    for i in range(len(shift)):
        line.slope[i] += along * pull[i]
        line.centre[i] += share * shift[i]
        model.offset[i] += turn * pull[i]
    if pace * leverage > LARGEST_LEVERAGE:
        add_far_row(model.inverse, shift, pull, pace, shrink)
        renew_offset(model)
    elif pace > 0.0:  # it is 0 for the first row
        add_outer(model.inverse, pull, -pace * shrink)
    return Step(weight=weight, mass=before, leverage=leverage, along=along)


@compilable
def dimension(model: Model) -> float:
    """Return how many parameters the rows determine, including the intercept: the trace of the hat matrix."""
    total = 1.0
    for i in range(len(model.ridge)):
        total += 1.0 - min(model.ridge[i] * model.inverse[i, i], 1.0)
    return total
