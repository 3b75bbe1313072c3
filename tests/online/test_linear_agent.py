"""Agents with features: rows of all kinds, pending decisions, what is refused, files and threads."""

import copy
import pickle
import threading
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import Gamble, Ridge

import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import arrays
from heavybandits.algorithms.registry import examples
from heavybandits.online import file, pending
from heavybandits.protocols import is_randomised

ROWS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])


def same(one: hb.LinearAgent, two: hb.LinearAgent) -> bool:
    """Return whether two agents agree in everything that decisions depend on."""
    states = zip(arrays(one._state), arrays(two._state), strict=True)
    equal = all(path == other and np.array_equal(a, b, equal_nan=True) for (path, a), (other, b) in states)
    return equal and (one.seen, one._awaited.rows) == (two.seen, two._awaited.rows)


def trained(policy: Any = None, rounds: int = 20, seed: int = 0) -> hb.LinearAgent:
    agent, rng = hb.LinearAgent(policy or Ridge(), n_features=2, seed=seed), np.random.default_rng(seed)
    for _ in range(rounds):
        features = rng.normal(size=(4, 2))
        row = agent.select(features)
        agent.update(features[row], features[row, 0] + rng.normal())
    return agent


@pytest.mark.parametrize("policy", [Ridge(), Gamble()])
def test_an_agent_plays_as_the_simulator(policy: Any) -> None:
    """The same rows, rewards and generator give the same decisions as the policy alone."""
    agent, rng = hb.LinearAgent(policy, n_features=2, seed=3), np.random.default_rng(5)
    state, own = policy.init(2, None), np.random.default_rng(3)
    for t in range(60):
        features, reward = rng.normal(size=(1 + t % 5, 2)), rng.standard_cauchy()
        row = policy.select(state, features, t, own)
        policy.update(state, features[row], reward)
        assert agent.select(features) == row
        agent.update(features[row], reward)
    for (path, one), (_, two) in zip(arrays(agent._state), arrays(state), strict=True):
        if path.startswith("state.design."):  # the second inverse has seen what was pending
            continue
        assert np.array_equal(one, two), path
    assert np.array_equal(agent._state.design.inverse, state.design.inverse)


def test_rows_may_have_names() -> None:
    agent = trained()
    row = agent.peek(ROWS)
    named = dict(zip("abc", ROWS.tolist(), strict=True))
    frame = pd.DataFrame(ROWS, index=list("xyz"), columns=["age", "size"])
    assert agent.peek(named) == "abc"[row]
    assert agent.peek(frame) == "xyz"[row]
    assert agent.peek(ROWS.tolist()) == row
    assert agent.peek(ROWS.astype(np.float32).T.copy().T) == row  # of another type and order in memory


def test_decisions_are_spread_while_rewards_are_out() -> None:
    agent = hb.LinearAgent(Ridge(), n_features=3)
    assert sorted(agent.select(np.eye(3)) for _ in range(3)) == [0, 1, 2]
    assert agent.pending == 3


@settings(max_examples=25)
@given(st.lists(st.integers(0, 2), max_size=12), st.randoms(use_true_random=False))
def test_pending_decisions_leave_no_trace(asked: list[int], random: Any) -> None:
    """Once all decisions are settled or given up, the agent equals one that was only told the rewards."""
    agent, told = trained(rounds=3), trained(rounds=3)
    waiting = [ROWS[agent.select(ROWS)] for _ in asked]
    random.shuffle(waiting)
    for place, x in enumerate(waiting):
        if asked[place] == 0:
            agent.cancel(x)
        else:
            agent.update(x, float(asked[place]))
            told.update(x, float(asked[place]))
    assert agent.pending == 0
    assert np.array_equal(agent._state.design.inverse, told._state.design.inverse)
    assert agent.peek(ROWS) == told.peek(ROWS)
    pd.testing.assert_frame_equal(agent.estimates(ROWS), told.estimates(ROWS))


