r"""Which arm next: initial pulls, pulls in a row, and the highest of many indices.

The index of nearly every policy here is a line in a common, never decreasing *level*,

.. math::  U_a = x_a + s(t)\,w_a, \qquad s(t) = \sqrt{\ln t} \text{ or the like},

where only the arm that got a reward changes its *value* :math:`x_a` and *width* :math:`w_a`.  A leader that no rival
can catch up with for a while is not compared with the others.  Else a few arms are scanned, and many are kept in a
kinetic tournament: a binary tree whose nodes hold the winner below them and the level at which that may change.  A
reward expires the nodes on the way to the root; a choice replays the expired matches and no others, so it costs
O(log K) amortised.  Ties go to the arm with the lowest number, up to rounding in the last digit if the arms are many.

Numbers that belong together lie together, in few arrays: that is kind to the cache, and to the compiler.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._validate import LARGEST_COUNT, require_within
from ...protocols import FloatArray, IntArray, compilable, rarely_called
from .numerics import LARGEST
from .scan import ask

Flags = npt.NDArray[np.bool_]

SCAN = 64  # up to this many arms a scan is quicker than the tree
VALUE, WIDTH, WINNER, EXPIRY = range(4)  # columns of Tournament.tree, and the first two of Tournament.line
# These numbers lie in two arrays, not in seven: in the busiest code of all that saves a tenth of the time.
# Columns of Tournament.turn: the next arm to look at for initial pulls; pulls left in a row; the arm chosen last; the
# round up to which its lead surely lasts.
NEXT, LEFT, ARM, UNTIL = range(4)
# Columns of Tournament.lead: the levels at which the lead starts and ends, and a rival's highest index till then.
START, END, RIVAL = range(3)
_NEVER = -math.inf  # below every level: the end of a lead that is none


class Tournament(NamedTuple):
    """The part of a policy's state that :func:`choose` works on."""

    line: FloatArray  # (arm, 2): value and width; NaN and infinite before the first estimate
    asked: IntArray  # per arm: initial pulls that were selected, whether or not their rewards have come
    open: Flags  # per arm: may be chosen now
    turn: IntArray
    lead: FloatArray
    # (node, 4): the kinetic tournament; node i has children 2i and 2i + 1, leaves are the last K nodes.  A node has a
    # copy of its winner's line, for what lies elsewhere is slow to reach.  With few arms there is no tree, nor code for
    # it.
    tree: FloatArray | None

    def carry(self, fresh: Tournament, rows: IntArray) -> Tournament:
        """Move what is known of the arms ``rows`` into the first rows of ``fresh``; the rest is worked out anew."""
        kept = len(rows)
        fresh.line[:kept], fresh.asked[:kept], fresh.open[:kept] = self.line[rows], self.asked[rows], self.open[rows]
        if fresh.tree is not None:
            plant(fresh.tree, fresh.line, fresh.open)
        return fresh

    def check(self, fresh: Tournament, n_arms: int) -> None:
        """Refuse numbers of arms that are none."""
        require_within("the next arm to look at", self.turn[[NEXT]], 0, n_arms)
        require_within("the arm chosen last", self.turn[[ARM]], 0, n_arms - 1)
        require_within("pulls left in a row", self.turn[[LEFT]], 0, LARGEST_COUNT)
        require_within("the round up to which the lead lasts", self.turn[[UNTIL]], 0, LARGEST_COUNT)
        require_within("asked", self.asked, 0, LARGEST_COUNT)
        if self.tree is not None and not np.isin(self.tree[:, WINNER], np.arange(n_arms)).all():
            raise ValueError(f"each winner must be an arm from 0 to {n_arms - 1}")

    def restrict(self, among: IntArray | None) -> None:
        """Let only these arms be chosen, or all if ``None``."""
        self.open[:] = among is None
        if among is not None:
            self.open[among] = True
        if self.tree is not None:
            plant(self.tree, self.line, self.open)
        self.turn[NEXT], self.turn[UNTIL], self.lead[END] = 0, 0, _NEVER


