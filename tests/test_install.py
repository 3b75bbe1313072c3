"""What an installation needs: the core works with nothing else, and what is missing is named."""

import importlib.metadata
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import heavybandits as hb

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CORE = """
import io
import numpy as np
import heavybandits as hb

agent = hb.Agent(hb.make("ucb"), arms=["a", "b"])
agent.update(agent.select(), 1.0)
print(agent.estimates)
rows = np.eye(2)
linear = hb.LinearAgent(hb.make("lin-ucb"), n_features=2)
linear.update(rows[linear.select(rows)], 1.0)
result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=50, replications=2, progress=True)
print(result.summary())
log = "arm,reward\\n" + "\\n".join(f"{i % 2},{i * i % 17}" for i in range(60))
compared = hb.compare(io.StringIO(log))
print(compared)
hb.diagnose(io.StringIO(log))
print(result.arrays.regret.shape, result)
labelled = lambda: result.regret, result.to_xarray
plots = result.plot, compared.plot, lambda: hb.diagnose(io.StringIO(log), plots=".")
for call in (*labelled, *plots, lambda: hb.read_study("cauchy")):
    try:
        call()
    except ModuleNotFoundError as error:
        print(error)
"""
COMMAND = "import sys; sys.argv = ['heavybandits', *{}]; from heavybandits.__main__ import main; main()"


def needed(requirements: list[str]) -> Iterator[str]:
    """Yield the names of the packages that these requirements need, directly or not."""
    waiting, seen = list(map(Requirement, requirements)), set[str]()
    while waiting:
        requirement = waiting.pop()
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and requirement.name not in seen:
            seen.add(requirement.name)
            yield requirement.name
            waiting += map(Requirement, importlib.metadata.requires(requirement.name) or ())


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the packages of the core, as links, and no others."""
    folder = tmp_path_factory.mktemp("core")
    for name in needed(PROJECT["dependencies"]):
        package = importlib.metadata.distribution(name)
        for top in {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}:
            (folder / top).symlink_to(Path(str(package.locate_file(top))))
    (folder / "heavybandits").symlink_to(Path(hb.__file__).parent)
    assert not (folder / "matplotlib").exists()
    return folder


def run(core: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that finds the standard library and the packages of this folder alone."""
    begin = f"import sys; sys.path.append({str(core)!r})\n"
    return subprocess.run([sys.executable, "-I", "-S", "-c", begin + code], capture_output=True, text=True, cwd=core,
                          env={**os.environ, "COLUMNS": "200"})  # fmt: skip


@pytest.mark.slow
def test_the_core_decides_simulates_and_compares_with_nothing_else(core: Path) -> None:
    done = run(core, CORE)
    assert done.returncode == 0, done.stderr
    *_, regret, arrays, results, intervals, plots, study = done.stdout.splitlines()
    assert regret == arrays == "this needs xarray: pip install 'heavybandits[studies]'"
    assert {results, intervals, plots} == {"this needs matplotlib: pip install 'heavybandits[plot]'"}
    assert study == "this needs jinja2: pip install 'heavybandits[studies]'"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["list", "policies"], 0, "thompson-gaussian"),
        (["reproduce"], 2, "heavybandits: this needs jinja2: pip install 'heavybandits[studies]'"),
        (["report", "."], 2, "heavybandits: this needs jinja2: pip install 'heavybandits[studies]'"),
    ],
)
def test_commands_work_with_the_core_or_say_what_they_need(
    core: Path, arguments: list[str], status: int, said: str
) -> None:
    done = run(core, COMMAND.format(arguments))
    assert said in done.stdout + done.stderr
    assert done.returncode == status
    assert "Traceback" not in done.stderr


def test_the_documentation_lists_what_is_installed() -> None:
    names = {Requirement(text).name for text in PROJECT["dependencies"]}
    table = (ROOT / "docs/start.md").read_text().split("| package | MB | for |")[1].split("\n\n")[0]
    listed = {name for line in table.splitlines()[2:] for name in line.split("|")[1].strip().split(", ")}
    assert listed == names
    studies = PROJECT["optional-dependencies"]["studies"]
    extras = (ROOT / "docs/start.md").read_text().split("| extra | for |")[1]
    assert all(Requirement(text).name in extras for text in studies)
