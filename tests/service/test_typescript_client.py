"""The TypeScript client is what its script writes, is small, and makes every call to a real server."""

import json
import re
import runpy
import socket
import subprocess
import time
from pathlib import Path

import pytest
from callers import GUARD, requests, silent, wire
from services import running

from heavybandits.service.http.openapi import openapi_description
from heavybandits.service.storage import open_storage

FOLDER = Path(__file__).parents[2] / "clients" / "typescript"
SCRIPTS = Path(__file__).parent / "javascript"


def test_it_is_up_to_date() -> None:
    for name, text in runpy.run_path(str(FOLDER / "generate.py"))["files"]().items():
        assert (FOLDER / name).read_text() == text, "run python clients/typescript/generate.py"


def test_it_is_small_and_complete() -> None:
    listed = json.loads((FOLDER / "package.json").read_text())["files"]
    assert sum((FOLDER / name).stat().st_size for name in listed) < 20_000
    found = runpy.run_path(str(FOLDER / "generate.py"))["endpoints"]()
    served = {
        (verb.upper(), path)
        for path, verbs in openapi_description()["paths"].items()
        for verb in verbs
        if "ofrep" not in path
    }
    assert {(item.method, item.path) for item in found} == served


def closed() -> str:
    """Return an address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.slow
def test_every_call_works(node: str, tmp_path: Path) -> None:
    seen: list[str] = []

    def slow(connection: socket.socket) -> None:
        for request in requests(connection):
            if request.startswith("POST"):
                time.sleep(0.3)
            if not request.startswith("GET"):
                seen.append(request)
            content = json.dumps({"seen": seen})
            connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n\r\n{content}".encode())

    store = open_storage(f"sqlite:///{tmp_path}/log.db")
    with running(store) as server, wire(silent) as url, wire(slow) as slow_url:
        command = [node, str(SCRIPTS / "calls.mjs"), str(FOLDER), f"http://{server.address}", url, closed(), slow_url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=GUARD, check=False)
    assert done.returncode == 0, done.stderr
    fallback = [["blue", "fallback", None, None, 0], [0, True]]
    begins = "heavybandits: /v1/experiments/x/decisions falls back: no answer from http://127.0.0.1:"
    dropped = "heavybandits: the reward of ID is dropped, and so are further ones"
    assert json.loads(done.stdout) == {
        "made": "my shop", "same": 1, "listed": ["my shop"], "added": {"css": "c"}, "paused": "paused",
        "retired": "retired", "reason": "policy", "learned": True, "cancelled": False, "observed": True,
        "batch": [201, 201, 404], "state": "paused", "shown": "paused", "report": [3, 3, 1],
        "audit": [2, 3, 4, 12], "export": 12, "health": "ok", "ready": "ready", "metrics": True, "openapi": "3.1.0",
        "retracted": False, "sum": [3, 4, 3], "deleted": "sum",
        "refused": [True, 404, False, "404: unknown experiment: there is no experiment 'nothing'"],
        "nan": "TypeError", "ownId": "RangeError", "fallbacks": fallback + fallback, "dropped": False,
        "slow": ["POST /v1/experiments/x/decisions", "DELETE /v1/experiments/x/decisions/ID"],
        "unreadable": ["fallback", "the answer to a decision must name an arm"], "askedWhileOpen": 0, "warnings": [
            f"{begins} waited for 100 ms", dropped, f"{begins} connect ECONNREFUSED 127.0.0.1", dropped,
        ],
    }  # fmt: skip


@pytest.mark.slow
def test_its_types_hold(node: str, node_modules: Path, tmp_path: Path) -> None:
    own = tmp_path / "node_modules"
    own.mkdir()
    (own / "heavybandits").symlink_to(FOLDER)
    (tmp_path / "types.ts").write_text((SCRIPTS / "types.ts").read_text())
    options = ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "types.ts"]
    (tmp_path / "package.json").write_text('{"type": "module"}')
    command = [node, str(node_modules / "typescript" / "bin" / "tsc"), *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=2 * GUARD, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.slow
def test_the_example_in_the_documents_runs(node: str, tmp_path: Path) -> None:
    text = (FOLDER.parents[1] / "docs" / "service-clients.md").read_text()
    (block,) = re.findall(r"```js\n(.*?)```", text, re.DOTALL)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "heavybandits").symlink_to(FOLDER)
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        server("PUT", "/checkout-page", {"arms": [{"name": "green"}], "policy": "ucb"})
        (tmp_path / "example.mjs").write_text(block.replace("127.0.0.1:8765", server.address))
        done = subprocess.run(
            [node, str(tmp_path / "example.mjs")], capture_output=True, text=True, timeout=GUARD, check=False
        )
        assert (done.stdout, done.stderr) == ("green\n", "")
        assert server("GET", "/checkout-page/report").body["rewards"] == 1
