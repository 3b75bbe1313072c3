"""What an agent shows of itself: a table of estimates, probabilities, and itself as bytes."""

import math
from pathlib import Path

import numpy as np
import pytest
from agents import POLICIES, play, snapshot

import heavybandits as hb
from heavybandits.algorithms.registry import examples

DRAWING = ["ada-tinf", "exp3", "htinf", "inf-clip", "median-inf", "opt-tinf", "tsallis-inf", "uni-inf"]


def test_estimates() -> None:
    agent = hb.Agent(hb.UCB(c=1.0), arms=["red", 2, "new"])
    agent.update_many(["red", "red", 2], [1.0, 3.0, 5.0])
    table = agent.estimates
    assert list(table) == ["arm", "pulls", "pending", "estimate", "index", "share"]
    assert table["arm"].tolist() == ["red", 2, "new"]
    assert table["pulls"].tolist() == [2, 1, 0]
    assert table["share"].tolist() == pytest.approx([2 / 3, 1 / 3, 0.0])
    assert table["estimate"].tolist()[:2] == [2.0, 5.0]
    assert math.isnan(table["estimate"][2])
    assert table["index"].tolist() == pytest.approx(
        [2.0 + math.sqrt(math.log(3)), 5.0 + math.sqrt(2 * math.log(3)), math.inf]
    )


def test_estimates_before_any_reward_and_without_an_index() -> None:
    table = hb.Agent(hb.ThompsonGaussian(), n_arms=2, seed=0).estimates
    assert table["share"].tolist() == [0.0, 0.0]
    assert table[["estimate", "index"]].isna().all().all()
    assert hb.Agent(hb.UCB(), arms=[(1, 2), (3, 4)]).estimates["arm"].tolist() == [(1, 2), (3, 4)]


@pytest.mark.parametrize("name", ["auto", "auto-mean", "ucb"])
def test_arms_that_wait_for_their_first_rewards_have_an_infinite_index(name: str) -> None:
    agent = hb.Agent(hb.make(name), n_arms=2)
    for _ in range(3):
        agent.select()
    assert agent.estimates["index"].tolist() == [math.inf, math.inf]


def test_estimates_leave_the_agent_as_it_is() -> None:
    agent = hb.Agent(POLICIES["rucb-catoni"], n_arms=3, horizon=500)
    play(agent, np.random.default_rng(0), 50)
    before = snapshot(agent)
    agent.estimates  # noqa: B018
    assert snapshot(agent) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWING)
def test_probabilities_are_those_of_the_next_draw(name: str) -> None:
    agent = hb.Agent(hb.make(name, **examples()[name]), arms=["a", "b", "c"], horizon=1000, seed=3)
    play(agent, np.random.default_rng(2), 60)
    before = snapshot(agent)
    chances = agent.probabilities()
    assert snapshot(agent) == before
    assert sum(chances.values()) == pytest.approx(1.0)
    assert min(chances.values()) >= 0.0
    agent.select()
    assert list(chances.values()) == agent._state.draws.drawn.tolist()


def test_an_agent_as_bytes(tmp_path: Path) -> None:
    agent = hb.Agent(POLICIES["thompson-gaussian"], n_arms=3, seed=1)
    play(agent, np.random.default_rng(1), 40)
    contents = agent.dumps()
    agent.save(tmp_path / "agent")
    assert (tmp_path / "agent").read_bytes() == contents
    again = hb.Agent.loads(contents)
    assert snapshot(again) == snapshot(agent)
    assert play(again, np.random.default_rng(2), 20) == play(agent, np.random.default_rng(2), 20)


def test_bytes_that_are_no_agent() -> None:
    with pytest.raises(ValueError, match="contents: this is not a saved agent"):
        hb.Agent.loads(b"")
    with pytest.raises(ValueError, match="contents: the file is damaged"):
        hb.Agent.loads(hb.Agent(hb.UCB(), n_arms=2).dumps()[:-1])
    with pytest.raises(TypeError, match="contents must be bytes, got 'x'"):
        hb.Agent.loads("x")  # type: ignore[arg-type]
