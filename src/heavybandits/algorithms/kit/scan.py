"""Choices by looking at every arm: for indices that are no lines in a common level."""

from __future__ import annotations

import math
from typing import Any

from ...protocols import IntArray, compilable


@compilable
def ask(pulls: IntArray, asked: IntArray, arm: int, initial: int) -> bool:
    """Return whether one of the arm's ``initial`` pulls is due; if so, it counts as asked for.

    Pulls that were asked for count as done, so several may be under way at once; so do rewards that came unasked.

    Examples
    --------
    >>> import numpy as np
    >>> pulls, asked = np.array([0, 1]), np.zeros(2, np.int64)
    >>> ask(pulls, asked, 0, 1), ask(pulls, asked, 0, 1), ask(pulls, asked, 1, 1)
    (True, False, False)
    """
    if asked[arm] >= initial or pulls[arm] >= initial:
        return False
    asked[arm] += 1
    return True


@compilable
def unseen(state: Any, initial: int) -> int:
    """Return the first open arm of which one of the ``initial`` pulls is due, or -1 if there is none."""
    for arm in range(len(state.pulls)):
        if state.open[arm] and ask(state.pulls, state.asked, arm, initial):
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