def test_rewards_that_nobody_asked_for_settle_nothing() -> None:
    agent = trained()
    agent.select(ROWS[:1])
    agent.update(ROWS[1], 1.0)  # another row
    agent.update(ROWS[0], 1.0, selected=False)
    assert agent.pending == 1
    agent.update(ROWS[0], 1.0)
    assert agent.pending == 0
    agent.update_many(ROWS, [1.0, 2.0, 3.0])
    assert agent.seen == 26


def test_equal_rows_settle_each_other() -> None:
    agent = hb.LinearAgent(Ridge(), n_features=2)
    for _ in range(3):
        agent.select([[0.0, 1.0]])
    agent.update([-0.0, 1], 2.0)
    agent.cancel(np.array([0, 1]))
    assert agent.pending == 1


def test_the_oldest_of_too_many_decisions_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "MOST_PENDING_ROWS", 4)
    agent = hb.LinearAgent(Ridge(), n_features=1)
    for x in range(1, 8):
        agent.select([[float(x)]])
    assert agent.pending == 4
    assert agent._state.design.pending[0] == 4
    with pytest.raises(ValueError, match=r"got \[3.0\] without one"):
        agent.cancel([3.0])
    agent.cancel([4.0])


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        ([[1.0, np.nan]], ValueError, "features must be between -1e\\+100 and 1e\\+100, got nan in row 0, feature 1"),
        ({"red": [1, 2], "blue": [3, np.inf]}, ValueError, "got inf in row 'blue', feature 1"),
        (pd.DataFrame({"age": [1.0, np.nan], "size": 2.0}, index=["x", "y"]), ValueError,
         "got nan in row 'y', feature 'age'"),
        (pd.DataFrame(np.eye(2), index=["x", "x"]), ValueError, "an index without repeated names, got \\['x', 'x'\\]"),
        (pd.Series([1.0, 2.0]), ValueError, r"at least one row of 2 numbers, got an array of shape \(2,\)"),
        ([1.0, 2.0], ValueError, r"at least one row of 2 numbers, got an array of shape \(2,\)"),
        ([[1.0, 2.0, 3.0]], ValueError, r"at least one row of 2 numbers, got an array of shape \(1, 3\)"),
        (np.zeros((0, 2)), ValueError, r"at least one row of 2 numbers, got an array of shape \(0, 2\)"),
        ({}, ValueError, r"at least one row of 2 numbers, got an array of shape \(0,\)"),
        ({"red": [1], "blue": [1, 2]}, TypeError, "features must be rows of 2 numbers, got"),
        ("rows", TypeError, "features must be rows of 2 numbers, got 'rows'"),
        (None, ValueError, "at least one row of 2 numbers"),
    ],
)  # fmt: skip
def test_features_that_are_wrong_change_nothing(features: Any, error: type[Exception], message: str) -> None:
    agent, before = trained(), trained()
    for method in (agent.select, agent.peek, agent.estimates):
        with pytest.raises(error, match=f"LinearAgent: .*{message}"):
            method(features)
    assert same(agent, before)


@pytest.mark.parametrize(
    ("x", "reward", "error", "message"),
    [
        ([1.0, np.inf], 1.0, ValueError, "x must be between -1e\\+100 and 1e\\+100, got inf in feature 1"),
        ([1.0, 1e101], 1.0, ValueError, "x must be between -1e\\+100 and 1e\\+100, got 1e\\+101 in feature 1"),
        ([1.0], 1.0, ValueError, r"x must be a row of 2 numbers, got an array of shape \(1,\)"),
        ("red", 1.0, TypeError, "x must be a row of 2 numbers, got 'red'"),
        ([1.0, 2.0], float("nan"), ValueError, "reward must not be NaN"),
        ([1.0, 2.0], "much", TypeError, "reward must be a number, got 'much'"),
    ],
)
def test_updates_that_are_wrong_change_nothing(x: Any, reward: Any, error: type[Exception], message: str) -> None:
    agent, before = trained(), trained()
    with pytest.raises(error, match=f"LinearAgent: {message}"):
        agent.update(x, reward)
    with pytest.raises(error, match=f"LinearAgent: {message}"):
        agent.update_many([[1.0, 2.0], x], [1.0, reward])
    with pytest.raises(ValueError, match="there must be a reward per row, got 1 for 2 rows"):
        agent.update_many([[1.0, 2.0], [3.0, 4.0]], [1.0])
    assert same(agent, before)


