"""A save that fails, is interrupted or is killed leaves the old file as it was."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import heavybandits as hb


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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path) -> None:
    output, _ = python(SAVE_TOO_MUCH, tmp_path / "agent").communicate(timeout=60)
    assert f"'{tmp_path / 'agent'}'" in output
    assert hb.Agent.load(tmp_path / "agent").arms == [0, 1]
    assert files(tmp_path) == ["agent"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes of this kind")
@pytest.mark.parametrize("through_a_link", [False, True])
def test_what_is_not_a_regular_file_is_refused(through_a_link: bool, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    path = tmp_path / "pipe"
    if through_a_link:
        path = tmp_path / "link"
        path.symlink_to(tmp_path / "pipe")
    with pytest.raises(ValueError, match="path must be a regular file or a new one, got "):
        hb.Agent(hb.UCB(), n_arms=2).save(path)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert files(tmp_path) == sorted({path.name, "pipe"})


def test_the_mode_of_the_old_file_is_kept(tmp_path: Path) -> None:
    agent, path = hb.Agent(hb.UCB(), n_arms=2), tmp_path / "agent"
    agent.save(path)
    path.chmod(0o640)
    agent.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


KILLED_WHILE_WRITING = """
import os, signal, sys
import heavybandits as hb
os.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)
hb.Agent(hb.UCB(), n_arms=2000).save(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows kills otherwise")
def test_what_a_killed_process_left_behind_goes_with_the_next_save(tmp_path: Path) -> None:
    path = tmp_path / "agent"
    for _ in range(2):
        process = python(KILLED_WHILE_WRITING, path)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    [left] = files(tmp_path)  # the second used what the first had left
    assert left.startswith(".heavybandits-")
    hb.Agent(hb.UCB(), n_arms=2).save(path)
    assert files(tmp_path) == ["agent"]
    assert hb.Agent.load(path).arms == [0, 1]


@pytest.mark.slow
def test_threads_and_processes_may_save_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "agent"
    agents = [hb.Agent(hb.UCB(), n_arms=n) for n in (2, 300, 40, 5)]
    over, damaged = threading.Event(), []

    def save(agent: hb.Agent) -> None:
        for _ in range(60):
            agent.save(path)

    def load() -> None:
        while not over.is_set():
            try:
                hb.Agent.load(path)
            except ValueError as error:
                damaged.append(error)

    agents[0].save(path)
    reader = threading.Thread(target=load)
    reader.start()
    savers = [threading.Thread(target=save, args=(agent,)) for agent in agents]
    for thread in savers:
        thread.start()
    for thread in savers:
        thread.join()
    over.set()
    reader.join()
    assert not damaged
    assert files(tmp_path) == ["agent"]
