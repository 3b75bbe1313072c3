"""Compiling policies of users and our own, on the fast path and on the public one."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from user_policy import MINE, write_policy

import heavybandits as hb
from heavybandits.algorithms.estimators.clipped_sgd import ClippedSGD
from heavybandits.algorithms.policies.fo_ucb import FOUCB
from heavybandits.algorithms.registry import examples
from heavybandits.jit import compiled as compilation
from heavybandits.jit.compiled import compiled, without_text
from heavybandits.protocols import FloatArray, compilable, compiled_as, copy_into


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_policy(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.usefixtures("either_path")
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
    """A policy that has a parameter and a method with the names of fields elsewhere."""

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
    """A policy that allocates an array per pull, which kernels without reference counts cannot."""

    size: int = 3

    def init(self, n_arms: int, horizon: int | None) -> Count:
        return Count(np.zeros(n_arms, np.int64))

    def select(self, state: Count, t: int, rng: Any) -> int:
        return int(np.zeros(self.size).sum())

    def update(self, state: Count, arm: int, reward: float) -> None:
        state.pulls[arm] += 1


class Uncompilable(NamedTuple):
    """A policy that uses what numba does not know."""

    size: int = 3

    def init(self, n_arms: int, horizon: int | None) -> Count:
        return Count(np.zeros(n_arms, np.int64))

    def select(self, state: Count, t: int, rng: Any) -> int:
        return len(json.dumps({"t": t}))

    def update(self, state: Count, arm: int, reward: float) -> None:
        state.pulls[arm] += 1


class OtherClash(Clash):
    """A policy with a method that has the name of another, but other arguments, some of them optional."""

    def line(self, t: int, shift: int = 1, twice: bool = False) -> int:
        return (t + shift) % 2

    def select(self, state: Count, t: int, rng: Any) -> int:
        return self.line(t, 2)


class Outer(NamedTuple):
    """A policy with a method that shares its name, but not its arguments, with a method of a parameter."""

    inner: Clash = Clash()

    def init(self, n_arms: int, horizon: int | None) -> Count:
        return self.inner.init(n_arms, horizon)

    def line(self) -> int:
        return self.inner.line(2) + 1

    def select(self, state: Count, t: int, rng: Any) -> int:
        return self.line()

    def update(self, state: Count, arm: int, reward: float) -> None:
        self.inner.update(state, arm, reward)


@pytest.mark.usefixtures("either_path")
@pytest.mark.parametrize(
    ("policy", "expected"),
    [(Clash(), [10, 10]), (OtherClash(), [10, 10]), (Outer(), [0, 20]), (Allocating(), [20, 0])],
)
def test_names_may_clash_and_kernels_may_allocate(policy: Any, expected: list[int]) -> None:
    result = hb.simulate(hb.Instance([0, 1], hb.Gaussian()), {"p": policy}, horizon=20, replications=1)
    assert result.pulls.values[0, 0].tolist() == expected


WORLDS: dict[str, Any] = {
    "linear": hb.LinearInstance(np.ones(6), hb.Disjoint(3, hb.Cube(1, 2)), hb.Cauchy()),
    "lipschitz": hb.LipschitzInstance("peak", hb.Cauchy()),
}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in WORLDS for name in hb.policies(kind)])
def test_kernels_of_policies_allocate_nothing(kind: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They compile without reference counts, which code that makes arrays cannot."""
    make, counts = compilation._dispatcher, []

    def note(path: Any, function: Any, classes: Any, counted: bool, **options: Any) -> Any:
        counts.append(counted)
        return make(path, function, classes, counted, **options)

    monkeypatch.setattr(compilation, "_ready", {})
    monkeypatch.setattr(compilation, "_dispatcher", note)
    delay = 2 if kind == "linear" else 0  # then pending decisions are part of the kernel
    hb.simulate(WORLDS[kind], {name: hb.make(name, **examples()[name])}, horizon=5, replications=1, delay=delay)
    assert set(counts) == {False}


@pytest.mark.usefixtures("either_path")
def test_a_policy_that_cannot_be_compiled_is_named() -> None:
    message = r"^Uncompilable cannot be compiled by numba: .*json.*line \d+\); hb.check_policy may say more$"
    with pytest.raises(TypeError, match=message):
        hb.simulate(hb.Instance([0, 1], hb.Gaussian()), {"p": Uncompilable()}, horizon=20, replications=1)


@hb.compilable
def twice_below_five(x: int) -> int:
    if x >= 5:
        raise ValueError(f"{x} is not below 5")
    return 2 * x


class Raising(Allocating):
    """A policy that calls a function that raises."""

    def select(self, state: Count, t: int, rng: Any) -> int:
        return twice_below_five(t) % 2


@pytest.mark.slow
def test_functions_are_optimised_with_their_callers_only_and_their_errors_come_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    codegen: Any = importlib.import_module("numba.core.codegen")
    optimised = []
    optimise = codegen.CPUCodeLibrary._optimize_final_module

    def record(library: Any) -> None:
        optimised.append(library.name)  # numba's own functions may be among them
        optimise(library)

    class Fresh(Raising):  # of no module, so that no cache has it
        pass

    monkeypatch.setattr(codegen.CPUCodeLibrary, "_optimize_final_module", record)
    with pytest.raises(ValueError, match="5 is not below 5"):
        hb.simulate(hb.Instance([0, 1], hb.Gaussian()), {"p": Fresh()}, horizon=20, replications=1)
    assert "ArmsGame.play" in optimised
    assert not {"twice_below_five", "Raising.select", "Allocating.update"} & set(optimised)


