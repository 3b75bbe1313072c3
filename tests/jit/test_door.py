"""The door to numba's internals: where they are not as expected, one warning and the same results."""

from pathlib import Path

import pytest
from user_policy import RUN, run, write_policy

from heavybandits.jit import door

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
    monkeypatch.setattr(door, "_open", True)

    def make(way: object) -> str:
        if "draft" in str(way):
            raise KeyError("gone")
        return "made"

    with pytest.warns(RuntimeWarning, match=r"numba [\d.]+ \(KeyError: 'gone'\).*results are the same"):
        assert door.through(make) == "made"
    assert door.through(make) == "made"  # and no warning


def test_what_numba_refuses_in_public_too_is_no_reason_to_close_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "_open", True)

    def make(way: object) -> str:
        raise ValueError("draft" if "draft" in str(way) else "plain")

    with pytest.raises(ValueError, match="plain"):
        door.through(make)
    assert door.is_open()
