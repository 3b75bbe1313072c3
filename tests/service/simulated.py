"""Servers of the simulation: the service as it is, on connections after each of whose statements others may go on."""

from __future__ import annotations

import logging
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import patch

from virtual import Event, Readers, Scheduler, Threading

from heavybandits.jit import background_compile
from heavybandits.service.experiments import deletion
from heavybandits.service.log import database, lane, log, turn
from heavybandits.service.log.log import Log
from heavybandits.service.log.requests import Answers
from heavybandits.service.log.turn import Outcome
from heavybandits.service.maintenance import retention
from heavybandits.service.replicas import read
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.storage import Storage, StorageError
from heavybandits.service.storage.connection import SqlRow
from heavybandits.service.storage.sqlite import SQLite

if TYPE_CHECKING:
    from simulation import World

WRITES = ("INSERT", "UPDATE", "DELETE")
SIZES: dict[tuple[Any, str], list[int]] = {  # small ones, so that little is needed for much to happen
    (lane, "EVENTS_PER_SNAPSHOT"): [2, 7, 20_000],
    (lane, "SNAPSHOTS_KEPT"): [1, 2, 10],
    (lane, "MOST_EVENTS_BEHIND"): [1, 4, 2_000],
    (lane, "LARGEST_BATCH"): [1, 3, 1_000],
    (lane, "LONGEST_QUEUE"): [4, 10_000],
    (read, "EVENTS_PER_READ"): [1, 3, 1_000],
    (deletion, "ROWS_PER_TRANSACTION"): [1, 5_000],
    (retention, "EVENTS_PER_STATEMENT"): [2, 10_000],
}


class File:
    """A database that one schedule after another plays on.

    Parameters
    ----------
    folder
        Where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "log.db"
        self.session = SQLite(self.path, threading.Lock())  # for what is no part of a schedule
        self.session.migrate()
        self.connection = self.session._connection
        self._empty = sqlite3.connect(":memory:")
        self.connection.backup(self._empty)
        self.idle: list[sqlite3.Connection] = []  # for the next that connect: opening one takes longer than its use

    def clear(self) -> None:
        """Make everything as it was at first."""
        self._empty.backup(self.connection)

    def close(self) -> None:
        """Close all connections."""
        for connection in (self.connection, self._empty, *self.idle):
            connection.close()


class Connection(SQLite):
    """A connection whose statements may fail, and after which others may go on."""

    def __init__(self, world: World) -> None:
        self._world, self._is_interrupted, self._is_open = world, False, True
        if world.file.idle:
            self._writing, self._is_writing = cast(Any, world.writing), False
            self._connection = world.file.idle.pop()
        else:
            super().__init__(world.file.path, cast(Any, world.writing))
            self._connection.execute("PRAGMA busy_timeout = 0")  # whoever writes holds the lock, so nobody has to wait

    def run(self, statement: str, parameters: Sequence[Any] = ()) -> list[SqlRow]:
        if statement.startswith("PRAGMA"):
            return super().run(statement, parameters)
        self._world.scheduler.pause(statement[:60])
        if self._is_interrupted:
            raise StorageError("interrupted")
        if statement.startswith(WRITES) and not self._connection.in_transaction:
            self._world.told.problems.append(f"outside of a transaction: {statement}")
        self._world.perhaps_fail("before")
        rows = super().run(statement, parameters)
        if statement == "COMMIT":
            self._world.scheduler.pause("has committed")
            self._world.perhaps_fail("after a commit")
        return rows

    def interrupt(self) -> None:
        self._is_interrupted = True

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self.roll_back()
            self._connection.execute("PRAGMA secure_delete = OFF")
            self._world.file.idle.append(self._connection)


class Disk(Storage):
    """The database as a process sees it."""

    def __init__(self, world: World) -> None:
        super().__init__(f"sqlite:///{world.file.path}")
        self._world, self._connections = world, list[Connection]()

    def connect(self) -> Connection:
        self._world.perhaps_fail("on connecting")
        connection = Connection(self._world)
        self._connections.append(connection)
        return connection

    def close(self) -> None:
        """Close all connections, as the end of the process does."""
        for connection in self._connections:
            connection.close()


class Ticket:
    """A request under way, and its answer: what the log takes for a future."""

    def __init__(self, scheduler: Scheduler, request: Any, server: Server) -> None:
        self.request, self.server = request, server
        self.outcome: Outcome | None = None
        self.come = Event(scheduler)

    def done(self) -> bool:
        return self.outcome is not None

    def set_result(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.come.set()


class Server:
    """A process that serves."""

    def __init__(self, world: World, number: int) -> None:
        self._world, self.number, self.is_alive, self.disk = world, number, True, Disk(world)
        self.log: Log | None = None

    def __str__(self) -> str:
        return f"server {self.number}"

    def clock(self) -> int:
        """Return what the clock of this machine says, in microseconds."""
        return self._world.now() + self._world.skews[self.number]

    def start(self) -> None:
        """Start the threads; called by a fiber of this process."""
        self.log = Log(self.disk, self.clock, self._deliver, Readers(self._world.scheduler))
        self.log.start()

    def stop(self) -> None:
        """Stop as after SIGTERM; called by a fiber of this process."""
        if self.log is not None:
            self.log.stop()
        self.is_alive = False

    def _deliver(self, answers: Answers) -> None:
        for future, outcome in answers:
            if isinstance(future, Ticket):
                self._world.told.note(future.request, outcome)
            if not future.done():  # nobody has lost patience
                future.set_result(outcome)

    def replicas(self) -> dict[str, Replica]:
        """Return what this server holds."""
        assert self.log is not None
        return {name: replica for each in self.log.lanes.values() for name, replica in each.replicas.items()}


@contextmanager
def plain_python() -> Iterator[None]:
    """Let nothing be compiled, because that takes a thread."""
    with (
        patch.object(background_compile, "compiled_already", lambda *call: None),
        patch.object(background_compile, "is_disabled", lambda: True),
    ):
        yield


class Complaints(logging.Handler):
    """What servers write about failures of their own."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record) + str(getattr(record, "error", "")))


@contextmanager
def virtual_machine(world: World) -> Iterator[Complaints]:
    """Replace threads, time, compilers, random salts and the sizes of batches, and listen to complaints."""
    threads, salts = Threading(world.scheduler), Random(0)
    complaints, logger = Complaints(), logging.getLogger("heavybandits.service")
    with ExitStack() as stack:
        for module in (lane, log):
            stack.enter_context(patch.object(module, "threading", threads))
        for module in (log, turn, database):
            stack.enter_context(patch.object(module, "time", threads))
        stack.enter_context(plain_python())
        stack.enter_context(patch.object(secrets, "token_hex", lambda n: salts.randbytes(n).hex()))
        for (module, name), sizes in SIZES.items():
            stack.enter_context(patch.object(module, name, world.rng.choice(sizes)))
        logger.addHandler(complaints)
        propagates, logger.propagate = logger.propagate, False
        try:
            yield complaints
        finally:
            logger.propagate = propagates
            logger.removeHandler(complaints)
