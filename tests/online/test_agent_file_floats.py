"""Files with a right checksum and absurd numbers: refused, or harmless to select, update and the table of arms."""

import math
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import arrays
from heavybandits.algorithms.policies.ucb_tuned import UCBTuned
from heavybandits.algorithms.registry import examples

WILD = (1e300, -1e300, math.nan, 1e-320, -1.0, math.inf, -math.inf, 0.0)
ROWS = np.random.default_rng(0).normal(size=(3, 2))


def an_agent(name: str, kind: str) -> tuple[Any, Callable[[Any, float], None]]:
    """Return an agent that has played a while, and a function that plays a round."""
    policy, rewards = hb.make(name, **examples()[name]), np.random.default_rng(1).standard_cauchy(30).tolist()
    agent: Any
    if kind == "arms":
        agent = hb.Agent(policy, 3, horizon=1000, seed=0)
    elif kind == "linear":
        agent = hb.LinearAgent(policy, n_features=2, horizon=100, seed=0)
    else:
        agent = hb.LipschitzAgent(policy, dim=1, horizon=100, seed=0)

    def play(agent: Any, reward: float) -> None:
        if kind == "linear":
            agent.update(ROWS[agent.select(ROWS)], reward)
        else:
            agent.update(agent.select(), reward)

    for reward in rewards:
        play(agent, reward)
    return agent, play


@contextmanager
def no_hang(what: str) -> Iterator[None]:
    def stop(*_: object) -> None:
        pytest.fail(f"{what} does not come to an end")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def harm_of(name: str, kind: str) -> list[str]:
    """Return what goes wrong with wild numbers in the state of a policy, one at a time."""
    agent, play = an_agent(name, kind)
    rewards, wrong = np.random.default_rng(2).standard_cauchy(12).tolist(), []
    for path, array in arrays(agent._state):
        flat = array.reshape(-1)
        for at in {0, flat.size - 1} if array.dtype.kind == "f" and flat.size else ():
            for value in WILD:
                before, flat[at] = flat[at], value
                saved = agent.dumps()
                flat[at] = before
                try:
                    other = type(agent).loads(saved)
                except ValueError:
                    continue
                case = f"{name}: {path}[{at}] = {value}"
                try:
                    with no_hang(case), warnings.catch_warnings():
                        warnings.simplefilter("ignore", RuntimeWarning)  # of NumPy, where compiled code is silent
                        str(other)
                        for reward in rewards:
                            play(other, reward)
                        other.estimates  # noqa: B018
                except (ArithmeticError, ValueError, TypeError, IndexError) as error:
                    wrong.append(f"{case}: {type(error).__name__} {error}")
    return wrong


@pytest.mark.parametrize("name", ["thompson-beta", "thompson-gaussian", "ucb-tuned"])
def test_wild_numbers_in_posteriors_and_squares(name: str) -> None:
    assert harm_of(name, "arms") == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adar-ucb", "auto", "klinf-ucb", "student-thompson", "thompson-normal-gamma", "exp3"])
def test_wild_numbers_of_arms(name: str) -> None:
    assert harm_of(name, "arms") == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["oful", "linear-auto-mean", "hvt-ucb"])
def test_wild_numbers_of_linear_policies(name: str) -> None:
    assert harm_of(name, "linear") == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hoo", "sdtm"])
def test_wild_numbers_of_lipschitz_policies(name: str) -> None:
    assert harm_of(name, "lipschitz") == []


def test_what_never_changes_must_be_what_it_was() -> None:
    """Only the last digits may differ, as machines do."""
    agent = hb.Agent(hb.make("auto"), 2, seed=0)
    slack = agent._state.sets.losses.slack
    slack[0] *= 1.0 + 1e-9
    hb.Agent.loads(agent.dumps())
    slack[0] = 1e9
    with pytest.raises(ValueError, match=r"losses: slack must be 0\.\d+, as it never changes, got 1000000000\.0"):
        hb.Agent.loads(agent.dumps())


def test_nan_where_nothing_is_missing() -> None:
    agent = hb.Agent(UCBTuned(), 2)
    agent._state.mean[1] = math.nan
    with pytest.raises(ValueError, match=r"state\.mean must not be NaN"):
        hb.Agent.loads(agent.dumps())
