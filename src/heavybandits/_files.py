"""File system errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def named(path: str | Path) -> Iterator[None]:
    """Add the path being written to errors that lack one, such as that of a full disk.

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
