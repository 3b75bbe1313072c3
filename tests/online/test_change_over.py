"""The first decision at once: agents begin as plain Python, and change over to compiled code when it is there."""

import copy
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from agents import Plain
from compilers import Compiler

import heavybandits as hb
from heavybandits.algorithms.parts.choice.kinetic_tree import SCAN
from heavybandits.algorithms.parts.choice.pending import find_pending
from heavybandits.algorithms.parts.choice.tournament import Tournament, with_trees
from heavybandits.algorithms.parts.state.tree import reseed, streams
from heavybandits.algorithms.registry import examples
from heavybandits.jit.background_compile import Compilation
from heavybandits.online.pending import decide, learn
from heavybandits.tree import parts


def tournaments(state: Any) -> Iterator[Tournament]:
    return parts(state, Tournament)


def scans(agent: hb.Agent) -> bool:
    """Return whether the agent uses the code for few arms."""
    return all(tournament.tree is None for tournament in tournaments(agent._state))


def is_interpreted(agent: Any) -> bool:
    return hasattr(agent._decide, "__wrapped__")


POLICIES = {name: hb.make(name, **examples()[name]) for name in hb.policies()}
TOURNAMENTS = [name for name, policy in POLICIES.items() if any(tournaments(policy.init(2, 1000)))]


# The change-over


