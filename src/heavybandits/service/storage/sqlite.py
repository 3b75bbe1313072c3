"""SQLite: one file, one writer at a time, every commit flushed to disk."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sqlite3
import threading
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from . import migrations
from .connection import Overtaken, Rejected, SqlRow, StorageError, Unavailable
from .session import Session

WRITER_SECONDS = 5.0  # seconds to wait for another writer
IN = "IN (SELECT value FROM json_each(?))"  # follows a column whose value must be listed

SCHEMA = "SELECT name, type, tbl_name, sql FROM sqlite_master"


def as_json_list(values: Iterable[str | int]) -> str:
    """Return values as the parameter that ``IN`` takes."""
    return json.dumps(list(values))


class SQLite(Session):
    """A connection to a file."""

    DIALECT, NOT_LISTED = "sqlite", f"NOT {IN}"

    def __init__(self, path: Path, writing: threading.Lock) -> None:
        self._writing, self._is_writing = writing, False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Made here, because SQLite would let others read it; its journals get the mode of the file.  A file that
            # exists must not be opened: closing it would release the locks of all connections of this process.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            self._connection = sqlite3.connect(
                path, timeout=WRITER_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
            )
            self.run("PRAGMA journal_mode = WAL")
            self.run("PRAGMA synchronous = FULL")
            self.run("PRAGMA foreign_keys = ON")
        except (sqlite3.Error, OSError, StorageError) as error:
            raise Unavailable(f"cannot open {path}: {error}") from error

    def run(self, statement: str, parameters: Sequence[Any] = ()) -> list[SqlRow]:
        try:
            return self._connection.execute(statement, parameters).fetchall()
        except (sqlite3.DataError, sqlite3.InterfaceError, OverflowError, UnicodeEncodeError) as error:
            raise Rejected(str(error)) from error
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter if a message quotes what is damaged
            raise StorageError(str(error)) from error

    def listed(self, values: Iterable[int]) -> str:
        return as_json_list(values)

    def look_up(self, fields: str, table: str, exp: int, column: str, values: Iterable[str]) -> list[SqlRow]:
        return self.run(f"SELECT {fields} FROM {table} WHERE exp = ? AND {column} {IN}", (exp, as_json_list(values)))

    def remove(self, table: str, exp: int, column: str, values: Iterable[str]) -> None:
        self.run(f"DELETE FROM {table} WHERE exp = ? AND {column} {IN}", (exp, as_json_list(values)))

    def begin(self, experiments: Sequence[int]) -> dict[int, int]:
        try:
            if not (self.computes_unlocked and experiments):
                self._lock()
            return self._next_seqs(experiments)
        except StorageError as error:
            self.roll_back()
            raise Unavailable(str(error)) from error

    def confirm(self, next_seqs: dict[int, int]) -> None:
        if not self._is_writing:
            self._lock()
            if self._next_seqs(next_seqs) != next_seqs:
                raise Overtaken("another server was faster")

    def _next_seqs(self, experiments: Collection[int]) -> dict[int, int]:
        if not experiments:
            return {}
        live = f"SELECT id, next_seq FROM experiment WHERE id {IN} AND deleted IS NULL"
        rows = self.run(live, (as_json_list(experiments),))
        return {row[0]: row[1] for row in rows}

    def _lock(self) -> None:
        """Begin to write, when nobody else does: connections of this process take turns, others are waited for."""
        if not self._writing.acquire(timeout=WRITER_SECONDS):
            raise Unavailable("other connections keep the database busy")
        self._is_writing = True
        self.run("BEGIN IMMEDIATE")  # waits for other writers now, so that no later statement has to

    def _unlock(self) -> None:
        if self._is_writing:
            self._is_writing = False
            self._writing.release()

    def commit(self) -> None:
        self.run("COMMIT")
        self._unlock()

    def roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        self._unlock()

    def interrupt(self) -> None:
        self._connection.interrupt()

    def unblock(self) -> None:
        """Do nothing: the lock on a file ends with the process that holds it, and only then."""

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        self._unlock()

    def try_to_store(self) -> None:
        self.run("PRAGMA secure_delete = ON")  # writes what is deleted, too
        super().try_to_store()
        self.run("PRAGMA secure_delete = OFF")

    def damage(self) -> list[str]:
        found = [row[0] for row in self.run("PRAGMA integrity_check")]
        wrong = [] if found == ["ok"] else found
        wrong += [f"{row[0]}: a row is of no experiment" for row in self.run("PRAGMA foreign_key_check")]
        missing = _new_schema() - set(self.run(SCHEMA))
        return [*wrong, *(f"the definition of {row[0]} is not as it was made" for row in missing), *super().damage()]

    def lock_experiments(self) -> None:
        """Do nothing: the transaction is the only one that writes."""


@functools.cache
def _new_schema() -> frozenset[SqlRow]:
    """Return the definitions in a database that is made now."""
    with contextlib.closing(sqlite3.connect(":memory:")) as new:
        new.executescript(";".join((migrations.VERSIONS, *migrations.steps(SQLite.DIALECT).values())))
        return frozenset(new.execute(SCHEMA))
