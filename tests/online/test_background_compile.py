"""Code for many arms: compiled in the background, while the agent goes on with the code for few."""

import copy
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.parts.choice.kinetic_tree import SCAN
from heavybandits.algorithms.parts.choice.pending import find_pending
from heavybandits.algorithms.parts.choice.tournament import Tournament, with_trees
from heavybandits.algorithms.parts.state.tree import reseed, streams
from heavybandits.algorithms.registry import examples
from heavybandits.jit import backend, stopping
from heavybandits.online import agent as agents
from heavybandits.online import background_compile
from heavybandits.online.background_compile import Code, compiled_already_for, compiled_for
from heavybandits.online.pending import decide, learn
from heavybandits.protocols import is_named_tuple


def tournaments(state: Any) -> Iterator[Tournament]:
    if isinstance(state, Tournament):
        yield state
    elif is_named_tuple(state):
        for field in state:
            yield from tournaments(field)


def scans(agent: hb.Agent) -> bool:
    """Return whether the agent uses the code for few arms."""
    return all(tournament.tree is None for tournament in tournaments(agent._state))


POLICIES = {name: hb.make(name, **examples()[name]) for name in hb.policies()}
TOURNAMENTS = [name for name, policy in POLICIES.items() if any(tournaments(policy.init(2, 1000)))]