def test_arguments_that_are_wrong_are_named() -> None:
    with pytest.raises(TypeError, match="LinearAgent: policy must be of kind 'linear' here, got one of kind 'a"):
        hb.LinearAgent(hb.UCB(), n_features=2)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"LinearAgent: policy must be a policy such as hb\.make\('linear-auto'\)"):
        hb.LinearAgent("lin-ucb", n_features=2)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="LinearAgent: n_features must be a positive whole number, got 0"):
        hb.LinearAgent(Ridge(), n_features=0)
    with pytest.raises(TypeError, match=r"Agent: policy must be of kind 'arms' .* use hb\.LinearAgent for it"):
        hb.Agent(Ridge(), n_arms=2)  # type: ignore[arg-type]


def test_estimates_and_print() -> None:
    agent = trained(rounds=200)
    table = agent.estimates({"red": [1.0, 0.0], "green": [0.0, 1.0]})
    assert table["arm"].tolist() == ["red", "green"]
    assert table["estimate"].tolist() == pytest.approx([1.0, 0.0], abs=0.35)
    assert ((table["low"] < table["estimate"]) & (table["estimate"] < table["high"])).all()
    assert np.allclose(table["high"] - table["estimate"], table["estimate"] - table["low"])
    agent.select(ROWS)
    lines = str(agent).splitlines()
    assert lines[:2] == ["Ridge, 200 rewards, 1 pending", "feature  effect"]
    assert len(lines) == 4
    assert "<th" in agent._repr_html_()
    assert repr(agent) == "LinearAgent(Ridge(radius=1.0), 2 features, 200 rewards)"
    wide = str(hb.LinearAgent(Ridge(), n_features=25)).splitlines()
    assert wide[0].endswith("0 rewards; the first 20 of 25 features")
    assert len(wide) == 22
    assert agent.estimates(ROWS)["arm"].tolist() == [0, 1, 2]
    assert hb.LinearAgent(Gamble(), n_features=2).estimates(ROWS).drop(columns="arm").isna().all(axis=None)


@pytest.mark.parametrize("policy", [Ridge(2.0), Gamble()])
def test_saved_agents_go_on_as_before(policy: Any, tmp_path: Path) -> None:
    agent = trained(policy)
    agent.select(ROWS)
    agent.save(tmp_path / "agent")
    for other in (
        hb.LinearAgent.load(tmp_path / "agent", policy=policy),
        hb.LinearAgent.loads(agent.dumps(), policy=policy),
        pickle.loads(pickle.dumps(agent)),
        copy.deepcopy(agent),
    ):
        assert same(agent, other)
        mine = copy.deepcopy(agent)
        for _ in range(5):
            assert mine.select(ROWS) == other.select(ROWS)
        mine.update(ROWS[0], 1.0)
        other.update(ROWS[0], 1.0)
        assert same(mine, other)


