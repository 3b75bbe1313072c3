"""Decisions whose rewards have not come: recorded, settled, given up, saved, and weighted by their probabilities."""

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.parts.choice.pending import find_pending
from heavybandits.online.pending import MOST_PROPENSITIES, PendingArms


def counts(agent: hb.Agent) -> list[list[int]]:
    """Return what the policy has counted: asked, pending, given up."""
    late = find_pending(agent._state).late
    assert late is not None
    return [array.tolist() for array in late]


def test_a_decision_is_pending_until_its_reward_comes() -> None:
    agent = hb.Agent(hb.UCB(), arms=["a", "b"])
    assert [agent.select() for _ in range(3)] == ["a", "b", "a"]
    assert agent.pending == {"a": 2, "b": 1}
    agent.update("a", 1.0)
    assert agent.pending == {"a": 1, "b": 1}
    assert counts(agent) == [[2, 1], [1, 1], [0, 0]]
    agent.update_many(["a", "a", "b"], [1.0, 2.0, 3.0])  # one more than were asked for
    assert agent.pending == {"a": 0, "b": 0}
    assert counts(agent) == [[2, 1], [0, 0], [0, 0]]


def test_rewards_that_nobody_asked_for_settle_nothing() -> None:
    agent = hb.Agent(hb.UCB(), n_arms=2)
    agent.select()
    agent.update(0, 1.0, selected=False)
    agent.update_many([0, 0], [1.0, 2.0], selected=False)
    assert agent.pending == {0: 1, 1: 0}
    assert agent.pulls == {0: 3, 1: 0}
    assert counts(agent)[1] == [1, 0]


def test_cancelled_decisions_are_given_up() -> None:
    agent = hb.Agent(hb.UCB(), n_arms=2)
    arm = agent.select()
    agent.cancel(arm)
    assert agent.pending == {0: 0, 1: 0}
    assert counts(agent) == [[1, 0], [0, 0], [1, 0]]
    before = agent.dumps()
    with pytest.raises(ValueError, match="Agent: arm must have a pending decision to be cancelled, got 0 without one"):
        agent.cancel(0)
    with pytest.raises(ValueError, match="arm must be a whole number from 0 to 1, got 2"):
        agent.cancel(2)
    assert agent.dumps() == before


@pytest.mark.parametrize("policy", [hb.UCB(), hb.ThompsonGaussian(), hb.TsallisINF(), hb.MeanOfMedians(hb.UCB())])
def test_peeking_changes_nothing_and_tells_the_next_selection(policy: Any) -> None:
    agent = hb.Agent(policy, n_arms=3, seed=1)
    for t in range(30):
        before, among = agent.dumps(), [0, 2] if t % 2 else None
        arm = agent.peek(among)
        assert agent.dumps() == before
        assert agent.select(among) == arm
        if t % 3:
            agent.update(arm, float(t))


def test_a_pending_decision_narrows_the_bonus() -> None:
    agent = hb.Agent(hb.UCB(c=1.0), n_arms=2)
    agent.update_many([0, 1], [1.0, 1.1])
    assert agent.select() == 1
    bonus = math.sqrt(math.log(2) * 2)
    shown = agent.estimates["index"].tolist()
    assert shown == pytest.approx([1.0 + bonus, 1.1 + bonus * math.sqrt(0.5)])
    assert agent.select() == 0


def test_pending_decisions_are_shown_if_there_are_any() -> None:
    agent = hb.Agent(hb.UCB(), arms=["a", "b"])
    assert "pending" not in str(agent)
    agent.select()
    assert str(agent).splitlines()[1:] == [
        "arm  pulls  pending  estimate  index",
        "a        0        1         -     -1.798e+308",
    ] or "pending" in str(agent)
    assert agent.estimates["pending"].tolist() == [1, 0]


@pytest.mark.parametrize("policy", [hb.UCB(), hb.TsallisINF(), hb.KLUCB()])
def test_pending_decisions_are_saved_and_copied(policy: Any, tmp_path: Path) -> None:
    agent = hb.Agent(policy, arms=["a", "b", "c"], seed=3)
    for _ in range(9):
        agent.select()
    agent.save(tmp_path / "agent")
    for other in (hb.Agent.load(tmp_path / "agent"), copy.deepcopy(agent)):
        assert other.pending == agent.pending
        assert other.dumps() == agent.dumps()
        twin = copy.deepcopy(agent)
        for i in range(30):
            arm = twin.select()
            assert other.select() == arm
            late = twin.arms[i % 3]
            for one in (twin, other):
                one.update(late, float(i))
        assert other.dumps() == twin.dumps()


def test_pending_decisions_stay_with_their_arms() -> None:
    for policy in (hb.UCB(), hb.TsallisINF()):
        agent = hb.Agent(policy, arms=["a", "b", "c"], seed=0)
        while not all(agent.pending.values()):
            agent.select()
        before, chances = agent.pending, dict(agent._awaited.propensities)
        agent.remove_arm("b")
        agent.add_arm("d")
        assert agent.pending == {"a": before["a"], "c": before["c"], "d": 0}
        if chances:
            assert dict(agent._awaited.propensities) == {0: chances[0], 1: chances[2]}
        agent.cancel("c")
        assert agent.pending["c"] == before["c"] - 1


