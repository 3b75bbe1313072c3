"""Giving up what another thread compiles, at the next point where that does no harm."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_stopping = threading.Event()
_stoppable = threading.local()


class Stopped(BaseException):
    """Compiling was given up; no error, so numba and those who handle errors do not catch it."""


def stop() -> None:
    """Make all threads that compile within :func:`stoppable` give up."""
    _stopping.set()


def go_on() -> None:
    """Let threads compile again."""
    _stopping.clear()


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Let this thread raise :class:`Stopped` at the next checkpoint after :func:`stop`."""
    _stoppable.here = True
    try:
        checkpoint()
        yield
    finally:
        _stoppable.here = False


def checkpoint() -> None:
    """Raise :class:`Stopped` if this thread is to stop.

    Examples
    --------
    >>> checkpoint()
    """
    if _stopping.is_set() and getattr(_stoppable, "here", False):
        raise Stopped
