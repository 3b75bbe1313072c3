"""The command-line tool, as a real process."""

import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import heavybandits
from heavybandits import cli
from heavybandits.algorithms.registry import POLICY_FOLDERS, TITLES
from heavybandits.studies.store import Store
from heavybandits.studies.study import studies
from heavybandits.world.environments import instances

STUDY = """
[study]
title = "Two arms"
horizon = 300
replications = 6
[instance.pair]
means = [0, 1]
noise = { kind = "cauchy" }
[policy.UCB]
kind = "ucb"
c = [0.1, 1.0]
"""
SLOW = """
import time
from pathlib import Path

class Slow:
    def sample(self, rng, size):
        Path("asleep").touch()
        time.sleep(600)
"""
LONG = STUDY.replace("horizon = 300", "horizon = 1_000_000").replace("replications = 6", "replications = 2000")


def tool(*arguments: object, cwd: Path | None = None, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "heavybandits", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, input=typed, check=False)


def test_version() -> None:
    done = tool("--version")
    assert (done.returncode, done.stdout) == (0, f"heavybandits {heavybandits.__version__}\n")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("token",)])
def test_without_a_command_the_help_keeps_its_lines(arguments: tuple[str, ...]) -> None:
    done = tool(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == tool(*arguments, "--help").stdout.strip()


@pytest.mark.slow
def test_lines_about_commands_are_not_cut() -> None:
    lines = tool("--help").stdout.partition("Commands:")[2].splitlines()
    assert len(lines) > 10
    assert not [line for line in lines if line.endswith("...")]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["reproduce", "run", "report", "diagnose", "list"])
def test_help_shows_an_example(command: str) -> None:
    done = tool(command, "--help")
    assert done.returncode == 0
    assert f"Example: heavybandits {command} " in done.stdout


@pytest.mark.slow
def test_diagnose_reads_standard_input_and_draws(tmp_path: Path) -> None:
    rows = "".join(f"{'ab'[i % 2]},{i % 7 + i % 2}\n" for i in range(400))
    done = tool("diagnose", "-", "--in-order", "--plots", tmp_path / "plots", typed=f"arm,reward\n{rows}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("standard input: 400 rewards of 2 arms")
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == ["drift.png", "hill.png", "tails.png"]


@pytest.mark.slow
def test_compare_names_the_winner_of_a_log(tmp_path: Path) -> None:
    typed = "ad,euros\n" + "blue,0\ngreen,2\nblue,1\ngreen,1\n" * 100
    columns = ("--arm-column", "ad", "--reward-column", "euros")
    done = tool("compare", "-", "--control", "blue", "--cap", "2", *columns, typed=typed)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("green is the winner: it earns more than the other arm, and at least ")
    for file in ("may.csv", "june.csv"):
        (tmp_path / file).write_text(typed)
    done = tool("compare", "may.csv", "june.csv", "--cap", "2", *columns, cwd=tmp_path)
    assert re.search(r"^green +400 ", done.stdout, re.MULTILINE)
    done = tool("compare", "-", "--cap", "-2:2", "--minimise", "--goal", "0.9", *columns, typed=typed)
    assert done.returncode == 2
    assert done.stderr == "heavybandits: compare: cap must be None unless the goal is 'mean', got (-2.0, 2.0)\n"
    done = tool("compare", "-", "--cap", "much", *columns, typed=typed)
    assert done.stderr == "heavybandits: --cap: must be a number, got 'much'\n"
    done = tool("compare", "-", "--goal", "much", *columns, typed=typed)
    assert "goal must be 'mean', 'location' or a number between 0 and 1, got 'much'" in done.stderr


@pytest.mark.slow
def test_diagnose_takes_costs_by_the_names_of_their_columns() -> None:
    typed = "server;ms\n" + "rome;1,5\noslo;2,5\n" * 5 + "oslo;\n"
    columns = ("--arm-column", "server", "--reward-column", "ms")
    done = tool("diagnose", "-", "--minimise", "--goal", "location", *columns, typed=typed)
    assert done.stdout.startswith("standard input: 10 costs of 2 arms; 1 row with missing")
    assert "Goal: location." in done.stdout
    assert "Best arm: Too early: 10 of the first 24 costs are in" in done.stdout
    done = tool("diagnose", "-", "--goal", "median", typed="arm,reward\na,1\n")
    assert done.stderr == "heavybandits: diagnose: goal must be 'mean' or 'location', got 'median'\n"


@pytest.mark.slow
def test_diagnose_refuses_bad_rewards_in_one_line() -> None:
    done = tool("diagnose", "-", typed="arm,reward\na,1\nb,x\n")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "heavybandits: standard input: line 3 has no usable reward, got 'x'\n"


@pytest.mark.slow
def test_diagnose_reads_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "rewards"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("arm,reward\na,1\na,x\n",), daemon=True)
    writer.start()
    done = tool("diagnose", str(pipe))
    assert done.stderr == f"heavybandits: {pipe}: line 3 has no usable reward, got 'x'\n"


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="is a device of Linux")
def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "heavybandits", "list", "noises"], stdout=full,
                              stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "heavybandits: No space left on device\n")


