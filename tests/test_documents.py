"""The code in README, CONTRIBUTING and the pages runs, and the tables of policies are current."""

import ast
import importlib
import re
import runpy
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import arrays
from heavybandits.algorithms.registry import all_policies, examples, facts
from heavybandits.reproduce.claims import CLAIMS
from heavybandits.studies.executors import workers
from heavybandits.studies.run import run_studies
from heavybandits.studies.store import Store
from heavybandits.studies.study import read_study

ROOT = Path(__file__).parent.parent


def python_blocks(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)


@pytest.mark.slow
def test_quickstart_makes_its_table_and_its_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(python_blocks("README.md")[0], "quickstart.py", "exec"), {})
    table = capsys.readouterr().out
    assert "Robust UCB" in table
    assert "ratio to Lai-Robbins" in table
    assert (tmp_path / "quickstart.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_the_study_in_the_readme_prints_its_table(tmp_path: Path) -> None:
    section = (ROOT / "README.md").read_text().split("## Use it for studies")[1]
    (tmp_path / "tails.toml").write_text(section.split("```toml\n")[1].split("```")[0])
    run = [sys.executable, "-m", "heavybandits", "run", "tails.toml"]
    done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, check=True)
    printed, said = (
        [line.strip() for line in text.splitlines() if line.strip()]
        for text in (done.stdout, section.split("```\n")[3])
    )
    assert said[0].startswith("tails: regret")
    assert printed[1 : len(said) + 1] == said


def test_the_readme_knows_how_many_claims_the_paper_makes() -> None:
    assert f"checks the paper's {len(CLAIMS)} claims" in (ROOT / "README.md").read_text()


def test_the_verdict_in_the_readme_is_what_compare_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text()
    said = text.split("## Know when to stop")[1].split("```\n")[2]
    exec(compile(python_blocks("README.md")[2], "stop.py", "exec"), {})
    assert capsys.readouterr().out.startswith(said)


def test_online_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(python_blocks("docs/start.md")[1], "online.py", "exec"), {})
    assert "gold" in capsys.readouterr().out


def test_production_tutorial_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile("".join(python_blocks("docs/production.md")), "production.py", "exec"), {})
    assert capsys.readouterr().out.startswith("{'bargains': 0, 'classics': 0, 'luxury': 0}\n")


def test_the_page_on_evidence_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(python_blocks("docs/evidence.md")[0], "evidence.py", "exec"), {})
    assert capsys.readouterr().out.startswith("green is the winner: counting at most 150 per decision, it earns more")


def test_the_page_on_evaluation_says_what_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    first, second = python_blocks("docs/evaluate.md")
    exec(compile(first, "evaluate.py", "exec"), {})
    said = capsys.readouterr().out
    assert said in (ROOT / "docs/evaluate.md").read_text()
    assert said.startswith((ROOT / "README.md").read_text().split("## Know what it earned")[1].split("```\n")[2])
    exec(compile(second, "sample.py", "exec"), {})
    said = capsys.readouterr().out
    assert "at_random earns 0.00233" in said
    assert "49 earns 0.0263" in said


def test_the_page_on_ab_tests_says_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = python_blocks("docs/ab-test.md")
    exec(compile(program, "ab_test.py", "exec"), {})
    assert capsys.readouterr().out in (ROOT / "docs/ab-test.md").read_text()


@pytest.mark.slow
def test_tutorial_on_contexts_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(compile("".join(python_blocks("docs/contexts.md")), "contexts.py", "exec"), names)
    shown = capsys.readouterr().out
    assert "linear-auto, 500 rewards" in shown
    assert "inf" not in shown  # the agent knows something of every arm
    assert names["prices"].estimates["pulls"].sum() == 300


def test_the_page_on_routing_excludes_the_bad_model() -> None:
    names: dict[str, Any] = {}
    exec(compile("".join(python_blocks("docs/routing.md")), "routing.py", "exec"), names)
    assert set(names["allowed"]) == {"large", "other"}
    assert names["answer"]("why?", lambda model, question: (model, question))[1] == "why?"


def test_the_page_of_a_policy_describes_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    pages = importlib.import_module("policy_pages")
    text, policy = pages.page("auto"), type(hb.make("auto"))
    for page, left in (("policies/auto", 1), ("api/auto", 2)):
        lines = str(policy.__doc__).splitlines()
        app = SimpleNamespace(env=SimpleNamespace(docname=page))
        pages.drop_description(app, "class", "Auto", policy, None, lines)
        assert "\n".join([text, *lines]).count("*When that fails*") == left
        assert "\n".join(lines).lstrip().startswith("Level-set UCB" if left == 1 else "A policy for rewards")


