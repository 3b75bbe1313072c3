"""Compilation: cached between processes, never stale, and possible for a user's own files."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.engine.compile.compiled import compiled, without_text
from heavybandits.engine.compile.randomness import uses_rng

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
json.dump({"pulls": result.pulls.values[0, 0].tolist(), "compilations": len(compilations)}, sys.stdout)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_policy.py").write_text(MINE)
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "constants.py").write_text("FAVOURITE = 3\n")
    return tmp_path


def run(folder: Path, limit: int = -1, **env: str) -> dict[str, Any]:
    """Play the folder's policy in a process of its own, which may write files of at most ``limit`` bytes."""
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, -1))" + RUN
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_second_process_compiles_nothing_and_an_edit_is_never_missed(folder: Path) -> None:
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    first = run(folder, **cache)
    assert first["compilations"] > 0
    assert first["pulls"][3] == 41
    assert run(folder, **cache) == {**first, "compilations": 0}
    # in a module that the policy's file imports
    (folder / "constants.py").write_text("FAVOURITE = 5\n")
    assert run(folder, **cache)["pulls"][5] == 41
    # in the policy's file itself
    (folder / "my_policy.py").write_text(MINE.replace("min(FAVOURITE,", "min(FAVOURITE + 1,"))
    assert run(folder, **cache)["pulls"][6] == 41


def test_a_damaged_cache_is_dropped_and_made_anew(folder: Path) -> None:
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    first = run(folder, **cache)
    for kind, share in (("nbi", 0.0), ("nbc", 0.5)):
        files = list((folder / "cache").rglob(f"*.{kind}"))
        assert len(files) > 1  # the loop's, and the noise's
        for file in files:
            file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])
        assert run(folder, **cache)["pulls"] == first["pulls"]
        assert run(folder, **cache)["pulls"] == first["pulls"]
    assert run(folder, **cache) == {**first, "compilations": 0}


def test_without_room_for_the_cache_everything_still_runs(folder: Path) -> None:
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    assert run(folder, limit=5000, **cache)["pulls"][3] == 41
    assert run(folder, **cache)["pulls"][3] == 41


def test_without_a_place_for_the_cache_everything_still_runs(folder: Path) -> None:
    assert run(folder, NUMBA_CACHE_DIR="/dev/null/nowhere")["pulls"][3] == 41


def test_user_policy_passes_the_checks_and_is_compiled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    policy = hb.make(f"{folder}/my_policy.py:Mine")
    hb.check_policy(policy, horizon=60)
    kernel = compiled(type(policy).select, policy, policy.init(2, 10), 0, None)
    assert not hasattr(kernel, "__code__")  # machine code, not a Python function


def test_a_file_edited_while_the_process_runs_is_imported_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    file = folder / "my_policy.py"
    before = hb.make(f"{file}:Mine")
    assert type(hb.make(f"{file}:Mine")) is type(before)
    file.write_text(MINE.replace("bonus: float = 0.5", "bonus: float = 0.75"))
    assert hb.make(f"{file}:Mine").bonus == 0.75


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nowhere.py:Mine", "there is no file nowhere.py"),
        ("{folder}/my_policy.py:Mien", "unknown class 'Mien'; did you mean 'Mine'"),
        ("{folder}/broken.py:Mine", "importing the file fails with SyntaxError"),
    ],
)
def test_mistakes_in_a_path_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, message: str) -> None:
    monkeypatch.syspath_prepend(str(folder))
    (folder / "broken.py").write_text("def")
    with pytest.raises(ValueError, match=message):
        hb.make(kind.format(folder=folder))


class Count(NamedTuple):
    pulls: np.ndarray


class Clash(NamedTuple):
    """A parameter and a method of the state's policy share names with fields elsewhere."""

    pulls: float = 1.0
    text: str = "for init only"

    def init(self, n_arms: int, horizon: int | None) -> Count:
        return Count(np.zeros(n_arms, np.int64))

    def line(self, t: int) -> int:
        return t % 2

    def select(self, state: Count, t: int, rng: Any) -> int:
        return self.line(t)

    def update(self, state: Count, arm: int, reward: float) -> None:
        state.pulls[arm] += int(self.pulls)


class Allocating(NamedTuple):
    """Allocates an array per pull, which kernels without reference counts cannot."""

    size: int = 3

    def init(self, n_arms: int, horizon: int | None) -> Count:
        return Count(np.zeros(n_arms, np.int64))

    def select(self, state: Count, t: int, rng: Any) -> int:
        return int(np.zeros(self.size).sum())

    def update(self, state: Count, arm: int, reward: float) -> None:
        state.pulls[arm] += 1


