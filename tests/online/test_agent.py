"""One decision at a time: which arm is chosen, rewards in any order, and what is printed."""

import copy
import json
import math
import os
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agents import POLICIES, Plain, every_policy, make_agent, numbers, play, reward_of, snapshot

import heavybandits as hb

# Choosing


@every_policy
@pytest.mark.parametrize("n_arms", [1, 4, 70])
def test_after_the_initial_pulls_the_highest_index_is_played(name: str, n_arms: int) -> None:
    agent, rng = make_agent(name, n_arms), np.random.default_rng(1)
    play(agent, rng, 8 * n_arms)
    for _ in range(60):
        heights = [numbers(agent, arm)[1] for arm in agent.arms]
        arm = agent.select()
        if (
            not name.endswith(("median", "smom", "gaussian")) or name == "rucb-median"
        ):  # batches go on, draws are random
            assert heights[arm] == max(heights)
        agent.update(arm, reward_of(rng, arm))


@every_policy
@pytest.mark.parametrize("n_arms", [1, 4, 70])
def test_among_all_arms_is_no_restriction(name: str, n_arms: int) -> None:
    plain = make_agent(name, n_arms)
    restricted = copy.deepcopy(plain)
    rngs = np.random.default_rng(2), np.random.default_rng(2)
    order = np.random.default_rng(3)
    for _ in range(8 * n_arms + 100):
        arms = [plain.select(), restricted.select(among=order.permutation(n_arms))]
        assert arms[0] == arms[1]
        for agent, arm, rng in zip((plain, restricted), arms, rngs, strict=True):
            agent.update(arm, reward_of(rng, arm))


@pytest.mark.slow
@every_policy
@pytest.mark.parametrize("n_arms", [4, 70])
def test_among_keeps_to_the_arms_given_and_takes_the_best_of_them(name: str, n_arms: int) -> None:
    agent, rng = make_agent(name, n_arms), np.random.default_rng(4)
    batches = name in ("sgd-ucb-median", "sgd-ucb-smom")
    for step in range(8 * n_arms + 100):  # from the first pulls on
        among = rng.choice(n_arms, rng.integers(1, n_arms + 1), replace=False).tolist()
        heights = {arm: numbers(agent, arm)[1] for arm in among}
        arm = agent.select(among=among)
        assert arm in among
        if not batches and name != "thompson-gaussian" and step > 8 * n_arms:
            assert heights[arm] == max(heights.values())
        agent.update(arm, reward_of(rng, arm))
        if step % 3 == 0:
            free = agent.select()
            agent.update(free, reward_of(rng, free))
    assert all(agent._state.open if name in ("kl-ucb", "thompson-gaussian") else agent._state.tournament.open)


@every_policy
def test_a_restriction_does_not_use_up_the_initial_pulls_of_others(name: str) -> None:
    agent = make_agent(name, 3)
    first = [agent.select(among=[2]) for _ in range(10)]
    assert first == [2] * 10
    waiting = [agent.select() for _ in range(12)]
    assert {0, 1} <= set(waiting)


@pytest.mark.parametrize("n_arms", [3, 70])
def test_a_batch_goes_on_while_its_arm_is_available(n_arms: int) -> None:
    agent = make_agent("sgd-ucb-median", n_arms)
    for arm in range(n_arms):
        agent.update_many([arm] * 3, [float(arm)] * 3)
    best = n_arms - 1
    assert agent.select() == best  # the first of three
    assert agent.select(among=[0, best]) == best
    assert agent.select() == best
    agent.update_many([best] * 3, [float(best)] * 3)
    assert agent.select() == best
    assert agent.select(among=[0, 1]) == 1  # the batch must stop: its arm is not there
    agent.update(1, 1.0)
    assert agent.select(among=[best, 0]) == best


def test_a_choice_among_some_needs_a_policy_that_can() -> None:
    agent = hb.Agent(Plain(0.5), n_arms=3)
    before = snapshot(agent)
    with pytest.raises(TypeError, match="among must be None for Plain"):
        agent.select(among=[1])
    assert snapshot(agent) == before
    assert agent.select() == 0


# Rewards in any order


@every_policy
def test_several_selections_before_any_reward(name: str) -> None:
    agent, rng = make_agent(name, 3), np.random.default_rng(5)
    for _ in range(40):
        waiting = [agent.select() for _ in range(int(rng.integers(1, 9)))]
        assert set(waiting) <= {0, 1, 2}
        for arm in rng.permutation(waiting):
            agent.update(arm, reward_of(rng, int(arm)))
    assert min(agent.pulls.values()) > 0


@every_policy
def test_the_first_selections_spread_over_all_arms(name: str) -> None:
    """They do so though no reward has come yet."""
    agent = make_agent(name, 5)
    assert {agent.select() for _ in range(6 * 5)} == {0, 1, 2, 3, 4}