def test_copies_keep_a_horizon_that_the_policy_must_know() -> None:
    agent = hb.LinearAgent(hb.make("tofu", **examples()["tofu"]), n_features=2, horizon=50)
    for other in (copy.copy(agent), copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert other.horizon == 50
        assert same(agent, other)


def test_files_of_other_agents_are_refused(tmp_path: Path) -> None:
    trained(hb.make("lin-ucb")).save(tmp_path / "linear")
    hb.Agent(hb.UCB(), n_arms=2).save(tmp_path / "arms")
    with pytest.raises(ValueError, match="its policy is of kind 'linear', this agent is for 'arms'"):
        hb.Agent.load(tmp_path / "linear")
    with pytest.raises(ValueError, match="its policy is of kind 'arms', this agent is for 'linear'"):
        hb.LinearAgent.load(tmp_path / "arms")
    assert hb.LinearAgent.load(tmp_path / "linear").seen == 20


def edited(agent: hb.LinearAgent, **changes: Any) -> bytes:
    """Return the bytes of an agent with other values in its header."""
    return file.encoded({**agent._parts(), **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_features": 3}, r"must be float64 of shape \(3, 3\), got float64 of shape \(2, 2\)"),
        ({"n_features": 0}, "n_features must be a positive whole number, got 0"),
        ({"seen": -1}, "pulls must be a non-negative whole number, got -1"),
        ({"pending": [[1.0]]}, "pending rows must have 2 numbers between -1e\\+100 and 1e\\+100 each"),
        ({"pending": [[1.0, float("nan")]]}, "pending rows must have 2 numbers between -1e\\+100 and 1e\\+100 each"),
        ({"horizon": 1.5}, "horizon"),
    ],
)
def test_files_with_other_contents_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"contents: cannot use the agent saved here: .*{message}"):
        hb.LinearAgent.loads(edited(trained(), **changes), policy=Ridge())


def test_threads_may_share_an_agent() -> None:
    agent, errors = hb.LinearAgent(Ridge(), n_features=2, seed=0), []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(100):
                features = rng.normal(size=(3, 2))
                x = features[agent.select(features)]
                agent.update(x, x[0] + rng.normal())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert (agent.seen, agent.pending, agent._state.seen[0]) == (400, 0, 400)


@pytest.mark.slow
@pytest.mark.parametrize("name", hb.policies("linear"))
def test_every_policy_can_be_asked_told_saved_and_loaded(name: str) -> None:
    """This holds for few and many features, past the horizon, on rows of rank one, and with infinite rewards."""
    rng = np.random.default_rng(1)
    for d in (2, 8):
        agent = hb.LinearAgent(hb.make(name, **examples()[name]), n_features=d, horizon=10, seed=0)
        for t in range(25):
            features = rng.normal(size=(1 + t % 4, 1)) * np.ones(d) if t % 2 else rng.normal(size=(3, d))
            row = agent.select(features)
            if t == 7:
                agent.cancel(features[row])
            else:
                agent.update(features[row], np.inf if t == 5 else rng.normal())
        again = hb.LinearAgent.loads(agent.dumps())
        features = rng.normal(size=(6, d))
        assert [agent.select(features) for _ in range(4)] == [again.select(features) for _ in range(4)]
        assert same(agent, again)
        if d == 2 and hasattr(agent.policy, "value"):
            assert agent.estimates(features)["estimate"].notna().all()


