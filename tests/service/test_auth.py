"""Tokens, roles, limits, and what a request cannot do."""

import json
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from services import ARMS, Process, Running, call, running

from heavybandits.service import commands
from heavybandits.service.experiments import creation
from heavybandits.service.http.auth import RateLimit, Tokens, new_token
from heavybandits.service.http.server import listen
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.storage import Storage, StorageError, open_storage

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path) -> Storage:
    return open_storage(f"sqlite:///{tmp_path}/log.db")


@pytest.fixture
def server(store: Storage) -> Iterator[Running]:
    with running(store) as server:
        yield server


def add_token(store: Storage, role: str) -> tuple[str, str]:
    secret, row = new_token(role, "a test", 0)
    session = store.connect()
    session.migrate()
    with session.transaction():
        session.put_token(row)
    session.close()
    return secret, row.id


def test_roles_allow_what_they_say(store: Storage) -> None:
    tokens = {role: add_token(store, role)[0] for role in ("admin", "decide", "read")}
    requests = {
        "admin": ("PUT", "/x", {"arms": ARMS, "policy": "ucb"}),
        "decide": ("POST", "/x/decisions", {}),
        "read": ("GET", "/x/report", None),
    }
    with running(store) as server:
        assert server("PUT", "/x", requests["admin"][2], token=tokens["admin"]).status == 201
        for needed, (method, path, body) in requests.items():
            for role, token in tokens.items():
                status = server(method, path, body, token=token).status
                assert (status in (200, 201)) == (role in ("admin", needed)), (role, needed)
                assert status in (200, 201, 403)
        for wrong in (
            None,
            "hb_",
            "nonsense",
            tokens["admin"][:-1],
            tokens["admin"] + "x",
            "hb_000000000000_" + "x" * 43,
        ):
            refused = server("GET", "/x/report", token=wrong)
            assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert call(server.address, "GET", "/health").status == 200
        assert call(server.address, "GET", "/metrics").status == 401


def test_tokens_are_stored_hashed_and_can_be_revoked(store: Storage) -> None:
    secret, token = add_token(store, "read")
    session = store.connect()
    assert secret.split("_", 2)[2] not in str(session.tokens())
    assert Tokens.read(session).role_of(f"Bearer {secret}") == ("read", token)
    with running(store) as server:
        assert server("GET", "", token=secret).status == 200
        with session.transaction():
            session.revoke_token(token, 1)
        for _ in range(200):
            if server("GET", "", token=secret).status == 401:
                break
            time.sleep(0.05)
        assert server("GET", "", token=secret).status == 401
        assert server("GET", "").status == 401  # a server that had tokens does not open again
    session.close()


def test_without_tokens_other_hosts_and_simple_forms_are_refused(server: Running) -> None:
    assert server("PUT", "/x", {"arms": ARMS, "policy": "ucb"}, Host="evil.example").status == 403
    assert server("PUT", "/x", {"arms": ARMS, "policy": "ucb"}, **{"Content-Type": "text/plain"}).status == 415
    assert server("PUT", "/x", {"arms": ARMS, "policy": "ucb"}, Host="localhost:80").status == 201


def test_behind_a_proxy_with_tls_the_cookie_is_sent_over_tls_only(store: Storage) -> None:
    token, _ = add_token(store, "read")
    form, headers = f"token={token}".encode(), {"Host": "bandits.example", "Origin": "https://bandits.example"}
    with running(store) as server:
        for protocol, is_secure in (("http", False), ("https", True)):
            given: dict[str, Any] = {**headers, "X-Forwarded-Proto": protocol}
            answer = call(server.address, "POST", "/login", form, **given)
            assert answer.status == 303
            assert ("Secure" in answer.headers["set-cookie"]) == is_secure


def test_beyond_loopback_tokens_are_needed(store: Storage, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "heavybandits", "serve", "--host", "0.0.0.0", "--port", "0", "--db", store.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "heavybandits: serve: host must be 127.0.0.1 while there are no tokens, got '0.0.0.0'"
    )
    assert done.stderr.count("\n") == 1


