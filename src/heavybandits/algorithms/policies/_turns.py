"""Turns: several pulls of one arm in a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._validate import LARGEST_COUNT, require_within
from ...protocols import BoolArray, IntArray, compilable


class Turn(NamedTuple):
    """The part of a policy's state that says whose turn it is, and for how many more pulls."""

    arm: IntArray
    left: IntArray

    def check(self, fresh: Turn, n_arms: int) -> None:
        """Refuse an arm that does not exist."""
        require_within("arm", self.arm, 0, n_arms - 1)
        require_within("left", self.left, 0, LARGEST_COUNT)

    def carry(self, fresh: Turn, rows: IntArray) -> Turn:
        """End the turn, since arms come or go."""
        return fresh


def init_turn() -> Turn:
    """Return a turn that is over.

    Examples
    --------
    >>> init_turn()
    Turn(arm=array([0]), left=array([0]))
    """
    return Turn(arm=np.zeros(1, np.int64), left=np.zeros(1, np.int64))


@compilable
def begin(turn: Turn, arm: int, pulls: int) -> int:
    """Begin a turn of this many pulls, the first of which is now, and return the arm.

    Examples
    --------
    >>> turn = init_turn()
    >>> begin(turn, arm=1, pulls=3)
    1
    >>> [int(again(turn, np.array([True, True]))) for _ in range(3)]
    [1, 1, -1]
    """
    turn.arm[0], turn.left[0] = arm, pulls - 1
    return arm


@compilable
def again(turn: Turn, open: BoolArray) -> int:
    """Return the arm whose turn it is, or -1 if the turn is over or the arm may not be chosen now."""
    arm = turn.arm[0]
    if turn.left[0] <= 0 or not open[arm]:
        return -1
    turn.left[0] -= 1
    return arm  # type: ignore[no-any-return]
