"""The loop for late rewards: decisions are recorded when they are made, and policies learn when their rewards come.

The times at which rewards come are drawn beforehand, from a stream keyed by (seed, instance, "delay", replication), and
are the same for all policies.  Before each decision the policy is given the rewards that are due, in the order of their
decisions, and is then told which decision is given up.  Policies that draw arms at random are told the probability of
the decision whose reward comes.  Regret counts when a decision is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.parts.choice.pending import Pending, ask, find_pending, give_up, settle
from ..protocols import FloatArray, IntArray, compilable
from ..world.delays import Delays
from ..world.instances import Instance
from .arms import ArmsGame
from .streams import generator, stream_key


class Arrivals(NamedTuple):
    """When the rewards of a replication come; fields have one number per decision unless noted otherwise."""

    due: IntArray  # the reward comes before the decision of this round
    order: IntArray  # the decisions whose rewards come at all, in the order in which they come
    window: IntArray  # array of length one: rounds after which a decision is given up


class Decisions(NamedTuple):
    """The decisions so far, one number for each, and in ``come`` the number of rewards that have come."""

    arm: IntArray
    reward: FloatArray
    chance: FloatArray  # probability of the decision, if the policy draws arms at random
    come: IntArray


class LateState(NamedTuple):
    """A policy's state, the parts of it that track pending decisions, and the decisions so far."""

    inner: Any
    pending: Pending
    decisions: Decisions


def draw_arrivals(delays: Delays, rng: np.random.Generator, horizon: int) -> Arrivals:
    """Draw when the rewards of a replication come.

    Examples
    --------
    >>> from heavybandits.world.delays import Batches
    >>> draw_arrivals(Delays(Batches(3), lost=0.0, window=None), np.random.default_rng(0), 7).due
    array([3, 3, 3, 6, 6, 6, 7])
    """
    due = delays.due(rng, horizon)
    order = np.argsort(due, kind="stable")
    window = horizon if delays.window is None else delays.window
    return Arrivals(due=due, order=order[: np.count_nonzero(due < horizon)], window=np.array([window]))


def init_decisions(horizon: int) -> Decisions:
    """Return room for all decisions of a replication."""
    return Decisions(
        arm=np.zeros(horizon, np.int64), reward=np.zeros(horizon), chance=np.zeros(horizon), come=np.zeros(1, np.int64)
    )


@compilable
def chance_of(awaited: FloatArray | None, arm: int) -> float:
    """Return the probability of the decision just made; 0 if the policy does not draw arms at random."""
    if awaited is None:
        return 0.0
    return float(awaited[arm])


@compilable
def recall(awaited: FloatArray | None, arm: int, chance: float) -> None:
    """Tell a policy that draws arms at random the probability of the decision whose reward comes next."""
    if awaited is None:
        return
    awaited[arm] = chance


class LateGame(ArmsGame):
    """An :class:`.Instance` whose rewards come late, as the loop sees it."""

    def __init__(self, instance: Instance, delays: Delays) -> None:
        super().__init__(instance)
        self.delays = delays

    @staticmethod
    def play(  # type: ignore[override]
        policy: Any, state: LateState, rng: Any, start: int, rounds: IntArray,
        regret: FloatArray, pulls: IntArray, total: FloatArray, recorded: IntArray,
        means: FloatArray, noise: FloatArray, gaps: FloatArray, arrivals: Arrivals,
    ) -> None:  # fmt: skip
        """Play one round per row of ``noise``."""
        inner, pending, decisions = state.inner, state.pending, state.decisions
        due, order, window = arrivals.due, arrivals.order, arrivals.window[0]
        sum_of_gaps, checkpoint, come = total[0], recorded[0], decisions.come[0]
        for i in range(noise.shape[0]):
            t = start + i
            while come < len(order) and due[order[come]] <= t:
                decision = order[come]
                arm = decisions.arm[decision]
                if due[decision] <= decision + 1 + window:  # else it has been given up
                    settle(pending, arm)
                recall(pending.awaited, arm, decisions.chance[decision])
                policy.update(inner, arm, decisions.reward[decision])
                come += 1
            if t > window and due[t - 1 - window] > t:
                give_up(pending, decisions.arm[t - 1 - window])
            arm = policy.select(inner, come, rng)
            if not 0 <= arm < len(means):
                raise IndexError("select must return the number of an arm, from 0 to K - 1")
            ask(pending, arm)
            decisions.arm[t] = arm
            decisions.reward[t] = means[arm] + noise[i, arm]
            decisions.chance[t] = chance_of(pending.awaited, arm)
            pulls[arm] += 1
            sum_of_gaps += gaps[arm]
            if t + 1 == rounds[checkpoint]:
                regret[checkpoint] = sum_of_gaps
                checkpoint += 1
        total[0], recorded[0], decisions.come[0] = sum_of_gaps, checkpoint, come

    def fresh(self, policy: Any, horizon: int) -> LateState:
        """Return the state of a policy before its first round."""
        inner = super().fresh(policy, horizon)
        return LateState(inner=inner, pending=find_pending(inner), decisions=init_decisions(horizon))

    def example(self) -> tuple[Any, ...]:
        """Return a block of one round."""
        return *super().example(), draw_arrivals(Delays(0, 0.0, None), np.random.default_rng(0), 1)

    def deal(self, seed: int, replication: int, horizon: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield stretches of rounds in which no arm changes: shifts, noise, gaps, and the arrivals of all rewards."""
        rng = generator(stream_key(seed, self.key, "delay"), replication)
        arrivals = draw_arrivals(self.delays, rng, horizon)
        for start, block in super().deal(seed, replication, horizon):
            yield start, (*block, arrivals)
