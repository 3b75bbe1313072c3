"""Nonsense is refused and changes nothing; extreme values do not break an agent."""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pytest
from agents import POLICIES, every_policy, make_agent, numbers, play, snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits.algorithms.estimators.clipped_sgd import ClippedSGD
from heavybandits.algorithms.parts.state.tree import arrays

NO_HORIZON = ["ucb", "kl-ucb", "thompson-gaussian", "rucb-median", "rucb-truncated", "rucb-catoni"]


def numbered() -> hb.Agent:
    agent = hb.Agent(hb.ThompsonGaussian(), n_arms=3, seed=0)
    agent.update_many([0, 1], [1.0, 2.0])
    return agent


def named() -> hb.Agent:
    agent = hb.Agent(hb.make("rucb-truncated", eps=0.5, u=1.0), arms=["red", "green"])
    agent.update("red", 1.0)
    agent.select()
    return agent


nan = math.nan
REFUSED: list[tuple[Callable[[], hb.Agent], Callable[[Any], Any], type[Exception], str]] = [
    (numbered, lambda a: a.update(0, nan), ValueError, "reward must not be NaN .*got nan"),
    (numbered, lambda a: a.update(0, np.float32("nan")), ValueError, "reward must not be NaN"),
    (numbered, lambda a: a.update(0, Decimal("NaN")), ValueError, "reward must not be NaN"),
    (numbered, lambda a: a.update(0, "1.0"), TypeError, "reward must be a number, got '1.0'"),
    (numbered, lambda a: a.update(0, b"1.0"), TypeError, "reward must be a number, got b'1.0'"),
    (numbered, lambda a: a.update(0, None), TypeError, "reward must be a number, got None"),
    (numbered, lambda a: a.update(0, 1j), TypeError, "reward must be a number, got 1j"),
    (numbered, lambda a: a.update(0, np.complex128(1)), TypeError, "reward must be a number"),
    (numbered, lambda a: a.update(0, [1.0]), TypeError, r"reward must be a number, got \[1.0\]"),
    (numbered, lambda a: a.update(0, np.array([1.0])), TypeError, "reward must be a number, got array"),
    (numbered, lambda a: a.update(0, Decimal("sNaN")), TypeError, "reward must be a number"),
    (numbered, lambda a: a.update(3, 1.0), ValueError, "arm must be a whole number from 0 to 2, got 3"),
    (numbered, lambda a: a.update(-1, 1.0), ValueError, "arm must be a whole number from 0 to 2, got -1"),
    (numbered, lambda a: a.update(True, 1.0), ValueError, "arm must be a whole number from 0 to 2, got True"),
    (numbered, lambda a: a.update(np.bool_(True), 1.0), ValueError, "arm must be a whole number .*got True"),
    (numbered, lambda a: a.update(1.0, 1.0), ValueError, "arm must be a whole number from 0 to 2, got 1.0"),
    (numbered, lambda a: a.update(np.float64(1), 1.0), ValueError, "arm must be a whole number .*got 1.0"),
    (numbered, lambda a: a.update(Decimal(1), 1.0), ValueError, r"arm must be a whole number .*got Decimal\('1'\)"),
    (numbered, lambda a: a.update(nan, 1.0), ValueError, "arm must be a whole number from 0 to 2, got nan"),
    (numbered, lambda a: a.update("1", 1.0), ValueError, "arm must be a whole number from 0 to 2, got '1'"),
    (numbered, lambda a: a.update(None, 1.0), ValueError, "arm must be a whole number from 0 to 2, got None"),
    (numbered, lambda a: a.update([1], 1.0), ValueError, r"arm must be a whole number from 0 to 2, got \[1\]"),
    (numbered, lambda a: a.update(np.arange(3), 1.0), ValueError, "arm must be a whole number from 0 to 2, got array"),
    (numbered, lambda a: a.update(np.longdouble(1), 1.0), ValueError, "arm must be a whole number from 0 to 2, got"),
    (named, lambda a: a.update("gren", 1.0), ValueError, r"arm must be one of .*got 'gren'; did you mean 'green'\?"),
    (named, lambda a: a.update("?", 1.0), ValueError, r"arm must be one of \['red', 'green'\], got '\?'$"),
    (named, lambda a: a.update(0, 1.0), ValueError, r"arm must be one of \['red', 'green'\], got 0"),
    (named, lambda a: a.update_many(["red", "green"], [1.0, nan]), ValueError, "reward must not be NaN"),
    (named, lambda a: a.update_many(["red", "blue"], [1.0, 2.0]), ValueError, "arm must be one of .*got 'blue'"),
    (
        named,
        lambda a: a.update_many(["red"], [1.0, 2.0]),
        ValueError,
        "arms and rewards must have the same length, got 1 and 2",
    ),
    (named, lambda a: a.update_many("red", [1.0] * 3), TypeError, "arms must be a list, got 'red'"),
    (named, lambda a: a.update_many(["red"], 1.0), TypeError, "rewards must be a list, got 1.0"),
    (numbered, lambda a: a.update_many(1, [1.0]), TypeError, "arms must be a list, got 1"),
    (numbered, lambda a: a.update_many(np.array(1), [1.0]), TypeError, r"arms must be a list, got array\(1\)"),
    (numbered, lambda a: a.update_many([[0, 1]], [1.0]), ValueError, r"arm must be a whole number .*got \[0, 1\]"),
    (numbered, lambda a: a.select(among=[]), ValueError, "among must name at least one arm, got"),
    (numbered, lambda a: a.select(among=[0, 5]), ValueError, "arm must be a whole number from 0 to 2, got 5"),
    (numbered, lambda a: a.select(among=1), TypeError, "among must be a list, got 1"),
    (named, lambda a: a.select(among="red"), TypeError, "among must be a list, got 'red'"),
    (named, lambda a: a.add_arm("red"), ValueError, "arms must have different names, got 'red' twice"),
    (numbered, lambda a: a.add_arm(True), ValueError, "arms must have different names, got 1 twice"),
    (numbered, lambda a: a.add_arm([]), TypeError, "names of arms must be hashable, got"),
    (numbered, lambda a: a.remove_arm(3), ValueError, "arm must be a whole number from 0 to 2, got 3"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_a_refused_call_says_why_and_changes_nothing(case: int) -> None:
    build, call, error, message = REFUSED[case]
    agent = build()
    before = snapshot(agent)
    with pytest.raises(error, match=f"^Agent: {message}"):
        call(agent)
    assert snapshot(agent) == before


def test_the_last_arm_cannot_be_removed() -> None:
    agent = hb.Agent(hb.UCB(), n_arms=1)
    with pytest.raises(ValueError, match="arm must not be the only one left, got 0"):
        agent.remove_arm(0)
    assert agent.arms == [0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_arms": 0}, ValueError, "n_arms must be a positive whole number, got 0"),
        ({"n_arms": -1}, ValueError, "n_arms must be a positive whole number, got -1"),
        ({"n_arms": 10**30}, ValueError, "n_arms must be at most 9007199254740992, got 1000"),
        ({"n_arms": 2.5}, TypeError, "n_arms must be a positive whole number, got 2.5"),
        ({"n_arms": 2.0}, TypeError, "n_arms must be a positive whole number, got 2.0"),
        ({"n_arms": "2"}, TypeError, "n_arms must be a positive whole number, got '2'"),
        ({"n_arms": 10**15}, ValueError, "arms must fit into memory, got n_arms=1000"),
        ({"n_arms": True}, TypeError, "n_arms must be a positive whole number, got True"),
        ({}, TypeError, "either n_arms, a number, or arms=, a list .* got n_arms=None and arms=None"),
        ({"n_arms": ["a", "b"]}, TypeError, r"either .* arms=, a list .* got n_arms=\['a', 'b'\] and arms=None"),
        ({"n_arms": 2, "arms": ["a", "b"]}, TypeError, r"either n_arms, .* got n_arms=2 and arms=\['a', 'b'\]"),
        ({"arms": []}, ValueError, "arms must be one name or more, got none"),
        ({"arms": ["a", "b", "a"]}, ValueError, "arms must have different names, got 'a' twice"),
        ({"arms": [1, 1.0]}, ValueError, "arms must have different names, got 1 twice"),
        ({"arms": [[1], [2]]}, TypeError, r"names of arms must be hashable, got \[\[1\], \[2\]\]"),
        ({"arms": "ab"}, TypeError, "arms must be a list, got 'ab'"),
        ({"arms": 3}, TypeError, "arms must be a list, got 3"),
        ({"n_arms": 2, "horizon": 0}, ValueError, "horizon must be a positive whole number, got 0"),
        ({"n_arms": 2, "horizon": 1.5}, TypeError, "horizon must be a positive whole number, got 1.5"),
        ({"n_arms": 2, "seed": -1}, ValueError, "seed must be a non-negative whole number, got -1"),
        ({"n_arms": 2, "seed": "x"}, TypeError, "seed must be a non-negative whole number, got 'x'"),
        ({"n_arms": 2, "policy": hb.UCB}, TypeError, "policy must be a policy such as .*got <class"),
        ({"n_arms": 2, "policy": "ucb"}, TypeError, "policy must be a policy such as .*got 'ucb'"),
        ({"n_arms": 2, "policy": ClippedSGD()}, TypeError, "policy must be a policy such as .*got ClippedSGD"),
        ({"n_arms": 2, "policy": None}, TypeError, "policy must be a policy such as .*got None"),
    ],
)
def test_an_agent_that_makes_no_sense_is_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^Agent: {message}" if message else None):
        hb.Agent(**{"policy": hb.UCB(), **arguments})


def test_a_policy_that_needs_a_horizon_says_so() -> None:
    with pytest.raises(ValueError, match="horizon must be given, got None"):
        hb.Agent(hb.make("sgd-ucb"), n_arms=2)


def test_messages_stay_short_however_many_arms_there_are() -> None:
    agent = hb.Agent(hb.UCB(), arms=[f"arm {i}" for i in range(50_000)])
    with pytest.raises(ValueError, match="did you mean 'arm 77'") as caught:
        agent.update("arm_77", 1.0)
    assert len(str(caught.value)) < 250
    with pytest.raises(ValueError, match="got 'x' twice"):
        hb.Agent(hb.UCB(), arms=[*range(200_000), "x", "x"])


class Tally(NamedTuple):
    pulls: np.ndarray


class Wild(NamedTuple):
    """A policy that selects the number it is given as a parameter."""

    arm: int = 7

    def init(self, n_arms: int, horizon: int | None) -> Tally:
        return Tally(np.zeros(n_arms, np.int64))

    def select(self, state: Tally, t: int, rng: Any) -> int:
        return self.arm

    def update(self, state: Tally, arm: int, reward: float) -> None:
        state.pulls[arm] += 1


@pytest.mark.parametrize("arm", [7, -1, 3])
def test_a_policy_that_selects_no_arm_is_named(arm: int) -> None:
    with pytest.raises(TypeError, match=f"Agent: Wild.select must return an arm from 0 to 2, got {arm}"):
        hb.Agent(Wild(arm), n_arms=3).select()
    with pytest.raises(IndexError, match="Wild: select must return the number of an arm"):
        hb.simulate(hb.Instance([0, 1, 2], hb.Cauchy()), {"wild": Wild(arm)}, horizon=5, replications=1)


@pytest.mark.slow
@every_policy
@pytest.mark.parametrize("n_arms", [1, 3, 70])
@settings(max_examples=15, derandomize=True)
@given(data=st.data())
def test_any_reward_but_nan_is_legal(name: str, n_arms: int, data: st.DataObject) -> None:
    """There is no exception, no NaN as an index, and no NaN as an estimate once it was a number."""
    agent = make_agent(name, n_arms)
    extreme = st.sampled_from([math.inf, -math.inf, 1e308, -1e308, 1.7e308, -1.7e308, 5e-324, 0.0, 1.0])
    rewards = data.draw(st.lists(extreme | st.floats(allow_nan=False), min_size=60, max_size=60))
    if n_arms == 70:
        agent.update_many([arm for arm in range(70) for _ in range(6)], rewards[:6] * 70)
    for reward in rewards:
        arm = agent.select()
        before = numbers(agent, arm)[0]
        agent.update(arm, reward)
        estimate, index = numbers(agent, arm)
        assert not math.isnan(estimate) or math.isnan(before)
        assert not math.isnan(index) or name == "thompson-gaussian"
    str(agent)


@every_policy
def test_one_arm_is_enough(name: str) -> None:
    agent = make_agent(name, 1)
    assert set(play(agent, np.random.default_rng(13), 200)) == {0}
    assert agent.pulls == {0: 200}


@pytest.mark.parametrize(
    ("name", "horizon"), [(name, 100) for name in POLICIES] + [(name, None) for name in NO_HORIZON]
)  # fmt: skip
def test_it_goes_on_past_the_horizon(name: str, horizon: int | None) -> None:
    agent, rng = hb.Agent(POLICIES[name], 3, horizon=horizon, seed=0), np.random.default_rng(14)
    play(agent, rng, 2_500)
    agent.update_many(rng.integers(0, 3, 2_500), rng.standard_cauchy(2_500))
    assert sum(agent.pulls.values()) == 5_000
    assert all(not math.isnan(numbers(agent, arm)[0]) for arm in agent.arms)


@pytest.mark.slow
def test_a_million_arms() -> None:
    agent = hb.Agent(hb.UCB(), n_arms=10**6)
    assert [agent.select() for _ in range(3)] == [0, 1, 2]
    agent.update_many(range(10**6), np.arange(10**6) % 1000)
    assert agent.select() == 999
    agent.update(999, -math.inf)
    assert agent.select() == 1999
    assert agent.select(among=[5, 7]) == 7
    assert agent.add_arm() == 10**6
    assert agent.select() == 10**6
    assert len(str(agent)) < 2_000
    assert repr(agent) == "Agent(UCB(c=1.0), 1000001 arms, 1000001 rewards)"
    assert sum(array.nbytes for _, array in arrays(agent._state)) < 140 * 10**6


@pytest.mark.parametrize("arguments", [{"n_arms": 10**15}, {"arms": range(10**30)}])
def test_more_arms_than_fit_into_memory(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"Agent: arms must fit into memory, got (n_)?arms="):
        hb.Agent(hb.UCB(), **arguments)
    with pytest.raises(ValueError, match="Agent: n_arms must be at most 9007199254740992, got 1000"):
        hb.Agent(hb.UCB(), n_arms=10**30)
