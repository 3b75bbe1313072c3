"""LB-SDA plays as its slow reference does, with limited memory too."""

import math

import numpy as np
import pytest
from playing import play, rewards_table

import heavybandits as hb
from heavybandits.algorithms.policies.lb_sda import LBSDA
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


def reference_lb_sda(table: FloatArray, memory: float) -> list[int]:
    horizon, n_arms = table.shape
    rewards: list[list[float]] = [[] for _ in range(n_arms)]
    arms: list[int] = []
    kept: list[list[float]] = [[] for _ in range(n_arms)]
    rounds, leader = 0, 0

    def limit() -> float:
        return max(10, math.floor(memory * math.log(max(rounds, 1)) ** 2)) if memory < math.inf else math.inf

    def pull(arm: int) -> None:
        if len(arms) < horizon:
            reward = float(table[len(rewards[arm]), arm])
            rewards[arm].append(reward)
            kept[arm].append(reward)
            if len(kept[arm]) >= 2 * limit():
                kept[arm] = kept[arm][-int(limit()) :]
            arms.append(arm)

    for arm in range(n_arms):
        pull(arm)
    while len(arms) < horizon:
        rounds += 1
        leader = max(range(n_arms), key=lambda a: (len(rewards[a]), sum(rewards[a]), a == leader, -a))
        pulled = []
        for arm in range(n_arms):
            if len(rewards[arm]) < len(rewards[leader]):
                n = int(min(len(kept[arm]), len(kept[leader]), limit()))
                won = sum(kept[arm][-n:]) >= sum(kept[leader][-n:])
                if len(rewards[arm]) <= math.sqrt(math.log(rounds)) or won:
                    pulled.append(arm)
        for arm in pulled or [leader]:
            pull(arm)
    return arms


@pytest.mark.parametrize("memory", [math.inf, 0.5])
@pytest.mark.parametrize("kind", ["normal", "constant", "cauchy"])
def test_lb_sda_plays_as_its_reference(kind: str, memory: float) -> None:
    for seed, n_arms in ((0, 2), (1, 5)):
        table = rewards_table(kind, seed, 300, n_arms)
        assert play(LBSDA(memory), table).tolist() == reference_lb_sda(table, memory)


def test_limited_memory_is_limited() -> None:
    policy = hb.make("lb-sda-limited")
    state = policy.init(2, 3000)
    for reward in np.random.default_rng(0).standard_normal(3000):
        policy.update(state, policy.select(state, 0, None), reward)
    assert state.rewards.size.max() < 2 * math.log(3000) ** 2
    assert state.pulls.max() > 1000