def test_a_late_reward_is_weighed_by_the_probability_of_its_decision() -> None:
    agent = hb.Agent(hb.TsallisINF(), n_arms=2, seed=0)
    drawn: dict[int, list[float]] = {0: [], 1: []}
    for t in range(40):
        arm = agent.select()
        drawn[arm].append(float(agent._state.draws.awaited[arm]))
        if t % 2:
            agent.update(1, -1.0, selected=False)  # moves the probabilities
    assert len(set(drawn[0])) > 3
    for expected in drawn[0]:
        losses = agent._state.draws.loss.copy()
        agent.update(0, -1.0)
        assert agent._state.draws.loss[0] - losses[0] == pytest.approx(1.0 / expected, rel=1e-9)


def test_probabilities_of_lost_rewards_do_not_pile_up() -> None:
    awaited, chance = PendingArms([0]), np.ones(1)
    for i in range(MOST_PROPENSITIES + 5):
        chance[0] = i
        awaited.add(0, chance)
    assert awaited.counts == [MOST_PROPENSITIES + 5]
    assert len(awaited.propensities[0][1]) == MOST_PROPENSITIES
    for _ in range(MOST_PROPENSITIES + 5):
        awaited.take(0, chance)
    assert awaited.counts == [0]
    assert chance[0] == MOST_PROPENSITIES + 4


@pytest.mark.parametrize("policy", [hb.UCB(), hb.ThompsonGaussian(), hb.TsallisINF()])
def test_repeating_assignments_leads_to_the_same_bits(policy: Any) -> None:
    first, again = (hb.Agent(policy, arms=["a", "b", "c"], seed=1) for _ in range(2))
    for i in range(60):
        key = bytes([i]) * 32
        given = "b" if i % 7 == 3 else None
        among = ["b", "c"] if i % 5 == 1 else None
        made = first.assign(given, among, key)
        assert given is None or made.arm == given
        assert again.assign(made.arm, among, key) == made
        for agent in (first, again):
            agent.update(made.arm, float(i % 4))
    assert first.dumps() == again.dumps()


def test_an_assigned_decision_is_pending_whatever_the_policy_would_pull() -> None:
    agent = hb.Agent(hb.UCB(), arms=["a", "b"])
    made = agent.assign("b")
    assert (made.arm, made.chosen, made.propensity) == ("b", "a", 0.0)
    assert agent.pending == {"a": 0, "b": 1}
    assert agent.assign().propensity == 1.0
    before = agent.dumps()
    with pytest.raises(ValueError, match="arm must be one of"):
        agent.assign("nobody")
    assert agent.dumps() == before


def test_draws_depend_on_the_key_alone() -> None:
    keys = [bytes([i]) * 32 for i in range(30)]
    draws = []
    for seed in range(2):
        agent = hb.Agent(hb.TsallisINF(), arms=["a", "b"], seed=seed)
        agent.select()
        draws.append([agent.assign(key=key).arm for key in keys])
    assert draws[0] == draws[1]
    assert set(draws[0]) == {"a", "b"}


def test_a_corrected_probability_weighs_the_reward() -> None:
    plain, corrected = (hb.Agent(hb.TsallisINF(), arms=["a", "b"], seed=0) for _ in range(2))
    for agent in (plain, corrected):
        assert agent.assign("a").propensity == 0.5
    corrected.correct_propensity("a", 1.0)
    for agent in (plain, corrected):
        agent.update("a", 0.0)  # a loss, which counts twice where the probability was one half
    assert plain.probabilities()["a"] < corrected.probabilities()["a"] < 0.5
    with pytest.raises(ValueError, match="propensity must be"):
        plain.correct_propensity("a", 1.5)


def test_a_reward_whose_chance_is_given_settles_that_very_decision() -> None:
    agent = hb.Agent(hb.TsallisINF(), arms=["a", "b"], seed=0)
    for chance in (0.5, 0.25, 0.125):
        agent.assign("a")
        agent.correct_propensity("a", chance)
    for given, left in ((0.25, [0.5, 0.125]), (0.9, [0.5, 0.125]), (None, [0.125])):
        before = agent._state.draws.loss[0]
        agent.update("a", -1.0, propensity=given)
        assert agent._state.draws.loss[0] - before == pytest.approx(1.0 / (given or 0.5), rel=1e-9)
        assert agent._awaited.propensities == [(0, left)]
    assert agent.pending["a"] == 0
    before_all = agent.dumps()
    with pytest.raises(ValueError, match="propensity must be"):
        agent.update("a", 1.0, propensity=1.5)
    with pytest.raises(ValueError, match="propensity must be"):
        agent.cancel("a", propensity=-0.5)
    assert agent.dumps() == before_all


def test_a_cancelled_decision_takes_its_own_chance_along() -> None:
    agent = hb.Agent(hb.TsallisINF(), arms=["a", "b"], seed=0)
    for chance in (0.5, 0.25):
        agent.assign("a")
        agent.correct_propensity("a", chance)
    agent.cancel("a", propensity=0.25)
    assert agent._awaited.propensities == [(0, [0.5])]


def test_chances_are_those_among_the_open_arms() -> None:
    agent = hb.Agent(hb.TsallisINF(), arms=["a", "b", "c"], seed=0)
    assert agent.assign("a", among=["a", "b"]).propensity == 0.5
    assert agent.assign("c", among=["a", "b"]).propensity == 0.0
