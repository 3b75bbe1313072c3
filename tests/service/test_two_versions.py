"""An upgrade as the documents describe it: servers of 0.2.0 and of this version work on one database for a while."""

import io
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from services import Process

from heavybandits.service.maintenance.verification import verify
from heavybandits.service.storage import Storage

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
VERSION_0_2_0 = "472ff3589f845daaa891de3f79a383d27665b866"  # the last commit with this version
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "plain": {"policy": "ucb", "floor": {"zeta": 0.1}},
    "window": {"policy": "auto-mean", "reward": {"window": 3600, "default": 0}},
    "context": {"policy": "lin-ucb", "context": {"n_features": 2}},
}
ARMS = [{"name": "zeta"}, {"name": "alpha"}]


@pytest.fixture(scope="module")
def old_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the package of version 0.2.0, which was not published, from the history."""
    command = ["git", "-C", str(ROOT), "archive", VERSION_0_2_0, "src"]
    archive = subprocess.run(command, capture_output=True, check=False)
    if archive.returncode != 0:
        pytest.skip("the history of the repository is not here")
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


def answered(server: Process, method: str, path: str, body: Any = None) -> Any:
    """Return a final answer: a server that reads or compiles asks to try again."""
    while (answer := server(method, path, body)).status == 503:
        time.sleep(0.1)
    assert answer.status in (200, 201), (path, answer)
    return answer.body


def use(server: Process, number: int) -> None:
    """Make a decision of each experiment, and report its reward."""
    for name, spec in EXPERIMENTS.items():
        context = {"zeta": [1.0, number % 3], "alpha": [number % 2, 1.0]} if "context" in spec else None
        asked = {"id": f"d{number}"} | ({} if context is None else {"context": context})
        answered(server, "POST", f"/{name}/decisions", asked)
        answered(server, "PUT", f"/{name}/decisions/d{number}/reward", {"value": float(number % 5)})


def counts(server: Process) -> list[Any]:
    """Return what a server says of each arm."""
    reports = [answered(server, "GET", f"/{name}/report") for name in EXPERIMENTS]
    return [(arm["name"], arm["decisions"], arm["rewards"]) for report in reports for arm in report["arms"]]


def test_servers_of_both_versions_share_a_database(storage: Storage, old_source: Path, tmp_path: Path) -> None:
    servers = [Process(storage.url, tmp_path, PYTHONPATH=str(old_source))]
    try:
        servers[0].wait_until_ready()
        for name, spec in EXPERIMENTS.items():
            answered(servers[0], "PUT", f"/{name}", {"arms": ARMS, **spec})
        for number in range(10):
            use(servers[0], number)
        servers.append(Process(storage.url, tmp_path, PYTHONPATH=str(ROOT / "src")))
        servers[1].wait_until_ready()
        for number in range(10, 40):
            use(servers[number % 2], number)
        end = time.monotonic() + 30
        while (told := [counts(server) for server in servers])[0] != told[1]:
            assert time.monotonic() < end, told
            time.sleep(0.1)
        assert sum(decisions for _, decisions, _ in told[1]) == 40 * len(EXPERIMENTS)

        made = {"points": {"price": [5, 25]}, "policy": "lipschitz-auto"}  # why none should be created meanwhile
        answered(servers[1], "PUT", "/new", made)
        assert servers[0]("POST", "/new/decisions", {}).status == 500
        use(servers[0], 40)
    except BaseException:
        for server in servers:
            server.kill()
        raise
    assert [server.end() for server in servers] == [0, 0]
    session = storage.connect()
    assert [finding.text for finding in verify(session) if not finding.ok] == []
    session.close()
    again = Process(storage.url, tmp_path, PYTHONPATH=str(ROOT / "src"))
    again.wait_until_ready()
    assert sum(decisions for _, decisions, _ in counts(again)) == 41 * len(EXPERIMENTS)
    assert again.end() == 0
