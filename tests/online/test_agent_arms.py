"""The arms of an agent: what they are called, and what stays when they come and go."""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import pytest
from agents import every_policy, make_agent, numbers, play, reward_of, snapshot

import heavybandits as hb


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


@pytest.mark.slow
@every_policy
def test_arms_come_and_go_across_the_size_of_the_tournament(name: str) -> None:
    """Beyond 64 arms the highest index is found by a tournament; below, by a scan."""
    agent, rng = make_agent(name, 62), np.random.default_rng(10)
    play(agent, rng, 62 * 6)
    for turn in range(12):
        for _ in range(5):
            if turn % 2 == 0:
                agent.add_arm()
            else:
                agent.remove_arm(agent.arms[int(rng.integers(len(agent.arms)))])
            known = {arm: numbers(agent, arm) for arm in agent.arms}
            arm = agent.peek(among=agent.arms[1:])
            assert arm in agent.arms[1:]
            assert all(same_numbers(numbers(agent, arm), known[arm]) for arm in agent.arms)
            assert agent.select(among=agent.arms[1:]) == arm
            agent.update(arm, reward_of(rng, arm))
            play(agent, rng, 9)
    assert 58 <= len(agent.arms) <= 67


@every_policy
def test_an_agent_that_lost_arms_decides_as_one_that_never_had_them(name: str) -> None:
    """Both have the same rewards; none of the lost arms had any."""
    agent, other = make_agent(name, 5), make_agent(name, 3)
    rng = np.random.default_rng(11)
    kept = [0, 2, 4]
    for _ in range(100):
        row = rng.standard_cauchy(3)
        agent.update_many(kept, row)
        other.update_many(range(3), row)
    agent.remove_arm(1)
    agent.remove_arm(3)
    for _ in range(100):
        arm = agent.select()
        assert kept[other.select()] == arm
        reward = reward_of(rng, arm)
        agent.update(arm, reward)
        other.update(kept.index(arm), reward)


def test_numbers_of_removed_arms_are_never_used_again() -> None:
    """Otherwise a late reward of the old arm would be taken for one of the new arm."""
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
    assert agent.select() == "x"  # the others have been selected, though nothing is known about them either
    waiting += ["x", *(agent.select() for _ in range(9))]
    agent.remove_arm(0)
    for arm in reversed(waiting):
        if arm != 0:
            agent.update(arm, reward_of(rng, 1))
    play(agent, rng, 60)
    assert min(agent.pulls.values()) > 0


class Pairs(NamedTuple):
    """A policy whose state has a row and a column per arm, which cannot be carried over."""

    step: float

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return PairsState(np.zeros((n_arms, n_arms)))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return t % len(state.wins)

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.wins[arm, arm] += self.step * reward


class PairsState(NamedTuple):
    wins: Any


@pytest.mark.slow
@pytest.mark.parametrize("n_arms", [1, 3])
def test_a_state_that_cannot_be_carried_over_is_refused(n_arms: int) -> None:
    agent = hb.Agent(Pairs(1.0), n_arms=n_arms)
    agent.update(0, 2.0)
    before = snapshot(agent)
    with pytest.raises(TypeError, match="arrays must have a row per arm"):
        agent.add_arm()
    assert snapshot(agent) == before
