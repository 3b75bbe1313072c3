"""Where the log is kept: SQLite or PostgreSQL, with the same statements."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from .connection import Overtaken, Rejected, StorageError, Unavailable
from .session import Session

__all__ = ["Overtaken", "Rejected", "Session", "Storage", "StorageError", "Unavailable", "open_storage"]

SQLITE_PREFIX = "sqlite:///"


class Storage:
    """A database; each call of :meth:`connect` opens a connection of its own.

    Parameters
    ----------
    url
        ``sqlite:///path`` or ``postgresql://...``.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._writing = threading.Lock()  # held by the connection to a file that writes

    @property
    def shown(self) -> str:
        """The address without a password.

        Examples
        --------
        >>> Storage("postgresql://anna:secret@db/bandits").shown
        'postgresql://anna:***@db/bandits'
        >>> Storage("postgresql://db/bandits?password=secret&user=anna").shown
        'postgresql://db/bandits?password=***&user=anna'
        """
        without_parameter = re.sub(r"([?&]\w*password=)[^&]*", r"\1***", self.url)
        return re.sub(r"(://[^:/@]*:).*(?=@)", r"\1***", without_parameter)

    def exists(self) -> bool:
        """Return whether the file exists; PostgreSQL reports a missing database itself, on connecting."""
        return not self.url.startswith(SQLITE_PREFIX) or Path(self.url.removeprefix(SQLITE_PREFIX)).exists()

    def connect(self) -> Session:
        """Open a connection."""
        if self.url.startswith(SQLITE_PREFIX):
            from .sqlite import SQLite

            return SQLite(Path(self.url.removeprefix(SQLITE_PREFIX)), self._writing)
        try:
            from .postgres import PostgreSQL
        except ImportError:
            raise ValueError("serve: PostgreSQL needs psycopg: pip install 'heavybandits[postgres]'") from None
        _check_address(self.url)
        return PostgreSQL(self.url)


def _check_address(url: str) -> None:
    """Refuse an address of PostgreSQL that cannot be read, because its own error may show a part of the password."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = conninfo_to_dict(url)
        is_read = "@" not in str(parts.get("host", ""))[1:] and str(parts.get("port", 0)).replace(",", "").isdigit()
    except ProgrammingError:
        is_read = False
    if not is_read:
        raise ValueError("serve: db must be postgresql://user:password@host:port/name?parameters, where a password has "
                         f"%25 for %, %40 for @, %3A for : and %2F for /, got {_beginning(url)!r}")  # fmt: skip


def _beginning(url: str) -> str:
    """Return what may be shown of an address that cannot be read, and may have a password anywhere."""
    if url.startswith("sqlite:") or not re.search("[:@=]", url):
        return url
    return str(re.match(r"\w*:?/*", url)[0]) + "..."  # type: ignore[index]  # it matches anything


def open_storage(url: str) -> Storage:
    """Return the database at an address.

    Examples
    --------
    >>> open_storage("mysql://anna:secret@localhost").url
    Traceback (most recent call last):
        ...
    ValueError: serve: db must be sqlite:///path or postgresql://..., got 'mysql://...'
    """
    if not url.startswith((SQLITE_PREFIX, "postgresql://", "postgres://")) or url == SQLITE_PREFIX:
        raise ValueError(f"serve: db must be sqlite:///path or postgresql://..., got {_beginning(url)!r}")
    return Storage(url)
