"""Rewards that an agent learned provisionally, and that are corrected."""

import math

import numpy as np
import pytest
from agents import totals_of_auto_mean
from hypothesis import given
from hypothesis import strategies as st

import heavybandits as hb

POLICIES = ("auto-mean", "thompson-beta")


@pytest.mark.parametrize("name", POLICIES)
def test_corrections_lead_to_what_final_rewards_would_have(name: str) -> None:
    rng = np.random.default_rng(3)
    for n in (1, 5, 60, 500):
        corrected, told = (hb.Agent(hb.make(name), n_arms=3, seed=0) for _ in range(2))
        arms, rewards = rng.integers(3, size=n).tolist(), (rng.random(n) * (rng.random(n) < 0.3)).tolist()
        corrected.update_many(arms, [0.0] * n)
        for arm, reward in zip(arms, rewards, strict=True):
            if reward:
                corrected.correct(arm, 0.0, reward)
        told.update_many(arms, rewards)
        assert corrected.pulls == told.pulls
        if name == "auto-mean":
            assert totals_of_auto_mean(corrected) == pytest.approx(totals_of_auto_mean(told))
        else:
            assert [row.estimate for row in corrected.rows()] == pytest.approx([row.estimate for row in told.rows()])
        again = hb.Agent.loads(corrected.dumps())
        assert [again.select() for _ in range(9)] == [corrected.select() for _ in range(9)]


@pytest.mark.parametrize("name", POLICIES)
def test_an_arm_whose_only_reward_is_unlearned_is_as_if_given_up(name: str) -> None:
    agent = hb.Agent(hb.make(name), n_arms=2, seed=0)
    for arm in (0, 1, 0, 1):
        agent.update(arm, float(arm))
    agent.correct(0, 0.0, None)
    agent.correct(0, 0.0, None)
    assert agent.pulls == {0: 0, 1: 2}
    chosen = [agent.select() for _ in range(40)]
    assert set(chosen) <= {0, 1}
    agent.update(0, 7.0)
    assert agent.pulls == {0: 1, 1: 2}
    assert agent.rows()[0].estimate > 0.5


def test_auto_mean_forgets_extremes_exactly() -> None:
    agent = hb.Agent(hb.make("auto-mean"), n_arms=1)
    agent.update_many([0] * 50, [1.0, 2.0] * 25)
    agent.update(0, 1e300)
    agent.correct(0, 1e300, float("inf"))
    agent.correct(0, float("inf"), 3.0)
    assert agent.rows()[0].estimate == pytest.approx(78 / 51)


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(-50, 50)), min_size=3, max_size=40),
    st.floats(1e3, 1e300) | st.just(math.inf), st.booleans(), st.integers(2, 8), st.integers(0, 1),
)  # fmt: skip
def test_auto_mean_forgets_a_huge_reward_among_the_first(
    later: list[tuple[int, int]], size: float, negative: bool, place: int, arm: int
) -> None:
    told, huge = [(0, 0), (0, 1), *later], -size if negative else size
    corrected, never = (hb.Agent(hb.make("auto-mean"), n_arms=2, seed=0) for _ in range(2))
    for agent, rewards in ((never, told), (corrected, [*told[:place], (arm, huge), *told[place:]])):
        for one, reward in rewards:
            agent.update(one, float(reward))
    corrected.correct(arm, huge, None)
    lost = 1e-12 if size >= 2.0**40 else 1e-15 * size  # per reward
    expected = [sum(reward for one, reward in told if one == arm) for arm in (0, 1)]
    assert totals_of_auto_mean(never) == pytest.approx(expected, abs=1e-9)
    assert totals_of_auto_mean(corrected) == pytest.approx(expected, abs=max(50 * lost, 1e-9))
    squares = corrected._state.moments.own[:, 1]
    assert (squares <= 1.01 * sum(reward**2 for _, reward in told) + 0.01).all()


def test_corrections_that_cannot_be_made_change_nothing() -> None:
    agent = hb.Agent(hb.make("auto-mean"), n_arms=2)
    agent.update(0, 1.0)
    before = agent.dumps()
    with pytest.raises(ValueError, match="arm must have a reward to be corrected, got 1 without one"):
        agent.correct(1, 0.0, 1.0)
    with pytest.raises(ValueError, match="must not be NaN"):
        agent.correct(0, 1.0, float("nan"))
    assert agent.dumps() == before
    with pytest.raises(TypeError, match="UCB cannot unlearn a reward"):
        hb.Agent(hb.UCB(), n_arms=2).correct(0, 0.0, 1.0)
    with pytest.raises(ValueError, match="evidence must be False"):
        hb.Agent(hb.make("auto-mean"), n_arms=2, evidence=True).correct(0, 0.0, 1.0)