class Life:
    """The life of an agent, call by call: late rewards, arms that come and go, files and copies."""

    def __init__(self, agent: Any) -> None:
        self.agent, self.rng, self.decided, self.waiting = agent, np.random.default_rng(1), list[Any](), list[Any]()

    def calls(self) -> Iterator[Callable[[], Any]]:
        """Yield what happens next."""
        for i in range(12):
            yield self.decide
            yield self.reward
            yield self.decide
            if i == 2:
                yield lambda: self.agent.update_many([self.anything(), self.anything()], [1.0, -2.5], selected=False)
            elif i in (4, 9) and isinstance(self.agent, hb.Agent):
                yield self.agent.add_arm
            elif i == 6:
                yield lambda: setattr(self, "agent", type(self.agent).loads(self.agent.dumps()))
            elif i == 7:
                yield lambda: setattr(self, "agent", copy.deepcopy(self.agent))
            elif i == 8 and isinstance(self.agent, hb.Agent):
                yield lambda: self.decided.append(self.agent.select(among=self.agent.arms[::2]))
            elif i == 10:
                yield lambda: self.agent.cancel(self.waiting.pop())
            elif i == 11 and isinstance(self.agent, hb.Agent):
                yield lambda: self.agent.remove_arm(self.agent.arms[-1])

    def decide(self) -> None:
        if isinstance(self.agent, hb.LinearAgent):
            rows = self.rng.standard_normal((2 + len(self.decided) // 8, 2))
            self.decided.append(self.agent.select(rows))
            self.waiting.append(rows[self.decided[-1]])
        else:
            self.decided.append(self.agent.select())
            self.waiting.append(self.decided[-1])

    def reward(self) -> None:
        self.agent.update(self.waiting.pop(int(self.rng.integers(len(self.waiting)))), self.rng.standard_t(2.0))

    def anything(self) -> Any:
        if isinstance(self.agent, hb.Agent):
            return int(self.rng.integers(2))
        return self.rng.random(2 if isinstance(self.agent, hb.LinearAgent) else 1)


def agent_of(name: str) -> Any:
    policy: Any = hb.make(name, **examples()[name])
    if name in hb.policies("linear"):
        return hb.LinearAgent(policy, 2, horizon=300, seed=1)
    if name in hb.policies("lipschitz"):
        return hb.LipschitzAgent(policy, 1, horizon=300, seed=1)
    return hb.Agent(policy, 3, horizon=300, seed=1)


def lived(name: str, compiler: Compiler, moment: int | None) -> tuple[list[Any], bytes, int]:
    """Return the decisions of an agent, what became of it, and its number of calls; code is ready at this moment."""
    compiler.__init__()  # type: ignore[misc]
    life = Life(agent_of(name))
    number = -1
    for number, call in enumerate(life.calls()):
        if number == moment:
            compiler.finish()
        call()
        assert moment is not None or life.agent._better is not None
    assert moment is None or moment >= number or life.agent._better is None
    return np.asarray(life.decided).tolist(), life.agent.dumps(), number + 1


# Of each kind, policies that draw arms, that draw in their states, that keep rewards, and one around another.
SOME = ["ucb", "auto", "auto-mean", "linear-auto", "lipschitz-auto"]
MORE = ["thompson-gaussian", "tsallis-inf", "sgd-ucb", "rucb-catoni", "restarting", "lin-ucb", "lin-ts", "zooming"]


@pytest.mark.parametrize("name", ["ucb", *(pytest.param(name, marks=pytest.mark.slow) for name in SOME[1:] + MORE)])
def test_the_change_over_may_happen_at_any_call(name: str, compiler: Compiler) -> None:
    *never, n_calls = lived(name, compiler, None)
    assert n_calls >= 40
    for moment in range(n_calls):
        assert [*never, n_calls] == [*lived(name, compiler, moment)], moment


EVERY_POLICY = [name for kind in ("arms", "linear", "lipschitz") for name in hb.policies(kind)]


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY_POLICY)
def test_every_policy_may_change_over(name: str, compiler: Compiler) -> None:
    never = lived(name, compiler, None)
    for moment in (0, 21):
        assert lived(name, compiler, moment) == never


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_threads_may_use_an_agent_that_changes_over(name: str) -> None:
    agent = agent_of(name)
    rows = np.eye(2)

    def work() -> None:
        for _ in range(150):
            if isinstance(agent, hb.LinearAgent):
                agent.update(rows[agent.select(rows)], 1.0)
            else:
                agent.update(agent.select(), 1.0)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    agent.compile()
    for thread in threads:
        thread.join()
    assert agent.seen == 450
    assert not is_interpreted(agent)


def test_what_is_compiled_already_is_used_at_once() -> None:
    hb.Agent(hb.UCB(), n_arms=2).compile()
    assert not is_interpreted(hb.Agent(hb.UCB(c=2.0), n_arms=5))


def test_a_policy_of_ones_own_is_compiled_at_once(compiler: Compiler) -> None:
    assert not is_interpreted(hb.Agent(Plain(1.0), n_arms=2))
    assert not is_interpreted(hb.Agent(hb.Restarting(Plain(1.0)), n_arms=2))
    assert compiler.begun == []


def test_the_thread_brings_the_code() -> None:
    agent: Any = hb.Agent(hb.make("ucb"), n_arms=2)
    agent._better = Compilation(agent._calls(agent._state))  # even if another test has compiled it
    agent.select()
    better = agent._better
    for _ in range(600):
        if better.code is not None:
            break
        time.sleep(0.1)
    assert (better.error, agent._better) == (None, better)
    agent.select()
    assert (agent._better, is_interpreted(agent)) == (None, False)


# Code for few arms and for many


def played(name: str, compiler: Compiler, moment: int | None) -> tuple[list[Any], bytes]:
    """Return decisions of an agent that gains and loses arms, and the agent; code for many is ready at this moment."""
    compiler.__init__()  # type: ignore[misc]
    compiler.allowed = lambda state: all(tournament.tree is None for tournament in tournaments(state))
    agent = hb.Agent(POLICIES[name], n_arms=62, horizon=1000, seed=0)
    rng, chosen = np.random.default_rng(1), []
    for i in range(400):
        if i == moment:
            compiler.finish()
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
        located, rng, own = (state, find_pending(state)), np.random.default_rng(1), np.random.default_rng(2)
        waiting: list[int] = []
        chosen: list[int] = []
        seen = 0
        for _ in range(300):
            if rng.random() < 0.7:
                chosen.append(int(decide(policy, located, seen, own, n_arms, -1)))
                waiting.append(chosen[-1])
            selected, other, reward = rng.random() < 0.75, int(rng.integers(n_arms)), draw[rewards](rng)
            if waiting or not selected:
                arm = waiting.pop(other % len(waiting)) if selected else other
                learn(policy, located, arm, reward, selected)
                seen += 1
        return chosen

    assert play(beyond=0) == play(beyond=n_arms)


def test_an_agent_that_gains_arms_does_not_wait_for_code(compiler: Compiler) -> None:
    compiler.allowed = lambda state: state.tournament.tree is None
    agent = hb.Agent(hb.UCB(), n_arms=64)
    agent.update_many(range(64), [1.0] * 64)
    agent.add_arm()
    assert (scans(agent), agent.select(), is_interpreted(agent)) == (True, 64, False)
    compiler.finish()
    agent.update(64, 2.0)
    assert not scans(agent)


def test_an_agent_with_many_arms_is_saved_the_same_way_whatever_code_it_uses(compiler: Compiler) -> None:
    compiler.allowed = lambda state: state.tournament.tree is None
    agent = hb.Agent(hb.UCB(), n_arms=64)
    agent.add_arm()
    assert scans(agent)
    assert agent._parts()["state"].tournament.tree.shape == (130, 4)
    assert hb.Agent.loads(agent.dumps()).arms == agent.arms


def test_an_agent_that_loses_arms_does_not_wait_for_code(compiler: Compiler) -> None:
    compiler.allowed = lambda state: state.tournament.tree is not None
    agent = hb.Agent(hb.UCB(), n_arms=65)
    agent.remove_arm(0)
    agent.update(1, 1.0)
    assert (scans(agent), agent.select()) == (False, 2)
    compiler.finish()
    agent.update(2, 1.0)
    assert (scans(agent), agent.select()) == (True, 3)


def test_code_for_many_arms_is_compiled_ahead(compiler: Compiler) -> None:
    compiler.allowed = lambda state: True
    agent = hb.Agent(hb.UCB(), n_arms=46)
    agent.add_arm()
    assert compiler.begun == []
    agent.add_arm()
    (ahead,) = compiler.begun
    assert next(tournaments(ahead._calls[0][2])).tree is not None
