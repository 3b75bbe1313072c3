"""What is saved comes back to the last bit, and what is not an agent is not taken for one."""

import copy
import errno
import hashlib
import json
import math
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from agents import POLICIES, Plain, every_policy, make_agent, reward_of, snapshot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits.agent_file import Saved, read, write


def through_a_file(agent: hb.Agent, folder: Path) -> hb.Agent:
    agent.save(folder / "agent")
    return hb.Agent.load(folder / "agent")


def eventful_life(agent: hb.Agent, rng: np.random.Generator, rounds: int) -> None:
    """Selections that wait, rewards that nobody asked for, arms that come and go; it may end amid a batch."""
    for _ in range(rounds):
        arm = agent.select(among=rng.permutation(agent.arms)[:2]) if rng.random() < 0.2 else agent.select()
        if rng.random() < 0.8:
            agent.update(arm, reward_of(rng, arm))
        if rng.random() < 0.1:
            agent.update_many(agent.arms, [reward_of(rng, arm) for arm in agent.arms])
        if rng.random() < 0.03:
            agent.add_arm()
        if rng.random() < 0.03 and len(agent.arms) > 3:
            agent.remove_arm(rng.choice(agent.arms))


# What comes back


@every_policy
@pytest.mark.parametrize(("n_arms", "seed"), [(1, 0), (3, 1), (3, 2), (5, 3), (66, 4)])
def test_a_loaded_agent_decides_as_the_saved_one_would_have(name: str, n_arms: int, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    agent = make_agent(name, n_arms, seed)
    eventful_life(agent, rng, int(rng.integers(1, 8 * n_arms + 50)))
    before = snapshot(agent)
    loaded = through_a_file(agent, tmp_path)
    assert snapshot(agent) == before
    assert snapshot(loaded) == before
    for _ in range(200):
        arm = agent.select()
        assert loaded.select() == arm
        if rng.random() < 0.9:  # else it stays pending
            reward = reward_of(rng, arm)
            agent.update(arm, reward)
            loaded.update(arm, reward)
    assert snapshot(loaded) == snapshot(agent)
    assert agent.add_arm() == loaded.add_arm()


def test_every_moment_of_a_batch_can_be_saved(tmp_path: Path) -> None:
    agent, rng = make_agent("sgd-ucb-smom", 3), np.random.default_rng(0)
    for _ in range(40):
        twin = through_a_file(agent, tmp_path)
        waiting = [agent.select() for _ in range(4)]
        assert [twin.select() for _ in range(4)] == waiting
        agent.update(waiting[-1], reward_of(rng, waiting[-1]))


@every_policy
def test_saving_twice_writes_the_same_file(name: str, tmp_path: Path) -> None:
    agent = make_agent(name)
    eventful_life(agent, np.random.default_rng(5), 60)
    agent.save(tmp_path / "first")
    hb.Agent.load(str(tmp_path / "first")).save(str(tmp_path / "second"))
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_copies_are_independent() -> None:
    agent = make_agent("sgd-ucb-median")
    eventful_life(agent, np.random.default_rng(6), 50)
    for twin in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        before = snapshot(agent)
        assert snapshot(twin) == before
        twin.update(twin.select(), 1.0)
        assert snapshot(agent) == before


@pytest.mark.parametrize(
    "labels",
    [["a", "b"], ["", "two\nlines", "ünï", "\ud800", "'\"\\"], [5, -3, 10**30], [0.1, math.inf, 1e-300], [True, False],
     ["1", 1, 1.5], np.array(["x", "y"]), np.arange(3)],
)  # fmt: skip
def test_names_come_back(labels: Any, tmp_path: Path) -> None:
    agent = hb.Agent(hb.UCB(), arms=labels)
    loaded = through_a_file(agent, tmp_path)
    assert loaded.arms == list(labels)
    assert [type(arm) for arm in loaded.arms] == [type(arm) for arm in agent.arms]


def test_names_that_cannot_be_saved_are_refused(tmp_path: Path) -> None:
    agent = hb.Agent(hb.UCB(), arms=["a", (1, 2)])
    with pytest.raises(TypeError, match=r"to be saved, arms must be named by text or numbers, got \(1, 2\)"):
        agent.save(tmp_path / "agent")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "policy",
    [hb.ThompsonGaussian(prior_mean=1.0, prior_scale=2.0), hb.make("sgd-ucb", schedule="theory", coeff=0.7),
     hb.FOUCB(hb.ClippedSSTM(a=3.0)), hb.make("rucb-catoni", v=1.0, eps=0.5)],
)  # fmt: skip
def test_parameters_come_back(policy: Any, tmp_path: Path) -> None:
    saved = Saved(policy, 100, ["a"], 0, [0], 0, np.random.default_rng(), policy.init(1, 100))
    write(tmp_path / "agent", saved)
    assert read(tmp_path / "agent").policy == policy


