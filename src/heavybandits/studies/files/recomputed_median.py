"""Robust UCB whose median of means is recomputed at every pull, for every arm, from all rewards of the arm.

It makes the same choices as `rucb-median`, but keeps no sums, so a pull costs time proportional to the number of
rewards, as in the paper's published code.  The study measures that cost.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from heavybandits.algorithms.estimators.median_of_means import MOST_BLOCKS
from heavybandits.algorithms.parts.means.median import median_in_place
from heavybandits.protocols import FloatArray, IntArray


class RecomputedState(NamedTuple):
    """All rewards of each arm, in order of arrival."""

    rewards: FloatArray  # (arm, pull)
    pulls: IntArray
    means: FloatArray  # scratch


class RecomputedMedian(NamedTuple):
    """Robust UCB with the median of means, which stores rewards and nothing else.

    Parameters
    ----------
    v
        Upper bound on the variance.
    """

    v: float

    def init(self, n_arms: int, horizon: int | None) -> RecomputedState:
        """Return a fresh state, with room for all rewards of the horizon."""
        room = 1_000_000 if horizon is None else horizon
        return RecomputedState(np.empty((n_arms, room)), np.zeros(n_arms, np.int64), np.empty(MOST_BLOCKS))

    def select(self, state: RecomputedState, t: int, rng: Any) -> int:
        """Return an arm with fewer than two pulls, if any, or else the arm with the highest index."""
        best, highest, log_term = 0, -math.inf, 2.0 * math.log(max(t, 2))
        for arm in range(len(state.pulls)):
            n = state.pulls[arm]
            if n < 2:
                return arm
            blocks = max(1, min(1 + math.floor(8.0 * log_term), n // 2))
            length = n // blocks
            for block in range(blocks):
                total = 0.0
                for i in range(block * length, (block + 1) * length):
                    total += state.rewards[arm, i]
                state.means[block] = total / length
            index = median_in_place(state.means, blocks) + math.sqrt(12.0 * self.v * (2.0 + 16.0 * log_term) / n)
            if index > highest:
                best, highest = arm, index
        return best

    def update(self, state: RecomputedState, arm: int, reward: float) -> None:
        """Keep a reward."""
        state.rewards[arm, state.pulls[arm]] = reward
        state.pulls[arm] += 1