@numba.njit
def total(state: Count) -> int:
    return int(state.pulls.sum())


class Winding(NamedTuple):
    """A policy whose variables are assigned in one block and read in others, before, in and after loops."""

    step: int = 3

    def init(self, n_arms: int, horizon: int | None) -> Count:
        return Count(np.zeros(n_arms, np.int64))

    def select(self, state: Count, t: int, rng: Any) -> int:
        pulls, best, seen = state.pulls, 0, -1
        for i in range(len(pulls)):
            moved = i * self.step + t
            if moved % 2 == 0:
                last = moved
                while last > i:
                    last -= self.step
                    if last == best:
                        break
                    seen = last + pulls[i]
            elif seen > 0:
                best = i
                continue
            best = (best + moved + seen) % len(pulls)
        return best

    def update(self, state: Count, arm: int, reward: float) -> None:
        try:
            twice = twice_below_five(arm + total(state) % 3)
            state.pulls[arm] += 1
        except Exception:
            twice = 2
        state.pulls[arm] += twice


@pytest.mark.slow
@pytest.mark.usefixtures("either_path")
def test_variables_keep_their_values_across_blocks_and_calls() -> None:
    arms = np.zeros(200, np.int64)

    def play(policy: Any, state: Any, arms: Any) -> None:
        for t in range(len(arms)):
            arms[t] = policy.select(state, t, None)
            policy.update(state, arms[t], 1.0)

    policy, state = Winding(), Winding().init(5, None)
    compiled(play, policy, state, arms)(policy, state, arms)
    again = policy.init(5, None)
    expected = []
    for t in range(len(arms)):
        expected.append(policy.select(again, t, None))
        policy.update(again, expected[-1], 1.0)
    assert len(set(expected)) == 5
    assert arms.tolist() == expected
    assert state.pulls.tolist() == again.pulls.tolist()


class Copy(NamedTuple):
    values: np.ndarray
    more: Count | None


class Copies(NamedTuple):
    one: Copy
    other: Copy


class Copying(NamedTuple):
    """A policy that copies a part of its state into another."""

    step: int = 3

    def select(self, state: Copies, t: int, rng: Any) -> int:
        copy_into(state.one, state.other)
        return 0

    def update(self, state: Copies, arm: int, reward: float) -> None:
        pass


@pytest.mark.usefixtures("either_path")
@pytest.mark.parametrize(
    ("target", "source", "expected"),
    [
        (np.zeros(2), np.arange(1.0, 4.0), [1.0, 2.0]),
        (np.zeros(3), np.array([7.0]), [7.0, 0.0, 0.0]),
        (np.zeros((2, 2)), np.arange(4.0).reshape(2, 2).T, [0.0, 2.0, 1.0, 3.0]),
        (np.zeros(4), np.arange(8.0)[::2], [0.0, 2.0, 4.0, 6.0]),
        (np.zeros(2), np.array([1, 2]), [1.0, 2.0]),
    ],
    ids=["from longer", "from shorter", "transposed", "strided", "another type"],
)
def test_states_are_copied_as_far_as_they_reach(target: Any, source: Any, expected: list[float]) -> None:
    state = Copies(Copy(target.copy(), Count(np.zeros(3))), Copy(source, Count(np.arange(3.0))))
    compiled(Copying.select, Copying(), state, 0, None)(Copying(), state, 0, None)
    assert state.one.values.ravel().tolist() == expected
    assert state.one.more is not None
    assert state.one.more.pulls.tolist() == [0.0, 1.0, 2.0]


@compilable
def two(x: FloatArray) -> float:
    return 2.0


@compiled_as(two)
def one(x: FloatArray) -> float:
    return float(np.array([1.0 for _ in x]).mean())  # numba knows no such array


def count(factor: Count, nothing: None) -> float:
    return one(factor.pulls)


@pytest.mark.usefixtures("either_path")
def test_compiled_code_calls_the_form_with_loops() -> None:
    state = Count(np.zeros(3))
    assert (count(state, None), compiled(count, state, None)(state, None)) == (1.0, 2.0)


class ListState(NamedTuple):
    pulls: list[int]


class Listing(Allocating):
    """A policy that keeps its state in a list."""

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return ListState([0] * n_arms)


def test_a_state_that_is_no_array_is_named() -> None:
    with pytest.raises(TypeError, match=r"Listing: state.pulls must be a NumPy array, .*, got \[0\]"):
        hb.simulate(hb.Instance([0], hb.Gaussian()), {"p": Listing()}, horizon=20, replications=1)


@pytest.mark.slow
@pytest.mark.usefixtures("either_path")
def test_methods_may_be_inherited() -> None:
    class Inheriting(Clash):
        def line(self, t: int) -> int:
            return 1

    result = hb.simulate(hb.Instance([0, 1], hb.Gaussian()), {"p": Inheriting()}, horizon=20, replications=1)
    assert result.pulls.values[0, 0].tolist() == [0, 20]


def test_kernels_get_no_text() -> None:
    assert without_text(hb.make("sgd-ucb")).schedule is None
    nested = without_text(FOUCB(ClippedSGD()))
    assert nested.optimizer.radius is None
    assert nested.optimizer.clip == 10.0


def test_importing_the_package_does_not_import_what_is_slow() -> None:
    slow = ("numba", "scipy", "pandas", "xarray", "matplotlib")
    script = f"import sys, heavybandits; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
