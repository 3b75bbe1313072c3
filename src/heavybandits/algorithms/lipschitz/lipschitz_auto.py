r"""Points without prior knowledge: the indices of ``auto`` on boxes that are cut into three where it pays.

*Assumes* that nearby points pay alike, and noise with the same law for all points, whatever its tails.  *Needs* no
prior knowledge: no Lipschitz constant, no horizon, nothing about the noise.  *When that fails*: a peak that is narrower
than the first boxes, and whose box pays little at its centre, is not found.  Like ``auto``, it compares locations, or
means where rewards repeat.

*Formula*: the cube is cut into nine boxes, along its only side or along its first two.  Each box is an arm, played at
its centre, and the box with the highest index :math:`U_a` of :mod:`.auto` is played, where c grows with the number of
boxes, so that every box is explored as one of nine.  The estimates :math:`x_b` of the boxes have the range

.. math::  R = \max_b x_b - \min_b x'_b,

where :math:`x'_b` is :math:`x_b` for boxes with at least five rewards, the only ones that count in the maximum, and
:math:`U_b` for the others.  The box that was played is cut into three along its longest side, of length w, as soon as
it is known more precisely than the function is likely to vary within it, if the best point may still be in it:

.. math::  U_a - x_a < \tfrac12 w R \qquad\text{and}\qquad U_a + w R \ge \max_b x_b,

where the maximum is over boxes with at least three rewards.  The middle third has the same centre, so it keeps all that
is known about the box; the outer thirds are new arms.  A change of the scale or offset of the rewards changes no
choice.

*Cost*: that of ``auto``, and O(m) for a choice among m boxes: about twenty after 10^4 rewards in one dimension.  There
is room for 513 boxes; then no more are cut.  200 kB.

*Reference*: this library; see ``docs/lipschitz.md``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..._validate import require_within
from ...protocols import FloatArray, compilable
from ..entries import register_policy
from ..level_sets.level_set import LevelSets
from ..level_sets.moments import Moments
from ..level_sets.spreads import Spreads
from ..parameters import Positive
from ..parts.choice.kinetic_tree import VALUE
from ..parts.choice.late import Late
from ..parts.choice.tournament import CENTRE, Tournament, choose, end_lead
from ..policies.auto import Auto, AutoState, learn_reward
from ._cells import Cells, cut, init_cells, longest_side

ROOM = 513  # most boxes
START = 9  # boxes at the start, at least
KNOWN = 5  # rewards that a box needs for its estimate to count in the range of values
FIRST, ALWAYS, REWARDS_PER_CHECK = (
    3,
    16,
    4,
)  # whether to cut is checked from the 3rd reward on, after the 16th every 4th time
SHARE = 0.5  # a box is known well enough if the uncertainty is below this share of the variation along its side
SHORTEST_SIDE = 1e-9  # a side this short is not cut


class LipschitzAutoState(NamedTuple):
    """Boxes, and the state of ``auto`` with an arm for each of the ``ROOM`` boxes."""

    cells: Cells
    arms: AutoState

    def check(self, fresh: LipschitzAutoState, n_arms: int) -> None:
        """Refuse boxes that do not exist."""
        self.cells.check(fresh.cells, n_arms)
        last, turn = int(self.cells.size[0]) - 1, self.arms.sets.tournament.turn
        require_within("the box chosen last", turn["arm"], 0, last)
        require_within("the next box of the walk", turn["walk"], 0, last)


@compilable
def first_arms(state: AutoState, n: int) -> AutoState:
    """Return a view of the state of ``auto`` that has its first n arms only."""
    sets, moments, spreads, tournament = state.sets, state.moments, state.sets.spreads, state.sets.tournament
    late = tournament.late
    first_late = Late(asked=late.asked[:n], pending=late.pending[:n], lost=late.lost[:n])
    first_lines = Tournament(
        line=tournament.line[:n], base=tournament.base[:n], late=first_late, open=tournament.open[:n],
        turn=tournament.turn, lead=tournament.lead, tree=None,
    )  # fmt: skip
    first_spreads = Spreads(
        last=spreads.last[:n], seen=spreads.seen[:n], mean=spreads.mean[:n], unit=spreads.unit, total=spreads.total,
        centre=spreads.centre, squares=spreads.squares, equal=spreads.equal, step=spreads.step,
        steps=spreads.steps, powers=spreads.powers,
    )  # fmt: skip
    first_sets = LevelSets(
        pulls=sets.pulls[:n], x=sets.x[:n], kept=sets.kept[:n], unit=sets.unit[:n], stretch=sets.stretch[:n],
        loud=sets.loud[:n], width=sets.width[:n], until=sets.until[:n], shared=sets.shared, spreads=first_spreads,
        losses=sets.losses, tournament=first_lines,
    )  # fmt: skip
    first_moments = Moments(
        own=moments.own[:n], listed=moments.listed[:n], whole=moments.whole[:n], extremes=moments.extremes,
        origin=moments.origin, unit=moments.unit,
    )  # fmt: skip
    return AutoState(sets=first_sets, moments=first_moments, pooled=state.pooled, by_means=state.by_means)


@compilable
def is_ripe(cells: Cells, arms: AutoState, cell: int) -> bool:
    """Return whether a box is known more precisely than the function varies in it, and may contain the best point."""
    base, pulls = arms.sets.tournament.base, arms.sets.pulls
    low, high, best = math.inf, -math.inf, -math.inf
    for other in range(len(pulls)):
        if pulls[other] >= FIRST:
            best = max(best, base[other, CENTRE])
        if pulls[other] >= KNOWN:
            low, high = min(low, base[other, CENTRE]), max(high, base[other, CENTRE])
        elif pulls[other] > 0:
            low = min(low, base[other, VALUE])
    side = cells.sides[cell, longest_side(cells, cell)]
    if not (side > SHORTEST_SIDE and low < high):
        return False
    varies, upper = side * (high - low), base[cell, VALUE]
    return bool(upper - base[cell, CENTRE] < SHARE * varies and upper + varies >= best)


@register_policy(
    "lipschitz-auto",
    needs="nothing",
    memory="200 kB",
    cost="O(1) amortised, O(m) for m boxes",
    regret="none; measured in docs/lipschitz.md",
    reference="this library",
    kind="lipschitz",
    look="hero short",
)
class LipschitzAuto(NamedTuple):
    r"""``auto`` for points, without prior knowledge.

    Parameters
    ----------
    c
        How much to explore.

    Examples
    --------
    >>> import heavybandits as hb
    >>> instance = hb.LipschitzInstance("peak", hb.Cauchy(0.1))
    >>> result = hb.simulate(instance, {"auto": LipschitzAuto()}, horizon=1000, replications=4)
    >>> bool(result.regret.to_numpy()[:, :, -1].max() < 100)  # 290 if points were drawn at random
    True
    """

    c: Positive = 4.0

    def init(self, dim: int, horizon: int | None) -> LipschitzAutoState:
        cells, arms = init_cells(dim, START, ROOM), Auto(self.c).init(ROOM, horizon)
        arms.sets.shared.due[0] = arms.pooled.due[0] = float(cells.size[0])
        sets = arms.sets._replace(tournament=arms.sets.tournament._replace(tree=None))
        return LipschitzAutoState(cells, arms._replace(sets=sets))

    def level(self, state: LevelSets, t: int) -> float:
        """Return zero: between refreshes, indices do not change with t."""
        return 0.0

    def select(self, state: LipschitzAutoState, t: int, rng: Any) -> int:
        """Return each box once, then the one with the highest index."""
        return choose(self, first_arms(state.arms, state.cells.size[0]).sets, t, 1, 1)

    def update(self, state: LipschitzAutoState, cell: int, reward: float) -> None:
        """Learn from a reward, and cut the box if it is known well enough."""
        cells, size = state.cells, state.cells.size[0]
        arms = first_arms(state.arms, size)
        learn_reward(arms, cell, reward, self.c * size / START)
        n = arms.sets.pulls[cell]
        asks = n >= FIRST and (n <= ALWAYS or n % REWARDS_PER_CHECK == 0)
        if asks and size + 2 <= len(cells.centre) and is_ripe(cells, arms, cell):
            cut(cells, cell)
            end_lead(arms.sets.tournament)

    def point(self, state: LipschitzAutoState, cell: int) -> FloatArray:
        """Return the centre of a box."""
        return state.cells.centre[cell]  # type: ignore[no-any-return]

    def n_cells(self, state: LipschitzAutoState) -> int:
        """Return how many boxes there are."""
        return int(state.cells.size[0])

    def value(self, state: LipschitzAutoState, cell: int) -> float:
        """Return the location of a box's rewards, or their mean if means are being compared."""
        return Auto(self.c).value(state.arms, cell)

    def index_of(self, state: LipschitzAutoState, cell: int, t: int) -> float:
        """Return the highest value that is not ruled out for a box, as of the latest refresh."""
        return Auto(self.c).index_of(state.arms, cell, t)
