"""Files of linear agents with numbers that no agent writes: refused, or harmless to code that checks no indices."""

import os
import subprocess
import sys

import pytest

PLAY = """
import numpy as np
import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import arrays
from heavybandits.algorithms.registry import examples

loaded = refused = 0
for name in hb.policies("linear"):
    agent = hb.LinearAgent(hb.make(name, **examples()[name]), n_features=2, horizon=100, seed=0)
    rng = np.random.default_rng(1)
    features = rng.normal(size=(3, 2))
    for _ in range(15):
        agent.update(features[agent.select(features)], rng.standard_cauchy())
    for path, array in arrays(agent._state):
        flat = array.reshape(-1)
        for at in {0, flat.size // 2, flat.size - 1} if array.dtype.kind == "i" else ():
            before = flat[at]
            for value in (-(10**13), -1, 1000, 10**12):
                flat[at] = value
                try:
                    other = hb.LinearAgent.loads(agent.dumps())
                except ValueError:
                    refused += 1
                    continue
                loaded += 1
                try:
                    for t in range(12):
                        rows = features if t % 2 else rng.normal(size=(5, 2))
                        other.update(rows[other.select(rows)], float(t))
                except IndexError:  # what compiled code would not have noticed
                    raise SystemExit(f"{name}: {path}[{at}] = {value}")
                except (ArithmeticError, ValueError, TypeError):
                    pass
            flat[at] = before
print(loaded, refused)
"""


@pytest.mark.slow
def test_wild_numbers_in_any_linear_policy() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", PLAY], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    loaded, refused = map(int, done.stdout.split())
    assert loaded > 30
    assert refused > 100