class Uncompilable(NamedTuple):
    """Uses what numba does not know."""

    size: int = 3

    def init(self, n_arms: int, horizon: int | None) -> Count:
        return Count(np.zeros(n_arms, np.int64))

    def select(self, state: Count, t: int, rng: Any) -> int:
        return len(json.dumps({"t": t}))

    def update(self, state: Count, arm: int, reward: float) -> None:
        state.pulls[arm] += 1


class OtherLevel(NamedTuple):
    """Has a method with the name of one in the library, but other arguments."""

    size: int = 3

    def init(self, n_arms: int, horizon: int | None) -> Count:
        return Count(np.zeros(n_arms, np.int64))

    def level(self, t: int) -> int:
        return t % 2

    def select(self, state: Count, t: int, rng: Any) -> int:
        return self.level(t)

    def update(self, state: Count, arm: int, reward: float) -> None:
        state.pulls[arm] += 1


def test_methods_of_one_name_take_equally_many_arguments() -> None:
    message = r"OtherLevel.level must take as many arguments as \w+.level\(self, state, t\), got 2; give it another"
    with pytest.raises(TypeError, match=message):
        hb.Agent(OtherLevel(), n_arms=2)


@pytest.mark.parametrize(("policy", "expected"), [(Clash(), [10, 10]), (Allocating(), [20, 0])])
def test_names_may_clash_and_kernels_may_allocate(policy: Any, expected: list[int]) -> None:
    result = hb.simulate(hb.Instance([0, 1], hb.Gaussian()), {"p": policy}, horizon=20, replications=1)
    assert result.pulls.values[0, 0].tolist() == expected


def test_a_policy_that_cannot_be_compiled_is_named() -> None:
    message = r"^Uncompilable cannot be compiled by numba: .*json.*line \d+\); hb.check_policy may tell more$"
    with pytest.raises(TypeError, match=message):
        hb.simulate(hb.Instance([0, 1], hb.Gaussian()), {"p": Uncompilable()}, horizon=20, replications=1)


@hb.compilable
def twice_below_five(x: int) -> int:
    if x >= 5:
        raise ValueError(f"{x} is not below 5")
    return 2 * x


class Raising(Allocating):
    """Calls a function that raises."""

    def select(self, state: Count, t: int, rng: Any) -> int:
        return twice_below_five(t) % 2


def test_functions_are_optimised_with_their_callers_only_and_their_errors_come_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    codegen: Any = importlib.import_module("numba.core.codegen")
    optimised = []
    optimise = codegen.CPUCodeLibrary._optimize_final_module

    def record(library: Any) -> None:
        optimised.append(library.name.partition("_Raising")[0])  # numba's own functions may be among them
        optimise(library)

    class Fresh(Raising):  # of no module, so that no cache has it
        pass

    Fresh.__name__ = "Raising"
    monkeypatch.setattr(codegen.CPUCodeLibrary, "_optimize_final_module", record)
    with pytest.raises(ValueError, match="5 is not below 5"):
        hb.simulate(hb.Instance([0, 1], hb.Gaussian()), {"p": Fresh()}, horizon=20, replications=1)
    assert "play" in optimised
    assert not {"twice_below_five", "Raising.select", "Allocating.update"} & set(optimised)


class ListState(NamedTuple):
    pulls: list[int]


class Listing(Allocating):
    """Keeps its state in a list."""

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return ListState([0] * n_arms)


def test_a_state_that_is_no_array_is_named() -> None:
    with pytest.raises(TypeError, match=r"Listing: state.pulls must be a NumPy array, .*, got \[0\]"):
        hb.simulate(hb.Instance([0], hb.Gaussian()), {"p": Listing()}, horizon=20, replications=1)


def test_methods_may_be_inherited() -> None:
    class Inheriting(Clash):
        def line(self, t: int) -> int:
            return 1

    result = hb.simulate(hb.Instance([0, 1], hb.Gaussian()), {"p": Inheriting()}, horizon=20, replications=1)
    assert result.pulls.values[0, 0].tolist() == [0, 20]


def test_only_policies_that_draw_get_a_generator() -> None:
    assert uses_rng(hb.ThompsonGaussian())
    assert not uses_rng(hb.UCB())
    assert not uses_rng(hb.make("sgd-ucb"))


def test_kernels_get_no_text() -> None:
    assert without_text(hb.make("sgd-ucb")).schedule is None
    nested = without_text(hb.FOUCB(hb.ClippedSGD()))
    assert nested.optimizer.radius is None
    assert nested.optimizer.clip == 10.0


def test_importing_the_package_does_not_import_what_is_slow() -> None:
    slow = ("numba", "scipy", "pandas", "xarray", "matplotlib")
    script = f"import sys, heavybandits; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
