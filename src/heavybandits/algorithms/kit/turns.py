"""Playing an arm several times in a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...protocols import IntArray, compilable


class Batch(NamedTuple):
    """The part of a policy's state that says which arm is being played, and for how many more pulls."""

    plan: IntArray  # arm, pulls left

    def carry(self, fresh: Batch, rows: IntArray) -> Batch:
        """A batch ends when arms come or go."""
        return fresh


def init_batch() -> Batch:
    """No batch is under way.

    Examples
    --------
    >>> init_batch()
    Batch(plan=array([0, 0]))
    """
    return Batch(np.zeros(2, np.int64))


@compilable
def begin(batch: Batch, arm: int, pulls: int) -> int:
    """Plan to play the arm this often, now for the first time, and return it.

    Examples
    --------
    >>> batch = init_batch()
    >>> begin(batch, arm=1, pulls=3)
    1
    >>> [int(again(batch, np.array([True, True]))) for _ in range(3)]
    [1, 1, -1]
    """
    batch.plan[0], batch.plan[1] = arm, pulls - 1
    return arm


@compilable
def again(batch: Batch, open: npt.NDArray[np.bool_]) -> int:
    """The arm of the batch under way, or -1 if there is none, or if the arm may not be chosen now."""
    arm = batch.plan[0]
    if batch.plan[1] <= 0 or not open[arm]:
        return -1
    batch.plan[1] -= 1
    return arm  # type: ignore[no-any-return]
