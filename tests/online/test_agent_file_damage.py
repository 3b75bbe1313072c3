"""A file that is not a whole saved agent is refused, and loading never runs code that a file names."""

import hashlib
import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import make_agent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import heavybandits as hb


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    agent = hb.Agent(hb.UCB(), arms=["red", "green"])
    agent.update_many(["red", "green"], [1.0, 2.0])
    path = tmp_path_factory.mktemp("good") / "agent"
    agent.save(path)
    return path.read_bytes()


def refused(path: Path, contents: bytes) -> str:
    """Return the message that refuses a file, checked to be one sentence that names it."""
    path.write_bytes(contents)
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z") as caught:
        hb.Agent.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value)


@pytest.mark.slow
def test_every_byte_counts(good: bytes, tmp_path: Path) -> None:
    path = tmp_path / "agent"
    first_line = good.index(b"\n") + 1
    for offset, byte in enumerate(good):
        others = {byte ^ 1, byte ^ 128, *(b" \t\r\n\0" + b"12aA" if offset < first_line else b"")}
        for other in others - {byte}:
            refused(path, good[:offset] + bytes([other]) + good[offset + 1 :])


@pytest.mark.slow
def test_every_length_counts(good: bytes, tmp_path: Path) -> None:
    for length in range(len(good)):
        refused(tmp_path / "agent", good[:length])
    for more in (b"\n", b"\0", good):
        assert "damaged" in refused(tmp_path / "agent", good + more)


