"""PostgreSQL: any number of servers; a row lock gives the order of sequence numbers the order of commits."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from .session import Row, Session, StorageError, Unavailable

# A server that hangs is given up after some seconds; what it was asked to do may have been done.
OPTIONS: dict[str, Any] = {
    "connect_timeout": 5, "tcp_user_timeout": 10_000, "keepalives_idle": 5, "keepalives_interval": 2,
    "keepalives_count": 3, "options": "-c lock_timeout=8s -c statement_timeout=10s -c synchronous_commit=on",
}  # fmt: skip
GATE = 7_205_759_403_792_794  # the advisory lock that whoever adds an experiment or changes the schema holds


class PostgreSQL(Session):
    """A connection to a server."""

    IN = "= ANY(?)"

    def __init__(self, url: str) -> None:
        try:
            self._connection = psycopg.connect(url, autocommit=True, prepare_threshold=2, **OPTIONS)
        except psycopg.Error as error:
            raise Unavailable(f"cannot connect: {error}") from error

    def run(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        try:
            cursor = self._connection.execute(statement.replace("?", "%s"), parameters or None)
            if self._connection.info.pipeline_status or cursor.description is None:
                return []
            return cursor.fetchall()
        except psycopg.Error as error:
            raise StorageError(str(error)) from error

    def listed(self, values: Iterable[str]) -> list[str]:
        return list(values)

    def begin(self) -> None:
        try:
            self._connection.execute("BEGIN")
        except psycopg.Error as error:
            raise Unavailable(str(error)) from error

    def commit(self) -> None:
        self.run("COMMIT")

    def roll_back(self) -> None:
        try:
            self._connection.execute("ROLLBACK")
        except psycopg.Error:
            self.close()

    def interrupt(self) -> None:
        with (
            contextlib.suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(self._connection.fileno())) as wire,
        ):
            wire.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(psycopg.Error):
            self._connection.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        try:
            with self._connection.pipeline():
                yield
        except psycopg.Error as error:
            raise StorageError(str(error)) from error

    def lock(self, ids: Sequence[int]) -> dict[int, int]:
        # In the order of ids, so that two servers never wait for each other.
        sql = "SELECT id, next_seq FROM experiment WHERE id = ANY(?) ORDER BY id FOR UPDATE"
        return dict(self.run(sql, (list(ids),)))

    def lock_experiments(self) -> None:
        self.run("SELECT pg_advisory_xact_lock(?)", (GATE,))