@every_policy
@pytest.mark.parametrize("n_arms", [3, 70])
def test_logged_rewards_replace_the_initial_pulls(name: str, n_arms: int) -> None:
    """They come before the first selection, for arms that nobody selected."""
    agent = make_agent(name, n_arms)
    for arm in reversed(range(n_arms)):
        agent.update_many([arm] * 100, [1.0 if arm == 1 else -1.0] * 100)
    assert agent.select() == 1
    assert set(agent.pulls.values()) == {100}


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in ("sgd-ucb-median", "sgd-ucb-smom")])
def test_the_order_of_selections_and_rewards_does_not_matter_once_all_rewards_are_in(name: str) -> None:
    """Decisions that were given up leave no trace except the initial pulls, which logged rewards replace here."""
    agent, rng = make_agent(name, 3), np.random.default_rng(6)
    agent.update_many([0, 1, 2] * 7, rng.standard_cauchy(21))
    restless = copy.deepcopy(agent)
    for _ in range(5):
        if name == "thompson-gaussian":  # which draws, so both must
            agent.select()
        restless.cancel(restless.select())
    for _ in range(50):
        arm = agent.select()
        assert restless.select() == arm
        reward = reward_of(rng, arm)
        agent.update(arm, reward)
        restless.update(arm, reward)


@every_policy
def test_many_updates_are_the_same_as_one_by_one(name: str) -> None:
    one_by_one, at_once = make_agent(name), make_agent(name)
    rng = np.random.default_rng(7)
    arms = rng.integers(0, 4, 300)
    rewards = [reward_of(rng, int(arm)) for arm in arms]
    for arm, reward in zip(arms, rewards, strict=True):
        one_by_one.update(int(arm), reward)
    at_once.update_many(arms[:1], np.array(rewards[:1]))
    at_once.update_many(iter(arms[1:].tolist()), iter(rewards[1:]))
    at_once.update_many([], [])
    assert snapshot(at_once) == snapshot(one_by_one)


@pytest.mark.parametrize(
    ("reward", "meant"),
    [(True, 1.0), (np.bool_(False), 0.0), (3, 3.0), (np.float32(0.5), 0.5), (np.int16(-2), -2.0), (Decimal("1.5"), 1.5),
     (Fraction(1, 4), 0.25), (10**400, math.inf), (-(10**400), -math.inf), (np.array(2.5), 2.5), (math.inf, math.inf)],
)  # fmt: skip
def test_rewards_of_every_numeric_type(reward: Any, meant: float) -> None:
    agent, other = hb.Agent(hb.UCB(), n_arms=2), hb.Agent(hb.UCB(), n_arms=2)
    agent.update(0, reward)
    other.update(0, meant)
    assert snapshot(agent) == snapshot(other)


# Printing


def test_the_table() -> None:
    agent = hb.Agent(hb.UCB(), arms=["left", "a longer name"])
    assert str(agent).splitlines() == [
        "ucb, 0 rewards",
        "arm            pulls  estimate  index",
        "left               0         -    inf",
        "a longer name      0         -    inf",
    ]
    agent.update("left", 1e300)
    agent.update("a longer name", 0.123456)
    assert str(agent).splitlines()[2:] == [
        "left               1    1e+300  1e+300",
        "a longer name      1    0.1235   1.301",
    ]
    assert repr(agent) == "Agent(UCB(c=1.0), 2 arms, 2 rewards)"


def test_a_long_table_shows_the_arms_pulled_most() -> None:
    agent = hb.Agent(hb.UCB(), n_arms=1000)
    agent.update_many([500, 500, 7, 999, 999, 999], [1.0] * 6)
    lines = str(agent).splitlines()
    assert lines[0] == "ucb, 6 rewards; the 20 most pulled of 1000 arms"
    assert len(lines) == 2 + 20
    assert [line.split()[0] for line in lines[2:]] == [*map(str, range(18)), "500", "999"]


def test_a_policy_without_estimates_can_be_printed() -> None:
    agent = hb.Agent(Plain(1.0), n_arms=1)
    assert str(agent).splitlines()[-1].split() == ["0", "0", "-", "-"]


def test_printing_is_as_silent_as_deciding() -> None:
    """Warnings are errors here."""
    agent = hb.Agent(hb.UCB(c=1e308), n_arms=1)
    agent.update_many([0, 0, 0], [1e308] * 3)
    assert str(agent).splitlines()[-1].split() == ["0", "3", "1e+308", "inf"]


@pytest.mark.slow
@every_policy
def test_printing_changes_nothing(name: str) -> None:
    agent, rng = make_agent(name, 3), np.random.default_rng(15)
    for _ in range(30):
        before = snapshot(agent)
        assert len(str(agent).splitlines()) == 5
        repr(agent)
        assert snapshot(agent) == before
        play(agent, rng, 3)


# Interpreted and compiled


def decisions() -> dict[str, list[Any]]:
    """Return what each policy chooses, with arms that come and go."""
    chosen: dict[str, list[Any]] = {}
    for name in POLICIES:
        for n_arms in (3, 66):
            agent, rng = make_agent(name, n_arms), np.random.default_rng(16)
            arms = play(agent, rng, 5 * n_arms)
            agent.remove_arm(1)
            agent.add_arm()
            agent.update_many([0, 2, 2], [math.inf, -1.0, 3])
            arms += [agent.select(among=[0, 2]) for _ in range(3)] + play(agent, rng, 60)
            assert {type(arm) for arm in arms} == {int}
            chosen[f"{name} {n_arms}"] = arms
    return chosen


@pytest.mark.slow
def test_interpreted_and_compiled_agents_decide_the_same() -> None:
    code = "import json, test_agent; print(json.dumps(test_agent.decisions()))"
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parent), str(Path(hb.__file__).parents[1])])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    interpreted = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, check=True, capture_output=True
    )
    assert json.loads(interpreted.stdout) == decisions()