def test_sizes_are_limited(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    server("PUT", "/x", {"arms": ARMS, "policy": "ucb"})
    assert server("POST", "/x/decisions", b" " * (1 << 20) + b"{}").status == 413
    assert server("POST", "/x/decisions", {"id": "i" * 128}).status == 201
    assert server("POST", "/x/decisions", {"id": "i" * 129}).status == 422
    assert server("POST", "/x/decisions", {"id": "a/b"}).status == 422
    assert server("POST", "/x/decisions", {"id": ".."}).status == 422
    assert server("POST", "/x/decisions", b'{"id": "\\u0000"}').status == 422
    assert server("POST", "/x/decisions", b"[" * 100_000).status in (400, 422)
    assert server("PUT", "/" + "n" * 65, {"arms": ARMS}).status == 404
    arms = [{"name": f"a{i}"} for i in range(1001)]
    assert server("PUT", "/y", {"arms": arms}).status == 422
    monkeypatch.setattr(creation, "MAX_EXPERIMENTS", 1)
    assert server("PUT", "/z", {"arms": ARMS, "policy": "ucb"}).status == 409


def test_rates_are_limited(store: Storage) -> None:
    token, _ = add_token(store, "read")
    other, _ = add_token(store, "read")
    with running(store, rate=5.0) as server:
        statuses = [server("GET", "", token=token).status for _ in range(12)]
        assert statuses[0] == 200
        assert 429 in statuses
        assert server("GET", "", token=other).status == 200


def test_items_of_a_batch_count_towards_the_rate(store: Storage) -> None:
    admin, _ = add_token(store, "admin")
    tokens = [add_token(store, "decide")[0] for _ in range(2)]
    item: dict[str, Any] = {"decision": {}}
    with running(store, rate=0.5) as server:
        server("PUT", "/x", {"arms": ARMS, "policy": "ucb"}, token=admin)
        assert server("POST", "/x/batch", {"items": [item]}, token=tokens[0]).status == 200
        refused = server("POST", "/x/batch", {"items": [item]}, token=tokens[0])
        assert (refused.status, refused.headers["retry-after"]) == (429, "2")
        # More than a second's requests pass at once, and are paid for afterwards: 1,000 items at 0.5 per second.
        assert server("POST", "/x/batch", {"items": [item] * 1000}, token=tokens[1]).status == 200
        refused = server("POST", "/x/decisions", {}, token=tokens[1])
        assert refused.status == 429
        assert 1900 < int(refused.headers["retry-after"]) <= 2000


def test_a_batch_that_is_refused_costs_nothing() -> None:
    limit = RateLimit(10.0)
    assert limit.take("a", cost=4, now=0.0) == 0.0
    for _ in range(3):
        assert limit.take("a", now=0.0) == 0.0  # admitted before the size of the batch is known
        assert limit.take("a", cost=8, paid=1, now=0.0) == pytest.approx(0.2)
    assert limit.take("a", cost=6, now=0.0) == 0.0


def test_only_the_owner_can_read_a_new_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        session = open_storage(f"sqlite:///{tmp_path}/log.db").connect()
        session.migrate()
    finally:
        os.umask(before)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == {"log.db": 0o600, "log.db-wal": 0o600, "log.db-shm": 0o600}
    session.close()
    (tmp_path / "log.db").chmod(0o640)  # for a group that makes backups
    open_storage(f"sqlite:///{tmp_path}/log.db").connect().close()
    assert stat.S_IMODE((tmp_path / "log.db").stat().st_mode) == 0o640


def test_names_of_tokens_cannot_write_to_a_terminal(store: Storage, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"^token: name must not contain control characters, got 'a\\x1b\[2J'$"):
        new_token("read", "a\x1b[2J", 0)
    session = store.connect()
    session.migrate()
    with session.transaction():
        session.put_token(new_token("read", "a", 0)[1]._replace(name="a\x1b[2J\nb\u202e"))
    session.close()
    commands.list_tokens(store.url)
    assert capsys.readouterr().out.endswith("  read    valid    a\\x1b[2J\\nb\\u202e\n")


@pytest.mark.parametrize(
    "url",
    [
        "postgresq://u:SECRET@h/db", "postgresql:u:SECRET@h/db", "u:SECRET@h/db", "host=h password=SECRET",
        "postgresql://u:%SECRET@h/db", "postgresql://u:pass@SECRET@h/db", "postgresql://u:SECRET/a@h/db",
        "postgresql://u:SECRET", "postgresql://h/db?password=%SECRET", "postgresql://u:SECRET@127.0.0.1:1/db",
    ],
)  # fmt: skip
def test_passwords_are_not_shown(url: str) -> None:
    with pytest.raises((ValueError, StorageError)) as refused:
        open_storage(url).connect()
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:SECRET@SECRET@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u@h:5432/db", "postgresql://u@h:5432/db"),
        ("postgresql://h/db?sslpassword=SECRET&user=u", "postgresql://h/db?sslpassword=***&user=u"),
        ("sqlite:///a:b/log.db", "sqlite:///a:b/log.db"),
    ],
)
def test_addresses_are_shown_without_passwords(url: str, shown: str) -> None:
    assert open_storage(url).shown == shown


def test_every_line_of_the_log_is_json() -> None:
    program = """
import threading, warnings
import numpy as np
from heavybandits.service.http.telemetry import write_to_stderr
write_to_stderr()
warnings.warn("first\\nsecond")
np.float64(1e308) * 10
threading.Thread(target=lambda: 1 / 0).start()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["level"] for line in lines] == ["warning", "warning", "error"]
    assert "first\nsecond" in lines[0]["message"]
    assert "overflow" in lines[1]["message"]
    assert "ZeroDivisionError" in lines[2]["traceback"]


def test_answers_have_no_stack_traces(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    server("PUT", "/x", {"arms": ARMS, "policy": "ucb"})
    monkeypatch.setattr(Replica, "open_among", lambda self, among: 1 / 0)
    failed = server("POST", "/x/decisions", {"id": "one"})
    assert failed.status == 500
    assert "ZeroDivision" not in str(failed.body)
    monkeypatch.undo()
    assert server("POST", "/x/decisions", {"id": "one"}).status == 201


def test_sigterm_drains_and_leaves_a_snapshot(store: Storage, tmp_path: Path) -> None:
    process = Process(store.url, tmp_path)
    process.wait_until_ready()
    assert process("PUT", "/x", {"arms": ARMS, "policy": "ucb"}).status == 201
    assert process("POST", "/x/decisions", {"id": "one"}).status == 201
    assert process.end() == 0
    session = store.connect()
    assert [seq for seq, _ in session.snapshots(1)] == [2]
    session.close()


def test_answers_are_not_held_back_by_nagles_algorithm() -> None:
    with listen("127.0.0.1", 0) as wire:
        assert wire.proto == socket.IPPROTO_TCP  # asyncio decides by it


def test_an_address_can_be_connected_to_as_soon_as_it_is_shown() -> None:
    with listen("127.0.0.1", 0) as wire:
        socket.create_connection(wire.getsockname()).close()
