"""The disk cache: a second process compiles nothing, no edit is missed, and no damage does harm."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from user_policy import HELPERS, MINE, RUN, begin, finish, run, write_policy

import heavybandits as hb
from heavybandits.jit.digest import digest
from heavybandits.protocols import compiled_as

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_policy(tmp_path)
    return tmp_path


def test_second_process_compiles_nothing_and_an_edit_is_never_missed(folder: Path) -> None:
    first = run(folder)
    assert first["compilations"] > 0
    assert first["pulls"][3] == 41
    assert not first["zoo"]  # to compile one policy takes no other
    # comments and docstrings are not compiled, nor is init
    (folder / "helpers.py").write_text(HELPERS.replace("(a, b):", "(a, b):\n    'The larger one.'\n    # of two"))
    (folder / "my_policy.py").write_text(MINE.replace("(self, n_arms, horizon):", "(self, n_arms, horizon=None):"))
    assert run(folder) == {**first, "compilations": 0}
    # in a module that the policy's file imports
    (folder / "constants.py").write_text("FAVOURITE = 5\n")
    assert run(folder)["pulls"][5] == 41
    (folder / "helpers.py").write_text(HELPERS.replace("max(a, b)", "max(a, b) + 0.0"))
    assert run(folder)["compilations"] > 0
    # in the policy's file itself
    (folder / "my_policy.py").write_text(MINE.replace("min(FAVOURITE,", "min(FAVOURITE + 1,"))
    assert run(folder)["pulls"][6] == 41


TWO = """
import json, sys
import heavybandits as hb
from numba.core import event

compiled = []
event.register("numba:compile", type("Listener", (event.Listener,), {
    "on_start": lambda self, e: compiled.append((e.data["dispatcher"].py_func.__name__, e.data["args"][0])),
    "on_end": lambda self, e: None})())
policies = {"ucb": hb.UCB(), "thompson": hb.ThompsonGaussian()}
hb.simulate(hb.Instance([0, 1], hb.Gaussian()), policies, horizon=5, replications=1, workers=1)
json.dump([policy.instance_class.__name__ for name, policy in compiled if name == "play"], sys.stdout)
"""


def test_an_edit_of_the_package_recompiles_what_uses_it(tmp_path: Path) -> None:
    package = tmp_path / "src" / "heavybandits"
    shutil.copytree(Path(hb.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))

    def edit(file: str, before: str, after: str) -> None:
        text = (package / file).read_text()
        assert before in text
        (package / file).write_text(text.replace(before, after, 1))

    def compiled() -> Any:
        return run(tmp_path, TWO, PYTHONPATH=str(package.parent))

    assert compiled() == ["UCB", "ThompsonGaussian"]
    for file in ("report/__init__.py", "jit/fast_path.py"):
        edit(file, '"""', '"""To begin with: ')
    edit("engine/arms_game.py", "for i in range(noise.shape[0]):", "for i in range(noise.shape[0]):  # in turn")
    edit("numerics.py", "def running_mean(", "# Said twice.\ndef running_mean(")
    edit("numerics.py", '"""', '"""Also: ')
    assert compiled() == []
    body = (package / "numerics.py").read_text().split("def running_mean(")[1].split("return ")[1]
    edit("numerics.py", f"return {body}", f"return 0.0 + {body}")
    assert compiled() == ["UCB"]


def flip(share: float) -> Any:
    def damage(contents: bytes) -> bytes:
        position = int(share * (len(contents) - 1))
        return contents[:position] + bytes([contents[position] ^ 1]) + contents[position + 1 :]

    return damage


DAMAGES = {
    "in the digest": flip(0.0), "early": flip(0.01), "in the middle": flip(0.5), "late": flip(0.9), "last": flip(1.0),
    "truncated": lambda contents: contents[: len(contents) // 2], "empty": lambda _: b"",
}  # fmt: skip


def test_a_damaged_cache_is_made_anew(folder: Path) -> None:
    first = run(folder)
    for damage in DAMAGES.values():
        files = list((folder / "cache").rglob("*.nbc"))
        assert len(files) == 2  # the loop's, and the noise's
        for file in files:
            file.write_bytes(damage(file.read_bytes()))
        assert run(folder) == first
    assert run(folder) == {**first, "compilations": 0}


def test_processes_may_write_the_same_file_at_once_and_read_it_if_no_more_can_be_written(folder: Path) -> None:
    both = [begin(folder), begin(folder)]
    first, second = map(finish, both)
    assert first["pulls"] == second["pulls"]
    read_only = f"import tempfile; tempfile.TemporaryFile = lambda dir: open('/dev/null/nowhere'){RUN}"
    assert run(folder, read_only) == {**first, "compilations": 0}
    assert not list((folder / "cache").rglob("*.tmp"))


def test_without_room_for_the_cache_everything_still_runs(folder: Path) -> None:
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (5000, -1)){RUN}"
    assert run(folder, limited)["pulls"][3] == 41
    assert not list((folder / "cache").rglob("*.*"))
    assert run(folder)["pulls"][3] == 41


def test_without_a_folder_for_the_cache_everything_still_runs(folder: Path) -> None:
    assert run(folder, NUMBA_CACHE_DIR="/dev/null/nowhere")["pulls"][3] == 41


FACTOR = 2.0


@hb.compilable
def scaled(x: float) -> float:
    return FACTOR * x


@compiled_as(scaled)
def scaled_at_once(x: float) -> float:
    return 2.0 * x


def test_the_digest_covers_constants_calls_and_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    def caller(x: float) -> float:
        return scaled(x)

    before = digest(caller)
    assert digest(caller) == before
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    changed = digest(caller)
    assert changed != before
    caller.__defaults__ = (1.0,)
    assert digest(caller) not in (before, changed)


def test_the_digest_is_that_of_the_form_that_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def caller(x: float) -> float:
        return scaled_at_once(x)

    before = digest(caller)
    monkeypatch.setattr(scaled_at_once, "__code__", (lambda x: x + x).__code__)
    assert digest(caller) == before
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert digest(caller) != before
