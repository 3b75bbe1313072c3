"""The drawing process leaves errors and Ctrl-C to the process that started it, and does not outlive it for long."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from heavybandits.report.artist import Artist
from heavybandits.report.folder import run_and_report
from heavybandits.studies.executors import workers
from heavybandits.studies.run import RESUME, run_studies
from heavybandits.studies.study import read_study

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals work differently there"),
]


STUDY = """
[study]
horizon = 50
replications = 2

[instance.pair]
means = [0.0, 1.0]
noise = { kind = "gaussian" }

[policy.UCB]
kind = "ucb"
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("artist")
    (folder / "small.toml").write_text(STUDY)
    with workers(1) as threads:
        run_studies({f"{folder}/small.zarr": read_study(str(folder / "small.toml"))}, threads)
    return f"{folder}/small.zarr"


def test_what_can_be_drawn_is_drawn_and_the_rest_left_out_silently(
    store: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Artist(tmp_path) as artist:
        os.kill(artist._process.pid or 0, signal.SIGINT)  # Ctrl-C reaches it while it starts
        artist.draw(f"{tmp_path}/nothing.zarr")
        artist.draw(store)
        drawn = artist.sections()
        artist._process.join(0)
        assert artist._process.is_alive()
    assert list(drawn) == [store]
    assert drawn[store].study.name == "small"
    assert (tmp_path / "figures" / "small.png").exists()
    artist._process.join(60)
    assert artist._process.exitcode == 0
    assert capfd.readouterr() == ("", "")


def test_a_folder_that_cannot_be_written_to_is_left_to_the_other_process(
    store: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    with Artist(tmp_path / "file") as artist:
        artist.draw(store)
        assert artist.sections() == {}
    artist._process.join(60)
    assert capfd.readouterr() == ("", "")


def test_the_process_stops_drawing_when_the_other_is_interrupted(store: str, tmp_path: Path) -> None:
    artist = Artist(tmp_path)
    artist.draw(store)
    artist.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    artist._process.join(60)
    assert artist._process.exitcode == -signal.SIGTERM
    assert not (tmp_path / "figures").exists()


def test_ctrl_c_while_figures_are_drawn_says_that_results_are_saved(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Artist, "sections", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        run_and_report([read_study(str(Path(store).with_suffix(".toml")))], tmp_path, 1, None, None)
    assert caught.value.__notes__ == [RESUME]


def script(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script and wait until every process that could write to its streams has ended."""
    head = "import os, signal, sys, time\nfrom pathlib import Path\nfrom heavybandits.report.artist import Artist\n"
    main = f"{head}if __name__ == '__main__':\n" + "".join(f"    {line}\n" for line in text.splitlines())
    file = Path(arguments[-1]) / "script.py"
    file.write_text(main)
    return subprocess.run([sys.executable, str(file), *arguments], capture_output=True, text=True, timeout=120)


def test_ctrl_c_while_the_process_starts_is_not_lost(tmp_path: Path) -> None:
    done = script(
        "from multiprocessing.context import SpawnProcess\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job of a shell ignores it
        "start = SpawnProcess.start\n"
        "SpawnProcess.start = lambda self: (os.kill(os.getpid(), signal.SIGINT), start(self))\n"
        "try:\n"
        "    artist = Artist(Path(sys.argv[-1]))\n"
        "    time.sleep(60)\n"  # another thread may have received the signal, and tell this one about it later
        "except KeyboardInterrupt:\n"
        "    print('heard')\n",
        str(tmp_path),
    )
    assert (done.stdout, done.stderr) == ("heard\n", "")


def test_the_process_ends_without_a_word_when_the_other_is_killed(store: str, tmp_path: Path) -> None:
    done = script(
        "artist = Artist(Path(sys.argv[-1]))\n"
        "artist._connection.send(sys.argv[1])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n",
        store, str(tmp_path),
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    assert (done.stdout, done.stderr) == ("", "")
