"""One decision at a time: arms that come and go, rewards that come late, and arguments that make no sense."""

import copy
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits.state import arrays

POLICIES: dict[str, Any] = {
    "ucb": hb.UCB(),
    "kl-ucb": hb.KLUCB(low=-5.0, high=5.0),
    "thompson-gaussian": hb.ThompsonGaussian(),
    "sgd-ucb": hb.make("sgd-ucb"),
    "sgd-ucb-median": hb.make("sgd-ucb-median"),
    "sgd-ucb-smom": hb.make("sgd-ucb-smom"),
    "fo-ucb": hb.FOUCB(hb.ClippedSGD(clip=2.0, radius="exp")),
    "zo-ucb": hb.ZOUCB(hb.TwoPoint(init_pulls=3)),
    "rucb-median": hb.make("rucb-median", eps=0.5, v=2.0),
    "rucb-truncated": hb.make("rucb-truncated", eps=0.5, u=2.0),
    "rucb-catoni": hb.make("rucb-catoni", v=2.0),
}
NO_HORIZON = ["ucb", "kl-ucb", "thompson-gaussian", "rucb-median", "rucb-truncated", "rucb-catoni"]
every_policy = pytest.mark.parametrize("name", POLICIES)


def make_agent(name: str, n_arms: int = 4, seed: int = 0) -> hb.Agent:
    return hb.Agent(POLICIES[name], n_arms, horizon=500, seed=seed)


def reward_of(rng: np.random.Generator, arm: int) -> float:
    """Heavy tails, ties and infinities; arms of higher number are a little better."""
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
    """All that an agent is, in a form that can be compared."""
    state = [(place, array.dtype.str, array.shape, array.tobytes()) for place, array in arrays(agent._state)]
    rng = None if agent._rng is None else repr(agent._rng.bit_generator.state)
    return agent.policy, agent.horizon, agent.arms, agent.pulls, agent._seen, agent._arms.unused, rng, state


def numbers(agent: hb.Agent, arm: Any) -> tuple[float, float]:
    """Estimate and index of an arm."""
    slot, policy = agent.arms.index(arm), agent.policy
    index = getattr(policy, "index_of", None)
    with np.errstate(all="ignore"):
        return policy.value(agent._state, slot), index(agent._state, slot, agent._seen) if index else math.nan


def same_numbers(left: tuple[float, ...], right: tuple[float, ...]) -> bool:
    return np.array_equal(left, right, equal_nan=True)


# What the arms are called


class Colour(IntEnum):
    RED = 0
    GREEN = 1


@pytest.mark.parametrize(
    "labels", [["a", "b"], [7, 3], [(1, "x"), frozenset({2})], [None, 0.5], [True, False], [b"", ""]]
)
def test_arms_are_called_what_the_user_calls_them(labels: list[Any]) -> None:
    agent = hb.Agent(hb.UCB(), arms=labels)
    assert [agent.select(), agent.select()] == labels
    agent.update(labels[1], 5.0)
    agent.update(labels[0], 1.0)
    assert agent.select() is labels[1]
    assert agent.arms == labels
    assert agent.pulls == {labels[0]: 1, labels[1]: 1}


def test_numpy_scalars_and_enumerations_are_numbers_of_arms() -> None:
    agent = hb.Agent(hb.UCB(), n_arms=np.int64(2))  # type: ignore[arg-type]
    for arm in (0, np.int8(0), np.uint64(0), Colour.RED):
        agent.update(arm, 1.0)
    assert agent.pulls == {0: 4, 1: 0}
    assert type(agent.select()) is int
    named = hb.Agent(hb.UCB(), arms=np.array(["left", "right"]))
    named.update(np.str_("right"), 1.0)
    assert named.pulls == {"left": 0, "right": 1}
    assert type(named.select()) is str


def test_arms_may_come_from_any_iterable() -> None:
    assert hb.Agent(hb.UCB(), arms=(letter for letter in "ab")).arms == ["a", "b"]
    assert hb.Agent(hb.UCB(), arms={"x": 1, "y": 2}).arms == ["x", "y"]


def test_equal_names_of_other_types_are_other_names() -> None:
    agent = hb.Agent(hb.UCB(), arms=[1.0, 2.0])
    agent.update(np.float64(1.0), 3.0)
    with pytest.raises(ValueError, match=r"arm must be one of \[1.0, 2.0\], got 1"):
        agent.update(1, 3.0)


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
    assert all(agent._state.open if name in ("kl-ucb", "thompson-gaussian") else agent._state.choice.open)


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
    """Though no reward has come yet."""
    agent = make_agent(name, 5)
    assert {agent.select() for _ in range(6 * 5)} == {0, 1, 2, 3, 4}


