"""Databases that are stopped, cut off, silent or full: 503 while it lasts, then recovery; nothing lost or doubled."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from proxies import Proxy
from services import ARMS, Process, call, new_database, running

from heavybandits.service.http import app
from heavybandits.service.log import lane, log
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.storage import Storage, open_storage
from heavybandits.service.storage.rows import Token

pytestmark = pytest.mark.slow


@pytest.fixture
def proxy(postgres: str) -> Iterator[Proxy]:
    proxy = Proxy(new_database(postgres))
    yield proxy
    proxy.close()


def make(server: Any) -> None:
    assert server("PUT", "/x", {"arms": ARMS, "policy": "ucb"}).status == 201


def eventually(server: Any, key: str) -> int:
    """Ask until the service answers, and return the status."""
    for _ in range(600):
        status: int = server("POST", "/x/decisions", {"id": key}).status
        if status != 503:
            return status
        time.sleep(0.05)
    raise AssertionError("no recovery")


def stored(storage: Storage, kind: str) -> list[str]:
    session = storage.connect()
    try:
        assert all(finding.ok for finding in verify(session))
        return [str(event.key) for event in session.events(1, 0, 100_000) if event.kind == kind]
    finally:
        session.close()


def test_a_stopped_database_means_503_and_then_recovery(proxy: Proxy) -> None:
    with running(open_storage(proxy.url)) as server:
        make(server)
        assert server("POST", "/x/decisions", {"id": "before"}).status == 201
        proxy.refusing = True
        proxy.cut()
        refused = server("POST", "/x/decisions", {"id": "during"})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert call(server.address, "GET", "/ready").status == 503
        assert call(server.address, "GET", "/health").status == 200
        proxy.refusing = False
        assert eventually(server, "during") in (200, 201)
        assert call(server.address, "GET", "/ready").status == 200
        assert server("POST", "/x/decisions", {"id": "before"}).status == 200
    assert sorted(stored(open_storage(proxy.url), "decision")) == ["before", "during"]


def test_a_cut_after_the_commit_is_found_by_the_retry(proxy: Proxy) -> None:
    with running(open_storage(proxy.url)) as server:
        make(server)
        for i in range(5):
            proxy.cut_after_commit = True
            statuses = [server("POST", "/x/decisions", {"id": f"d{i}"}).status]
            while statuses[-1] == 503:
                statuses.append(server("POST", "/x/decisions", {"id": f"d{i}"}).status)
            # The cut may have hit a poll of the server instead.
            assert statuses[-1] == 200 if len(statuses) > 1 else 201
    assert sorted(stored(open_storage(proxy.url), "decision")) == [f"d{i}" for i in range(5)]


def test_a_silent_database_is_given_up(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "STUCK_SECONDS", 0.5)
    monkeypatch.setattr(app, "ANSWER_SECONDS", 1.0)
    with running(open_storage(proxy.url)) as server:
        make(server)
        proxy.silent = True
        assert server("POST", "/x/decisions", {"id": "during"}).status == 503
        proxy.silent = False
        proxy.cut()
        assert eventually(server, "during") in (200, 201)
        assert server("PUT", "/x/decisions/during/reward", {"value": 1}).status == 201
    assert stored(open_storage(proxy.url), "reward") == ["during"]


def test_a_full_disk_means_503_and_then_recovery(tmp_path: Path) -> None:
    storage = open_storage(f"sqlite:///{tmp_path}/log.db")
    process = Process(storage.url, tmp_path)
    process.wait_until_ready()
    make(process)
    acknowledged = []
    most = resource.RLIM_INFINITY
    full = os.path.getsize(tmp_path / "log.db-wal") + 40_000
    resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (full, most))
    for i in range(400):
        status = process("POST", "/x/decisions", {"id": f"d{i}"}).status
        if status == 503:
            break
        acknowledged.append(f"d{i}")
    assert 0 < len(acknowledged) < 400
    assert process("POST", "/x/decisions", {"id": acknowledged[0]}).status in (200, 503)
    # Less than the database, so that SQLite cannot make room by moving its journal there.
    resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (32_768, most))
    while process("POST", "/x/decisions", {"id": f"more{len(acknowledged)}"}).status == 201:
        acknowledged.append(f"more{len(acknowledged)}")
    for _ in range(10):  # it stays so, though reading works
        time.sleep(3 * log.POLL_SECONDS)
        refused = call(process.address, "GET", "/ready")
        assert (refused.status, refused.body["title"]) == (503, "not ready")
        assert "cannot store" in refused.body["detail"]
        assert process("GET", "/x").status == 200
    resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (most, most))
    process.wait_until_ready()  # without any request that stores
    assert eventually(process, "after") == 201
    assert [process("POST", "/x/decisions", {"id": key}).status for key in acknowledged] == [200] * len(acknowledged)
    assert process.end() == 0
    assert set(stored(storage, "decision")) >= {*acknowledged, "after"}


def test_a_database_that_only_reads_is_not_ready(postgres: str) -> None:
    url = new_database(postgres)

    def set_read_only(value: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"ALTER DATABASE {connection.info.dbname} SET default_transaction_read_only = {value}")
            connection.execute("SELECT pg_terminate_backend(pid, 9999) FROM pg_stat_activity "
                               "WHERE datname = current_database() AND pid <> pg_backend_pid()")  # fmt: skip

    with running(open_storage(url)) as server:
        make(server)
        set_read_only("on")
        assert server("POST", "/x/decisions", {"id": "during"}).status == 503
        for _ in range(10):
            time.sleep(3 * log.POLL_SECONDS)
            assert call(server.address, "GET", "/ready").status == 503
        set_read_only("off")
        end = time.monotonic() + 60
        while call(server.address, "GET", "/ready").status == 503:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert server("POST", "/x/decisions", {"id": "during"}).status == 201
    session = open_storage(url).connect()
    assert session.tokens() == []  # trials leave nothing behind
    session.close()


def test_too_many_waiting_requests_are_turned_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "LONGEST_QUEUE", 10)
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        make(server)
        items = [{"decision": {"id": f"d{i}"}} for i in range(200)]
        statuses = [each["status"] for each in server("POST", "/x/batch", {"items": items}).body["items"]]
        assert set(statuses) == {201, 503}
        again = [each["status"] for each in server("POST", "/x/batch", {"items": items[:5]}).body["items"]]
        assert set(again) <= {200, 201}


def test_a_request_that_breaks_something_does_not_break_its_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from heavybandits.service.experiments.rewards import Cancel

    def broken(self: Cancel, turn: Any) -> Any:
        turn.append("cancel", self.decision, "a")  # half of the work is done
        raise ZeroDivisionError

    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        make(server)
        monkeypatch.setattr(Cancel, "run", broken)
        items = [{"decision": {"id": "one"}}, {"cancel": "one"}, {"decision": {"id": "two"}}]
        statuses = [each["status"] for each in server("POST", "/x/batch", {"items": items}).body["items"]]
        assert statuses == [201, 500, 201]
        assert server("GET", "/x/report").body["pending"] == 2


def test_connections_to_a_file_keep_their_locks_when_the_process_opens_more(tmp_path: Path) -> None:
    storage, url = open_storage(f"sqlite:///{tmp_path}/log.db"), f"{tmp_path}/log.db"
    first = storage.connect()
    first.migrate()
    second = storage.connect()
    in_another = "import sqlite3, sys; file = sqlite3.connect(sys.argv[1]); print(file.execute('{}').fetchall())"
    count = [sys.executable, "-c", in_another.format("SELECT count(*) FROM token"), url]
    assert subprocess.check_output(count) == b"[(0,)]\n"  # as the last one, it would remove the journal
    with first.transaction():
        first.put_token(Token("t", "", "read", "", 0, None))
    assert subprocess.check_output(count) == b"[(1,)]\n"
    first.close()
    second.close()
