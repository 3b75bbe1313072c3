"""A policy under observation: it plays as ever, and the rewards that it learns from are kept, in order.

They tell after how many of them a winner is named, for someone who looks again and again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..evidence.ledger import MEDIAN
from ..evidence.measures import measures
from ..evidence.tally import add, is_sized_up, new_tally
from ..evidence.verdict import Peaks, judge
from ..protocols import FloatArray, IntArray
from ..tree import parts

FIRST_LOOK, BETWEEN_LOOKS = 50, 1.04  # rewards at the first look, and by how much they grow until the next


class Seen(NamedTuple):
    """The rewards that a policy has learned from."""

    arms: IntArray
    rewards: FloatArray
    when: IntArray  # decisions that had been made
    counts: IntArray  # rewards and decisions so far


class WitnessState(NamedTuple):
    """The state of the policy, and what it has learned from."""

    inner: Any
    seen: Seen


class Witness(NamedTuple):
    """A policy whose rewards are kept."""

    policy: Any

    def init(self, n_arms: int, horizon: int) -> WitnessState:
        """Return a fresh state, with room for a reward per round."""
        room = np.zeros(horizon, np.int64)
        return WitnessState(
            self.policy.init(n_arms, horizon), Seen(room, np.zeros(horizon), room.copy(), np.zeros(2, np.int64))
        )

    def select(self, state: WitnessState, t: int, rng: Any) -> int:
        """Return the policy's choice."""
        state.seen.counts[1] += 1
        return self.policy.select(state.inner, t, rng)  # type: ignore[no-any-return]

    def update(self, state: WitnessState, arm: int, reward: float) -> None:
        """Keep the reward, and pass it on."""
        seen = state.seen
        n = seen.counts[0]
        seen.arms[n], seen.rewards[n], seen.when[n] = arm, reward, seen.counts[1]
        seen.counts[0] = n + 1
        self.policy.update(state.inner, arm, reward)

    def __repr__(self) -> str:  # it has the random stream of the policy
        return repr(self.policy)


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


def named_in(state: Any, n_arms: int, goal: str) -> Naming:
    """Return which arm the rewards of a replication show to be the best, and after how many decisions."""
    seen = next(parts(state, Seen))
    n = int(seen.counts[0])
    found = first_winner(seen.arms[:n], seen.rewards[:n], n_arms, goal)
    return found._replace(after=float(seen.when[int(found.after) - 1])) if found.arm >= 0 else found
