"""Where the log is kept: SQLite or PostgreSQL, with the same statements."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from .session import Overtaken, Rejected, Session, StorageError, Unavailable

__all__ = ["Overtaken", "Rejected", "Session", "Storage", "StorageError", "Unavailable", "open_storage"]

FILE = "sqlite:///"


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
        return re.sub(r"(://[^:/@]*:)[^@]*(?=@)|([?&]password=)[^&]*", r"\1\2***", self.url)

    def exists(self) -> bool:
        """Return whether the file exists; PostgreSQL reports a missing database itself, on connecting."""
        return not self.url.startswith(FILE) or Path(self.url.removeprefix(FILE)).exists()

    def connect(self) -> Session:
        """Open a connection."""
        if self.url.startswith(FILE):
            from .sqlite import SQLite

            return SQLite(Path(self.url.removeprefix(FILE)), self._writing)
        try:
            from .postgres import PostgreSQL
        except ImportError:
            raise ValueError("serve: PostgreSQL needs psycopg: pip install 'heavybandits[postgres]'") from None
        return PostgreSQL(self.url)


def open_storage(url: str) -> Storage:
    """Return the database at an address.

    Examples
    --------
    >>> open_storage("mysql://localhost").url
    Traceback (most recent call last):
        ...
    ValueError: serve: db must be sqlite:///path or postgresql://..., got 'mysql://localhost'
    """
    if not url.startswith((FILE, "postgresql://", "postgres://")) or url == FILE:
        raise ValueError(f"serve: db must be sqlite:///path or postgresql://..., got {url!r}")
    return Storage(url)
