"""A chain over the events of an experiment: each link is a digest of the one before and of an event.

The latest link is stored with the experiment, so a single event that was changed, lost or moved is noticed.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from ..events import Event

LINK_BYTES = 16  # bytes
_encode = msgspec.msgpack.Encoder().encode
_blank = hashlib.blake2b(digest_size=LINK_BYTES)  # to copy takes less time than to make


def first_link(exp: int, name: str) -> bytes:
    """Return what the first event is linked to.

    Examples
    --------
    >>> first_link(1, "checkout") == first_link(1, "check out")
    False
    """
    return hashlib.blake2b(f"{exp}/{name}".encode(), digest_size=LINK_BYTES).digest()


def next_link(link: bytes, event: Event) -> bytes:
    """Return the link of an event to those before it."""
    digest = _blank.copy()
    digest.update(link + _encode(event))
    return digest.digest()


def seal(*values: Any) -> str:
    """Return a digest of a row that no event tells, or no longer tells once the log is pruned.

    Examples
    --------
    >>> seal("visitor", "blue", 0.5)
    '...'
    """
    return hashlib.blake2b(_encode(values), digest_size=8).hexdigest()