@every_policy
@pytest.mark.parametrize("n_arms", [3, 70])
def test_logged_rewards_replace_the_initial_pulls(name: str, n_arms: int) -> None:
    """Before the first selection, for arms that nobody selected."""
    agent = make_agent(name, n_arms)
    for arm in reversed(range(n_arms)):
        agent.update_many([arm] * 100, [1.0 if arm == 1 else -1.0] * 100)
    assert agent.select() == 1
    assert set(agent.pulls.values()) == {100}


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in ("sgd-ucb-median", "sgd-ucb-smom")])
def test_the_order_of_selections_and_rewards_does_not_matter_once_all_rewards_are_in(name: str) -> None:
    """Selecting without a reward leaves no trace but the initial pulls, which logged rewards have made."""
    agent, rng = make_agent(name, 3), np.random.default_rng(6)
    agent.update_many([0, 1, 2] * 7, rng.standard_cauchy(21))
    restless = copy.deepcopy(agent)
    for _ in range(5):
        agent.select() if name == "thompson-gaussian" else None  # which draws, so both must
        restless.select()
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


# Arms that come and go


@every_policy
@pytest.mark.parametrize("n_arms", [3, 64, 65])
def test_a_new_arm_is_tried_first_and_what_is_known_stays(name: str, n_arms: int) -> None:
    agent, rng = make_agent(name, n_arms), np.random.default_rng(8)
    play(agent, rng, 7 * n_arms)
    known = [numbers(agent, arm) for arm in range(n_arms)]
    assert agent.add_arm("new") == "new"
    assert all(same_numbers(numbers(agent, arm), known[arm]) for arm in range(n_arms))
    assert agent.select() == "new"
    assert agent.pulls["new"] == 0
    assert sum(agent.pulls.values()) == 7 * n_arms
    agent.update_many(["new"] * 6, [0.1] * 6)
    assert agent.pulls["new"] == 6
    assert numbers(agent, "new")[0] > 0.0
    if not name.startswith("rucb"):  # whose estimates depend on the number of all rewards
        assert all(same_numbers(numbers(agent, arm)[:1], known[arm][:1]) for arm in range(n_arms))
    numbered = agent.add_arm()
    assert numbered == n_arms
    assert agent.select() == numbered


@every_policy
@pytest.mark.parametrize("n_arms", [3, 65, 66])
def test_removing_an_arm_leaves_the_others_as_they_are(name: str, n_arms: int) -> None:
    agent, rng = make_agent(name, n_arms), np.random.default_rng(9)
    play(agent, rng, 7 * n_arms)
    known = {arm: numbers(agent, arm) for arm in agent.arms}
    pulls = agent.pulls
    for gone in (1, 0):
        agent.remove_arm(gone)
        assert gone not in agent.arms
        del pulls[gone], known[gone]
        assert agent.pulls == pulls
        assert all(same_numbers(numbers(agent, arm), known[arm]) for arm in agent.arms)
        with pytest.raises(ValueError, match=f"arm must be one of .*got {gone}"):
            agent.update(gone, 1.0)
    assert set(play(agent, rng, 40)) <= set(agent.arms)
    assert agent.arms == list(range(2, n_arms))


@every_policy
def test_arms_come_and_go_across_the_size_of_the_tournament(name: str) -> None:
    """Beyond 64 arms the highest index is found by a tournament; below, by a scan."""
    agent, rng = make_agent(name, 62), np.random.default_rng(10)
    play(agent, rng, 62 * 6)
    for turn in range(12):
        for _ in range(5):
            agent.add_arm() if turn % 2 == 0 else agent.remove_arm(agent.arms[int(rng.integers(len(agent.arms)))])
            known = {arm: numbers(agent, arm) for arm in agent.arms}
            arm = agent.select(among=agent.arms[1:])
            assert arm in agent.arms[1:]
            assert all(same_numbers(numbers(agent, arm), known[arm]) for arm in agent.arms)
            agent.update(arm, reward_of(rng, arm))
            play(agent, rng, 9)
    assert 58 <= len(agent.arms) <= 67


@every_policy
def test_an_agent_that_lost_arms_decides_as_one_that_never_had_them(name: str) -> None:
    """After the same rewards, but for the number of rewards in all, which is that of both."""
    agent, other = make_agent(name, 5), make_agent(name, 3)
    rng = np.random.default_rng(11)
    kept = [0, 2, 4]
    for _ in range(100):
        row = rng.standard_cauchy(3)
        agent.update_many(kept, row)
        other.update_many(range(3), row)
    if name.startswith("rucb"):  # their estimates are refreshed at times that depend on the rewards in all
        assert agent._seen == other._seen
    agent.remove_arm(1)
    agent.remove_arm(3)
    for _ in range(100):
        arm = agent.select()
        assert kept[other.select()] == arm
        reward = reward_of(rng, arm)
        agent.update(arm, reward)
        other.update(kept.index(arm), reward)


