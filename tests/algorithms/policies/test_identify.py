"""Identify: it finds the best arm, plays it, and stops looking when told."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import heavybandits as hb
from heavybandits.algorithms.policies.identify import GROWTH

Reward = Callable[[int, np.random.Generator], float]


def play(policy: Any, n_arms: int, decisions: int, reward: Reward, seed: int = 0) -> Any:
    rng, agent = np.random.default_rng(seed), hb.Agent(policy, n_arms=n_arms)
    for _ in range(decisions):
        arm = int(agent.select())
        agent.update(arm, reward(arm, rng))
    return agent._state


def test_it_names_the_best_arm_and_plays_it_for_good() -> None:
    state = play(hb.make("identify", cap=1.0), 3, 1500, lambda arm, rng: float(rng.random() < (0.2, 0.7, 0.3)[arm]))
    assert state.named.tolist() == [False, True, False]
    assert state.out.tolist() == [True, False, True]
    assert state.pulls[1] > 1000


def test_it_names_an_arm_when_compare_does() -> None:
    rng, agent = np.random.default_rng(1), hb.Agent(hb.make("identify"), n_arms=2)
    state: Any = agent._state
    arms, rewards = [], []
    while not state.named.any():
        arm = int(agent.select())
        arms.append(arm)
        rewards.append(float(rng.exponential((1.0, 1.3)[arm])))
        agent.update(arm, rewards[-1])
    log = pd.DataFrame({"arm": arms[:-1], "reward": rewards[:-1]})
    assert state.named.tolist() == [False, True]
    assert hb.compare(log).winner == "1"
    assert hb.compare(log[: len(log) * GROWTH // (GROWTH + 1) - 1]).winner is None


def test_the_leader_gets_more_than_its_rivals() -> None:
    state = play(hb.make("identify", cap=1.0), 5, 400, lambda arm, rng: float(rng.random() < (0.5 if arm else 0.55)))
    leader = int(np.argmax(state.sums / state.counted))
    rivals = np.delete(state.pulls, leader)
    assert not state.named.any()
    assert rivals.max() - rivals.min() <= 60  # leaders change at the beginning
    assert state.pulls[leader] >= rivals.mean()


@pytest.mark.slow
def test_ties_end_by_eps_or_budget_only() -> None:
    def coin(arm: int, rng: np.random.Generator) -> float:
        return float(rng.random() < 0.5)

    assert not play(hb.make("identify", cap=1.0), 2, 1500, coin).named.any()
    assert play(hb.make("identify", cap=1.0, eps=0.3), 2, 1500, coin).named.sum() == 1
    state = play(hb.make("identify", cap=1.0, budget=200), 2, 1500, coin)
    assert not state.named.any()
    assert state.pulls.max() > 1000


def test_arms_are_sized_up_in_turn() -> None:
    state = play(hb.make("identify"), 4, 24, lambda arm, rng: float(rng.exponential()))
    assert state.pulls.tolist() == [6, 6, 6, 6]
    assert state.counted.sum() == 0


def test_an_arm_that_is_out_stays_out() -> None:
    policy = hb.make("identify", cap=1.0)
    state = play(policy, 2, 300, lambda arm, rng: float(arm))
    assert state.out.tolist() == [True, False]
    for _ in range(500):
        policy.update(state, 0, 1.0)
    assert policy.select(state, 10_000, None) == 1


def test_of_the_arms_allowed_it_plays_the_best() -> None:
    agent = hb.Agent(hb.make("identify", cap=1.0), arms=["a", "b", "c"])
    for _ in range(400):
        arm = agent.select()
        agent.update(arm, {"a": 0.1, "b": 0.9, "c": 0.4}[arm])
    assert agent.select() == "b"
    assert agent.select(among=["a", "c"]) == "c"


def test_pending_decisions_count() -> None:
    agent = hb.Agent(hb.make("identify", cap=1.0), arms=["a", "b"])
    assert sorted(agent.select() for _ in range(6)) == ["a", "a", "a", "b", "b", "b"]


def test_it_looks_when_rewards_have_grown_by_their_part() -> None:
    policy = hb.make("identify", cap=1.0)
    state = policy.init(2, None)
    state.looked[0] = 160
    for t, looked in ((160 + 160 // GROWTH - 1, 160), (160 + 160 // GROWTH, 162)):
        policy.select(state, t, None)
        assert state.looked[0] == looked


@pytest.mark.slow
def test_it_is_rarely_wrong() -> None:
    laws = [hb.Exponential(1.0), hb.Exponential(1.0), hb.Exponential(1.4)]
    result = hb.simulate(hb.Instance(laws=laws), {"identify": hb.make("identify")}, horizon=6000, replications=40)
    best = result.pulls.sel(policy="identify").argmax("arm").to_numpy()
    assert (best == 2).sum() >= 38
