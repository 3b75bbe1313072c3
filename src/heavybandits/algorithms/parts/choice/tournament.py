r"""The choice of the next arm: initial pulls, pulls in a row, and the highest of many indices.

The index of nearly every policy here is a line in a common, never decreasing *level*,

.. math::  U_a = x_a + s(t)\,w_a, \qquad s(t) = \sqrt{\ln t} \text{ or the like},

where only the arm that got a reward changes its *value* :math:`x_a` and *width* :math:`w_a`.  As long as no rival can
catch up with the leader, it is chosen without a comparison.  Otherwise the highest line is found as in
:mod:`.kinetic_tree`, in O(log K) amortised.  Ties go to the arm with fewer pulls, then to the lower number.

Rewards may come late: see :mod:`.late`.  The lines that are compared have bonuses narrowed by pending decisions.  While
arms wait, each choice first visits the next two arms, looking for one that may be chosen again.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...._validate import LARGEST_COUNT, require_within
from ....numerics import LARGEST_FLOAT
from ....protocols import BoolArray, FloatArray, IntArray, compilable, rarely_called
from ....tree import changed
from ..state.scalars import Scalars, init_scalars
from ..state.tree import open_only
from .kinetic_tree import SCAN, VALUE, WIDTH, WINNER, enter, foresee, height, highest, new_tree, plant
from .late import MANY, WAITING_FACTOR, Late, bonus_factor, init_late, is_due

CENTRE = 2  # column of Tournament.base, after VALUE and WIDTH
FEWEST_DECISIONS = 3  # an arm of infinite index gets at least this many decisions
_NEVER = -math.inf  # below every level: where the lead ends if there is none


class Tournament(NamedTuple):
    """The part of a policy's state that :func:`choose` works on."""

    line: FloatArray  # (arm, 2): value and width that are compared; NaN and infinite before the first estimate
    base: FloatArray  # (arm, 3): value and width if nothing were pending, and the estimate that a bonus narrows to
    late: Late
    open: BoolArray  # per arm: whether it may be chosen now
    turn: Scalars  # see first_turn
    lead: Scalars  # see no_lead
    tree: FloatArray | None  # (node, 4): the matches; with few arms there are none, nor code for them

    def carry(self, fresh: Tournament, rows: IntArray) -> Tournament:
        """Copy the arms ``rows`` to the first rows of ``fresh``, and recompute the rest."""
        kept = len(rows)
        fresh.line[:kept], fresh.base[:kept], fresh.open[:kept] = self.line[rows], self.base[rows], self.open[rows]
        for new, old in zip(fresh.late, self.late, strict=True):
            new[:kept] = old[rows]
        fresh.turn[0].waiting = self.turn[0].waiting
        if fresh.tree is not None:
            plant(fresh.tree, fresh.line, fresh.open)
        return fresh

    def check(self, fresh: Tournament, n_arms: int) -> None:
        """Refuse arms that do not exist, and counts out of range."""
        require_within("the next arm to look at", self.turn["next"], 0, n_arms)
        require_within("the arm chosen last", self.turn["arm"], 0, n_arms - 1)
        require_within("pulls left in a row", self.turn["left"], 0, LARGEST_COUNT)
        require_within("the round up to which the lead lasts", self.turn["until"], 0, LARGEST_COUNT)
        require_within("the next arm of the walk", self.turn["walk"], 0, n_arms - 1)
        for name in ("bar", "least", "waiting", "found"):
            require_within("counts of the walk", self.turn[name], 0, MANY)
        if self.tree is not None and not np.isin(self.tree[:, WINNER], np.arange(n_arms)).all():
            raise ValueError(f"each winner must be an arm from 0 to {n_arms - 1}")

    def restrict(self, among: IntArray | None) -> None:
        """Restrict choices to these arms; ``None`` allows all arms."""
        open_only(self.open, among)
        if self.tree is not None:
            plant(self.tree, self.line, self.open)
        self.turn[0].next = 0
        end_lead(self)
        if self.turn[0].waiting > 0:  # other arms may wait than before
            turn = self.turn[0]
            turn.walk, turn.bar, turn.least, turn.found = 0, MANY, MANY, 0

    def without_caches(self) -> Tournament:
        """Return the tournament as if no lead and no match had been found yet."""
        tree = new_tree(self.line, self.open) if len(self.line) > SCAN else None
        bare = self._replace(turn=self.turn.copy(), lead=no_lead(), tree=tree)
        end_lead(bare)
        return bare


