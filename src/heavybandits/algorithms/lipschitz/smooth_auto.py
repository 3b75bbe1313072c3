r"""Points of a smooth function without prior knowledge: robust regression on waves, and an upper bound.

*Assumes* that the function is smooth, and noise with the same law for all points, whatever its tails.  *Needs* no prior
knowledge: no length scale, no horizon, nothing about the noise.  *When that fails*: a kink or a step is smoothed over,
and a peak narrower than a tenth of the side may be missed; use :class:`.LipschitzAuto` there.  Like ``auto``, it
compares locations, or means where rewards repeat.

*Formula*: after the first 4 (d + 1) points of Halton's sequence, the point with the highest

.. math::  U(x) = \hat f(x) + \kappa\,\hat\sigma(x)

is played, among the first points of the sequence and some found near the maximum of :math:`\hat f`.  Mean and
deviation are those of :mod:`._smooth_fit`, which learns the length scale and the tails of the noise; everything is
fitted anew when the number of rewards has grown by a quarter.

*Cost*: O(m² + m c) for a reward and O(c) for a choice with m waves and c points, 24 and 64 in one dimension, 130 and
512 in four or more; the fits take O(m³) each.  2 MB in four dimensions.

*Reference*: this library; see ``docs/lipschitz.md``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import LARGEST_COUNT, require_within
from ...numerics import clip, power_of_two
from ...protocols import FloatArray, IntArray, compilable, rarely_called
from ...world.halton import halton
from ..entries import register_policy
from ..level_sets.spreads import Spreads, init_spreads, learn_spread, repeats
from ..parameters import Positive
from ..parts.choice.late import Late, bonus_factor, init_late, is_due
from ..parts.means.median import median_in_place
from ..parts.state.scalars import Scalars, init_scalars
from ._smooth_fit import SmoothFit, count_row, init_smooth_fit, refit, set_values, set_variances, take_step
from ._student_noise import effective_residual
from ._waves import lowest_waves, wave_at

WAVES = (24, 80, 110, 130)  # by dimension; as many as the last beyond
FIRST_POINTS = (64, 256, 400, 512)  # to choose from at first
ROOM_FOR_NEIGHBOURS = 160  # room for points found near the maximum
KEPT = 2048  # rewards that are fitted anew; older ones count as they were last understood
FARTHEST_REWARD_UNITS = 1e9  # rewards are clipped here, in units of the spread of the first ones
LARGEST_RAW_REWARD = 1e150  # differences of such rewards are finite
FIT_GROWTH = 1.25  # how the number of rewards grows from fit to fit
STEP_SIZES = (0.3, 0.1, 0.03, 0.01)  # distances at which neighbours of the best point are tried
NEW_POINTS = 4  # at most, after a fit


class SmoothAutoState(NamedTuple):
    """Points, rewards that are kept, and the fit."""

    points: FloatArray  # (point, dim)
    pulls: IntArray
    late: Late
    spreads: Spreads
    fit: SmoothFit
    kept: FloatArray  # rewards, in units once there is one
    places: IntArray  # the points of these
    frozen: FloatArray  # per point: what rewards said that are kept no more
    around: FloatArray  # offsets at which neighbours are tried
    spot: FloatArray  # scratch: a point
    worth: FloatArray  # scratch: per offset
    numbers: Scalars  # see init

    def check(self, fresh: SmoothAutoState, n_arms: int) -> None:
        """Refuse points that do not exist, and other waves."""
        first = int(fresh.numbers.n_points[0])
        require_within("n_points", self.numbers["n_points"], first, len(self.points))
        require_within("the points of rewards", self.places, 0, int(self.numbers.n_points[0]) - 1)
        require_within("pulls", self.pulls, 0, LARGEST_COUNT)
        require_within("seen", self.numbers["seen"], 0, LARGEST_COUNT)
        if not (np.array_equal(self.fit.waves, fresh.fit.waves) and np.array_equal(self.around, fresh.around)):
            raise ValueError("waves and offsets must be those of the dimension")
        if not ((self.points >= 0.0) & (self.points <= 1.0)).all():
            raise ValueError("points must be from 0 to 1")


@register_policy(
    "smooth-auto",
    needs="nothing",
    memory="2 MB",
    cost="O(m² + m c), O(c) for c points",
    regret="none; measured in docs/lipschitz.md",
    reference="this library",
    kind="lipschitz",
    look="hero long",
)
class SmoothAuto(NamedTuple):
    r"""Robust regression on waves, for smooth functions of a point.

    Parameters
    ----------
    explore
        :math:`\kappa`, the number of standard deviations that are added to the mean.

    Examples
    --------
    >>> import heavybandits as hb
    >>> instance = hb.LipschitzInstance(lambda x: -((x[:, 0] - 0.3) ** 2), hb.Cauchy(0.1))
    >>> result = hb.simulate(instance, {"smooth": SmoothAuto()}, horizon=500, replications=2)
    >>> bool(result.regret.to_numpy()[:, :, -1].max() < 30)  # 62 if points were drawn at random
    True
    """

    explore: Positive = 2.0

    def init(self, dim: int, horizon: int | None) -> SmoothAutoState:
        row = min(dim, len(WAVES)) - 1
        size, room = FIRST_POINTS[row], FIRST_POINTS[row] + ROOM_FOR_NEIGHBOURS
        points = np.full((room, dim), 0.5)
        points[:size] = halton(size, dim)
        offsets = 2.0 * halton(8 * dim, dim) - 1.0
        around = np.concatenate([step * offsets for step in STEP_SIZES])
        return SmoothAutoState(
            points=points,
            pulls=np.zeros(room, np.int64),
            late=init_late(room),
            spreads=init_spreads(1),
            fit=init_smooth_fit(lowest_waves(dim, WAVES[row]), points[:size], room, KEPT),
            kept=np.zeros(KEPT),
            places=np.zeros(KEPT, np.int64),
            frozen=np.zeros(room),
            around=around,
            spot=np.zeros(dim),
            worth=np.zeros(len(around)),
            numbers=init_scalars(n_points=size, first=4 * (dim + 1), seen=0, due=4 * (dim + 1), unit=0.0, origin=0.0),
        )

    def select(self, state: SmoothAutoState, t: int, rng: Any) -> int:
        """Return the first points once, then the one with the highest upper bound."""
        numbers = state.numbers[0]
        if numbers.unit == 0.0:
            return least_asked_of(state, numbers.first)
        best, highest = 0, -math.inf
        mean, variance, pulls, late = state.fit.mean, state.fit.variance, state.pulls, state.late
        for cell in range(numbers.n_points):
            index = mean[cell] + self.explore * math.sqrt(variance[cell]) * bonus_factor(late, cell, pulls[cell])
            if index > highest or (index == highest and pulls[cell] < pulls[best]):
                best, highest = cell, index
        return best

    def update(self, state: SmoothAutoState, cell: int, reward: float) -> None:
        """Learn from a reward: by a step, or by fitting everything anew."""
        numbers = state.numbers[0]
        x = clip(reward, LARGEST_RAW_REWARD)
        learn_spread(state.spreads, 0, x)
        state.pulls[cell] += 1
        count_row(state.fit, cell)
        keep_reward(state, cell, x)
        numbers.seen += 1
        if numbers.seen >= numbers.due:
            learn_anew(state)
        elif numbers.unit > 0.0:
            take_step(state.fit, numbers.n_points, cell, in_units(state, x))

    def point(self, state: SmoothAutoState, cell: int) -> FloatArray:
        """Return a point."""
        return state.points[cell]  # type: ignore[no-any-return]

    def n_cells(self, state: SmoothAutoState) -> int:
        """Return how many points there are to choose from."""
        return int(state.numbers[0]["n_points"])

    def value(self, state: SmoothAutoState, cell: int) -> float:
        """Return the estimated value of a point; NaN before the first fit."""
        numbers = state.numbers[0]
        return float(numbers.origin + numbers.unit * state.fit.mean[cell]) if numbers.unit > 0.0 else math.nan

    def index_of(self, state: SmoothAutoState, cell: int, t: int) -> float:
        """Return the upper bound on the value of a point; infinite before the first fit."""
        numbers = state.numbers[0]
        if numbers.unit == 0.0:
            return math.inf
        bonus = self.explore * math.sqrt(state.fit.variance[cell]) * bonus_factor(state.late, cell, state.pulls[cell])
        return float(numbers.origin + numbers.unit * (state.fit.mean[cell] + bonus))


@compilable
def least_asked_of(state: SmoothAutoState, n: int) -> int:
    """Return the first of n points that lacks a decision, or else the one with the fewest."""
    best = 0
    for cell in range(n):
        if is_due(state.late, state.pulls, cell, 1):
            return cell
        asked = state.late.asked[cell] + state.pulls[cell]
        if asked < state.late.asked[best] + state.pulls[best]:
            best = cell
    return best


@compilable
def in_units(state: SmoothAutoState, reward: float) -> float:
    """Return a reward relative to the middle of the first ones, in units of their spread."""
    numbers = state.numbers[0]
    return clip((reward - numbers.origin) / numbers.unit, FARTHEST_REWARD_UNITS)


@compilable
def keep_reward(state: SmoothAutoState, cell: int, reward: float) -> None:
    """Keep a reward for later fits, in place of the oldest one if there is no room."""
    numbers, fit = state.numbers[0], state.fit
    slot = numbers.seen % len(state.kept)
    if numbers.seen >= len(state.kept) and numbers.unit > 0.0:
        old = state.places[slot]
        residual = state.kept[slot] - fit.mean[old]
        state.frozen[old] += fit.mean[old] + effective_residual(residual, fit.law.freedom[0], fit.law.scale[0])
    state.kept[slot] = in_units(state, reward) if numbers.unit > 0.0 else reward
    state.places[slot] = cell


@rarely_called
def learn_anew(state: SmoothAutoState) -> None:
    """Fit everything to all rewards, and look for better points near the best one."""
    numbers, fit = state.numbers[0], state.fit
    n = min(numbers.seen, len(state.kept))
    numbers.due = numbers.seen + max(1, int((FIT_GROWTH - 1.0) * numbers.seen))
    if numbers.unit == 0.0:
        choose_unit(state, n)
    if numbers.unit > 0.0:
        refit(fit, numbers.n_points, state.places, state.kept, n, state.frozen, repeats(state.spreads))
        look_nearby(state)
        set_variances(fit, numbers.n_points)


@rarely_called
def choose_unit(state: SmoothAutoState, n: int) -> None:
    """Measure rewards from their median, in units of their median deviation, or of the largest if that is 0."""
    numbers = state.numbers[0]
    scratch = state.fit.residuals
    for k in range(n):
        scratch[k] = state.kept[k]
    origin = median_in_place(scratch, n)
    largest = 0.0
    for k in range(n):
        scratch[k] = abs(state.kept[k] - origin)
        largest = max(largest, scratch[k])
    spread = median_in_place(scratch, n)
    if largest == 0.0:
        return  # all rewards are equal so far
    numbers.origin, numbers.unit = origin, power_of_two(spread if spread > 0.0 else largest)
    for k in range(n):
        state.kept[k] = in_units(state, state.kept[k])


@rarely_called
def look_nearby(state: SmoothAutoState) -> None:
    """Add the best neighbours of the best point, if they are better still and there is room."""
    numbers, fit, dim = state.numbers[0], state.fit, state.points.shape[1]
    best, first = 0, int(numbers.n_points)
    for cell in range(first):
        if fit.mean[cell] > fit.mean[best]:
            best = cell
    bar = fit.mean[best]
    x, worth = state.spot, state.worth
    for k in range(len(worth)):
        move(state, best, k, x)
        worth[k] = 0.0
        for i in range(len(fit.theta)):
            worth[k] += fit.theta[i] * wave_at(fit.waves[i], x)
    for _ in range(NEW_POINTS):
        cell, highest, chosen = int(numbers.n_points), bar, -1
        if cell == len(state.points):
            break
        for k in range(len(worth)):
            if worth[k] > highest:
                move(state, best, k, x)
                if is_new(state, first, x):
                    highest, chosen = worth[k], k
        if chosen < 0:
            break
        move(state, best, chosen, x)
        for axis in range(dim):
            state.points[cell, axis] = x[axis]
        for i in range(len(fit.theta)):
            fit.heights[i, cell] = wave_at(fit.waves[i], x)
        numbers.n_points = cell + 1
    set_values(fit, first, numbers.n_points)


@compilable
def move(state: SmoothAutoState, cell: int, k: int, x: FloatArray) -> None:
    """Set x to a point of the cube near that of a cell."""
    for axis in range(len(x)):
        x[axis] = min(max(state.points[cell, axis] + state.around[k, axis], 0.0), 1.0)


@compilable
def is_new(state: SmoothAutoState, first: int, x: FloatArray) -> bool:
    """Return whether x differs from the points found since the last fit."""
    for cell in range(first, state.numbers[0].n_points):
        same = True
        for axis in range(len(x)):
            same = same and state.points[cell, axis] == x[axis]
        if same:
            return False
    return True
