"""The documents and the files in deploy/ are right about the service."""

import json
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from services import call, running

import heavybandits as hb
from heavybandits.service.http.connections import DEFAULT_LIMITS
from heavybandits.service.http.downloads import MOST_DOWNLOADS
from heavybandits.service.replicas.learners import arms, linear, points, policy
from heavybandits.service.storage import open_storage

ROOT = Path(__file__).parents[2]
SNIPPETS = {  # in Python, and for curl
    "README.md": (1, 0),
    "docs/service.md": (1, 3),
    "docs/service-clients.md": (4, 0),
    "docs/service-experiments.md": (5, 6),
}
LIMITS = {
    "connections": DEFAULT_LIMITS.connections,
    "time for a request's head": DEFAULT_LIMITS.head_seconds,
    "time for its body": DEFAULT_LIMITS.body_seconds,
    "time for which an answer is not read": DEFAULT_LIMITS.answer_seconds,
    "time between requests": DEFAULT_LIMITS.idle_seconds,
    "bytes of all requests being received or worked on": DEFAULT_LIMITS.request_bytes >> 20,
    "exports at a time": MOST_DOWNLOADS,
}


@pytest.mark.slow
def test_the_snippets_of_the_documents_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = {policy: "ucb", arms: "ucb", linear: "lin-ucb", points: "lipschitz-auto"}  # defaults compile for long
    for module, made in quick.items():
        monkeypatch.setattr(module, "experiment_policy", lambda spec, made=made: hb.make(made))
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        for name, snippets in SNIPPETS.items():
            text = (ROOT / name).read_text()
            blocks = [each for each in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "client" in each]
            commands = re.findall(r"^curl -X (\w+) (\S+) .*?-d '(.*?)'$", text, re.DOTALL | re.MULTILINE)
            assert (len(blocks), len(commands)) == snippets
            assert len(commands) == text.count("\ncurl ")  # all of them
            names: dict[str, Any] = {}
            for block in blocks:
                exec(compile(block.replace("127.0.0.1:8765", server.address), name, "exec"), names)
            names["client"].close()
            for method, url, body in commands:
                path = url.removeprefix("http://127.0.0.1:8765")
                status = call(server.address, method, path, json.loads(body)).status
                assert status in (200, 201, 409)  # a program may have made the same experiment
    assert capsys.readouterr().out


def test_the_reference_of_the_interface_is_up_to_date() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "service_api.py"))["page"]()
    assert (ROOT / "docs" / "service-api.md").read_text() == page, "run python docs/service_api.py"


def test_the_image_installs_versions_that_are_pinned_and_allowed() -> None:
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    assert "pip install --no-cache-dir -c /source/deploy/constraints.txt '/source[serve,postgres]'" in text
    lines = (ROOT / "deploy" / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [Requirement(each) for each in (*project["dependencies"], *extras["serve"], *extras["postgres"])]
    while needed:
        each = needed.pop()
        if each.name == project["name"]:  # with extras of its own
            needed += [Requirement(inner) for extra in each.extras for inner in extras[extra]]
        else:
            assert pins[each.name] in each.specifier


def test_limits_in_the_documents_are_those_of_the_service() -> None:
    text = (ROOT / "docs" / "service-running.md").read_text()
    rows = dict(re.findall(r"^\| ([^|]*?) \| ([\d,]+)", text[text.index("\n## Limits") :], re.MULTILINE))
    assert {name: int(value.replace(",", "")) for name, value in rows.items() if name in LIMITS} == LIMITS


@pytest.mark.slow
def test_the_dashboard_for_grafana_asks_for_metrics_that_there_are(tmp_path: Path) -> None:
    panels = json.loads((ROOT / "deploy" / "grafana.json").read_text())["panels"]
    asked = {name for panel in panels for name in re.findall(r"heavybandits_\w+", panel["targets"][0]["expr"])}
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        call(server.address, "GET", "/health")
        shown = call(server.address, "GET", "/metrics").body.decode()
    assert asked
    assert {name for name in asked if f"\n{name}" not in shown} == set()
