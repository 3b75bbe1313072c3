"""Fixtures that all tests share."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # no test fails because it is slow
settings.load_profile("untimed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def silent() -> Iterator[None]:
    """Keep interpreted code as silent as compiled code when numbers overflow."""
    with np.errstate(all="ignore"):
        yield


def take_path(monkeypatch: pytest.MonkeyPatch, fast: bool) -> None:
    from heavybandits.jit import backend, compiled

    monkeypatch.setattr(backend, "_fast", fast)
    monkeypatch.setattr(compiled, "_ready", {})  # what was compiled on the other path


@pytest.fixture
def public_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile through numba's public interface alone, as with a version of numba that is not known."""
    take_path(monkeypatch, False)


@pytest.fixture(params=[True, False], ids=["fast", "public"])
def either_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test on the fast path, and again on the public one."""
    take_path(monkeypatch, request.param)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the compiler that agents and evidence wait for from now on; it is done when the test says so."""
    from compilers import Compiler

    from heavybandits.jit import background_compile

    made = Compiler()
    monkeypatch.setattr(background_compile, "compiled_already", made.compiled_already)
    monkeypatch.setattr(background_compile, "_begin", made.begin)
    return made


@pytest.fixture
def browser() -> Iterator[Any]:
    """Return the path of Chromium on this machine; with CI=true its absence is an error."""
    if not os.environ.get("CI"):
        pytest.importorskip("playwright")
        if not CHROMIUM:
            pytest.skip("there is no chromium on this machine")
    from playwright.sync_api import sync_playwright

    assert CHROMIUM, "CI must install chromium"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def node() -> str:
    """Return the path of Node on this machine; with CI=true its absence is an error."""
    found = shutil.which("node")
    if not found:
        assert not os.environ.get("CI"), "CI must install node"
        pytest.skip("there is no node on this machine")
    return found


@pytest.fixture(scope="session")
def node_modules(node: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the packages that tests in JavaScript need; with CI=true they must be there."""
    folder = tmp_path_factory.mktemp("javascript")
    shutil.copy(Path(__file__).parent / "service" / "javascript" / "package.json", folder)
    npm = shutil.which("npm")
    command = [str(npm), "install", "--no-audit", "--no-fund", "--loglevel", "error"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False) if npm else None
    if done is None or done.returncode != 0:
        why = "there is no npm" if done is None else f"npm cannot install packages: {done.stderr}"
        assert not os.environ.get("CI"), why
        pytest.skip(why)
    return folder / "node_modules"


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Yield the address of a PostgreSQL server that was started for these tests."""
    from services import postgres_server

    # Started by root, it runs as another user, from whom each session of pytest that starts meanwhile hides its folder.
    with tempfile.TemporaryDirectory() as folder, postgres_server(Path(folder)) as uri:
        yield uri


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Return an empty database of either kind for the service."""
    from services import new_storage

    return new_storage(request, tmp_path)


@pytest.fixture
def served(storage: Any) -> Iterator[Any]:
    """Yield a server in a thread of this process, on an empty database of either kind."""
    from services import running

    with running(storage) as server:
        yield server