@pytest.mark.parametrize(("kind", "least"), [("arms", 23), ("linear", 9), ("lipschitz", 6)])
def test_the_page_of_a_policy_has_its_regret_on_the_zoo(kind: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    pages = importlib.import_module("policy_pages")
    for name in hb.policies(kind):
        assert pages.zoo_table(name, kind).count(" ± ") >= least, name


def test_every_page_of_a_policy_has_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    pages = importlib.import_module("policy_pages")
    for name in all_policies():
        text = pages.page(name)
        for part in ("*Formula*", "*Cost*", "Must be told", "Cost per pull", "How it explores", "Regret on the zoo"):
            assert part in text, (name, part)


def test_our_side_of_every_comparison_runs(capsys: pytest.CaptureFixture[str]) -> None:
    ours = [block for block in python_blocks("docs/coming-from.md") if "import heavybandits" in block]
    for block in ours:
        exec(compile(block, "coming_from.py", "exec"), {})
    assert len(ours) == (ROOT / "docs" / "coming-from.md").read_text().count("\n## ")
    said = capsys.readouterr().out
    assert "green is the winner" in said
    assert "1 earns more than the log" in said


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_python_in_pages_is_python(page: str) -> None:
    for block in python_blocks(f"docs/{page}"):
        assert ast.parse(block, page).body


def test_noise_of_the_tutorial_passes_the_checks() -> None:
    _, block = python_blocks("docs/own-policy.md")
    names: dict[str, object] = {"__name__": "own_noise"}
    exec(compile(block, "own_noise.py", "exec"), names)
    assert isinstance(names["instance"], hb.Instance)


def test_study_of_the_tutorial_runs(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/studies.md").read_text(), re.DOTALL)
    (tmp_path / "tails.toml").write_text(text)
    study = read_study(tmp_path / "tails.toml")
    assert list(study.cases) == ["student df=1", "student df=2", "student df=5"]
    with workers(1) as executor:
        run_studies({str(tmp_path / "tails.zarr"): study.with_replications(2)}, executor)
    assert list(Store(str(tmp_path / "tails.zarr")).load().best) == ["UCB", "SGD-UCB"]


@pytest.mark.slow
def test_skeleton_of_a_policy_passes_the_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skeleton, use = python_blocks("CONTRIBUTING.md")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "greedy.py").write_text(skeleton)
    exec(compile(use, "use.py", "exec"), {})
    agent = hb.Agent(hb.make("greedy.py:Greedy"), n_arms=4, seed=0)
    assert agent.select(among=[2, 3]) == 2


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_what_a_document_for_developers_names_exists(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    paths = set(re.findall(r"`(?:python )?((?:src|docs|tests|clients|benchmarks)/[\w./-]*)", text))
    assert paths or document == "ARCHITECTURE.md"
    assert not {path for path in paths if not (ROOT / path).exists()} - {"docs/_build"}
    package = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    for name in re.findall(r"`@(?:hb\.)?(\w+)\(", text):
        assert re.search(rf"^(?:def {name}\(|.*\b{name}\b.* = )", package, re.MULTILINE), name


def test_every_room_is_on_the_map() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for room in (ROOT / "src" / "heavybandits").glob("[!_]*"):
        named = room.name if room.suffix else f"{room.name}/"
        assert re.search(rf"^  {re.escape(named)}(?: |$)", text, re.MULTILINE) or named == "py.typed", named
        assert room.suffix or (ROOT / "tests" / room.name).is_dir(), named


@pytest.mark.slow
def test_versions_agree() -> None:
    assert version("heavybandits") == hb.__version__
    assert f"version: {hb.__version__}" in (ROOT / "CITATION.cff").read_text()


def test_the_conda_package_needs_what_the_package_needs() -> None:
    recipe = yaml.safe_load((ROOT / "deploy" / "conda" / "recipe.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    python, *needed = (text.replace(" ", "") for text in recipe["requirements"]["run"])
    assert needed == project["dependencies"]
    assert python == f"python{project['requires-python']}"
    assert recipe["package"] == {"name": project["name"], "version": hb.__version__}


@pytest.mark.parametrize("template", sorted(path.name for path in (ROOT / ".github" / "ISSUE_TEMPLATE").iterdir()))
def test_templates_of_issues_have_a_name_and_a_purpose(template: str) -> None:
    _, head, _ = (ROOT / ".github" / "ISSUE_TEMPLATE" / template).read_text().split("---\n")
    assert [line.split(": ")[0] for line in head.splitlines()] == ["name", "about"]


def test_tables_of_policies_are_current() -> None:
    """The tables agree with the code; a cost that was not measured shows as a dash."""
    script = runpy.run_path(str(ROOT / "docs" / "policies.py"))
    pages = script["pages"]()
    for file, text in pages.items():
        assert file.read_text(encoding="utf-8") == text, "run: python docs/generate.py"
    page, proved = pages.values()
    for name in all_policies():
        assert f"\n| `{name}` | " in page
        assert f"\n**`{name}`**. *Proved regret*: " in proved
    for name in hb.estimators():
        assert f"`{name}`" in page


def test_bytes_per_arm_are_what_a_state_takes() -> None:
    checked = 0
    for name, own in facts().items():
        plain = re.fullmatch(r"(\d+) bytes", own.memory)
        if plain:
            policy = hb.make(name, **examples()[name])
            small, large = (sum(array.nbytes for _, array in arrays(policy.init(n, 100))) for n in (1000, 2000))
            assert (large - small) / 1000 == int(plain[1]), name
            checked += 1
    assert checked > 10