def init_tournament(n_arms: int) -> Tournament:
    """Return a tournament in which no arm has an estimate yet, and all may be chosen."""
    line, open = np.full((n_arms, 2), math.inf), np.ones(n_arms, np.bool_)
    line[:, VALUE] = math.nan
    tree = np.empty((2 * n_arms, 4)) if n_arms > SCAN else None
    if tree is not None:
        plant(tree, line, open)
    return Tournament(
        line=line,
        asked=np.zeros(n_arms, np.int64),
        open=open,
        turn=np.zeros(4, np.int64),
        lead=np.array([0.0, _NEVER, 0.0]),
        tree=tree,
    )


def plant(tree: FloatArray, line: FloatArray, open: Flags) -> None:
    """Enter all arms into a tournament that has not begun."""
    tree[:] = 0.0, 0.0, 0.0, -math.inf
    known = line[:, WIDTH] < math.inf
    tree[len(line) :, VALUE] = np.where(open, np.where(known, line[:, VALUE], math.inf), -math.inf)
    tree[len(line) :, WIDTH] = np.where(open & known, line[:, WIDTH], 0.0)
    tree[len(line) :, WINNER] = np.arange(len(line))


@compilable
def height(line: FloatArray, open: Flags, arm: int, level: float) -> float:
    """Index of the arm: infinite before its first estimate, minus infinity while it may not be chosen."""
    if not open[arm]:
        return -math.inf
    if line[arm, WIDTH] == math.inf:
        return math.inf
    return float(line[arm, VALUE] + level * line[arm, WIDTH])


@compilable
def set_line(tournament: Tournament, arm: int, value: float, width: float) -> None:
    """Give the arm a new line."""
    line, lead = tournament.line, tournament.lead
    line[arm, VALUE] = value if value >= -LARGEST else -LARGEST  # above that of a closed arm, even if it is NaN
    line[arm, WIDTH] = width
    if arm != tournament.turn[ARM] and lead[END] > _NEVER:
        rival = height(line, tournament.open, arm, lead[END])
        if rival > lead[RIVAL]:
            lead[RIVAL] = rival
    enter(tournament.tree, line, tournament.open, arm)


@compilable
def enter(tree: FloatArray | None, line: FloatArray, open: Flags, arm: int) -> None:
    """Put the arm's line into its leaf, and have all matches replayed that it is in."""
    if tree is None:
        return
    node, known = arm + len(line), line[arm, WIDTH] < math.inf
    if open[arm]:
        tree[node, VALUE] = line[arm, VALUE] if known else math.inf
        tree[node, WIDTH] = line[arm, WIDTH] if known else 0.0
    while node > 0 and tree[node, EXPIRY] > -math.inf:  # above an expired node all are
        tree[node, EXPIRY] = -math.inf
        node //= 2


@rarely_called
def replay(tree: FloatArray, node: int, level: float) -> None:
    """Decide the match at a node whose children are up to date, and how long the result holds."""
    winner, loser = 2 * node, 2 * node + 1
    holds = min(tree[winner, EXPIRY], tree[loser, EXPIRY])
    high, low = tree[winner, VALUE] + level * tree[winner, WIDTH], tree[loser, VALUE] + level * tree[loser, WIDTH]
    if low > high or (low == high and tree[loser, WINNER] < tree[winner, WINNER]):
        winner, loser, high, low = loser, winner, low, high
    if high < math.inf and low > -math.inf and tree[loser, WIDTH] > tree[winner, WIDTH]:
        # Rounding must not delay the crossing, so it is announced a little early: the match is then only replayed.
        holds = min(holds, level + (high - low) / (tree[loser, WIDTH] - tree[winner, WIDTH]) * (1.0 - 1e-9))
    tree[node, VALUE] = tree[winner, VALUE]
    tree[node, WIDTH] = tree[winner, WIDTH]
    tree[node, WINNER] = tree[winner, WINNER]
    tree[node, EXPIRY] = holds