def first_turn() -> Scalars:
    """Return the turn before the first choice."""
    return init_scalars(
        next=0,  # the next arm to look at for initial pulls
        left=0,  # pulls left in a row
        arm=0,  # chosen last
        until=0,  # the round up to which its lead is certain to last
        walk=0,  # the next arm of the walk around the arms that wait
        bar=MANY,  # how often the least chosen of the known arms was chosen, as of the last walk
        least=MANY,  # the same, so far in this walk
        waiting=0,  # how many arms wait, as of the last walk
        found=0,  # the same, so far in this walk
    )


def no_lead() -> Scalars:
    """Return no lead."""
    return init_scalars(
        start=0.0,  # level at which the lead begins
        end=_NEVER,  # level at which it ends
        rival=0.0,  # highest index of a rival until then
    )


def init_tournament(n_arms: int) -> Tournament:
    """Return a tournament in which no arm has an estimate yet, and all may be chosen."""
    base, open = np.full((n_arms, 3), math.inf), np.ones(n_arms, np.bool_)
    base[:, (VALUE, CENTRE)] = math.nan
    line = base[:, :CENTRE].copy()
    return Tournament(
        line=line,
        base=base,
        late=init_late(n_arms),
        open=open,
        turn=first_turn(),
        lead=no_lead(),
        tree=new_tree(line, open) if n_arms > SCAN else None,
    )


def with_trees(state: Any, beyond: int = SCAN) -> Any:
    """Return the state with matches in tournaments of more than ``beyond`` arms, and none in others.

    The choices are the same either way, but need other code.

    Examples
    --------
    >>> import heavybandits as hb
    >>> state = hb.UCB().init(n_arms=2, horizon=None)
    >>> with_trees(state).tournament.tree is None, with_trees(state, beyond=0).tournament.tree.shape
    (True, (4, 4))
    """

    def changed_part(part: Any) -> Any:
        if not isinstance(part, Tournament) or (len(part.line) > beyond) == (part.tree is not None):
            return part
        return part._replace(tree=new_tree(part.line, part.open) if part.tree is None else None)

    return changed(state, changed_part)


def without_caches(state: Any) -> Any:
    """Return the state with leads and matches as if none had been found yet; the choices are the same.

    Examples
    --------
    >>> import heavybandits as hb
    >>> state = hb.UCB().init(n_arms=2, horizon=None)
    >>> state.tournament.turn[0].until = 7
    >>> int(without_caches(state).tournament.turn[0].until)
    0
    """
    return changed(state, lambda part: part.without_caches() if isinstance(part, Tournament) else part)


@compilable
def end_lead(tournament: Tournament) -> None:
    """Make the next choice compare all arms: there are new ones, or others may be chosen."""
    tournament.turn[0].until, tournament.lead[0].end = 0, _NEVER


@compilable
def set_line(tournament: Tournament, arm: int, n: int, value: float, width: float) -> None:
    """Give the arm a new line: its estimate after n rewards, and the width of its bonus."""
    set_base(tournament, arm, n, value, width, value)


@compilable
def set_bound(tournament: Tournament, arm: int, n: int, upper: float, centre: float) -> None:
    """Give the arm an upper bound that does not depend on the level, and the estimate from n rewards below it."""
    set_base(tournament, arm, n, upper, 0.0, centre)


@compilable
def set_base(tournament: Tournament, arm: int, n: int, value: float, width: float, centre: float) -> None:
    """Store the arm's line without pending decisions, and update the line that is compared."""
    base = tournament.base
    base[arm, VALUE] = value if value >= -LARGEST_FLOAT else -LARGEST_FLOAT  # above that of a closed arm, even for NaN
    base[arm, WIDTH] = width
    base[arm, CENTRE] = centre
    if tournament.late.pending[arm] == 0 and tournament.late.lost[arm] == 0:
        tournament.line[arm, VALUE] = base[arm, VALUE]
        tournament.line[arm, WIDTH] = width
        compare(tournament, arm)
    else:
        narrow(tournament, arm, n)


@compilable
def set_unknown(tournament: Tournament, arm: int) -> None:
    """Let the arm have no estimate again, because its only reward is unlearned."""
    set_base(tournament, arm, 0, -LARGEST_FLOAT, math.inf, math.nan)


