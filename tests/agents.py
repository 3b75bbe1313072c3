"""Agents on every kind of policy, their rewards, and ways to compare them."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.estimators.clipped_sgd import ClippedSGD
from heavybandits.algorithms.estimators.two_point import TwoPoint
from heavybandits.algorithms.parts.choice.estimates import index_of, value_of
from heavybandits.algorithms.parts.state.tree import arrays
from heavybandits.algorithms.policies.fo_ucb import FOUCB
from heavybandits.algorithms.policies.zo_ucb import ZOUCB

POLICIES: dict[str, Any] = {
    "ucb": hb.UCB(),
    "kl-ucb": hb.KLUCB(low=-5.0, high=5.0),
    "thompson-gaussian": hb.ThompsonGaussian(),
    "sgd-ucb": hb.make("sgd-ucb"),
    "sgd-ucb-median": hb.make("sgd-ucb-median"),
    "sgd-ucb-smom": hb.make("sgd-ucb-smom"),
    "fo-ucb": FOUCB(ClippedSGD(clip=2.0, radius="exp")),
    "zo-ucb": ZOUCB(TwoPoint(init_pulls=3)),
    "rucb-median": hb.make("rucb-median", eps=0.5, v=2.0),
    "rucb-truncated": hb.make("rucb-truncated", eps=0.5, u=2.0),
    "rucb-catoni": hb.make("rucb-catoni", v=2.0),
}
every_policy = pytest.mark.parametrize("name", POLICIES)


def make_agent(name: str, n_arms: int = 4, seed: int = 0) -> hb.Agent:
    return hb.Agent(POLICIES[name], n_arms, horizon=500, seed=seed)


def reward_of(rng: np.random.Generator, arm: int) -> float:
    """Return a reward: heavy tails, ties and infinities; arms with higher numbers are a little better."""
    wild = (math.inf, -math.inf, 1e308, -1e308, 0.0, 1.0)
    return float(rng.choice(wild)) if rng.random() < 0.05 else 0.3 * (arm % 10) + float(rng.standard_cauchy())


def play(agent: hb.Agent, rng: np.random.Generator, rounds: int) -> list[Any]:
    chosen = []
    for _ in range(rounds):
        arm = agent.select()
        agent.update(arm, reward_of(rng, hash(arm)))
        chosen.append(arm)
    return chosen


def snapshot(agent: hb.Agent) -> tuple[Any, ...]:
    """Return everything that makes up an agent, but for caches, in a form that can be compared."""
    state = [(path, array.dtype.str, array.shape, array.tobytes()) for path, array in arrays(agent._parts()["state"])]
    rng = None if agent._rng is None else repr(agent._rng.bit_generator.state)
    return agent.policy, agent.horizon, agent.arms, agent.pulls, agent._seen, agent._names.unused, rng, state


def numbers(agent: hb.Agent, arm: Any) -> tuple[float, float]:
    """Return the estimate and the index of an arm."""
    slot, policy, state = agent.arms.index(arm), agent.policy, agent._state
    with np.errstate(all="ignore"):
        return value_of(policy, state, slot), index_of(policy, state, slot, agent._seen)


def totals_of_auto_mean(agent: hb.Agent) -> list[float]:
    """Return the sum of each arm's rewards, from the moments that an agent on `auto-mean` keeps."""
    pulls, moments = agent._state.pulls, agent._state.moments
    totals = moments.own[:, 0] * (pulls - moments.listed.sum(axis=1))
    for row, sign in enumerate((1.0, -1.0)):
        size = moments.extremes.size[row]
        np.add.at(totals, moments.extremes.arms[row, :size], sign * moments.extremes.values[row, :size])
    return list(np.where(pulls > 0, moments.origin[0] * pulls, 0.0) + moments.unit[0] * totals)


class PlainState(NamedTuple):
    total: Any


class Plain(NamedTuple):
    """The smallest possible policy."""

    step: float

    def init(self, n_arms: int, horizon: int | None) -> PlainState:
        return PlainState(np.zeros(n_arms))

    def select(self, state: PlainState, t: int, rng: Any) -> int:
        return int(np.argmax(state.total))

    def update(self, state: PlainState, arm: int, reward: float) -> None:
        state.total[arm] += self.step * reward