def test_numbers_of_removed_arms_are_never_used_again() -> None:
    """Else a late reward of the old arm would be taken for one of the new."""
    agent = hb.Agent(hb.UCB(), n_arms=3)
    agent.remove_arm(2)
    assert agent.add_arm() == 3
    assert agent.add_arm(10) == 10
    agent.remove_arm(10)
    assert agent.add_arm() == 11
    assert agent.arms == [0, 1, 3, 11]
    assert hb.Agent(hb.UCB(), arms=["a", "b"]).add_arm() == 0


@every_policy
def test_arms_change_while_rewards_are_on_their_way(name: str) -> None:
    agent, rng = make_agent(name, 4), np.random.default_rng(12)
    waiting = [agent.select() for _ in range(24)]
    agent.add_arm("x")
    assert agent.select() == "x"  # the others have been asked for, though nothing is known of them either
    waiting += ["x", *(agent.select() for _ in range(9))]
    agent.remove_arm(0)
    for arm in reversed(waiting):
        if arm != 0:
            agent.update(arm, reward_of(rng, 1))
    play(agent, rng, 60)
    assert min(agent.pulls.values()) > 0


class Pairs(NamedTuple):
    """A policy with a state that is square in the arms, which cannot be carried over."""

    step: float

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return PairsState(np.zeros((n_arms, n_arms)))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return t % len(state.wins)

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.wins[arm, arm] += self.step * reward


class PairsState(NamedTuple):
    wins: Any


@pytest.mark.parametrize("n_arms", [1, 3])
def test_a_state_that_cannot_be_carried_over_is_refused(n_arms: int) -> None:
    agent = hb.Agent(Pairs(1.0), n_arms=n_arms)
    agent.update(0, 2.0)
    before = snapshot(agent)
    with pytest.raises(TypeError, match="arrays must have a row per arm"):
        agent.add_arm()
    assert snapshot(agent) == before


# Nothing breaks it


class PlainState(NamedTuple):
    total: Any


class Plain(NamedTuple):
    """The least that a policy can be."""

    step: float

    def init(self, n_arms: int, horizon: int | None) -> PlainState:
        return PlainState(np.zeros(n_arms))

    def select(self, state: PlainState, t: int, rng: Any) -> int:
        return int(np.argmax(state.total))

    def update(self, state: PlainState, arm: int, reward: float) -> None:
        state.total[arm] += self.step * reward


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
        "arms and rewards must be of one length, got 1 and 2",
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
        ({"n_arms": 10**15}, MemoryError, ""),
        ({"n_arms": True}, TypeError, "n_arms must be a positive whole number, got True"),
        ({}, TypeError, "exactly one of n_arms and arms must be given, got n_arms=None and arms=None"),
        ({"n_arms": 2, "arms": ["a", "b"]}, TypeError, r"exactly one of .* got n_arms=2 and arms=\['a', 'b'\]"),
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
        ({"n_arms": 2, "policy": hb.ClippedSGD()}, TypeError, "policy must be a policy such as .*got ClippedSGD"),
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


@every_policy
@pytest.mark.parametrize("n_arms", [1, 3, 70])
@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_reward_but_nan_is_legal(name: str, n_arms: int, data: st.DataObject) -> None:
    """No exception, no index that is NaN, and no estimate that is NaN once it was a number."""
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
    assert sum(array.nbytes for _, array in arrays(agent._state)) < 100 * 10**6


# Printing


def test_the_table() -> None:
    agent = hb.Agent(hb.UCB(), arms=["left", "a longer name"])
    assert str(agent).splitlines() == [
        "UCB(c=1.0), 0 rewards",
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
    assert len(lines) == 2 + 20 + 1
    assert [line.split()[0] for line in lines[2:22]] == [*map(str, range(18)), "500", "999"]
    assert lines[-1] == "... and 980 more"


def test_a_policy_without_estimates_can_be_printed() -> None:
    agent = hb.Agent(Plain(1.0), n_arms=1)
    assert str(agent).splitlines()[-1].split() == ["0", "0", "-", "-"]


def test_printing_is_as_silent_as_deciding() -> None:
    """Warnings are errors here."""
    agent = hb.Agent(hb.UCB(c=1e308), n_arms=1)
    agent.update_many([0, 0, 0], [1e308] * 3)
    assert str(agent).splitlines()[-1].split() == ["0", "3", "1e+308", "inf"]


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
    """What each policy chooses, with arms that come and go."""
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


def test_interpreted_and_compiled_agents_decide_the_same() -> None:
    code = "import json, test_agent; print(json.dumps(test_agent.decisions()))"
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(Path(hb.__file__).parents[1])])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    interpreted = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, check=True, capture_output=True
    )
    assert json.loads(interpreted.stdout) == decisions()


class Tally(NamedTuple):
    pulls: np.ndarray


class Wild(NamedTuple):
    """Selects whatever number it is made of."""

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