@pytest.mark.slow
@settings(max_examples=300, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damage_is_noticed(good: bytes, tmp_path: Path, data: st.DataObject) -> None:
    start, end = sorted(data.draw(st.tuples(*2 * [st.integers(0, len(good))])))
    damaged = good[:start] + data.draw(st.binary(max_size=20)) + good[end:]
    if damaged != good:
        refused(tmp_path / "agent", damaged)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "not a saved agent"),
        (b"\n", "not a saved agent"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "not a saved agent"),
        (b"PK\x03\x04" + bytes(100), "not a saved agent"),
        (pickle.dumps({"policy": "ucb"}), "not a saved agent"),
        (b"heavybandits-agent", "not a saved agent"),
        (b"heavybandits-agent 3 " + b"0" * 64 + b"\nanything", "saved in format '3', but .* reads only format 2"),
        (b"heavybandits-agent 1 " + b"0" * 64 + b"\nanything", "saved in format '1', but .* reads only format 2"),
        (b"heavybandits-agent 2 " + b"0" * 64 + b"\nanything", "the file is damaged"),
        (bytes(10**6), "not a saved agent"),
    ],
)
def test_foreign_files_are_refused(contents: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "agent"
    refused(path, contents)
    with pytest.raises(ValueError, match=message):
        hb.Agent.load(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere/agent"):
        hb.Agent.load(tmp_path / "nowhere" / "agent")
    with pytest.raises(IsADirectoryError):
        hb.Agent.load(tmp_path)


def forged(good: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """Return a file with another header and the right checksum."""
    _, text, data = good.split(b"\n", 2)
    header = json.loads(text)
    change(header)
    body = json.dumps(header).encode() + b"\n" + data
    digest = hashlib.sha256(b"heavybandits-agent 2\n" + body).hexdigest()
    return f"heavybandits-agent 2 {digest}\n".encode() + body


def test_a_forgery_with_nothing_changed_loads(good: bytes, tmp_path: Path) -> None:
    (tmp_path / "agent").write_bytes(forged(good, lambda header: None))
    assert hb.Agent.load(tmp_path / "agent").arms == ["red", "green"]


NONSENSE: list[Any] = [..., None, -1, 1.5, "x", [], [1], {}, [[]], {"kind": "ucb"}, [["state.pulls", "<i8", [2]]]]


@pytest.mark.parametrize("key", ["policy", "horizon", "labels", "unused", "pulls", "seen", "rng", "state"])
def test_a_whole_file_with_nonsense_in_it_is_refused(key: str, tmp_path: Path) -> None:
    path = tmp_path / "agent"
    make_agent("thompson-gaussian").save(path)
    good = path.read_bytes()

    for value in NONSENSE:

        def change(header: dict[str, Any], value: Any = value) -> None:
            del header[key]
            if value is not ...:
                header[key] = value

        if (key, value) != ("horizon", None):
            refused(path, forged(good, change))


def _shift(header: dict[str, Any]) -> None:
    """Move one row from an array to another, so that there are as many bytes as before."""
    alike = [entry for entry in header["state"] if entry[1:] == ["<i8", [2]]]
    alike[0][2], alike[1][2] = [1], [3]


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h["state"].pop(),
        lambda h: h["state"].reverse(),
        lambda h: h["state"].append(["state.more", "<i8", [0]]),
        lambda h: h["state"][0].__setitem__(0, "state.other"),
        lambda h: h["state"][0].__setitem__(2, [3]),
        _shift,
        lambda h: h["state"][0].__setitem__(2, [1]),
        lambda h: h["state"][0].__setitem__(2, [-1]),
        lambda h: h["state"][0].__setitem__(1, "<f8"),
        lambda h: h["state"][0].__setitem__(1, "|O"),  # objects would be pickled
        lambda h: h["labels"].append("blue"),
        lambda h: h["labels"].__setitem__(1, "red"),
        lambda h: h["labels"].__setitem__(1, ["green"]),
        lambda h: h["pulls"].append(1),
        lambda h: h.update(surprise=1),
        lambda h: h["policy"].update(d=1),
        lambda h: h["policy"].update(c=-1),
        lambda h: h["policy"].update(kind="thompson-gaussian"),
        lambda h: h.update(policy={"kind": "no-such-policy"}),
    ],
)  # fmt: skip
def test_a_whole_file_that_does_not_fit_together_is_refused(good: bytes, change: Any, tmp_path: Path) -> None:
    assert "cannot use the agent saved here" in refused(tmp_path / "agent", forged(good, change))


SOURCE = """
from pathlib import Path
from typing import NamedTuple
import numpy as np
Path(__file__ + ".was_run").touch()
class State(NamedTuple):
    total: np.ndarray
class Theirs(NamedTuple):
    step: float = 1.0
    def init(self, n_arms, horizon):
        return State(np.zeros(n_arms))
    def select(self, state, t, rng):
        return t % len(state.total)
    def update(self, state, arm, reward):
        state.total[arm] += self.step * reward
"""


@pytest.mark.slow
def test_a_users_file_may_move_and_is_never_run_by_loading(tmp_path: Path) -> None:
    old, new = tmp_path / "old" / "theirs.py", tmp_path / "new" / "renamed.py"
    for file in (old, new):
        file.parent.mkdir()
        file.write_text(SOURCE)
    agent = hb.Agent(hb.make(f"{old}:Theirs"), n_arms=2)
    agent.save(tmp_path / "agent")
    assert str(tmp_path).encode() not in (tmp_path / "agent").read_bytes()
    old.with_name("theirs.py.was_run").unlink()
    with pytest.raises(ValueError, match="Theirs is not part of this package"):
        hb.Agent.load(tmp_path / "agent")
    assert not old.with_name("theirs.py.was_run").exists()
    shutil.rmtree(old.parent)
    assert hb.Agent.load(tmp_path / "agent", policy=hb.make(f"{new}:Theirs")).arms == [0, 1]


@pytest.mark.parametrize("nested", [False, True])
def test_code_that_a_file_names_is_not_run(good: bytes, nested: bool, tmp_path: Path) -> None:
    code = tmp_path / "theirs.py"
    code.write_text(SOURCE)
    spec: dict[str, Any] = {"kind": f"{code}:Theirs"}
    if nested:
        spec = {"kind": "fo-ucb", "optimizer": spec}
    assert "is not part of this package" in refused(tmp_path / "agent", forged(good, lambda h: h.update(policy=spec)))
    assert not code.with_name("theirs.py.was_run").exists()
