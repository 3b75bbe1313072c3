"""What is saved comes back to the last bit, with policies of the package and with your own."""

import copy
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from agents import POLICIES, Plain, every_policy, make_agent, reward_of, snapshot

import heavybandits as hb
from heavybandits.algorithms.estimators.clipped_sstm import ClippedSSTM
from heavybandits.algorithms.policies.fo_ucb import FOUCB
from heavybandits.online.file import encoded


def through_a_file(agent: hb.Agent, folder: Path) -> hb.Agent:
    agent.save(folder / "agent")
    return hb.Agent.load(folder / "agent")


def eventful_life(agent: hb.Agent, rng: np.random.Generator, rounds: int) -> None:
    """Let selections wait, rewards come that nobody asked for, and arms come and go; it may end amid a batch."""
    for _ in range(rounds):
        arm = agent.select(among=rng.permutation(agent.arms)[:2]) if rng.random() < 0.2 else agent.select()
        if rng.random() < 0.8:
            agent.update(arm, reward_of(rng, arm))
        if rng.random() < 0.1:
            agent.update_many(agent.arms, [reward_of(rng, arm) for arm in agent.arms])
        if rng.random() < 0.03:
            agent.add_arm()
        if rng.random() < 0.03 and len(agent.arms) > 3:
            agent.remove_arm(rng.choice(agent.arms))


# What comes back


@every_policy
@pytest.mark.parametrize(("n_arms", "seed"), [(1, 0), (3, 1), (3, 2), (5, 3), (66, 4)])
def test_a_loaded_agent_decides_as_the_saved_one_would_have(name: str, n_arms: int, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    agent = make_agent(name, n_arms, seed)
    eventful_life(agent, rng, int(rng.integers(1, 8 * n_arms + 50)))
    before = snapshot(agent)
    loaded = through_a_file(agent, tmp_path)
    assert snapshot(agent) == before
    assert snapshot(loaded) == before
    for _ in range(200):
        arm = agent.select()
        assert loaded.select() == arm
        if rng.random() < 0.9:  # otherwise it stays pending
            reward = reward_of(rng, arm)
            agent.update(arm, reward)
            loaded.update(arm, reward)
    assert snapshot(loaded) == snapshot(agent)
    assert agent.add_arm() == loaded.add_arm()


def test_every_moment_of_a_batch_can_be_saved(tmp_path: Path) -> None:
    agent, rng = make_agent("sgd-ucb-smom", 3), np.random.default_rng(0)
    for _ in range(40):
        twin = through_a_file(agent, tmp_path)
        waiting = [agent.select() for _ in range(4)]
        assert [twin.select() for _ in range(4)] == waiting
        agent.update(waiting[-1], reward_of(rng, waiting[-1]))


@every_policy
def test_saving_twice_writes_the_same_file(name: str, tmp_path: Path) -> None:
    agent = make_agent(name)
    eventful_life(agent, np.random.default_rng(5), 60)
    agent.save(tmp_path / "first")
    hb.Agent.load(str(tmp_path / "first")).save(str(tmp_path / "second"))
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_copies_are_independent() -> None:
    agent = make_agent("sgd-ucb-median")
    eventful_life(agent, np.random.default_rng(6), 50)
    for twin in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        before = snapshot(agent)
        assert snapshot(twin) == before
        twin.update(twin.select(), 1.0)
        assert snapshot(agent) == before


@pytest.mark.parametrize(
    "labels",
    [["a", "b"], ["", "two\nlines", "ünï", "\ud800", "'\"\\"], [5, -3, 10**30], [0.1, math.inf, 1e-300], [True, False],
     ["1", 1, 1.5], np.array(["x", "y"]), np.arange(3)],
)  # fmt: skip
def test_names_come_back(labels: Any, tmp_path: Path) -> None:
    agent = hb.Agent(hb.UCB(), arms=labels)
    loaded = through_a_file(agent, tmp_path)
    assert loaded.arms == list(labels)
    assert [type(arm) for arm in loaded.arms] == [type(arm) for arm in agent.arms]


def test_names_that_cannot_be_saved_are_refused(tmp_path: Path) -> None:
    agent = hb.Agent(hb.UCB(), arms=["a", (1, 2)])
    with pytest.raises(TypeError, match=r"to be saved, arms must be named by text or numbers, got \(1, 2\)"):
        agent.save(tmp_path / "agent")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "policy",
    [hb.ThompsonGaussian(prior_mean=1.0, prior_scale=2.0), hb.make("sgd-ucb", schedule="theory", coeff=0.7),
     FOUCB(ClippedSSTM(a=3.0)), hb.make("rucb-catoni", v=1.0, eps=0.5)],
)  # fmt: skip
def test_parameters_come_back(policy: Any, tmp_path: Path) -> None:
    agent = hb.Agent(hb.UCB(), 1, horizon=100, seed=1)
    changes = {"policy": policy, "rng": np.random.default_rng(1), "state": policy.init(1, 100)}
    (tmp_path / "agent").write_bytes(encoded({**agent._parts(), **changes}))
    assert hb.Agent.load(tmp_path / "agent").policy == policy


