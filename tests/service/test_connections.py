"""What clients can take up without a token, or with one: connections, time, memory and the database's connections."""

import gc
import http.client
import json
import logging
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from services import ARMS, Process, Running, call, new_database, running
from starlette.concurrency import run_in_threadpool

from heavybandits.service.experiments.decisions import Decide
from heavybandits.service.http.connections import Limits
from heavybandits.service.http.downloads import MOST_DOWNLOADS
from heavybandits.service.log.turn import Outcome
from heavybandits.service.storage import Storage, open_storage

pytestmark = pytest.mark.slow
HALF = b"GET /health HTTP/1.1\r\nHost: local"


@pytest.fixture
def store(tmp_path: Path) -> Storage:
    return open_storage(f"sqlite:///{tmp_path}/log.db")


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail if anything was logged with a traceback."""
    yield
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


@contextmanager
def wire(server: Running | Process, *sent: bytes, buffer: int | None = None) -> Iterator[socket.socket]:
    """Open a connection and send something."""
    host, port = server.address.rsplit(":", 1)
    with socket.socket() as opened:
        opened.settimeout(30)
        if buffer is not None:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        opened.connect((host, int(port)))
        opened.sendall(b"".join(sent))
        yield opened


def rest(opened: socket.socket) -> bytes:
    """Return all that comes until the server closes the connection."""
    found = b""
    try:
        while part := opened.recv(65_536):
            found += part
    except ConnectionResetError:
        pass
    return found


def status(opened: socket.socket) -> int:
    """Read one answer, and return its status."""
    answer = http.client.HTTPResponse(opened)
    answer.begin()
    answer.read()
    return answer.status


def trickle(opened: socket.socket) -> None:
    """Send a byte now and then until the server says something."""
    for _ in range(500):
        if select.select([opened], [], [], 0.02)[0]:
            return
        opened.sendall(b"1")
    raise AssertionError("the server was patient")


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def request(method: str, path: str, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode()


def make(server: Running | Process) -> None:
    assert server("PUT", "/x", {"arms": ARMS, "policy": "ucb"}).status == 201


DECIDE = "/v1/experiments/x/decisions"


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("half", [b"", HALF, request("POST", DECIDE, "Content-Length: 100") + b"{"])
def test_connections_that_wait_for_their_clients_make_room(store: Storage, half: bytes) -> None:
    with running(store, limits=Limits(connections=10)) as server, ExitStack() as stack:
        make(server)
        waiting = [stack.enter_context(wire(server, half)) for _ in range(30)]
        assert server("POST", "/x/decisions", {"id": "one"}).status == 201
        ended: list[bytes] = []
        while len(ended) < 20:
            ready, _, _ = select.select(waiting, [], [], 30)
            assert ready
            ended += [rest(each) for each in ready]
            waiting = [each for each in waiting if each not in ready]
        # Those whose bytes had not been read when they were ended get no answer.
        assert {each.partition(b"\r\n")[0] for each in ended} <= {b"", b"HTTP/1.1 503 Service Unavailable"}
        assert half or set(ended) == {b""}  # an idle client expects no answer


@pytest.mark.usefixtures("quiet")
def test_while_all_connections_are_served_another_one_is_refused(
    store: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, gate = threading.Event(), threading.Event()
    with running(store, limits=Limits(connections=1)) as server:
        make(server)
        ask = server.service.ask

        async def slow(command: Any) -> Outcome:
            if isinstance(command, Decide):
                begun.set()
                await run_in_threadpool(gate.wait)
            return await ask(command)

        monkeypatch.setattr(server.service, "ask", slow)
        with wire(server, request("POST", DECIDE, "Content-Length: 2", "Connection: close"), b"{}") as served:
            assert begun.wait(30)
            with wire(server) as refused:
                answer = rest(refused)
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: 1\r\n" in answer
            gate.set()
            assert rest(served).startswith(b"HTTP/1.1 201 ")


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("begin", "said"),
    [(HALF, b"the rest of a request's head"),
     (request("POST", DECIDE, "Content-Length: 1000"), b"the rest of a request's body"),
     (request("POST", DECIDE, "Transfer-Encoding: chunked") + b"fff\r\n", b"the rest of a request's body")],
)  # fmt: skip
def test_slow_requests_are_given_up_however_often_they_send_a_byte(store: Storage, begin: bytes, said: bytes) -> None:
    limits = Limits(head_seconds=0.3, body_seconds=0.3)
    with running(store, limits=limits) as server, wire(server, begin) as slow:
        make(server)
        trickle(slow)
        answer = rest(slow)
        assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
        assert said in answer
        assert server("POST", "/x/decisions", {"id": "one"}).status == 201


@pytest.mark.usefixtures("quiet")
def test_a_client_that_was_answered_may_not_send_a_body_for_ever(store: Storage) -> None:
    begin = request("POST", DECIDE, "Content-Length: 1000").replace(b"application/json", b"text/plain")
    with running(store, limits=Limits(body_seconds=0.3)) as server, wire(server, begin) as slow:
        assert status(slow) == 415
        trickle(slow)
        assert rest(slow) == b""


@pytest.mark.usefixtures("quiet")
def test_unfinished_bodies_make_room_for_others(store: Storage) -> None:
    begin = request("POST", DECIDE, "Content-Length: 32000") + b" " * 30_000
    with running(store, limits=Limits(request_bytes=100_000)) as server, ExitStack() as stack:
        make(server)
        waiting = [stack.enter_context(wire(server, begin)) for _ in range(5)]
        for _ in range(2):
            ready, _, _ = select.select(waiting, [], [], 30)
            assert rest(ready[0])[:13] in (b"HTTP/1.1 503 ", b"")
            waiting.remove(ready[0])
        assert server("POST", "/x/decisions", {"id": "one"}).status == 201
        for each in waiting:
            each.sendall(b" " * 1_998 + b"{}")
            assert status(each) == 201


@pytest.mark.usefixtures("quiet")
def test_requests_that_were_answered_take_no_room(store: Storage) -> None:
    with running(store, limits=Limits(request_bytes=1_000)) as server, wire(server) as opened:
        for _ in range(20):
            opened.sendall(request("GET", "/health"))
            assert status(opened) == 200


@pytest.mark.usefixtures("quiet")
def test_bodies_that_are_thrown_away_take_no_room(store: Storage) -> None:
    refused = request("POST", DECIDE, "Content-Length: 3000000").replace(b"application/json", b"text/plain")
    with running(store, limits=Limits(request_bytes=400_000)) as server:
        make(server)
        with (
            wire(server, request("POST", DECIDE, "Content-Length: 100000"), b" " * 10_000) as patient,
            wire(server, refused) as other,
        ):
            assert status(other) == 415
            other.sendall(b" " * 3_000_000 + request("GET", "/health"))
            assert status(other) == 200
            patient.sendall(b" " * 89_998 + b"{}")
            assert status(patient) == 201


def test_more_clients_than_files_leave_no_traceback(store: Storage, tmp_path: Path) -> None:
    process = Process(store.url, tmp_path, files=256)
    process.wait_until_ready()
    make(process)
    with ExitStack() as stack:
        for _ in range(400):
            stack.enter_context(wire(process, HALF))
        assert process("POST", "/x/decisions", {"id": "one"}).status == 201
        errors = process.errors()
    assert process.end() == 0
    assert "Traceback" not in errors
    assert [json.loads(line)["level"] for line in errors.splitlines() if "error" in line] == []


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("half", [HALF, request("POST", DECIDE, "Content-Length: 100") + b"{"])
def test_a_server_that_stops_does_not_wait_for_half_a_request(store: Storage, half: bytes) -> None:
    with ExitStack() as stack:
        with running(store) as server:
            slow = stack.enter_context(wire(server, half))
            make(server)
        assert rest(slow).startswith(b"HTTP/1.1 503 ")


def fill(server: Running) -> None:
    """Make an experiment whose export is larger than what the buffers of a connection hold."""
    arms = [{"name": f"{'a' * 50}{i}"} for i in range(400)]
    assert server("PUT", "/x", {"arms": arms, "policy": "ucb"}).status == 201
    assert server("POST", "/x/batch", {"items": [{"decision": {}}] * 1000}).status == 200


@pytest.mark.usefixtures("quiet")
def test_exports_that_nobody_reads_hold_no_connections(postgres: str) -> None:
    url = new_database(postgres)
    export = request("GET", "/v1/experiments/x/export")

    def connections() -> int:
        with psycopg.connect(url) as connection:
            found = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
            return int(found.fetchall()[0][0]) - 1

    with running(open_storage(url)) as server, ExitStack() as stack:
        fill(server)
        before = connections()
        readers = [stack.enter_context(wire(server, export, buffer=4096)) for _ in range(40)]
        answers = [each.recv(200) for each in readers]
        assert sum(each.startswith(b"HTTP/1.1 200 ") for each in answers) == MOST_DOWNLOADS
        refused = [each for each in answers if not each.startswith(b"HTTP/1.1 200 ")]
        assert all(each.startswith(b"HTTP/1.1 503 ") and b"retry-after: 10\r\n" in each for each in refused)
        wait_until(lambda: connections() <= before)
        assert server.service.downloads.count == MOST_DOWNLOADS
        assert server("POST", "/x/decisions", {"id": "one"}).status == 201
        gc.disable()  # nothing may depend on the collector
        stack.callback(gc.enable)
        for each in readers:
            each.close()
        wait_until(lambda: server.service.downloads.count == 0)
        assert connections() <= before
        assert server("GET", "/x/export").body.count(b"\n") == 1002


@pytest.mark.usefixtures("quiet")
def test_a_reader_that_does_not_read_is_dropped(store: Storage) -> None:
    with running(store, limits=Limits(answer_seconds=0.3)) as server:
        fill(server)
        with wire(server, request("GET", "/v1/experiments/x/export"), buffer=4096) as reader:
            assert reader.recv(100).startswith(b"HTTP/1.1 200 ")
            wait_until(lambda: server.service.downloads.count == 0)
            assert not rest(reader).endswith(b"0\r\n\r\n")  # the export has no end


def test_an_export_whose_database_fails_has_no_end(
    store: Storage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, quiet: None
) -> None:
    from heavybandits.service.maintenance import export
    from heavybandits.service.storage import Session, StorageError

    events = Session.events

    def cut(self: Session, exp: int, after: int, limit: int) -> list[Any]:
        if after >= 500:
            raise StorageError("the connection is cut")
        return events(self, exp, after, limit)

    with running(store) as server:
        fill(server)
        monkeypatch.setattr(export, "EVENTS_PER_PART", 500)
        monkeypatch.setattr(Session, "events", cut)
        with wire(server, request("GET", "/v1/experiments/x/export")) as reader:
            answer = rest(reader)
        monkeypatch.undo()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert not answer.endswith(b"0\r\n\r\n")
    assert "an export was not finished" in caplog.messages


@pytest.mark.usefixtures("quiet")
def test_clients_that_go_away_while_sending_are_no_errors(store: Storage) -> None:
    with running(store) as server:
        for path in (DECIDE, "/login"):
            with wire(server, request("POST", path, "Content-Length: 100", "Origin: http://localhost"), b"{"):
                pass
        wait_until(lambda: b'status="499"' in call(server.address, "GET", "/metrics").body)


@pytest.mark.usefixtures("quiet")
def test_nonsense_after_an_answer_closes_the_connection(store: Storage) -> None:
    begin = request("POST", DECIDE, "Transfer-Encoding: chunked").replace(b"application/json", b"text/plain")
    with running(store) as server, wire(server, begin) as opened:
        assert status(opened) == 415
        opened.sendall(b"nonsense\r\n")
        assert rest(opened) == b""


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", request("GET", "/health", "Content-Length: x")])
def test_malformed_requests_are_told_so(store: Storage, sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with running(store) as server, wire(server, sent) as opened:
        answer = rest(opened)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in answer
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize("path", [DECIDE, "/login"])
def test_a_request_with_two_lengths_hides_no_other(store: Storage, path: str) -> None:
    hidden = request("GET", "/health")
    sent = request("POST", path, "Content-Length: 4", "Transfer-Encoding: chunked") + b"0\r\n\r\n" + hidden
    with running(store) as server, wire(server, sent) as opened:
        answer = rest(opened)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close\r\n" in answer.lower()
    assert answer.count(b"HTTP/1.1") == 1
