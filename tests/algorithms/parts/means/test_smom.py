"""Smoothing noise comes from the seed: independent between replications and agents, and the same for the same seed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb

# The noise of the rewards is negligible, so that results differ only by smoothing noise.
INSTANCE = hb.Instance(means=[0.0, 0.1, 0.2], noise=hb.Gaussian(scale=1e-9))
POLICY = hb.make("sgd-ucb-smom", theta=5.0)


def regrets(replications: int = 50, seed: int = 0, policy: Any = POLICY, workers: int = 1) -> list[float]:
    result = hb.simulate(
        INSTANCE, {"": policy}, horizon=300, replications=replications, seed=seed, workers=workers, checkpoints="end"
    )
    final: list[float] = result.regret.to_numpy()[0, :, -1].round(6).tolist()
    return final


def test_replications_differ_and_depend_on_the_seed_alone() -> None:
    ours = regrets()
    assert len(set(ours)) > 25
    assert regrets() == ours
    assert regrets(replications=7) == ours[:7]
    assert regrets(workers=2) == ours
    assert regrets(seed=1) != ours


def test_policies_have_noise_of_their_own() -> None:
    assert regrets(policy=hb.make("sgd-ucb-smom", theta=5.0, coeff=0.1 + 1e-12)) != regrets()


def test_without_smoothing_nothing_is_random() -> None:
    assert len(set(regrets(policy=hb.make("sgd-ucb-smom", theta=0.0)))) == 1


def decided(agent: hb.Agent, n: int = 200) -> list[int]:
    arms = []
    for _ in range(n):
        arms.append(agent.select())
        agent.update(arms[-1], 0.1 * arms[-1])
    return arms


def new_agent(seed: int | None) -> hb.Agent:
    return hb.Agent(POLICY, n_arms=3, horizon=1000, seed=seed)


def test_agents_differ_by_their_seed() -> None:
    assert decided(new_agent(1)) == decided(new_agent(1))
    assert decided(new_agent(1)) != decided(new_agent(2))
    assert len({tuple(decided(new_agent(None))) for _ in range(6)}) > 1  # two can agree by chance


def test_a_saved_agent_continues_its_noise(tmp_path: Path) -> None:
    agent = new_agent(3)
    decided(agent, 50)
    agent.save(tmp_path / "agent.hb")
    assert decided(hb.Agent.load(tmp_path / "agent.hb")) == decided(agent)


def test_arms_that_come_do_not_begin_it_anew() -> None:
    agent, other = new_agent(3), new_agent(3)
    decided(agent, 50)
    decided(other, 56)  # another number of smoothing draws
    streams = [int(each._state.sgd.waiting.stream.number[0]) for each in (agent, other)]
    for each, stream in zip((agent, other), streams, strict=True):
        each.add_arm()
        assert each._state.sgd.waiting.stream.number[0] == stream
    assert streams[0] != streams[1]


@pytest.mark.parametrize("name", ["zo-ucb", "median-inf", "ucb", "fo-ucb"])
def test_only_what_smooths_has_a_generator(name: str) -> None:
    from heavybandits.algorithms.parts.state.tree import reseed, streams
    from heavybandits.algorithms.registry import examples

    state = hb.make(name, **examples()[name]).init(2, 100)
    assert not list(streams(state))
    reseed(streams(state), np.random.SeedSequence(0))
