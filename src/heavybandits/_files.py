"""Errors of the file system that say which file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def named(path: str | Path) -> Iterator[None]:
    """Name what was being written in errors of the system that do not: a full disk's has no path.

    Examples
    --------
    >>> import errno
    >>> try:
    ...     with named("results/figures"):
    ...         raise OSError(errno.ENOSPC, "No space left on device")
    ... except OSError as error:
    ...     error.filename
    'results/figures'
    """
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
