"""PostgreSQL: any number of servers; a row lock makes sequence numbers follow the order of commits."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from .connection import Rejected, SqlRow, StorageError, Unavailable
from .session import Session

log = logging.getLogger("heavybandits.service")

# A server that hangs is given up after some seconds; what it was asked to do may have been done.
OPTIONS: dict[str, Any] = {
    "connect_timeout": 5, "tcp_user_timeout": 10_000, "keepalives_idle": 5, "keepalives_interval": 2,
    "keepalives_count": 3, "application_name": "heavybandits",
    "client_encoding": "UTF8",  # otherwise a database without an encoding, SQL_ASCII, answers bytes instead of text
    "options": "-c lock_timeout=8s -c statement_timeout=10s -c synchronous_commit=on "
    "-c plan_cache_mode=force_custom_plan",  # a plan made while a table was small would always read all of it
}  # fmt: skip
GATE = 7_205_759_403_792_794  # the advisory lock held to add an experiment or change the schema


# In the order of ids, so that two servers never wait for each other.  Rows that refer to the experiment may be added
# meanwhile, such as snapshots.
LOCK = "SELECT id, next_seq FROM experiment WHERE id = ANY(%s) AND deleted IS NULL ORDER BY id FOR NO KEY UPDATE"
# A server that stops in the middle of a transaction, such as one whose machine was suspended, would keep its locks for
# as long as its connection lives.  From version 17 on, the database ends such a transaction by itself; before, whoever
# is blocked ends it.
TRANSACTION_SECONDS = 4  # seconds for which a transaction may lock experiments
HAS_TRANSACTION_TIMEOUT = 170_000  # version
END_BLOCKERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ANY(pg_blocking_pids(%s)) "
    "AND application_name = 'heavybandits' AND xact_start < clock_timestamp() - make_interval(secs => %s)"
)
BLOCKING_SECONDS = 2  # seconds that a transaction must have taken for others to end it
# One index search per value.  Without OFFSET 0 the planner may read all of an experiment, which it believes to be small
# until the table is next analysed.
FOUND = (
    "SELECT {fields} FROM unnest(?::text[]) AS wanted, "
    "LATERAL (SELECT *, ctid FROM {table} WHERE exp = ? AND {column} = wanted OFFSET 0) AS found"
)
# Types of the columns into which many rows are inserted at once.
NUMBERS = {"exp": "bigint", "seq": "bigint", "t": "bigint", "since": "bigint", "deadline": "bigint",
           "value": "double precision", "p": "double precision", "total": "double precision"}  # fmt: skip


class PostgreSQL(Session):
    """A connection to a server."""

    DIALECT, NOT_LISTED = "postgres", "<> ALL(?::bigint[])"
    BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    def __init__(self, url: str) -> None:
        self._url = url
        try:
            self._connection = psycopg.connect(url, autocommit=True, prepare_threshold=2, **OPTIONS)
        except psycopg.Error as error:
            raise Unavailable(f"cannot connect: {error}") from error

    def run(self, statement: str, parameters: Sequence[Any] = ()) -> list[SqlRow]:
        try:
            cursor = self._connection.execute(statement.replace("?", "%s"), parameters or None)
            if self._connection.info.pipeline_status or cursor.description is None:
                return []
            return cursor.fetchall()
        except psycopg.Error as error:
            raise _raised(error) from error

    def listed(self, values: Iterable[int]) -> list[int]:
        return list(values)

    def look_up(self, fields: str, table: str, exp: int, column: str, values: Iterable[str]) -> list[SqlRow]:
        return self.run(FOUND.format(fields=fields, table=table, column=column), (list(values), exp))

    def remove(self, table: str, exp: int, column: str, values: Iterable[str]) -> None:
        found = FOUND.format(fields="ctid", table=table, column=column)
        self.run(f"DELETE FROM {table} WHERE ctid = ANY(ARRAY({found}))", (list(values), exp))

    def begin(self, experiments: Sequence[int]) -> dict[int, int]:
        try:
            with self._connection.pipeline():
                self._connection.execute("BEGIN")
                cursor = self._connection.execute(LOCK, (list(experiments),)) if experiments else None
                if experiments and self._connection.info.server_version >= HAS_TRANSACTION_TIMEOUT:
                    # From now on, so that waiting for the lock does not count.
                    self._connection.execute(f"SET LOCAL transaction_timeout = '{TRANSACTION_SECONDS}s'")
            return {} if cursor is None else {row[0]: row[1] for row in cursor.fetchall()}
        except psycopg.Error as error:
            self.roll_back()
            raise Unavailable(str(error)) from error

    def confirm(self, next_seqs: dict[int, int]) -> None:
        """Do nothing: the rows of the experiments are locked."""

    def commit(self) -> None:
        self._connection.execute("COMMIT")  # within a pipeline, whose end raises any error

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

    def unblock(self) -> None:
        with psycopg.connect(self._url, autocommit=True, **OPTIONS) as connection:
            ended = connection.execute(END_BLOCKERS, (self._connection.info.backend_pid, BLOCKING_SECONDS)).fetchall()
        if ended:
            log.warning("a server that held a lock for too long was cut off")

    def close(self) -> None:
        with contextlib.suppress(psycopg.Error):
            self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        with super().reading():
            self.run("SET LOCAL statement_timeout = 0")  # whole tables may be read
            yield

    @contextmanager
    def together(self) -> Iterator[None]:
        try:
            with self._connection.pipeline():
                yield
        except psycopg.Error as error:
            raise _raised(error) from error

    def lock_experiments(self) -> None:
        self.run("SELECT pg_advisory_xact_lock(?)", (GATE,))

    def insert(self, table: str, fields: Sequence[str], rows: Sequence[SqlRow], conflict: str = "") -> None:
        if len(rows) < 2:
            super().insert(table, fields, rows, conflict)
            return
        columns = ", ".join(f"?::{NUMBERS.get(field, 'text')}[]" for field in fields)
        sql = f"INSERT INTO {table} ({', '.join(fields)}) SELECT * FROM unnest({columns}) {conflict}"
        self.run(sql, [list(column) for column in zip(*rows, strict=True)])


def _raised(error: psycopg.Error) -> Exception:
    """Return what to raise instead of an error: whether a statement's values are wrong, or the database fails."""
    return Rejected(str(error)) if isinstance(error, psycopg.DataError) else StorageError(str(error))
