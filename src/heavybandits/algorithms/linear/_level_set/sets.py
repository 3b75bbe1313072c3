"""What the linear level-set policies remember: the line, the rows it was fitted to, and the noise."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...._validate import LARGEST_COUNT, require_same, require_within
from ....protocols import FloatArray, compilable
from ...level_sets.spreads import Spreads, init_spreads
from ...parts.state.scalars import Scalars, init_scalars
from .half_widths import Width, explored_share, width_for
from .kept_rows import Rows, init_rows
from .level_set import Arms, init_arms
from .line_shrinkage import Shrinkage, init_shrinkage
from .pending_line import count_pending
from .robust_line import Model, dimension, init_model, is_product
from .two_piece_laws import INFORMATION, LEAST_SQUARES, two_piece_table

SPANNED_FEATURES = 12  # up to so many, rows first span the space, without regard to rewards
YOUNG_REWARDS = 8.0  # rewards per parameter at which a line is no longer young; half as many with few parameters
OVERDUE = 3.0  # times that random rows would have had a feature before a row is played because of it
LEAST_TURN = 8.0  # the same for each time that an arm has been played: it gets an eighth of its turns at least
NOISY_LEVERAGE = 0.5  # that of two rewards; rows with a larger one, among many features, have normal widths
UNTOUCHED = 1.0 - 1e-9  # of 1: what a feature has of its first variance if no row had it
LARGEST_REWARD = 1e150  # rewards are clipped to this, so that their squares are finite


class LinearSets(NamedTuple):
    """What linear level-set policies remember."""

    model: Model
    rows: Rows
    spreads: Spreads  # of one arm: all rewards, whatever their rows
    shrinkage: Shrinkage
    arms: Arms
    laws: FloatArray  # a row per law; the last is least squares
    numbers: Scalars  # see init_numbers

    def check(self, fresh: LinearSets, n_arms: int) -> None:
        """Refuse a law that does not exist, other laws, and numbers out of range."""
        numbers, line = self.numbers, self.model.line
        require_within("law", numbers["law"], 0, len(self.laws) - 1)
        require_within("clock", numbers["clock"], 0, LARGEST_COUNT)
        for name in ("fitted", "only_means"):
            require_within(name, numbers[name], 0, 1)
        for name in ("floor", "squares", "freedom"):
            require_within(name, numbers[name], 0.0, math.inf)
        require_same(self, fresh, "laws")
        require_same(numbers, fresh.numbers, "told")
        fitted = bool(numbers[0].fitted)
        least, most = math.ulp(0.0) if fitted else 0.0, LARGEST_REWARD * LARGEST_REWARD
        require_within("scale", numbers["scale"], least, most if fitted else math.inf)
        require_within("mass", line.mass, least, most)
        require_within("level", line.level, -most, most)
        require_within("rows.y", self.rows.y, -LARGEST_REWARD, LARGEST_REWARD)

    def complete(self) -> None:
        """Work out what files of 0.2.0 do not hold: there, all rows were full, and all pending ones counted."""
        model, rows = self.model, self.rows
        rows.filled[: int(rows.size[0])] = rows.x.shape[1]
        model.counted[:] = model.pending
        model.offset[:] = model.inverse @ model.line.centre  # the origin is 0


def init_numbers(law: int, told: float, only_means: bool) -> Scalars:
    """Return what is known of the noise, and when the next fit is due, before the first reward."""
    return init_scalars(
        law=law,  # the current law
        scale=math.inf,  # of the noise
        floor=0.0,  # least scale
        squares=0.0,  # sum of squared residuals, where means are compared
        freedom=0.0,  # degrees of freedom of that sum
        clock=0,  # number of rewards
        due=0.0,  # clock at the next fit or look
        fitted=0,  # 1 once there has been a fit
        told=float(told),  # the scale if it is known, or else 0
        only_means=int(only_means),  # 1 if means are compared whatever the rewards
    )


def init_linear_sets(
    n_features: int, horizon: int | None, laws: tuple[tuple[float, ...], ...], scale: float, only_means: bool
) -> LinearSets:
    """Return a state before the first reward."""
    room = max(10 * n_features, min(30 * n_features, 600), 300)
    if horizon is not None:
        room = min(room, max(horizon, 2 * n_features + 8))  # enough for a fit, if there are more rounds after all
    return LinearSets(
        model=init_model(n_features),
        rows=init_rows(n_features, room),
        spreads=init_spreads(1),
        shrinkage=init_shrinkage(n_features),
        arms=init_arms(n_features),
        laws=two_piece_table((*laws, LEAST_SQUARES)),
        numbers=init_numbers(law=len(laws) if only_means else 0, told=scale, only_means=only_means),
    )


@compilable
def width_of(state: LinearSets, c: float) -> Width:
    """Return what half widths currently depend on."""
    numbers, parameters = state.numbers[0], dimension(state.model)
    law, scale = state.laws[numbers.law], numbers.scale
    if is_young(state, parameters):
        law, scale = state.laws[len(state.laws) - 1], scale / math.sqrt(law[INFORMATION])
    most = NOISY_LEVERAGE if len(state.model.ridge) > SPANNED_FEATURES else math.inf
    return width_for(law, scale, numbers.clock + 1.0, parameters, c, most)


@compilable
def is_young(state: LinearSets, parameters: float) -> bool:
    """Return whether the line has many features, and few rewards for the parameters that the rows determine.

    Widths are then those of least squares with the same variance: those of heavy tails are next to infinite where
    leverages are about 1, and rows that differ are learned about whatever is played.
    """
    enough = YOUNG_REWARDS * parameters / (1.0 + explored_share(parameters))
    return len(state.model.ridge) > SPANNED_FEATURES and bool(state.numbers[0].clock < enough)


@compilable
def pending_with(model: Model, feature: int) -> float:
    """Return how many pending rows have a feature, by the sum of its squares; they must have been counted."""
    if model.pending[0] == 0:
        return 0.0
    anchor = model.anchor[feature]
    squares = model.waiting[feature, feature] + anchor * (2.0 * model.missing[feature] + model.counted[0] * anchor)
    return float(squares / model.square[feature])


@compilable
def due_after(model: Model, feature: int) -> float:
    """Return how often random rows may have a feature before it is overdue; pending rows must have been counted.

    Of the features that arms do not share, only those that say which arm it is are waited for, not their products.
    """
    if model.owner[feature] == feature:
        return float(OVERDUE + LEAST_TURN * (model.played[feature] + pending_with(model, feature)))
    if model.line.centre[feature] != 0.0 or is_product(model, feature):
        return math.inf
    inverse = model.inverse if model.pending[0] == 0 else model.asked
    return OVERDUE if inverse[feature, feature] * model.ridge[feature] > UNTOUCHED else math.inf


@compilable
def unexplored_row(state: LinearSets, features: FloatArray) -> int:
    """Return the row with the most features that are overdue, while the line is young; -1 if there is none.

    The ridge of a young line follows from the effects seen so far.  If the first arms happen to be equal, it would take
    it for granted that all others are, too, and never play them.  A feature that no row played has had is overdue once
    three rows would have had it, had they been drawn at random: rows that change mostly explore by themselves.
    Arms that may suit some visitors, as products of features say, are overdue again and again: the first visitors may
    have been the wrong ones.
    """
    model, line = state.model, state.model.line
    watched = 0
    for i in range(len(line.centre)):
        watched += 1 if model.owner[i] == i or (line.centre[i] == 0.0 and not is_product(model, i)) else 0
    if watched == 0 or state.numbers[0].clock == 0 or not is_young(state, dimension(model)):
        return -1
    if model.pending[0] > 0:
        count_pending(model)
    best, most = -1, 0
    for a in range(len(features)):
        new = 0
        for i in range(len(line.centre)):
            limit = due_after(model, i) if features[a, i] != 0.0 else math.inf
            if limit < math.inf:
                model.offered[i] += 1.0 / len(features)
                new += 1 if model.offered[i] >= limit else 0
        if new > most:
            best, most = a, new
    return best


@compilable
def compares_means(state: LinearSets) -> bool:
    """Return whether means are compared at present."""
    return bool(state.numbers[0].law == len(state.laws) - 1)
