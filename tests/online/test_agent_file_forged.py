"""Files with a right checksum and numbers that no policy reaches: where they are not refused, they do no harm."""

from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import arrays
from heavybandits.algorithms.registry import examples

ROWS = [[1.0, 0.0], [0.0, 1.0], [0.5, -0.5]]


def agent_of(name: str) -> Any:
    policy: Any = hb.make(name, **examples()[name])
    if name in hb.policies("linear"):
        return hb.LinearAgent(policy, 2, horizon=300, seed=1)
    if name in hb.policies("lipschitz"):
        return hb.LipschitzAgent(policy, 1, horizon=300, seed=1)
    return hb.Agent(policy, 3, horizon=300, seed=1)


def play(agent: Any, rounds: int) -> None:
    for reward in np.random.default_rng(rounds).standard_t(1.5, rounds).tolist():
        if isinstance(agent, hb.LinearAgent):
            agent.update(ROWS[agent.select(ROWS)], reward)
        else:
            agent.update(agent.select(), reward)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "path", "number"),
    [
        ("ada-tinf", "state.scale", 0.0),
        ("auto-mean", "state.pulls", 0),
        ("lin-ts", "state.lower", 0.0),
        ("ada-oful", "state.huber.fit.theta", 1e308),
        ("adtm", "state.log_term", 0.0),
    ],
)
def test_an_agent_that_cannot_go_on_says_why(name: str, path: str, number: float) -> None:
    agent = agent_of(name)
    play(agent, 27)
    dict(arrays(agent._state))[path].flat[0] = number
    loaded = type(agent).loads(agent.dumps())
    loaded.compile()  # plain Python may go on with infinite numbers
    with pytest.raises(ValueError, match=f"{type(agent).__name__}: cannot go on: the numbers that were loaded"):
        play(loaded, 12)


def test_a_division_by_zero_in_code_that_was_never_loaded_is_shown_as_it_is() -> None:
    agent = hb.Agent(hb.UCB(), 2)

    def broken(*arguments: Any) -> int:
        return 1 // 0

    assert agent._guarded(broken) is broken
    with pytest.raises(ValueError, match="cannot go on"):
        hb.Agent.loads(agent.dumps())._guarded(broken)()


def test_arms_of_a_file_have_names_that_it_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heavybandits.online.file.NAME_TYPES", (str, type(None)))
    contents = hb.Agent(hb.UCB(), arms=["red", None]).dumps()
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"arms must be named by text or numbers, got \['red', None\]"):
        hb.Agent.loads(contents)


def test_arms_come_and_go_in_silence() -> None:
    agent = agent_of("auto-mean")
    play(agent, 27)
    agent._state.moments.extremes.values.flat[0] = np.inf
    loaded = hb.Agent.loads(agent.dumps())
    loaded.add_arm()
    loaded.remove_arm(1)
    assert loaded.arms == [0, 2, 3]
