"""The agent whose arms are points: decisions, late rewards, points of its own and of others, files and threads."""

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.registry import examples
from heavybandits.engine.lipschitz_game import LipschitzGame
from heavybandits.protocols import FloatArray

NAMES = sorted(hb.policies("lipschitz"))


def agent_of(name: str = "lipschitz-auto", dim: int = 1, horizon: int | None = 2000) -> hb.LipschitzAgent:
    return hb.LipschitzAgent(hb.make(name, **examples()[name]), dim, horizon=horizon, seed=1)


def pays(x: FloatArray, rng: np.random.Generator) -> float:
    return float(1.0 - np.abs(x - 0.3).max() + 0.2 * rng.standard_normal())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_an_agent_plays_as_the_simulator_does(name: str) -> None:
    instance = hb.LipschitzInstance("peak", hb.Gaussian(0.2), dim=2)
    policy = hb.make(name, **examples()[name])
    result = hb.simulate(instance, {name: policy}, horizon=300, replications=1, seed=3)
    (noise,) = (block[0] for _, block in LipschitzGame(instance).blocks(3, 0, 300))
    agent, regret = hb.LipschitzAgent(policy, 2, horizon=300), 0.0
    for xi in noise.tolist():
        x = agent.select()
        value = float(instance.values(x[None])[0])
        agent.update(x, value + xi)
        regret += instance.supremum - value
    assert regret == pytest.approx(float(result.regret[0, 0, -1]), rel=1e-9)
    assert (agent.seen, agent.pending) == (300, 0)


def test_late_rewards_find_their_box_though_it_was_cut() -> None:
    agent, rng = agent_of(), np.random.default_rng(1)
    late = [agent.select() for _ in range(3)]
    for _ in range(600):
        x = agent.select()
        agent.update(x, pays(x, rng))
    before = {float(x): int(n) for x, n in agent.estimates[["x0", "pulls"]].to_numpy()}
    assert len(before) > 9  # boxes were cut
    for x in late:
        agent.update(x, pays(x, rng))
    after = {float(x): int(n) for x, n in agent.estimates[["x0", "pulls"]].to_numpy()}
    for x in late:
        assert after[float(x[0])] == before.get(float(x[0]), 0) + sum(x == y for y in late)
    assert agent.pending == 0


def test_pending_decisions_are_spread() -> None:
    agent = agent_of()
    assert len({tuple(agent.select()) for _ in range(9)}) == 9
    assert agent.pending == 9


def test_cancelled_decisions_are_pending_no_more() -> None:
    agent = agent_of()
    x = agent.select()
    agent.cancel(x)
    assert agent.pending == 0
    with pytest.raises(ValueError, match="pending decision to be cancelled"):
        agent.cancel(x)


def test_rewards_nobody_asked_for_settle_nothing() -> None:
    agent = agent_of()
    x = agent.select()
    agent.update(x, 1.0, selected=False)
    assert agent.pending == 1
    agent.update(x, 1.0)
    assert agent.pending == 0


@pytest.mark.parametrize("name", NAMES)
def test_rewards_may_come_before_the_first_decision(name: str) -> None:
    agent = agent_of(name)
    with pytest.raises(ValueError, match="without one"):
        agent.cancel([0.3] * agent.dim)
    agent.update([0.3] * agent.dim, 1.0, selected=False)
    assert (agent.seen, agent.pending) == (1, 0)


def test_points_of_others_count_for_the_nearest_point() -> None:
    agent = agent_of()
    agent.update_many([0.07, 0.95, 0.5], [1.0, 2.0, 3.0], selected=False)
    assert sorted(agent.estimates["x0"].round(4)) == [0.0556, 0.5, 0.9444]


