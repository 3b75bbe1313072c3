"""A connection to a database: transactions, and what each kind of database does in its own way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

SqlRow = tuple[Any, ...]
MOST_ROWS = 256  # in one statement


class StorageError(OSError):
    """The database refused or failed; what was under way may or may not be stored."""


class Unavailable(StorageError):
    """The database cannot be reached, so nothing was begun."""


class Overtaken(Unavailable):
    """Another server has changed an experiment since it was read, so nothing was stored."""


class Rejected(ValueError):
    """The database does not take the values of a statement; the connection is as good as before."""


class DatabaseConnection(ABC):
    """A connection.  All changes are made in a :meth:`transaction`."""

    DIALECT: str  # which of the migrations' statements it runs
    NOT_LISTED: str  # follows a column whose value must not be listed
    BEGIN_READING = "BEGIN"  # begins a transaction that reads everything as of one moment
    computes_unlocked = False  # whether transactions take a lock that everybody needs only in order to write

    @abstractmethod
    def run(self, statement: str, parameters: Sequence[Any] = ()) -> list[SqlRow]:
        """Run a statement with ``?`` for parameters, and return its rows."""

    @abstractmethod
    def look_up(self, fields: str, table: str, exp: int, column: str, values: Iterable[str]) -> list[SqlRow]:
        """Return the rows of an experiment that have one of these values in a column."""

    @abstractmethod
    def remove(self, table: str, exp: int, column: str, values: Iterable[str]) -> None:
        """Delete the rows of an experiment that have one of these values in a column."""

    @abstractmethod
    def listed(self, values: Iterable[int]) -> Any:
        """Return values as the parameter that ``NOT_LISTED`` takes."""

    @abstractmethod
    def begin(self, experiments: Sequence[int]) -> dict[int, int]:
        """Begin a transaction in which nobody else changes these experiments; return their next sequence numbers."""

    @abstractmethod
    def lock_experiments(self) -> None:
        """Lock the list of experiments against additions."""

    @abstractmethod
    def commit(self) -> None:
        """Commit the transaction."""

    @abstractmethod
    def roll_back(self) -> None:
        """Roll the transaction back; never raises."""

    @abstractmethod
    def interrupt(self) -> None:
        """Make the statement under way fail; called by another thread."""

    @abstractmethod
    def unblock(self) -> None:
        """Free the statement under way from a server that blocks it and does not go on; called by another thread."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; never raises."""

    @contextmanager
    def transaction(
        self, experiments: Sequence[int] = (), last: Callable[[], object] | None = None
    ) -> Iterator[dict[int, int]]:
        """Do everything or nothing.

        The experiments are locked, and their next sequence numbers returned.  What ``last`` does is sent together with
        the commit.
        """
        next_seqs = self.begin(experiments)
        try:
            yield next_seqs
            self.confirm(next_seqs)
            with self.together():
                if last is not None:
                    last()
                self.commit()
        except BaseException:
            self.roll_back()
            raise

    @abstractmethod
    def confirm(self, next_seqs: dict[int, int]) -> None:
        """Take the locks that :meth:`begin` has left, and raise if the experiments have moved on since."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read everything as of one moment, whatever others store meanwhile."""
        self.run(self.BEGIN_READING)
        try:
            yield
        finally:
            self.roll_back()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Send statements without waiting for each, where the database can do that."""
        yield

    def insert(self, table: str, fields: Sequence[str], rows: Sequence[SqlRow], conflict: str = "") -> None:
        """Insert rows, many in one statement.

        The number of rows in a statement is a power of two, so there are few statements and each is prepared once.
        """
        start = 0
        while start < len(rows):
            size = min(1 << (len(rows) - start).bit_length() - 1, MOST_ROWS)
            marks = ", ".join([f"({', '.join('?' * len(fields))})"] * size)
            values = [value for row in rows[start : start + size] for value in row]
            self.run(f"INSERT INTO {table} ({', '.join(fields)}) VALUES {marks} {conflict}", values)
            start += size
