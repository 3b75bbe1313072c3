"""Choices that look at every arm, for indices that are not linear in a common level.

Rewards may come late: see :mod:`.late`.
"""

from __future__ import annotations

import math
from typing import Any

from ...protocols import compilable
from ..parts.choice.late import MANY, WAITING_FACTOR, bonus_factor, is_due


@compilable
def due(state: Any, initial: int) -> int:
    """Return the first open arm that still lacks one of its ``initial`` pulls, or -1 if there is none."""
    for arm in range(len(state.pulls)):
        if state.open[arm] and is_due(state.late, state.pulls, arm, initial):
            return arm
    return -1


@compilable
def waiting(state: Any, initial: int) -> int:
    """Return the arm to choose again among those that wait for their first rewards; -1 if there is none, or one is due.

    It is the least chosen of them, if it was chosen seldom enough or if no arm has its ``initial`` rewards yet.
    """
    found, fewest, least = -1, MANY, MANY
    for arm in range(len(state.pulls)):
        if not state.open[arm]:
            continue
        asked = max(state.late.asked[arm], state.pulls[arm])
        if state.pulls[arm] >= initial:
            least = min(least, asked)
        elif asked < initial:
            return -1
        elif asked < fewest:
            found, fewest = arm, asked
    return found if fewest < WAITING_FACTOR * least else -1


@compilable
def unseen(state: Any, initial: int) -> int:
    """Return an open arm that is due, or that waits and may be chosen again; -1 if there is none."""
    arm = due(state, initial)
    return arm if arm >= 0 else waiting(state, initial)


@compilable
def narrowed(state: Any, arm: int, value: float, index: float) -> float:
    """Return the index, its bonus narrowed by pending decisions; unchanged without any, or without an estimate."""
    if state.late.pending[arm] == 0 or math.isnan(value):
        return index
    return value + (index - value) * bonus_factor(state.late, arm, state.pulls[arm])


@compilable
def scan(policy: Any, state: Any, t: int) -> int:
    """Return the open arm with the highest ``policy.index_of(state, arm, t)``, narrowed by pending decisions.

    An arm with an infinite index waits for its pending rewards.  Ties go to the arm with fewer pulls, then to the lower
    number.
    """
    pulls, late = state.pulls, state.late
    best, highest, found, fewest, least = -1, -math.inf, -1, MANY, MANY
    for arm in range(len(pulls)):
        if not state.open[arm]:
            continue
        index, asked = policy.index_of(state, arm, t), max(late.asked[arm], pulls[arm])
        if index == math.inf and (late.pending[arm] > 0 or (pulls[arm] == 0 and late.lost[arm] > 0)):
            if asked < fewest:
                found, fewest = arm, asked
            continue
        least = min(least, asked)
        index = narrowed(state, arm, policy.value(state, arm), index)
        if best < 0 or index > highest or (index == highest and pulls[arm] < pulls[best]):
            best, highest = arm, index
    return found if fewest < WAITING_FACTOR * least else best
