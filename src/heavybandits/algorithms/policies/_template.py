"""What FO-UCB and ZO-UCB share: an optimiser for each arm, whose rate determines the radius.

A policy built on this has a parameter ``optimizer``, and a method ``radius`` that turns the rate into the radius.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_same, required_horizon
from ...protocols import FloatArray, IntArray, compilable
from ...theory import confidence
from ..parts.choice.tournament import Tournament, choose, init_tournament, set_line


class TemplateState(NamedTuple):
    """The state of both policies."""

    pulls: IntArray
    optimizer: Any
    tournament: Tournament
    initial: IntArray  # array of length one: initial pulls per arm
    in_a_row: IntArray  # array of length one: pulls in a row
    delta: FloatArray  # array of length one

    def check(self, fresh: TemplateState, n_arms: int) -> None:
        """Refuse a state made for another horizon."""
        require_same(self, fresh, "delta")


def init_template(name: str, optimizer: Any, n_arms: int, horizon: int | None) -> TemplateState:
    """Return a fresh state; the optimiser's ``init_pulls`` and ``batch_size``, if any, set the pulls in a row."""
    horizon = required_horizon(name, horizon, "confidence level")
    size = optimizer.batch_size() if hasattr(optimizer, "batch_size") else 1
    initial = getattr(optimizer, "init_pulls", 0) or size
    return TemplateState(
        pulls=np.zeros(n_arms, np.int64),
        optimizer=optimizer.init(n_arms, horizon),
        tournament=init_tournament(n_arms),
        initial=np.array([initial]),
        in_a_row=np.array([size]),
        delta=np.array([confidence(horizon)]),
    )


@compilable
def choose_by_template(policy: Any, state: TemplateState, t: int) -> int:
    """Return the arm to pull: first each arm for its initial pulls, then the one with the highest index."""
    return choose(policy, state, t, state.initial[0], state.in_a_row[0])


@compilable
def learn_by_template(policy: Any, state: TemplateState, arm: int, reward: float) -> None:
    """Pass the reward on to the arm's optimiser, and update the arm's index once there is an estimate."""
    state.pulls[arm] += 1
    policy.optimizer.observe(state.optimizer, arm, reward)
    rate = policy.optimizer.bound(state.optimizer, arm, state.delta[0])
    if rate < math.inf:
        value = policy.optimizer.value(state.optimizer, arm)
        set_line(state.tournament, arm, state.pulls[arm], value, policy.radius(rate))
