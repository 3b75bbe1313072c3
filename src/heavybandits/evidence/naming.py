"""After how many rewards a winner is named, for someone who looks again and again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from ..protocols import FloatArray, IntArray
from .ledger import MEDIAN
from .measures import measures
from .tally import add, is_sized_up, new_tally
from .verdict import Peaks, judge

FIRST_LOOK, BETWEEN_LOOKS = 50, 1.04  # rewards at the first look, and by how much they grow until the next


class Naming(NamedTuple):
    """Which arm was named, -1 if none, and after how many rewards."""

    arm: int
    after: float


def looks(end: int, start: int = FIRST_LOOK) -> Iterator[int]:
    """Yield the numbers of rewards after which one looks, the last included.

    Examples
    --------
    >>> list(looks(60))
    [50, 52, 54, 56, 58, 60]
    """
    n = float(start)
    while n < end:
        yield int(n)
        n = max(n * BETWEEN_LOOKS, n + 1.0)
    yield end


def first_winner(arms: IntArray, rewards: FloatArray, n_arms: int, goal: str = "mean", delta: float = 0.05) -> Naming:
    """Return the first arm that is shown to be better than all others.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> arms = np.arange(4000) % 2
    >>> first_winner(arms, rng.exponential(1.0 + arms), 2).arm
    1
    """
    tally, peaks, done = new_tally(n_arms, None if goal == "mean" else MEDIAN), Peaks(), 0
    for n in looks(len(arms)):
        add(tally, arms[done:n], rewards[done:n])
        done = n
        if is_sized_up(tally):
            verdict = judge(tally, measures(tally), delta, peaks=peaks, closest=1, forecasts=False)
            if verdict.is_winner:
                return Naming(verdict.leader, float(n))
    return Naming(-1, math.inf)
