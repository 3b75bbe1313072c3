"""The two paths: where numba's internals are not as expected, one warning, the other path and the same results."""

import re
from pathlib import Path

import numba
import pytest
from user_policy import RUN, run, write_policy

import heavybandits as hb
from heavybandits.jit import backend

BROKEN = {
    "a version that is not known": "import numba; numba.__version__ = '0.99.0'",
    "a name that is missing": "import numba.core.codegen; del numba.core.codegen.JITCodeLibrary",
    "an error in the middle": """
import numba, numba.core.environment
def lookup_environment(name):
    raise LookupError("nothing is where it was")
numba.core.environment.lookup_environment = lookup_environment
""",
}
AGENT = """
agent = hb.Agent(policy, n_arms=2)
agent.update(agent.select(), 1.0)
"""


@pytest.mark.slow
def test_broken_internals_cost_time_and_one_warning(tmp_path: Path) -> None:
    write_policy(tmp_path)
    sound = run(tmp_path)
    for number, damage in enumerate(BROKEN.values()):
        cache = str(tmp_path / f"cache{number}")
        broken = run(tmp_path, damage + RUN + (AGENT if number == 0 else ""), warnings=1, NUMBA_CACHE_DIR=cache)
        assert broken["compilations"] > 0
        assert bool(list(Path(cache).rglob("*.nbc"))) == (number > 0)  # files of an unknown version are not trusted
        assert (broken["pulls"], broken["regret"]) == (sound["pulls"], sound["regret"])


def test_the_warning_says_what_happened_and_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_fast", True)

    def make(path: object) -> str:
        if "fast_path" in str(path):
            raise KeyError("gone")
        return "made"

    slower = "compiling takes two to four times as long and a pull up to a quarter longer$"
    with pytest.warns(RuntimeWarning, match=rf"numba [\d.]+ \(KeyError: 'gone'\).*results are the same, but {slower}"):
        assert backend.on_best_path(make) == "made"
    assert backend.on_best_path(make) == "made"  # and no warning


def test_what_numba_refuses_in_public_too_is_no_reason_to_leave_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_fast", True)

    def make(path: object) -> str:
        raise ValueError("fast" if "fast_path" in str(path) else "public")

    with pytest.raises(ValueError, match="public"):
        backend.on_best_path(make)
    assert backend.path_in_use() == "heavybandits.jit.fast_path"


def test_a_version_that_is_not_known_is_said_to_keep_nothing_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba, "__version__", "0.99.0")
    with pytest.warns(RuntimeWarning, match=r"numba 0.99.0 .*every process compiles again"):
        backend._warn(ImportError("not tested"))


def test_three_modules_know_private_names_of_numba() -> None:
    source = Path(hb.__file__).parent
    found = {str(file.relative_to(source)) for file in source.rglob("*.py")
             if re.search(r"numba\.core|_nrt", file.read_text())}  # fmt: skip
    assert found == {"jit/compiled.py", "jit/disk_cache.py", "jit/fast_path.py"}