def test_numbers_of_removed_arms_stay_used(tmp_path: Path) -> None:
    agent = hb.Agent(hb.UCB(), n_arms=3)
    agent.remove_arm(2)
    assert through_a_file(agent, tmp_path).add_arm() == 3


def test_a_store_that_has_grown_comes_back(tmp_path: Path) -> None:
    agent = hb.Agent(POLICIES["rucb-catoni"], 2, horizon=10)
    agent.update_many([0, 1] * 500, np.random.default_rng(7).standard_cauchy(1000))
    loaded = through_a_file(agent, tmp_path)
    assert snapshot(loaded) == snapshot(agent)
    loaded.update_many([0] * 3000, [1.0] * 3000)


@pytest.mark.parametrize("name", ["rucb-median", "rucb-truncated", "rucb-catoni"])
def test_a_file_is_as_large_as_what_is_known_whatever_the_horizon(name: str, tmp_path: Path) -> None:
    agent = hb.Agent(POLICIES[name], 2, horizon=10**6)
    agent.update(agent.select(), 1.0)
    agent.add_arm()
    agent.save(tmp_path / "agent")
    assert (tmp_path / "agent").stat().st_size < 50_000


# What a policy of one's own needs


class Mine(NamedTuple):
    """A policy that keeps a parameter of NumPy's type, and one with text."""

    weight: Any
    mode: str = "fast"

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Plain(1.0).init(n_arms, horizon)

    def select(self, state: Any, t: int, rng: Any) -> int:
        return t % len(state.total)

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.total[arm] += self.weight * reward


def test_a_policy_of_ones_own_is_given_again(tmp_path: Path) -> None:
    agent, path = hb.Agent(Mine(np.int64(2)), n_arms=2), tmp_path / "agent"
    agent.update(1, 3.0)
    agent.save(path)
    assert snapshot(hb.Agent.load(path, policy=Mine(np.int64(2)))) == snapshot(agent)
    with pytest.raises(ValueError, match=rf"^{path}: .*Mine is not part of this package; give the policy"):
        hb.Agent.load(path)
    with pytest.raises(ValueError, match=rf"^{path}: .*policy must be the saved one, .*'weight': 2.*got .*'weight': 3"):
        hb.Agent.load(path, policy=Mine(3))
    with pytest.raises(ValueError, match="policy must be the saved one"):
        hb.Agent.load(path, policy=Plain(2.0))
    with pytest.raises(ValueError, match="policy must be the saved one"):
        hb.Agent.load(path, policy=hb.UCB())
    for wrong in (Mine, "mine", 3):
        with pytest.raises(TypeError, match="policy must be a policy such as"):
            hb.Agent.load(path, policy=wrong)  # type: ignore[arg-type]


def test_a_registered_policy_may_be_given_too(tmp_path: Path) -> None:
    hb.Agent(hb.UCB(c=2.0), n_arms=2).save(tmp_path / "agent")
    assert hb.Agent.load(tmp_path / "agent", policy=hb.UCB(c=2.0)).policy == hb.UCB(c=2.0)
    with pytest.raises(ValueError, match="policy must be the saved one"):
        hb.Agent.load(tmp_path / "agent", policy=hb.UCB(c=3.0))


def test_parameters_that_cannot_be_saved_are_refused(tmp_path: Path) -> None:
    agent = hb.Agent(hb.UCB(), n_arms=2)
    agent.policy = Mine(weight=1j)  # such a policy could not be compiled
    with pytest.raises(TypeError, match="a policy's parameters must be text, numbers or lists, got 1j"):
        agent.save(tmp_path / "agent")
    assert list(tmp_path.iterdir()) == []


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


# What is not an agent


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    agent = hb.Agent(hb.UCB(), arms=["red", "green"])
    agent.update_many(["red", "green"], [1.0, 2.0])
    path = tmp_path_factory.mktemp("good") / "agent"
    agent.save(path)
    return path.read_bytes()


def refused(path: Path, contents: bytes) -> str:
    """The message that refuses a file, checked to be one sentence that names it."""
    path.write_bytes(contents)
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z") as caught:
        hb.Agent.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value)


def test_every_byte_counts(good: bytes, tmp_path: Path) -> None:
    path = tmp_path / "agent"
    first_line = good.index(b"\n") + 1
    for offset, byte in enumerate(good):
        others = {byte ^ 1, byte ^ 128, *(b" \t\r\n\0" + b"12aA" if offset < first_line else b"")}
        for other in others - {byte}:
            refused(path, good[:offset] + bytes([other]) + good[offset + 1 :])