def small_files_only() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.slow
def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(STUDY)
    done = subprocess.run([sys.executable, "-m", "heavybandits", "run", "two.toml"], cwd=tmp_path, check=False,
                          capture_output=True, text=True, preexec_fn=small_files_only)  # fmt: skip
    assert (done.returncode, done.stderr) == (2, f"heavybandits: File too large: {tmp_path}/two/two.zarr\n")


def test_ctrl_c_while_the_tool_is_imported() -> None:
    script = """
import runpy, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "heavybandits.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
runpy.run_module("heavybandits", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "\ninterrupted\n")


def test_lists() -> None:
    for what, known in (
        ("policies", [name for kind in POLICY_FOLDERS for name in (f"# {TITLES[kind]}", *heavybandits.policies(kind))]),
        ("estimators", heavybandits.estimators()),
        ("noises", heavybandits.noises()),
        ("instances", instances()),
        ("studies", studies()),
    ):
        done = tool("list", what)
        assert done.returncode == 0
        found = [line if line.startswith("#") else line.split()[0] for line in done.stdout.splitlines()]
        assert found == list(known)
        assert not set("\\`") & set(done.stdout)  # plain text, no markup
        assert " Return " not in done.stdout  # what it is, not what it does


def test_a_package_that_is_missing_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["heavybandits", "list", "noises"])
    monkeypatch.setitem(sys.modules, "heavybandits.world.noises", None)
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("heavybandits: ")
    assert "heavybandits.world.noises" in line
    assert "fsspec" not in line


@pytest.mark.slow
def test_run_goes_on_and_reports(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(STUDY)
    first = tool("run", "two.toml", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    page = tmp_path / "two" / "report.html"
    assert first.stdout.splitlines()[-1] == f"Open {page}"
    assert "Two arms" in page.read_text()
    assert (tmp_path / "two/figures/two.png").stat().st_size > 1000
    assert "pair: 100%" in first.stdout  # a line, because this is not a terminal
    again = tool("run", "two.toml", cwd=tmp_path)
    assert again.returncode == 0
    assert "Everything is stored already" in again.stdout
    page.unlink()
    assert tool("report", "two", cwd=tmp_path).returncode == 0
    assert page.exists()


def on_a_terminal(*arguments: str, cwd: Path) -> str:
    """Return all that a command shows on a terminal, bars that go again included."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([sys.executable, "-m", "heavybandits", *arguments], cwd=cwd, stdout=follower,
                               stderr=follower, env={**os.environ, "TERM": "xterm"})  # fmt: skip
    os.close(follower)
    shown = b""
    try:
        while piece := os.read(leader, 4096):
            shown += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(leader)
    assert process.wait() == 0
    return shown.decode()