class Compiler:
    """A compiler for many arms that is done when the test says so."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.begun: list[int] = []  # numbers of arms for which it was asked to compile

    def compile_ahead(self, policy: Any, state: Any, rng: Any) -> threading.Event:
        self.begun.append(len(next(tournaments(state)).line))
        return self.done

    def compiled_already_for(self, policy: Any, state: Any, rng: Any) -> Code | None:
        many = any(tournament.tree is not None for tournament in tournaments(state))
        if not many:
            return compiled_already_for(policy, state, rng)
        return compiled_for(policy, state, rng) if self.done.is_set() else None


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """Return the compiler that agents wait for from now on."""
    made = Compiler()
    monkeypatch.setattr(background_compile, "compile_ahead", made.compile_ahead)
    monkeypatch.setattr(agents, "compile_ahead", made.compile_ahead)
    monkeypatch.setattr(background_compile, "compiled_already_for", made.compiled_already_for)
    return made


def played(name: str, compiler: Compiler, moment: int | None) -> tuple[list[Any], bytes]:
    """Return decisions of an agent that gains and loses arms, and the agent; better code is ready at this moment."""
    compiler.done.clear()
    agent = hb.Agent(POLICIES[name], n_arms=62, horizon=1000, seed=0)
    rng, chosen = np.random.default_rng(1), []
    for i in range(400):
        if i == moment:
            compiler.done.set()
        if 100 <= i < 106:
            agent.add_arm()
        elif i == 300:
            agent.remove_arm(agent.arms[5])
        waiting = [arm for arm, pending in agent.pending.items() if pending]
        if i % 10 == 9:
            chosen.append(agent.select(among=agent.arms[::3]))
        elif rng.random() < 0.7 or not waiting:
            chosen.append(agent.select())
        coin, arm = float(rng.integers(2)), agent.arms[rng.integers(len(agent.arms))]
        if rng.random() < 0.2:
            agent.update(arm, coin, selected=False)
        elif waiting:
            agent.update(waiting[rng.integers(len(waiting))], coin)
        if i == 150:
            agent = hb.Agent.loads(agent.dumps())
        elif i == 200:
            agent = copy.deepcopy(agent)
    assert scans(agent) == (moment is None)
    return chosen, agent.dumps()


SLOWER = [pytest.param(name, marks=pytest.mark.slow) for name in ("sgd-ucb-median", "rucb-catoni")]


@pytest.mark.parametrize("name", ["ucb", *SLOWER])
def test_decisions_do_not_depend_on_when_better_code_is_ready(name: str, compiler: Compiler) -> None:
    never = played(name, compiler, None)
    assert len(set(never[0])) > 60
    for moment in (0, 104, 180, 350):
        assert played(name, compiler, moment) == never


@pytest.mark.slow
@pytest.mark.parametrize("rewards", ["coins", "normal", "far"])
@pytest.mark.parametrize("name", TOURNAMENTS)
@pytest.mark.usefixtures("silent")
def test_scanning_and_matches_decide_the_same(name: str, rewards: str) -> None:
    """With late rewards and rewards that nobody asked for; interpreted, as compiled code does the same."""
    policy, n_arms = POLICIES[name], SCAN + 6
    draw: dict[str, Callable[[np.random.Generator], float]] = {
        "coins": lambda rng: float(rng.integers(2)),
        "normal": lambda rng: float(rng.standard_normal()),
        "far": lambda rng: 1e9 + float(rng.integers(3)),
    }

    def play(beyond: int) -> list[int]:
        state = with_trees(policy.init(n_arms, 1000), beyond)
        reseed(streams(state), np.random.SeedSequence(0))
        pending, rng, own = find_pending(state), np.random.default_rng(1), np.random.default_rng(2)
        waiting: list[int] = []
        chosen: list[int] = []
        seen = 0
        for _ in range(300):
            if rng.random() < 0.7:
                chosen.append(int(decide(policy, state, pending, seen, own, n_arms, -1)))
                waiting.append(chosen[-1])
            selected, other, reward = rng.random() < 0.75, int(rng.integers(n_arms)), draw[rewards](rng)
            if waiting or not selected:
                arm = waiting.pop(other % len(waiting)) if selected else other
                learn(policy, state, pending, arm, reward, selected)
                seen += 1
        return chosen

    assert play(beyond=0) == play(beyond=n_arms)


def test_an_agent_does_not_wait_for_code(compiler: Compiler) -> None:
    agent = hb.Agent(hb.UCB(), n_arms=64)
    agent.update_many(range(64), [1.0] * 64)
    agent.add_arm()
    assert (scans(agent), agent.select()) == (True, 64)
    compiler.done.set()
    assert scans(agent)
    agent.update(64, 2.0)
    assert not scans(agent)


@pytest.mark.usefixtures("compiler")
def test_an_agent_with_many_arms_is_saved_the_same_way_whatever_code_it_uses() -> None:
    agent = hb.Agent(hb.UCB(), n_arms=64)
    agent.add_arm()
    assert scans(agent)
    assert agent._parts()["state"].tournament.tree.shape == (130, 4)
    assert hb.Agent.loads(agent.dumps()).arms == agent.arms


def test_an_agent_that_loses_arms_does_not_wait_for_code(monkeypatch: pytest.MonkeyPatch) -> None:
    done = threading.Event()

    def code_for_many(policy: Any, state: Any, rng: Any) -> Code | None:
        return compiled_for(policy, state, rng) if state.tournament.tree is not None or done.is_set() else None

    monkeypatch.setattr(background_compile, "compile_ahead", lambda *arguments: done)
    monkeypatch.setattr(background_compile, "compiled_already_for", code_for_many)
    agent = hb.Agent(hb.UCB(), n_arms=65)
    agent.remove_arm(0)
    agent.update(1, 1.0)
    assert (scans(agent), agent.select()) == (False, 2)
    done.set()
    agent.update(2, 1.0)
    assert (scans(agent), agent.select()) == (True, 3)


def test_code_for_many_arms_is_compiled_ahead(compiler: Compiler) -> None:
    agent = hb.Agent(hb.UCB(), n_arms=46)
    agent.add_arm()
    assert compiler.begun == []
    agent.add_arm()
    assert compiler.begun == [48]


def begun(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Thread]:
    """Compile the code for many arms of a policy, and return what `compile_ahead` returned, and its thread."""
    threads: list[threading.Thread] = []

    class Thread(threading.Thread):
        def start(self) -> None:
            threads.append(self)
            super().start()

    monkeypatch.setattr(background_compile, "_begun", {})
    monkeypatch.setattr(threading, "Thread", Thread)
    state = hb.UCB().init(SCAN + 1, None)
    done = background_compile.compile_ahead(hb.UCB(), state, None)
    assert background_compile.compile_ahead(hb.UCB(c=2.0), state, None) is done
    (thread,) = threads
    return done, thread


def test_what_was_compiled_ahead_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    done, thread = begun(monkeypatch)
    assert thread.daemon
    thread.join()
    assert done.is_set()
    agent = hb.Agent(hb.UCB(), n_arms=64)

    def fail(*arguments: Any) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(backend, "on_best_path", fail)
    agent.add_arm()
    assert not scans(agent)


def test_errors_in_the_background_are_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise RuntimeError("no compiler today")

    monkeypatch.setattr(background_compile, "compiled_for", fail)
    done, thread = begun(monkeypatch)
    thread.join()
    assert not done.is_set()


def test_compiling_is_given_up_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    started = threading.Event()

    def compile_for_ever(*arguments: Any) -> None:
        while True:
            started.set()
            stopping.checkpoint()

    monkeypatch.setattr(background_compile, "compiled_for", compile_for_ever)
    monkeypatch.setattr(background_compile, "_threads", [])
    monkeypatch.setattr(stopping, "_stopping", threading.Event())
    done, thread = begun(monkeypatch)
    started.wait()
    background_compile.give_up()
    assert not thread.is_alive()
    assert not done.is_set()


ENDS_AT_ONCE = """
import heavybandits as hb
agent = hb.Agent(hb.UCB(), n_arms=50)
print(agent.select(), flush=True)
"""


@pytest.mark.slow
def test_a_process_may_end_while_code_is_being_compiled(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}  # so that there is something to compile
    command = [sys.executable, "-c", ENDS_AT_ONCE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
