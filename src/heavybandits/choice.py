r"""Which arm next: initial pulls, batches, and the highest of many indices.

The index of nearly every policy here is a line in a common, never decreasing *level*,

.. math::  U_a = x_a + s(t)\,w_a, \qquad s(t) = \sqrt{\ln t} \text{ or the like},

where only the arm that got a reward changes its *value* :math:`x_a` and *width* :math:`w_a`.  A few arms are scanned.
Many are kept in a kinetic tournament: a binary tree whose nodes hold the winner below them and the level at which that
may change.  A reward expires the nodes on the way to the root; a choice replays the expired matches and no others, so
it costs O(log K) amortised.  Ties go to the arm with the lowest number.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .protocols import FloatArray, IntArray, compilable

SCAN = 64  # up to this many arms a scan is quicker than the tournament
_FORCED, _LEFT, _ARM, _UNTIL = range(4)  # places in Choice.plan
_FIRST, _LAST, _RIVAL = range(3)  # places in Choice.lead


class Choice(NamedTuple):
    """The part of a policy's state that :func:`choose` works on."""

    value: FloatArray  # per arm
    width: FloatArray  # per arm; infinite before the first estimate
    asked: IntArray  # per arm: initial pulls that were selected, whether or not their rewards have come
    open: npt.NDArray[np.bool_]  # per arm: may be chosen now
    plan: IntArray  # next arm to look at for initial pulls, pulls left in the batch, the arm chosen last, end of its lead
    lead: FloatArray  # levels when its lead was worked out and when that ends, the highest index of a rival until then
    winner: IntArray  # tournament: node i has children 2i and 2i + 1, leaves are the last K nodes
    expiry: FloatArray  # tournament: the level at which the winner below the node may change

    def carry(self, fresh: Choice, rows: IntArray) -> Choice:
        """Move what is known of the arms ``rows`` into the first rows of ``fresh``; the rest is worked out anew."""
        for old, new in zip(self[:4], fresh[:4], strict=True):
            new[: len(rows)] = old[rows]
        return fresh

    def restrict(self, among: IntArray | None) -> None:
        """Let only these arms be chosen, or all if ``None``."""
        self.open[:] = among is None
        if among is not None:
            self.open[among] = True
        self.expiry[:] = -math.inf
        self.plan[_FORCED] = self.plan[_UNTIL] = 0


def init_choice(n_arms: int) -> Choice:
    """No arm has an estimate, all may be chosen."""
    nodes = 2 * n_arms if n_arms > SCAN else 0
    winner = np.zeros(nodes, np.int64)
    if nodes:
        winner[n_arms:] = np.arange(n_arms)
    expiry = np.full(nodes, -math.inf)
    return Choice(np.full(n_arms, math.nan), np.full(n_arms, math.inf), np.zeros(n_arms, np.int64),
                  np.ones(n_arms, np.bool_), np.zeros(4, np.int64), np.zeros(3), winner, expiry)  # fmt: skip


@compilable
def place(choice: Choice, arm: int, value: float, width: float) -> None:
    """Give the arm a new line."""
    choice.value[arm] = value
    choice.width[arm] = width
    if arm != choice.plan[_ARM]:
        choice.lead[_RIVAL] = max(choice.lead[_RIVAL], height(choice, arm, choice.lead[_LAST]))
    node = arm + len(choice.value)
    if len(choice.winner):
        while node > 0:
            choice.expiry[node] = -math.inf
            node //= 2


@compilable
def height(choice: Choice, arm: int, level: float) -> float:
    """Index of the arm: infinite before its first estimate, minus infinity while it may not be chosen."""
    if not choice.open[arm]:
        return -math.inf
    if choice.width[arm] == math.inf:
        return math.inf
    return choice.value[arm] + level * choice.width[arm]


@compilable
def _replay(choice: Choice, node: int, level: float) -> None:
    """Decide the match at a node whose children are up to date, and how long the result holds."""
    left, right = choice.winner[2 * node], choice.winner[2 * node + 1]
    left_height, right_height = height(choice, left, level), height(choice, right, level)
    if right_height > left_height or (right_height == left_height and right < left):
        left, right = right, left
        left_height, right_height = right_height, left_height
    choice.winner[node] = left
    holds = min(choice.expiry[2 * node], choice.expiry[2 * node + 1])
    if left_height < math.inf and right_height > -math.inf and choice.width[right] > choice.width[left]:
        # Rounding must not delay the crossing, so it is announced a little early: the match is then only replayed.
        steeper = choice.width[right] - choice.width[left]
        holds = min(holds, level + (left_height - right_height) / steeper * (1.0 - 1e-9))
    choice.expiry[node] = holds


@compilable
def highest(choice: Choice, level: float) -> int:
    """Arm with the highest index at a level that is never below the one asked for before."""
    n_arms = len(choice.value)
    if not len(choice.winner):
        best, best_height = 0, -math.inf
        for arm in range(n_arms):
            arm_height = height(choice, arm, level)
            if arm_height > best_height:
                best, best_height = arm, arm_height
        return best
    node = 1
    while node > 0:
        if node >= n_arms:  # a leaf has no match to replay
            choice.expiry[node] = math.inf
            node //= 2
        elif choice.expiry[2 * node] < level:
            node = 2 * node
        elif choice.expiry[2 * node + 1] < level:
            node = 2 * node + 1
        elif choice.expiry[node] < level:
            _replay(choice, node, level)
            node //= 2
        else:
            node //= 2
    return choice.winner[1]


@compilable
def choose(policy: Any, state: Any, t: int, initial: int, batch: int) -> int:
    """Arm to pull: ``initial`` times each arm in order, then ``batch`` times in a row the one with the highest index.

    Initial pulls that were asked for count as done, so several may be under way at once; and so do rewards that came
    unasked.  ``policy.level(state, t)`` never falls as t grows.
    """
    choice, pulls = state.choice, state.pulls
    plan, lead = choice.plan, choice.lead
    while plan[_FORCED] < len(pulls):
        arm = plan[_FORCED]
        if choice.open[arm] and max(choice.asked[arm], pulls[arm]) < initial:
            choice.asked[arm] += 1
            return arm
        plan[_FORCED] += 1
    leader = plan[_ARM]
    if plan[_LEFT] > 0 and choice.open[leader]:
        plan[_LEFT] -= 1
        return leader
    plan[_LEFT] = batch - 1
    if t < plan[_UNTIL] and choice.value[leader] + lead[_FIRST] * choice.width[leader] > lead[_RIVAL]:
        return leader  # in the lead whatever the level is by now, so there is no need to work it out
    level = policy.level(state, t)
    plan[_ARM] = highest(choice, level)
    plan[_UNTIL] = 0
    if plan[_ARM] == leader and not len(choice.winner):
        plan[_UNTIL] = t + t // 32 + 1
        lead[_FIRST], lead[_LAST], lead[_RIVAL] = level, policy.level(state, plan[_UNTIL]), -math.inf
        for arm in range(len(pulls)):
            if arm != leader:
                lead[_RIVAL] = max(lead[_RIVAL], height(choice, arm, lead[_LAST]))
    return plan[_ARM]
