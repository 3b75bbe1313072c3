"""Compiling in the background: machines that cannot, processes that end, and what is given up."""

import os
import subprocess
import sys
import threading
import warnings
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from compilers import Compiler

import heavybandits as hb
from heavybandits.jit import background_compile, stopping
from heavybandits.jit.background_compile import Compilation


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, "-c", script], env=settings, capture_output=True, text=True, timeout=240, check=False
    )


FIRST_DECISION = """
import sys
import numpy as np
import heavybandits as hb
policy = hb.make({name!r})
if {name!r}.startswith("linear"):
    agent = hb.LinearAgent(policy, n_features=2)
    agent.select(np.eye(2))
else:
    agent = hb.Agent(policy, n_arms=3)
    agent.select()
print([name for name in ("numba", "scipy", "pandas") if name in sys.modules])
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ucb", "auto", "auto-mean", "linear-auto"])
def test_a_first_decision_imports_neither_numba_nor_scipy(name: str) -> None:
    done = run(FIRST_DECISION.format(name=name))
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


PLAYS_AND_COMPILES = """
import sys
import heavybandits as hb
agent = hb.Agent(hb.UCB(), n_arms=60)
for i in range(99):
    agent.update(agent.select(), 1.0)
agent.compile()
print("numba" in sys.modules, agent._better)
"""


@pytest.mark.slow
def test_nothing_is_compiled_if_that_is_disabled() -> None:
    done = run(PLAYS_AND_COMPILES, NUMBA_DISABLE_JIT="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "False None\n", "")


WITHOUT_NUMBA = """
import time, warnings
import heavybandits as hb
from agents import Plain
from compilers import Compiler

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    agents = [hb.Agent(policy, n_arms=3) for policy in (hb.UCB(), hb.UCB(), Plain(1.0))]
    for _ in range(30):
        time.sleep(0.02)
        for agent in agents:
            agent.update(agent.select(), 1.0)
    agents[0].compile()
print([str(warning.message) for warning in caught], [agent.seen for agent in agents])
"""


@pytest.mark.slow
def test_a_machine_without_numba_goes_on_with_one_warning(tmp_path: Path) -> None:
    (tmp_path / "numba.py").write_text("raise ImportError('numba is broken here')")
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = run(WITHOUT_NUMBA, PYTHONPATH=path)
    reason = "ImportError: numba is broken here"
    message = f"agents go on as plain Python, with the same decisions but more slowly: {reason}"
    assert (done.stdout, done.stderr) == (f"{[message]} {[30, 30, 30]}\n", "")


def test_errors_in_the_background_are_told_once(monkeypatch: pytest.MonkeyPatch, compiler: Compiler) -> None:
    agents = [hb.Agent(hb.UCB(), n_arms=2) for _ in range(2)]
    for agent in agents:
        agent.select()
    for compilation in compiler.begun:
        compilation.error = RuntimeError(f"no compiler today {id(monkeypatch)}")
    with pytest.warns(RuntimeWarning, match="agents go on as plain Python.*RuntimeError: no compiler today"):
        agents[0].select()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agents[1].select()
        assert [agent.select() for agent in agents] == [0, 0]


def test_nobody_compiles_for_an_agent_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_compile, "_thread", threading.current_thread())  # so that no other is started
    compilation = Compilation(((len, ()), (len, ())))
    assert not compilation.is_over()
    waiting = background_compile._waiting.pop()
    assert waiting() is compilation
    del compilation
    assert waiting() is None


def test_compiling_is_given_up_when_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "_stopping", threading.Event())
    monkeypatch.setattr(background_compile, "_waiting", deque[Any]())
    started, compilation = threading.Event(), Compilation(((len, ()), (len, ())))

    def compile_for_ever(*arguments: Any) -> None:
        while True:
            started.set()
            stopping.checkpoint()

    monkeypatch.setattr(background_compile, "compiled", compile_for_ever)
    thread = threading.Thread(target=background_compile._run, args=(compilation,))
    thread.start()
    started.wait()
    stopping.stop()
    thread.join()
    assert (compilation.code, compilation.error) == (None, None)
    assert background_compile._waiting[0]() is compilation


GIVES_UP_EVERYWHERE = """
import sys
import heavybandits as hb
from heavybandits.jit import fast_path, register
from heavybandits.jit.stopping import Stopped


def checkpoint():
    caller = sys._getframe(1)
    if (caller.f_code.co_name, caller.f_lineno) not in places:
        places.add((caller.f_code.co_name, caller.f_lineno))
        raise Stopped


def play(agent):
    return [(arm := agent.select(), agent.update(arm, float(i % 3)))[0] for i in range(20)]


plain, agent, places = hb.Agent(hb.UCB(), n_arms=3), hb.Agent(hb.UCB(), n_arms=3), set()
register.checkpoint = fast_path.checkpoint = checkpoint
before = 0
while True:
    try:
        agent.compile()
        break
    except Stopped:
        assert len(places) == (before := before + 1)
assert agent._better is None
assert play(agent) == play(plain)
print(sorted(name for name, _ in places))
"""


@pytest.mark.slow
def test_what_was_given_up_can_be_compiled_again(tmp_path: Path) -> None:
    done = run(GIVES_UP_EVERYWHERE, NUMBA_CACHE_DIR=str(tmp_path))  # nothing is compiled there
    places = ["_optimize_final_module", "_optimize_final_module", "resolve", "run_pass"]
    assert (done.stdout, done.stderr) == (f"{places}\n", "")


ENDS_WHILE_COMPILING = """
import sys, time
import heavybandits as hb
agent = hb.Agent(hb.make("auto"), n_arms=50)
print(agent.select(), flush=True)
time.sleep({seconds})
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.3, 1.0, 2.0, 4.0])
def test_a_process_may_end_while_code_is_being_compiled(seconds: float, tmp_path: Path) -> None:
    done = run(ENDS_WHILE_COMPILING.format(seconds=seconds), NUMBA_CACHE_DIR=str(tmp_path))  # nothing is compiled there
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
