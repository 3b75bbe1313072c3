"""Locks of agents, of which none is held while the process forks.

A child has only the thread that forked.  A lock that another thread held would never be released in it, and the agent
behind that lock would have made half a call.  So a fork waits for the calls that are under way, and calls wait for it.
"""

from __future__ import annotations

import os
import threading
import weakref

_locks: weakref.WeakSet[threading.Lock] = weakref.WeakSet()
_listing = threading.Lock()  # held while the list of locks is used
_held: list[threading.Lock] = []  # by a fork


def new_lock() -> threading.Lock:
    """Return a lock that a fork waits for.

    Examples
    --------
    >>> with new_lock() as held:
    ...     held
    True
    """
    lock = threading.Lock()
    with _listing:
        _locks.add(lock)
    return lock


def _hold() -> None:
    _listing.acquire()
    for lock in _locks:
        lock.acquire()
        _held.append(lock)


def _release() -> None:
    while _held:
        _held.pop().release()
    _listing.release()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)