def test_every_length_counts(good: bytes, tmp_path: Path) -> None:
    for length in range(len(good)):
        refused(tmp_path / "agent", good[:length])
    for more in (b"\n", b"\0", good):
        assert "damaged" in refused(tmp_path / "agent", good + more)


@settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
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
        (b"heavybandits-agent 2 " + b"0" * 64 + b"\nanything", "saved in format '2', of which .* knows 1 only"),
        (b"heavybandits-agent 1 " + b"0" * 64 + b"\nanything", "the file is damaged"),
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
    """A file with another header and the right checksum."""
    _, text, data = good.split(b"\n", 2)
    header = json.loads(text)
    change(header)
    body = json.dumps(header).encode() + b"\n" + data
    return f"heavybandits-agent 1 {hashlib.sha256(body).hexdigest()}\n".encode() + body


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
    """One row from an array to another, so that there are as many bytes as before."""
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


@pytest.mark.parametrize("nested", [False, True])
def test_code_that_a_file_names_is_not_run(good: bytes, nested: bool, tmp_path: Path) -> None:
    code = tmp_path / "theirs.py"
    code.write_text(SOURCE)
    spec: dict[str, Any] = {"kind": f"{code}:Theirs"}
    if nested:
        spec = {"kind": "fo-ucb", "optimizer": spec}
    assert "is not part of this package" in refused(tmp_path / "agent", forged(good, lambda h: h.update(policy=spec)))
    assert not code.with_name("theirs.py.was_run").exists()


# Atomic


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, path = hb.Agent(hb.UCB(), n_arms=2), tmp_path / "agent"
    agent.save(path)
    old = path.read_bytes()
    agent.update(0, 1.0)

    def fail(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        with pytest.raises(OSError, match=f"No space left on device: '{path}'") as caught:
            agent.save(path)
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == old
    assert files(tmp_path) == ["agent"]
    agent.save(path)
    assert hb.Agent.load(path).pulls == {0: 1, 1: 0}


def test_an_interrupted_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        hb.Agent(hb.UCB(), n_arms=2).save(tmp_path / "agent")
    assert files(tmp_path) == []


def test_places_that_cannot_be_written_to(tmp_path: Path) -> None:
    agent = hb.Agent(hb.UCB(), n_arms=2)
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match="nowhere/agent"):
        agent.save(tmp_path / "nowhere" / "agent")
    with pytest.raises(NotADirectoryError, match="file/agent"):
        agent.save(tmp_path / "file" / "agent")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="folder"):
        agent.save(tmp_path / "folder")
    assert files(tmp_path) == ["file", "folder"]


def test_links_stay_links_and_rights_are_the_usual_ones(tmp_path: Path) -> None:
    agent = hb.Agent(hb.UCB(), n_arms=2)
    (tmp_path / "usual").touch()
    (tmp_path / "link").symlink_to(tmp_path / "agent")
    agent.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert hb.Agent.load(tmp_path / "agent").arms == [0, 1]
    assert (tmp_path / "agent").stat().st_mode == (tmp_path / "usual").stat().st_mode
    agent.save(tmp_path / ("x" * 255))  # the longest name there is


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(hb.__file__).parents[1])}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


SAVE_FOR_EVER = """
import sys
import heavybandits as hb
agent = hb.Agent(hb.UCB(), n_arms=20_000)
while True:
    agent.save(sys.argv[1])
    print("saved", flush=True)
    agent.update(agent.select(), 1.0)
"""


def test_a_killed_process_leaves_a_file_that_loads(tmp_path: Path) -> None:
    path = tmp_path / "agent"
    pulls = []
    for delay in (0.0, 0.003, 0.011, 0.3):
        process = python(SAVE_FOR_EVER, path)
        assert process.stdout is not None
        for _ in range(2):
            assert process.stdout.readline() == "saved\n"
        end = time.perf_counter() + delay
        while time.perf_counter() < end:  # while it is being written, too
            pulls.append(hb.Agent.load(path)._seen)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        pulls.append(hb.Agent.load(path)._seen)
    assert min(pulls) >= 1  # never older than what was said to be saved


SAVE_TOO_MUCH = """
import resource, sys
import heavybandits as hb
agent = hb.Agent(hb.UCB(), n_arms=2)
agent.save(sys.argv[1])
agent.add_arm("x" * 100_000)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    agent.save(sys.argv[1])
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path) -> None:
    output, _ = python(SAVE_TOO_MUCH, tmp_path / "agent").communicate(timeout=60)
    assert f"'{tmp_path / 'agent'}'" in output
    assert hb.Agent.load(tmp_path / "agent").arms == [0, 1]
    assert files(tmp_path) == ["agent"]
