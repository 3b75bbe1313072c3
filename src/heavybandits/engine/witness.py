"""A policy under observation: it plays as ever, and the rewards that it learns from are kept, in order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..evidence.naming import Naming, first_winner
from ..protocols import FloatArray, IntArray
from ..tree import parts


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


def named_in(state: Any, n_arms: int, goal: str) -> Naming:
    """Return which arm the rewards of a replication show to be the best, and after how many decisions."""
    seen = next(parts(state, Seen))
    n = int(seen.counts[0])
    found = first_winner(seen.arms[:n], seen.rewards[:n], n_arms, goal)
    return found._replace(after=float(seen.when[int(found.after) - 1])) if found.arm >= 0 else found
