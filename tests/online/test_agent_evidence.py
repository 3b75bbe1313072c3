"""Agents that keep evidence about their arms."""

import pickle

import numpy as np
import pytest

import heavybandits as hb


def played(n: int, **more: object) -> hb.Agent:
    """Return an agent that has decided n times among arms that pay 0 or 1."""
    rng = np.random.default_rng(0)
    agent = hb.Agent(hb.make("auto-mean"), arms=["b", 2, "a"], seed=0, evidence=True, **more)  # type: ignore[arg-type]
    for _ in range(n):
        for arm, chance in (("b", 0.2), (2, 0.8), ("a", 0.3)):
            agent.update(arm, float(rng.random() < chance), selected=False)
    return agent


def test_the_winner_has_its_own_name_and_the_file_keeps_the_evidence() -> None:
    agent = played(300)
    assert agent.winner == 2
    found = agent.evidence("b")
    assert found.sentences[0].startswith("2 is the winner: it earns more than every other arm, and at least ")
    for again in (hb.Agent.loads(agent.dumps()), pickle.loads(pickle.dumps(agent))):
        assert str(again.evidence("b")) == str(found)
        assert again.dumps() == agent.dumps()


def test_evidence_goes_on_where_a_file_left_it() -> None:
    whole, half = played(200), hb.Agent.loads(played(100).dumps())
    rng = np.random.default_rng(0)
    draws = [[float(rng.random() < chance) for chance in (0.2, 0.8, 0.3)] for _ in range(200)]
    for rewards in draws[100:]:
        for arm, reward in zip(("b", 2, "a"), rewards, strict=True):
            half.update(arm, reward, selected=False)
    assert half.dumps() == whole.dumps()


def test_decisions_do_not_depend_on_keeping_evidence() -> None:
    plain, kept = (hb.Agent(hb.make("tsallis-inf"), n_arms=3, seed=1, evidence=evidence) for evidence in (False, True))
    rng = np.random.default_rng(2)
    for _ in range(50):
        arm, reward = plain.select(), float(rng.random())
        assert kept.select() == arm
        plain.update(arm, reward)
        kept.update(arm, reward)
    assert "evidence" not in plain._parts()


def test_arms_come_and_go() -> None:
    agent = played(200)
    agent.remove_arm(2)
    assert agent.winner in (None, "a")
    agent.add_arm("new")
    assert dict(agent.evidence().table[["arm", "n"]].to_numpy().tolist())["new"] == 0


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="evidence must be True when the agent is made"):
        hb.Agent(hb.UCB(), n_arms=2).evidence()
    with pytest.raises(ValueError, match="evidence must be True, False, 'mean' or 'location', got 'max'"):
        hb.Agent(hb.UCB(), n_arms=2, evidence="max")
    with pytest.raises(ValueError, match="different names as text"):
        hb.Agent(hb.UCB(), arms=[1, "1"], evidence=True)
    agent = hb.Agent(hb.UCB(), arms=[1], evidence=True)
    before = agent.dumps()
    with pytest.raises(ValueError, match="different names as text"):
        agent.add_arm("1")
    with pytest.raises(ValueError, match="delta"):
        agent.evidence(delta=1.0)
    assert agent.dumps() == before


def test_infinite_rewards_are_evidence_too() -> None:
    agent = hb.Agent(hb.UCB(), arms=["a", "b"], evidence="location")
    agent.update_many(["a", "b"] * 300, [float("inf"), 0.0] * 150 + [1.0, -1e308] * 150)
    assert agent.evidence().leader == "a"