def test_peeking_changes_nothing() -> None:
    agent, rng = agent_of("zooming"), np.random.default_rng(0)
    for _ in range(50):
        before = agent.dumps()
        x = agent.peek()
        assert agent.dumps() == before
        np.testing.assert_array_equal(x, agent.select())
        agent.update(x, pays(x, rng))


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_agent_goes_on_as_if_nothing_had_happened(name: str, tmp_path: Path) -> None:
    agent, rng = agent_of(name, dim=2), np.random.default_rng(2)
    for _ in range(300):
        x = agent.select()
        agent.update(x, pays(x, rng))
    waiting = agent.select()
    agent.save(tmp_path / "agent")
    copies = [hb.LipschitzAgent.load(tmp_path / "agent"), hb.LipschitzAgent.loads(agent.dumps()),
              pickle.loads(pickle.dumps(agent))]  # fmt: skip
    for copy in copies:
        assert copy.pending == 1
        assert repr(copy) == repr(agent)
        assert copy.estimates.equals(agent.estimates)
    for one in (agent, *copies):
        one.update(waiting, 1.0)
    for _ in range(100):
        points = [one.select() for one in (agent, *copies)]
        reward = pays(points[0], rng)
        for one, point in zip((agent, *copies), points, strict=True):
            np.testing.assert_array_equal(point, points[0])
            one.update(point, reward)
    assert len({one.dumps() for one in (agent, *copies)}) == 1


@pytest.mark.parametrize(
    ("place", "number", "message"),
    [
        ("size", 5000, "size must be from"),
        ("centre", 2, "centre must be from 0 to 1"),
        ("turn", 400, "walk"),
        ("pulls", 1, "belong to the 9 cells"),
    ],
)
def test_files_with_numbers_out_of_range_are_refused(place: str, number: int, message: str) -> None:
    agent: Any = agent_of()
    cells, tournament = agent._state.cells, agent._state.arms.sets.tournament
    places = {"size": cells.size, "centre": cells.centre[0], "turn": tournament.turn["walk"]}
    if place == "pulls":
        agent._pulls[99] = number
    else:
        places[place][:] = number
    with pytest.raises(ValueError, match=message):
        hb.LipschitzAgent.loads(agent.dumps())


def test_agents_of_other_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="kind"):
        hb.LipschitzAgent.loads(hb.Agent(hb.UCB(), 2).dumps())
    with pytest.raises(TypeError, match="lipschitz"):
        hb.LipschitzAgent(hb.UCB(), 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("x", [1.5, -0.1, [0.5, 0.5], float("nan"), "middle", None, [[0.5]]])
def test_what_is_no_point_is_refused(x: object) -> None:
    agent = agent_of()
    before = agent.dumps()
    with pytest.raises(ValueError, match="x must have 1 number from 0 to 1"):
        agent.update(x, 1.0)
    with pytest.raises(ValueError, match="x must have 1 number from 0 to 1"):
        agent.update_many([0.5, x], [1.0, 1.0])
    assert agent.dumps() == before


def test_what_is_no_reward_is_refused() -> None:
    agent = agent_of()
    before = agent.dumps()
    with pytest.raises(ValueError, match="reward must not be NaN"):
        agent.update_many([0.5, 0.5], [1.0, float("nan")])
    with pytest.raises(ValueError, match="a reward per point, got 1 for 2"):
        agent.update_many([0.5, 0.5], [1.0])
    with pytest.raises(TypeError, match="reward must be a number"):
        agent.update(0.5, "much")  # type: ignore[arg-type]
    assert agent.dumps() == before


@pytest.mark.parametrize("name", NAMES)
def test_infinite_rewards_leave_numbers(name: str) -> None:
    agent = agent_of(name, horizon=500)
    for t in range(400):
        agent.update(agent.select(), (np.inf, -np.inf, 1e300, 0.5)[t % 4])
    assert not agent.estimates["high"].isna().any()


def test_it_shows_what_it_knows() -> None:
    agent = agent_of()
    assert str(agent).splitlines()[0] == "lipschitz-auto, 0 rewards"
    rng = np.random.default_rng(1)
    for _ in range(1500):
        x = agent.select()
        agent.update(x, pays(x, rng))
    table = agent.estimates
    assert list(table) == ["x0", "pulls", "pending", "estimate", "low", "high"]
    assert table["pulls"].is_monotonic_decreasing
    assert int(table["pulls"].sum()) == 1500
    assert abs(float(table["x0"][0]) - 0.3) < 0.1
    assert (table["low"] <= table["estimate"]).all()
    assert "<table" in agent._repr_html_()
    assert repr(agent) == "LipschitzAgent(LipschitzAuto(c=4.0), dim=1, 1500 rewards)"


def test_threads_may_share_an_agent() -> None:
    agent = agent_of()

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            x = agent.select()
            agent.update(x, pays(x, rng))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (agent.seen, agent.pending) == (800, 0)
    assert int(agent.estimates["pulls"].sum()) == 800
