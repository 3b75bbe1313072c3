"""Agents shared between threads."""

import copy
import pickle
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from agents import POLICIES

import heavybandits as hb

THREADS = 8


def together(task: Callable[[int], None]) -> None:
    """Run a task in eight threads that begin at the same moment; the first error is raised."""
    errors: list[BaseException] = []
    gate = threading.Barrier(THREADS)

    def work(number: int) -> None:
        gate.wait()
        try:
            task(number)
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ucb", "sgd-ucb-smom", "rucb-catoni", "thompson-gaussian"])
def test_no_reward_is_lost(name: str) -> None:
    agent = hb.Agent(POLICIES[name], arms=["a", "b", "c", "d"], horizon=500, seed=0)
    learned = [Counter[str]() for _ in range(THREADS)]

    def play(number: int) -> None:
        for turn in range(400):
            arm = agent.select()
            agent.update(arm, float(turn % 7))
            learned[number][arm] += 1

    together(play)
    total = sum(learned, Counter[str]())
    assert agent.pulls == {arm: total[arm] for arm in "abcd"}
    assert agent._seen == sum(agent._state.pulls) == THREADS * 400


def test_a_choice_among_some_arms_is_kept_to() -> None:
    agent = hb.Agent(hb.UCB(), n_arms=10)
    wrong = []

    def play(number: int) -> None:
        mine = [number, 9]
        for turn in range(500):
            arm = agent.select(among=mine) if number < 6 else agent.select()
            if number < 6 and arm not in mine:
                wrong.append((number, arm))
            agent.update(arm, float(turn % 3))

    together(play)
    assert not wrong
    assert agent._state.tournament.open.all()
    assert sum(agent.pulls.values()) == THREADS * 500


@pytest.mark.slow
def test_arms_come_and_go_while_others_play(tmp_path: Path) -> None:
    agent = hb.Agent(hb.UCB(), arms=["base"])

    def play(number: int) -> None:
        for turn in range(60):
            if number == 0:
                agent.save(tmp_path / "agent")
                hb.Agent.load(tmp_path / "agent")
                str(agent), agent.estimates, copy.deepcopy(agent), pickle.dumps(agent)
            elif number == 1:
                agent.add_arm(f"new {turn}")
            elif number == 2 and turn % 2 and len(agent.arms) > 1:
                agent.remove_arm(agent.arms[-1])
            else:
                agent.update("base", 1.0)
                agent.select()

    together(play)
    assert agent.pulls["base"] >= 5 * 60
    state = agent._state
    assert len(agent.arms) == len(state.pulls) == len(state.tournament.line)
    assert state.pulls.tolist() == list(agent.pulls.values())


def test_bulk_updates_are_not_torn_apart() -> None:
    agent = hb.Agent(hb.UCB(), n_arms=2)
    seen = []

    def play(number: int) -> None:
        for _ in range(100):
            if number % 2:
                agent.update_many([0, 1] * 5, [1.0] * 10)
            else:
                seen.append(agent.pulls)

    together(play)
    assert all(pulls[0] == pulls[1] and pulls[0] % 5 == 0 for pulls in seen)
    assert agent.pulls == {0: 2000, 1: 2000}