@rarely_called
def narrow(tournament: Tournament, arm: int, n: int) -> None:
    """Update the line of an arm with n rewards to its pending decisions."""
    line, base, late = tournament.line, tournament.base, tournament.late
    unknown = base[arm, WIDTH] == math.inf
    line[arm, VALUE] = base[arm, VALUE]
    line[arm, WIDTH] = base[arm, WIDTH]
    if unknown or base[arm, VALUE] >= LARGEST_FLOAT:  # there is no bonus to narrow
        if late.pending[arm] > 0 or (unknown and late.lost[arm] > 0):
            line[arm, VALUE], line[arm, WIDTH] = -LARGEST_FLOAT, 0.0
            tournament.turn[0].waiting = max(tournament.turn[0].waiting, 1)
    elif late.pending[arm] > 0:
        factor = bonus_factor(late, arm, n)
        line[arm, VALUE] = base[arm, CENTRE] + (base[arm, VALUE] - base[arm, CENTRE]) * factor
        line[arm, WIDTH] = base[arm, WIDTH] * factor
    compare(tournament, arm)


@compilable
def compare(tournament: Tournament, arm: int) -> None:
    """Let the arm's new line compete with the others."""
    lead = tournament.lead[0]
    if arm != tournament.turn[0].arm and lead.end > _NEVER:
        rival = height(tournament.line, tournament.open, arm, lead.end)
        if rival > lead.rival:
            lead.rival = rival
    enter(tournament.tree, tournament.line, tournament.open, arm)


@rarely_called
def next_waiting(tournament: Tournament, pulls: IntArray, initial: int) -> int:
    """Visit the next two arms, and return one that waits and may be chosen again, or -1."""
    turn, base, late = tournament.turn[0], tournament.base, tournament.late
    for _ in range(2):
        arm: int = turn.walk
        turn.walk += 1
        chosen = False
        if tournament.open[arm]:
            asked = max(late.asked[arm], pulls[arm])
            unknown = base[arm, WIDTH] == math.inf
            if not (unknown or base[arm, VALUE] >= LARGEST_FLOAT):
                turn.least = min(turn.least, asked)
            elif late.pending[arm] > 0 or (unknown and late.lost[arm] > 0):
                turn.found += 1
                chosen = asked < max(initial if unknown else FEWEST_DECISIONS, WAITING_FACTOR * turn.bar)
        if turn.walk == len(pulls):
            turn.walk, turn.bar, turn.least, turn.waiting, turn.found = 0, turn.least, MANY, turn.found, 0
        if chosen:
            return arm
    return -1


@compilable
def choose(policy: Any, state: Any, t: int, initial: int, in_a_row: int) -> int:
    """Return the arm to pull: each arm ``initial`` times, then the arm of highest index, ``in_a_row`` times.

    Pending decisions count as initial pulls, and so do rewards without a decision.  ``policy.level(state, t)`` must not
    fall as t grows.
    """
    tournament, pulls = state.tournament, state.pulls
    line, open, turn, lead = tournament.line, tournament.open, tournament.turn[0], tournament.lead[0]
    leader: int = turn.arm
    # A lead begins after all initial pulls and ends when other arms may be chosen, so it can be checked first.
    if (
        turn.left <= 0
        and t < turn.until
        and turn.waiting == 0
        and line[leader, VALUE] + lead.start * line[leader, WIDTH] > lead.rival
    ):
        turn.left = in_a_row - 1
        return leader  # whatever the level is by now, so it need not be computed
    while turn.next < len(pulls):
        arm: int = turn.next
        if open[arm] and is_due(tournament.late, pulls, arm, initial):
            return arm
        turn.next += 1
    if turn.left > 0 and open[leader]:
        turn.left -= 1
        return leader
    if turn.waiting > 0:
        arm = next_waiting(tournament, pulls, initial)
        if arm >= 0:
            return arm
    turn.left = in_a_row - 1
    level = policy.level(state, t)
    if level <= lead.end and line[leader, VALUE] + level * line[leader, WIDTH] > lead.rival:
        if level == lead.end and policy.level(state, t + t // 32 + 1) <= level:  # it does not rise
            turn.until = t + t // 32 + 1
        return leader
    arm = highest(line, open, tournament.tree, pulls, level)
    turn.arm, turn.until, lead.end = arm, 0, _NEVER
    if arm == leader:
        until = t + t // 32 + 1
        last = policy.level(state, until)
        held, rival = foresee(line, open, tournament.tree, arm, last)
        lead.start, lead.end, lead.rival = level, held, rival
        turn.until = until if held >= last else 0
    return arm
