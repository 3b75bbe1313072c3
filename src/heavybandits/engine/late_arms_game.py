"""K arms with late rewards: decisions are recorded when they are made, and policies learn when their rewards come.

Policies that draw arms at random are told the probability of the decision whose reward comes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algorithms.parts.choice.pending import Pending, ask, find_pending, give_up, settle
from ..protocols import FloatArray, IntArray, compilable
from .arms_game import ArmsGame
from .arrivals import Arrivals, LateGame


class Decisions(NamedTuple):
    """The decisions so far, one number for each, and in ``arrived`` the number of rewards that have come."""

    arm: IntArray
    reward: FloatArray
    propensity: FloatArray  # probability of the decision, if the policy draws arms at random
    arrived: IntArray


class LateState(NamedTuple):
    """A policy's state, the parts of it that track pending decisions, and the decisions so far."""

    inner: Any
    pending: Pending
    decisions: Decisions


def init_decisions(horizon: int) -> Decisions:
    """Return room for all decisions of a replication."""
    return Decisions(
        arm=np.zeros(horizon, np.int64),
        reward=np.zeros(horizon),
        propensity=np.zeros(horizon),
        arrived=np.zeros(1, np.int64),
    )


@compilable
def propensity_of(awaited: FloatArray | None, arm: int) -> float:
    """Return the probability of the decision just made; 0 if the policy does not draw arms at random."""
    if awaited is None:
        return 0.0
    return float(awaited[arm])


@compilable
def restore_propensity(awaited: FloatArray | None, arm: int, propensity: float) -> None:
    """Tell a policy that draws arms at random the probability of the decision whose reward comes next."""
    if awaited is None:
        return
    awaited[arm] = propensity


class LateArmsGame(LateGame, ArmsGame):
    """An :class:`.Instance` whose rewards come late, as the loop sees it."""

    @staticmethod
    def play(  # type: ignore[override]
        policy: Any, state: LateState, rng: Any, start: int, rounds: IntArray,
        regret: FloatArray, pulls: IntArray, total: FloatArray, recorded: IntArray,
        means: FloatArray, noise: FloatArray, gaps: FloatArray, arrivals: Arrivals,
    ) -> None:  # fmt: skip
        """Play one round per row of ``noise``."""
        inner, pending, decisions = state.inner, state.pending, state.decisions
        due, order, window = arrivals.due, arrivals.order, arrivals.window[0]
        sum_of_gaps, checkpoint, arrived = total[0], recorded[0], decisions.arrived[0]
        for i in range(noise.shape[0]):
            t = start + i
            while arrived < len(order) and due[order[arrived]] <= t:
                decision = order[arrived]
                arm = decisions.arm[decision]
                if due[decision] <= decision + 1 + window:  # else it has been given up
                    settle(pending, arm)
                restore_propensity(pending.awaited, arm, decisions.propensity[decision])
                policy.update(inner, arm, decisions.reward[decision])
                arrived += 1
            if t > window and due[t - 1 - window] > t:
                give_up(pending, decisions.arm[t - 1 - window])
            arm = policy.select(inner, arrived, rng)
            if not 0 <= arm < len(means):
                raise IndexError("select must return the number of an arm, from 0 to K - 1")
            ask(pending, arm)
            decisions.arm[t] = arm
            decisions.reward[t] = means[arm] + noise[i, arm]
            decisions.propensity[t] = propensity_of(pending.awaited, arm)
            pulls[arm] += 1
            sum_of_gaps += gaps[arm]
            if t + 1 == rounds[checkpoint]:
                regret[checkpoint] = sum_of_gaps
                checkpoint += 1
        total[0], recorded[0], decisions.arrived[0] = sum_of_gaps, checkpoint, arrived

    def initial_state(self, policy: Any, horizon: int) -> LateState:
        """Return the state of a policy before its first round."""
        inner = super().initial_state(policy, horizon)
        return LateState(inner=inner, pending=find_pending(inner), decisions=init_decisions(horizon))
