"""A process may fork while its threads use agents or compile: parent and child go on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no forks")

START = """
import os, signal, sys, threading, traceback, warnings
import numpy as np
import heavybandits as hb

warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads, which this is about


def in_child(work):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # the end of a child that hangs
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        os._exit(1 if status > 0 else -status)
"""
HAMMER = """
sys.setswitchinterval(1e-6)
agents = [
    hb.Agent(hb.UCB(), arms=["a", "b", "c"]),
    hb.LinearAgent(hb.make("lin-ucb"), n_features=2),
    hb.LipschitzAgent(hb.make("zooming", nu=1.0), dim=1),
]
rows = np.eye(2)


def turn(agent):
    if isinstance(agent, hb.LinearAgent):
        agent.update(rows[agent.select(rows)], 1.0)
    else:
        agent.update(agent.select(), 1.0)
        agent.dumps()


def hammer(agent):
    while not over.is_set():
        turn(agent)


def child():
    for agent in agents:
        before = agent.seen
        for _ in range(5):
            turn(agent)
        assert agent.seen == before + 5
    assert sum(agents[0].pulls.values()) == agents[0].seen
    new = hb.Agent(hb.UCB(), n_arms=2)
    new.update(new.select(), 1.0)


over = threading.Event()
threads = [threading.Thread(target=hammer, args=(agent,)) for agent in agents * 2]
for thread in threads:
    thread.start()
for _ in range(15):
    in_child(child)
over.set()
for thread in threads:
    thread.join()
"""
COMPILE = """
from heavybandits.jit import backend

compiling, forking = threading.Event(), threading.Event()
os.register_at_fork(before=forking.set)


def compile_until_the_fork(way):
    compiling.set()
    forking.wait()


thread = threading.Thread(target=backend.on_best_path, args=(compile_until_the_fork,))
thread.start()
compiling.wait()
in_child(lambda: backend.on_best_path(lambda path: path))
thread.join()
backend.on_best_path(lambda path: path)
"""


BACKGROUND = """
import time

agent = hb.Agent(hb.UCB(), n_arms=50)


def child():
    for _ in range(5):
        agent.update(agent.select(), 1.0)
    agent.compile()
    assert agent._better is None


for _ in range(4):  # while numba is imported, and while code is compiled
    agent.select()
    time.sleep(0.4)
    in_child(child)
agent.compile()
assert agent._better is None
"""


@pytest.mark.slow
@pytest.mark.parametrize("work", [HAMMER, COMPILE, BACKGROUND], ids=["decisions", "compiling", "background"])
def test_a_child_inherits_no_call_half_made(work: str, tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}  # so that there is something to compile
    command = [sys.executable, "-c", START + work]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