@pytest.mark.slow
def test_on_a_terminal_there_is_a_bar(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(STUDY)
    shown = on_a_terminal("run", "two.toml", cwd=tmp_path)
    assert "━" in shown
    assert "compiling two: pair" in shown
    assert " pulls/s" in shown


@pytest.mark.slow
def test_on_a_terminal_diagnose_and_compare_say_what_they_do(tmp_path: Path) -> None:
    lines = [f"{i % 2},{i * i % 17}" for i in range(60)]
    (tmp_path / "log.csv").write_text("\n".join(["arm,reward", *lines]))
    shown = on_a_terminal("diagnose", "log.csv", cwd=tmp_path)
    said = ["starting", "reading rewards", "measuring tails", "compiling ", "60 rewards of 2 arms"]
    assert sorted(map(shown.index, said)) == list(map(shown.index, said))
    silent = tool("diagnose", "log.csv", cwd=tmp_path)
    assert silent.stdout.startswith("log.csv: 60 rewards of 2 arms")
    assert not silent.stderr
    shown = on_a_terminal("compare", "log.csv", cwd=tmp_path)
    said = ["starting", "comparing", "Too early to tell"]
    assert sorted(map(shown.index, said)) == list(map(shown.index, said))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "none.toml"), "heavybandits: there is no file none.toml"),
        (("run", "cauchi"), "heavybandits: unknown study 'cauchi'; did you mean 'cauchy'?"),
        (
            ("run", "bad.toml"),
            "heavybandits: bad.toml: policy.UCB: UCB: c must be a non-negative finite number, got -1",
        ),
        (("run", "two.toml", "--workers", "0"), "heavybandits: Invalid value for '--workers'"),
        (("run", "two.toml", "--workers", "1", "--scheduler", "tcp://x:1"), "must not both be given"),
        (("run", "two.toml", "--out", "two.toml"), "heavybandits: "),
        (("report", "."), ": no results yet; run the study first"),
        (("report", "none"), "heavybandits: there is no folder "),
        (("reproduce", "--only", "cauchi"), "heavybandits: unknown experiment 'cauchi'; did you mean 'cauchy'?"),
        (("reproduce", "--quik"), "heavybandits: No such option"),
        (("compare",), "; see python -m heavybandits compare --help\n"),
        (("list", "noise"), "heavybandits: unknown list 'noise'; did you mean 'noises'?"),
        (("diagnose", "."), "heavybandits: .: must be a file, not a folder"),
        (("dance",), "heavybandits: No such command 'dance'"),
    ],
)
def test_bad_input_is_one_line_and_status_2(tmp_path: Path, arguments: tuple[str, ...], complaint: str) -> None:
    (tmp_path / "two.toml").write_text(STUDY)
    (tmp_path / "bad.toml").write_text(STUDY.replace("[0.1, 1.0]", "-1"))
    done = tool(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert complaint in done.stderr


def heed_ctrl_c() -> None:
    """React to Ctrl-C: what a shell starts in the background ignores it, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(LONG)
    command = [sys.executable, "-m", "heavybandits", "run", "two.toml"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, preexec_fn=heed_ctrl_c
    )
    while not list(tmp_path.glob("two/two.zarr/pair/checksum/c/*")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.strip() == "interrupted. Finished work is saved; run the same command to resume"
    missing, damaged = Store(str(tmp_path / "two/two.zarr")).missing()
    assert 0 < len(missing) < len(list(Store(str(tmp_path / "two/two.zarr")).record.items()))
    assert not damaged


@pytest.mark.slow
def test_ctrl_c_before_anything_is_saved_does_not_say_that_something_is(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "two.toml").write_text(STUDY.replace('{ kind = "cauchy" }', "{ kind = 'slow.py:Slow' }"))
    command = [sys.executable, "-m", "heavybandits", "run", "two.toml"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, preexec_fn=heed_ctrl_c
    )
    while not (tmp_path / "asleep").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors.strip()) == (130, "interrupted")
    done = tool("report", "two", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"heavybandits: {tmp_path}/two/two.zarr: no results yet; run the study first\n"


@pytest.mark.slow
def test_names_cannot_send_escape_sequences_to_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(STUDY.replace("6", "1"))
    done = tool("run", "two.toml", "--out", "red\x1b[31m", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == f"Open {tmp_path}/red\\x1b[31m/report.html"
    (tmp_path / "e\x1b[31mvil.toml").write_text(STUDY)
    (tmp_path / "label.toml").write_text(STUDY.replace("[policy.UCB]", '[policy."a\\u001b[31m\\nb"]'))
    rewards = "".join(f"{'ab'[i % 2]}\x1b[31m,{i % 7 + i % 2}\n" for i in range(400))
    for done in (
        tool("run", "e\x1b[31mvil.toml", cwd=tmp_path),
        tool("run", "label.toml", cwd=tmp_path),
        tool("run", "\x1b[31m", cwd=tmp_path),
        tool("report", "\x1b[31m", cwd=tmp_path),
        tool("diagnose", "-", typed=f"arm,reward\n{rewards}"),
    ):
        assert "\x1b" not in done.stdout + done.stderr
        assert "\\x1b[31m" in done.stdout + done.stderr
        assert done.stderr.count("\n") == (done.returncode == 2)


@pytest.mark.slow
def test_the_papers_experiments_with_few_replications(tmp_path: Path) -> None:
    done = tool("reproduce", "--quick", "--only", "gaussian", "--only", "runtime", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "paper-quick/report.html").read_text()
    assert "do not hold" in text  # in words for a screen reader, whatever was decided
    assert (tmp_path / "paper-quick/tables/runtime-times.tex").exists()
    assert "SGD-UCB-SMoM" in done.stdout  # the table of runtimes
    assert "auto" in done.stdout
    done = tool("reproduce", "--quick", "--only", "runtime", "--paper-only", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "auto" not in Store(str(tmp_path / "paper-only-quick/runtime.zarr")).record.policies