EXTREME = {  # how large each feature is, and how large each row
    "mixed": ((1e-30, 1.0, 1e30, 1.0), (1.0,)),
    "huge": ((1e100,), (1.0,)),
    "huge beside tiny": ((1e100, 1e-100), (1.0,)),
    "one huge row": ((1.0,), (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1e100)),
    "rows of any size": ((1.0,), (1e-90, 1e60, 1.0, 1e90, 1e-30)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", hb.policies("linear"))
def test_no_finite_features_lead_to_nan(name: str) -> None:
    """This holds while decisions are pending, whatever the rewards, and if rows span less than the features."""
    policies = [hb.make(name, **examples()[name])]
    if "intercept" in policies[0]._fields:
        policies.append(policies[0]._replace(intercept=True))
    fresh = {path for path, array in arrays(policies[0].init(2, 60)) if np.isnan(array).any()}
    rng = np.random.default_rng(2)
    for policy, (sizes, lengths), d in product(policies, EXTREME.values(), (2, 12)):
        agent, waiting = hb.LinearAgent(policy, n_features=d, horizon=60, seed=0), list[Any]()
        same_rows = rng.normal(size=(2, d)) * np.resize(sizes, d)
        for t in range(60):
            new_rows = rng.normal(size=(1 + t % 3, d)) * np.resize(sizes, d) * lengths[t % len(lengths)]
            features = np.clip(new_rows if t % 20 < 10 else same_rows, -1e100, 1e100)
            waiting.append(features[agent.select(features)])
            if t % 4 == 3:
                rng.shuffle(waiting)
                agent.cancel(waiting.pop())
                for x in (waiting.pop(), waiting.pop()):
                    agent.update(x, 1e308 if t < 20 else rng.choice([1.0, -1e308, np.inf, rng.normal()]))
            shown = agent.estimates(features)
            assert not shown["high"].isna().any()
            assert not (shown["estimate"].isna() & (shown["high"] < np.inf)).any()
        assert fresh >= {path for path, array in arrays(agent._state) if np.isnan(array).any()}
        assert same(agent, hb.LinearAgent.loads(agent.dumps()))


@pytest.mark.parametrize("policy", [Ridge(), hb.make("lin-ts")])
def test_repeating_assignments_leads_to_the_same_bits(policy: Any) -> None:
    first, again = (hb.LinearAgent(policy, n_features=2, seed=seed) for seed in range(2))
    if is_randomised(policy):
        again = copy.deepcopy(first)
    rng = np.random.default_rng(0)
    for i in range(40):
        rows = dict(zip("abc", rng.normal(size=(3, 2)), strict=True))
        given, key = "b" if i % 7 == 3 else None, bytes([i]) * 32
        made = first.assign(rows, given, key)
        assert given is None or made.arm == given
        assert is_randomised(policy) or made.propensity == float(made.arm == made.chosen)
        assert again.assign(rows, made.arm, key) == made
        if i % 3:
            for agent in (first, again):
                agent.update(rows[made.arm], float(i % 4))
    assert first.dumps() == again.dumps()


def test_an_assigned_row_is_pending_whatever_the_policy_would_play() -> None:
    agent = hb.LinearAgent(Ridge(), n_features=2)
    made = agent.assign(ROWS, 0)
    assert made.arm == 0
    agent.cancel(ROWS[0])
    assert agent.pending == 0
    before = agent.dumps()
    for features, row, word in ((ROWS, 3, "row must be one of the features"), (np.full((3, 2), np.inf), 0, "got inf")):
        with pytest.raises(ValueError, match=word):
            agent.assign(features, row)
    assert agent.dumps() == before


@pytest.mark.parametrize("name", ["lin-ucb", "linear-auto"])
def test_looking_changes_nothing(name: str) -> None:
    agent, many = hb.LinearAgent(hb.make(name), n_features=2), np.tile(ROWS, (30, 1))
    agent.update([1.0, 2.0], 1.0)
    before = agent.dumps()
    agent.estimates(many)
    assert 0 <= agent.peek(many) < len(many)
    print(agent)
    assert agent.dumps() == before


def test_more_rows_than_ever_change_nothing_if_they_are_refused() -> None:
    agent = trained(hb.make("linear-auto"))
    before = agent.dumps()
    with pytest.raises(ValueError, match="got nan in row 0, feature 0"):
        agent.select(np.full((100, 2), np.nan))
    assert agent.dumps() == before


def test_logged_rows_may_come_as_a_table() -> None:
    agent, other = trained(), trained()
    agent.update_many(pd.DataFrame(ROWS, columns=["age", "size"]), [1.0, 2.0, 3.0])
    other.update_many(ROWS, [1.0, 2.0, 3.0])
    assert same(agent, other)


@pytest.mark.parametrize("drift", [False, True])
@pytest.mark.parametrize("name", ["linear-auto", "linear-auto-mean", "lin-ucb"])
def test_two_rows_take_turns_until_a_reward_comes(name: str, drift: bool) -> None:
    agent = hb.LinearAgent(hb.make(name), n_features=2, drift=drift)
    chosen = [agent.select(np.eye(2)) for _ in range(20)]
    assert chosen.count(0) == chosen.count(1) == 10