def test_numbers_of_removed_arms_stay_used(tmp_path: Path) -> None:
    agent = hb.Agent(hb.UCB(), n_arms=3)
    agent.remove_arm(2)
    assert through_a_file(agent, tmp_path).add_arm() == 3


def test_a_store_that_has_grown_comes_back(tmp_path: Path) -> None:
    agent = hb.Agent(POLICIES["rucb-catoni"], 2, horizon=10)
    agent.update_many([0, 1] * 500, np.random.default_rng(7).standard_cauchy(1000))
    loaded = through_a_file(agent, tmp_path)
    assert snapshot(loaded) == snapshot(agent)
    loaded.update_many([0] * 3000, [1.0] * 3000)


@pytest.mark.parametrize("name", ["rucb-median", "rucb-truncated", "rucb-catoni"])
def test_a_file_is_as_large_as_what_is_known_whatever_the_horizon(name: str, tmp_path: Path) -> None:
    agent = hb.Agent(POLICIES[name], 2, horizon=10**6)
    agent.update(agent.select(), 1.0)
    agent.add_arm()
    agent.save(tmp_path / "agent")
    assert (tmp_path / "agent").stat().st_size < 50_000


ONLY_ITS_OWN_POLICY = """
import sys
import heavybandits as hb
agent = hb.Agent.load({path!r})
agent.update(agent.select(), 1.0)
for folder in ("heavybandits.algorithms.policies.", "heavybandits.world."):
    print(sorted(name.removeprefix(folder) for name in sys.modules if name.startswith(folder)))
"""


@pytest.mark.slow
def test_loading_imports_the_code_of_no_other_policy_and_no_noise(tmp_path: Path) -> None:
    hb.Agent(hb.UCB(), n_arms=2).save(tmp_path / "agent")
    command = [sys.executable, "-c", ONLY_ITS_OWN_POLICY.format(path=str(tmp_path / "agent"))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "['ucb']\n[]\n"


# What your own policy needs


class Mine(NamedTuple):
    """A policy with a parameter of a NumPy type, and one with text."""

    weight: Any
    mode: str = "fast"

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Plain(1.0).init(n_arms, horizon)

    def select(self, state: Any, t: int, rng: Any) -> int:
        return t % len(state.total)

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.total[arm] += self.weight * reward


def test_a_policy_of_ones_own_is_given_again(tmp_path: Path) -> None:
    agent, path = hb.Agent(Mine(np.int64(2)), n_arms=2), tmp_path / "agent"
    agent.update(1, 3.0)
    agent.save(path)
    assert snapshot(hb.Agent.load(path, policy=Mine(np.int64(2)))) == snapshot(agent)
    with pytest.raises(ValueError, match=rf"^{path}: .*Mine is not part of this package; pass the policy"):
        hb.Agent.load(path)
    with pytest.raises(ValueError, match=rf"^{path}: .*policy must be the saved one, .*'weight': 2.*got .*'weight': 3"):
        hb.Agent.load(path, policy=Mine(3))
    with pytest.raises(ValueError, match="policy must be the saved one"):
        hb.Agent.load(path, policy=Plain(2.0))
    with pytest.raises(ValueError, match="policy must be the saved one"):
        hb.Agent.load(path, policy=hb.UCB())
    for wrong in (Mine, "mine", 3):
        with pytest.raises(TypeError, match="policy must be a policy such as"):
            hb.Agent.load(path, policy=wrong)


def test_a_registered_policy_may_be_given_too(tmp_path: Path) -> None:
    hb.Agent(hb.UCB(c=2.0), n_arms=2).save(tmp_path / "agent")
    assert hb.Agent.load(tmp_path / "agent", policy=hb.UCB(c=2.0)).policy == hb.UCB(c=2.0)
    with pytest.raises(ValueError, match="policy must be the saved one"):
        hb.Agent.load(tmp_path / "agent", policy=hb.UCB(c=3.0))


def test_parameters_that_cannot_be_saved_are_refused(tmp_path: Path) -> None:
    agent = hb.Agent(hb.UCB(), n_arms=2)
    agent.policy = Mine(weight=1j)  # such a policy could not be compiled
    with pytest.raises(TypeError, match="a policy's parameters must be text, numbers or lists, got 1j"):
        agent.save(tmp_path / "agent")
    assert list(tmp_path.iterdir()) == []
