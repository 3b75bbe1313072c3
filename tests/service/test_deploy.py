"""What is in deploy/ fits together, and the image's commands work with only the files that are copied into it."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from services import call

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
COPIES = [line.split()[1:] for line in re.findall(r"^COPY .*$", DOCKERFILE, re.MULTILINE)]


def test_what_the_image_copies_exists_and_is_not_ignored() -> None:
    copied = {source for *sources, _ in COPIES for source in sources}
    assert all((ROOT / source).exists() for source in copied)
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines.index("*") < min(lines.index(f"!{source}") for source in copied)
    assert {line[1:] for line in lines if line.startswith("!")} == copied


def test_the_image_runs_as_a_user_with_a_volume_and_a_health_check() -> None:
    order = [line.split()[0] for line in DOCKERFILE.splitlines() if re.match(r"[A-Z]+ ", line)]
    assert order.index("USER") < order.index("CMD")
    assert "USER root" not in DOCKERFILE
    assert {"VOLUME", "HEALTHCHECK", "EXPOSE"} < set(order)


@pytest.mark.slow
def test_the_commands_of_the_image_work_with_what_is_copied(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "installed"
    for *sources, to in COPIES:
        for each in sources:
            goal = source / to.removeprefix("/source").strip("/")
            goal = goal if (ROOT / each).is_dir() else goal / Path(each).name
            goal.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / each).is_dir() else shutil.copy)(ROOT / each, goal)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), str(source)]
    subprocess.run(pip, check=True, timeout=300)
    (tmp_path / "heavybandits").write_text(f'#!/bin/sh\nexec {sys.executable} -m heavybandits "$@"\n')
    (tmp_path / "heavybandits").chmod(0o755)
    cache = Path(os.environ.get("NUMBA_CACHE_DIR", tmp_path)) / "image"  # a run of CI finds what the last one compiled
    settings = dict(re.findall(r"(NUMBA_\w+)=(\S+)", DOCKERFILE)) | {"NUMBA_CACHE_DIR": str(cache)}
    settings |= {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(target)}
    env = {**os.environ, **settings, "DATABASE_URL": f"sqlite:///{tmp_path}/log.db"}
    compiling = [sys.executable, str(source / "deploy" / "compile.py")]
    subprocess.run(compiling, env=env, cwd=tmp_path, check=True, timeout=600)
    compiled = {file.name for file in cache.rglob("*.nbc")}
    assert compiled
    subprocess.run(compiling, env=env, cwd=tmp_path, check=True, timeout=600)
    assert {file.name for file in cache.rglob("*.nbc")} == compiled  # nothing was left to compile

    subprocess.run(_setup(tmp_path), env=env, check=True, timeout=60)
    made = [(tmp_path / "tokens" / role).read_text() for role in ("admin", "read")]
    assert all(re.fullmatch(r"hb_\w+_\S+\n", each) for each in made)
    subprocess.run(_setup(tmp_path), env=env, check=True, timeout=60)
    assert [(tmp_path / "tokens" / role).read_text() for role in ("admin", "read")] == made  # once

    command = json.loads(re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[-1])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command[-1] = command[-1].replace("--host 0.0.0.0 --port 8765", f"--host 127.0.0.1 --port {port}")
    server = subprocess.Popen(command, env=env, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        check = json.loads(re.findall(r"^\s+CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[0])
        check = [sys.executable, *(part.replace("8765", port) for part in check[1:])]
        end = time.monotonic() + 60
        while subprocess.run(check, env=env, stderr=subprocess.DEVNULL, check=False).returncode != 0:
            assert time.monotonic() < end
            assert server.poll() is None
        assert call(f"127.0.0.1:{port}", "GET", "/metrics").status == 401
        assert call(f"127.0.0.1:{port}", "GET", "/metrics", token=made[1].strip()).status == 200
    finally:
        server.terminate()
        assert server.wait(60) == 0


def _setup(folder: Path) -> list[str]:
    (folder / "tokens").mkdir(exist_ok=True)
    command = [
        part.replace("$$", "$").replace("/tokens", f"{folder}/tokens")
        for part in COMPOSE["services"]["setup"]["command"]
    ]
    return [str(part) for part in command]


def test_the_services_of_compose_fit_together() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"postgres", "setup", "service", "prometheus", "grafana"}
    for service in services.values():
        for needed in service.get("depends_on", ()):
            assert needed in services
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (source.startswith("./") and (DEPLOY / source).is_file()), source
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:")
        if service["image"] != "heavybandits":
            assert re.search(r":v?\d+\.\d+", service["image"]), "pin the version"
    builds = {name: service["build"] for name, service in services.items() if "build" in service}
    assert builds == {"service": {"context": "..", "dockerfile": "deploy/Dockerfile"}}  # two would collide
    assert "DATABASE_URL" in services["service"]["environment"]


def test_prometheus_and_grafana_find_what_they_need() -> None:
    (job,) = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text())["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["service:8765"]}]
    assert job["authorization"]["credentials_file"] == "/tokens/read"
    mounts = [each.split(":")[1] for name in ("prometheus", "grafana") for each in COMPOSE["services"][name]["volumes"]]
    assert "/tokens" in mounts
    (source,) = yaml.safe_load((DEPLOY / "grafana" / "datasource.yaml").read_text())["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "http://prometheus:9090")
    (provider,) = yaml.safe_load((DEPLOY / "grafana" / "dashboards.yaml").read_text())["providers"]
    assert any(mount.startswith(provider["options"]["path"] + "/") for mount in mounts)
