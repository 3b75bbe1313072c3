"""Choices by looking at every arm: for indices that are no lines in a common level."""

from __future__ import annotations

import math
from typing import Any

from ...protocols import compilable


@compilable
def unseen(state: Any, initial: int) -> int:
    """Return the first open arm that was neither asked for nor pulled ``initial`` times, or -1; it counts as asked for.

    Pulls that were asked for count as done, so several may be under way at once; so do rewards that came unasked.
    """
    for arm in range(len(state.pulls)):
        if state.open[arm] and state.asked[arm] < initial and state.pulls[arm] < initial:
            state.asked[arm] += 1
            return arm
    return -1


@compilable
def scan(policy: Any, state: Any, t: int) -> int:
    """Return the open arm with the highest ``policy.index_of(state, arm, t)``.

    Ties go to the arm with fewer pulls, then to the lower number.
    """
    best, highest = -1, -math.inf
    for arm in range(len(state.pulls)):
        if not state.open[arm]:
            continue
        index = policy.index_of(state, arm, t)
        if best < 0 or index > highest or (index == highest and state.pulls[arm] < state.pulls[best]):
            best, highest = arm, index
    return best
