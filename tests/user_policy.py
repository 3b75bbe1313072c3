"""A user's policy in files of its own, and a process that plays it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

MINE = '''
"""A policy of one's own: after one pull each, the arm with the largest reward so far, plus a favourite."""
from typing import NamedTuple
import numpy as np
import heavybandits as hb
from constants import FAVOURITE
from helpers import better

class State(NamedTuple):
    pulls: np.ndarray
    best: np.ndarray

class Mine(NamedTuple):
    bonus: float = 0.5

    def init(self, n_arms, horizon):
        return State(np.zeros(n_arms, np.int64), np.full(n_arms, -1e300))

    def select(self, state, t, rng):
        for arm in range(len(state.pulls)):
            if state.pulls[arm] == 0:
                return arm
        return min(FAVOURITE, len(state.pulls) - 1)

    def update(self, state, arm, reward):
        state.pulls[arm] += 1
        state.best[arm] = better(state.best[arm], max(-1e300, min(1e300, reward)) * self.bonus)
'''
HELPERS = """
import heavybandits as hb

@hb.compilable
def better(a, b):
    return max(a, b)
"""
RUN = """
import json, sys
sys.path.insert(0, ".")
import heavybandits as hb
from numba.core import event

compilations = []
event.register("numba:compile", type("Listener", (event.Listener,), {
    "on_start": lambda self, e: compilations.append(str(e.data)), "on_end": lambda self, e: None})())
policy = hb.make("my_policy.py:Mine", bonus=1.0)
result = hb.simulate(hb.env2(hb.Cauchy()), {"mine": policy}, horizon=50, replications=1)
zoo = [name for name in sys.modules if name.startswith("heavybandits.algorithms.policies.")]
json.dump({"pulls": result.pulls.values[0, 0].tolist(), "regret": result.regret.values[0, 0].tolist(),
           "compilations": len(compilations), "zoo": zoo}, sys.stdout)
"""


def write_policy(folder: Path) -> None:
    """Write the policy's files."""
    (folder / "my_policy.py").write_text(MINE)
    (folder / "helpers.py").write_text(HELPERS)
    (folder / "constants.py").write_text("FAVOURITE = 3\n")


def begin(folder: Path, code: str = RUN, **env: str) -> subprocess.Popen[str]:
    """Start a process in the folder, with the cache there too."""
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, env={**os.environ, **cache, **env}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def finish(process: subprocess.Popen[str], warnings: int = 0) -> Any:
    """Return what the process says, once it has ended without an error and with this many warnings."""
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert errors.count("Warning:") == warnings, errors
    return json.loads(output)


def run(folder: Path, code: str = RUN, warnings: int = 0, **env: str) -> Any:
    """Play the folder's policy in a process of its own."""
    return finish(begin(folder, code, **env), warnings)
