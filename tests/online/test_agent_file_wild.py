"""Files with a right checksum and wild numbers: refused, or harmless; compiled code must never leave its arrays."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import check_state
from heavybandits.algorithms.registry import examples

PLAY = """
import faulthandler, json, sys
import numpy as np
import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import arrays

WILD = (-(10**13), -1, 1000, 10**12)
policies, n_arms, path, interpreted = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4] == "1"
loaded = refused = 0


def attempt(name, place, at, value):
    global loaded, refused
    faulthandler.dump_traceback_later(30, exit=True)
    with open(path + ".log", "w") as log:
        log.write(f"{name}: {place}[{at}] = {value}")
    try:
        agent = hb.Agent.load(path)
    except ValueError:
        refused += 1
        return
    loaded += 1
    rewards = np.random.default_rng(0).standard_cauchy(24).tolist()
    try:
        for reward in rewards:
            agent.update(agent.select(), reward)
        for arm, reward in zip(agent.arms * 3, rewards):
            agent.update(arm, reward)
    except IndexError as error:
        if interpreted:  # what compiled code would not have noticed
            raise
    except ValueError as error:
        if "cannot go on" not in str(error):
            raise


for name, parameters in policies.items():
    agent = hb.Agent(hb.make(name, **parameters), n_arms, horizon=1000, seed=0)
    for reward in np.random.default_rng(1).standard_cauchy(6 * n_arms).tolist():
        agent.update(agent.select(), reward)
    for place, array in arrays(agent._state):
        flat = array.reshape(-1)
        winners = place.endswith("tree")
        if array.dtype.kind != "i" and not winners:
            continue
        for at in {2, 10, flat.size - 2} if winners else {0, flat.size // 2, flat.size - 1}:
            before = flat[at]
            for value in WILD:
                flat[at] = value
                agent.save(path)
                attempt(name, place, at, value)
            flat[at] = before
print(loaded, refused)
"""


def play(policies: list[str], n_arms: int, folder: Path, *, interpreted: bool) -> tuple[int, int]:
    """Return how many files were loaded and refused; no process may crash."""
    chosen = json.dumps({name: examples()[name] for name in policies})
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1" if interpreted else "0"}
    command = [sys.executable, "-c", PLAY, chosen, str(n_arms), str(folder / "agent"), str(int(interpreted))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    log = folder / "agent.log"
    assert done.returncode == 0, (log.read_text() if log.exists() else "", done.stderr[-2000:])
    loaded, refused = map(int, done.stdout.split())
    return loaded, refused


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, 1])
def test_wild_numbers_in_any_policy(half: int, tmp_path: Path) -> None:
    """Without a compiler, an index out of range raises an error where compiled code would read or write anyway."""
    loaded, refused = play(sorted(hb.policies())[half::2], 3, tmp_path, interpreted=True)
    assert refused > 150
    assert loaded > 30


@pytest.mark.slow
def test_wild_numbers_in_a_tree_of_many_arms(tmp_path: Path) -> None:
    assert play(["ucb", "auto"], 70, tmp_path, interpreted=True)[1] > 20


@pytest.mark.slow
def test_wild_numbers_in_compiled_code(tmp_path: Path) -> None:
    names = ["ucb", "auto", "sgd-ucb-smom", "rucb-catoni", "htinf", "mean-of-medians", "kl-ucb"]
    assert play(names, 3, tmp_path, interpreted=False)[1] > 50


@pytest.mark.parametrize(
    ("field", "at", "value"),
    [
        ("width", 0, 3), ("used", 0, -1), ("used", 0, 10**9), ("need", 0, 0), ("start", 1, -2), ("start", 1, 10**12),
        ("start", 1, 5), ("room", 1, 10**18), ("room", 1, 0), ("size", 1, -1), ("size", 1, 9),
    ],
)  # fmt: skip
def test_every_field_of_a_pool_is_checked(field: str, at: int, value: int) -> None:
    policy = hb.make("rucb-catoni", v=2.0)
    state, fresh = (policy.init(2, 100) for _ in range(2))
    for reward in range(5):  # a first segment of four, then one of eight
        policy.update(state, 1, float(reward))
    check_state(state, fresh, 2)
    getattr(state.mean.rewards, field)[at] = value
    with pytest.raises(ValueError, match=r"state\.mean\.rewards: "):
        check_state(state, fresh, 2)


def test_numbers_of_users_policies_are_theirs() -> None:
    """Negative whole numbers may mean something in a user's own state."""
    from typing import NamedTuple

    class Mine(NamedTuple):
        balance: np.ndarray

    state, fresh = Mine(np.array([-5, 3])), Mine(np.array([0, 0]))
    check_state(state, fresh, 2)
    Mine.__module__ = "heavybandits.mine"  # in a state of ours they are counts or positions
    with pytest.raises(ValueError, match=r"state\.balance"):
        check_state(state, fresh, 2)