@rarely_called
def highest(line: FloatArray, open: Flags, tree: FloatArray | None, level: float) -> int:
    """Arm with the highest index at a level that is never below the one asked for before."""
    n_arms = len(line)
    if tree is None:
        best, best_height = 0, -math.inf
        for arm in range(n_arms):
            arm_height = height(line, open, arm, level)
            if arm_height > best_height:
                best, best_height = arm, arm_height
        return best
    node = 1
    while node > 0:
        if node >= n_arms:  # a leaf has no match to replay
            tree[node, EXPIRY] = math.inf
            node //= 2
        elif tree[2 * node, EXPIRY] < level:
            node = 2 * node
        elif tree[2 * node + 1, EXPIRY] < level:
            node = 2 * node + 1
        else:
            if tree[node, EXPIRY] < level:
                replay(tree, node, level)
            node //= 2
    return int(tree[1, WINNER])


@rarely_called
def foresee(
    line: FloatArray, open: Flags, tree: FloatArray | None, lead: FloatArray, leader: int, last: float
) -> float:
    """Note the highest index of a rival up to the level ``last``, or up to the one returned if that comes before."""
    highest_rival = -math.inf
    if tree is None:
        for arm in range(len(line)):
            index = height(line, open, arm, last)
            if arm != leader and index > highest_rival:
                highest_rival = index
    else:  # its rivals are the winners beside its way to the root, for as long as they stay that
        node = leader + len(line)
        while node > 1:
            last = min(last, tree[node ^ 1, EXPIRY])
            node //= 2
        node = leader + len(line)
        while node > 1:
            highest_rival = max(highest_rival, tree[node ^ 1, VALUE] + last * tree[node ^ 1, WIDTH])
            node //= 2
    lead[RIVAL] = highest_rival
    return last


@compilable
def choose(policy: Any, state: Any, t: int, initial: int, in_a_row: int) -> int:
    """Return the arm to pull: each arm ``initial`` times, then the one of highest index, so often ``in_a_row``.

    Initial pulls that were asked for count as done, so several may be under way at once; and so do rewards that came
    unasked.  ``policy.level(state, t)`` never falls as t grows.
    """
    tournament, pulls = state.tournament, state.pulls
    line, open, turn, lead = tournament.line, tournament.open, tournament.turn, tournament.lead
    leader: int = turn[ARM]
    # A lead begins after all initial pulls, and ends when other arms may be chosen; so it may be looked at first.
    if turn[LEFT] <= 0 and t < turn[UNTIL] and line[leader, VALUE] + lead[START] * line[leader, WIDTH] > lead[RIVAL]:
        turn[LEFT] = in_a_row - 1
        return leader  # whatever the level is by now, so there is no need to work it out
    while turn[NEXT] < len(pulls):
        arm: int = turn[NEXT]
        if open[arm] and ask(pulls, tournament.asked, arm, initial):
            return arm
        turn[NEXT] += 1
    if turn[LEFT] > 0 and open[leader]:
        turn[LEFT] -= 1
        return leader
    turn[LEFT] = in_a_row - 1
    level = policy.level(state, t)
    if level <= lead[END] and line[leader, VALUE] + level * line[leader, WIDTH] > lead[RIVAL]:
        if level == lead[END] and policy.level(state, t + t // 32 + 1) <= level:  # it does not rise
            turn[UNTIL] = t + t // 32 + 1
        return leader
    arm = highest(line, open, tournament.tree, level)
    turn[ARM], turn[UNTIL], lead[END] = arm, 0, _NEVER
    if arm == leader:
        until = t + t // 32 + 1
        last = policy.level(state, until)
        held = foresee(line, open, tournament.tree, lead, arm, last)
        lead[START], lead[END], turn[UNTIL] = level, held, until if held >= last else 0
    return arm
