"""Removal of old events: what was learned from them stays, in a snapshot.

Open decisions stay too, so that their rewards still count.  An id whose events are gone is forgotten: a request that
repeats it counts as new.
"""

from __future__ import annotations

import msgspec

from .. import __version__
from .deletion import remains_removed
from .events import Clock, system_clock
from .replicas import read
from .spec import Experiment
from .storage import Session
from .storage.session import Head

SECOND = 1_000_000  # microseconds
CHUNK = 10_000  # events in one statement, so that servers need not wait and none takes too long


def prune(session: Session, before: int, clock: Clock = system_clock) -> dict[str, int]:
    """Remove events from before a time, and return how many were removed, by experiment.

    The last two windows of an experiment are never touched.  What is left of deleted experiments is removed, too.
    """
    for _ in remains_removed(session):
        pass
    return {head.name: _pruned(session, head, before, clock()) for head in session.heads()}


def _pruned(session: Session, head: Head, before: int, now: int) -> int:
    window = round((msgspec.json.decode(head.spec, type=Experiment).reward.window or 0.0) * SECOND)
    kept = _first_since(session, head, min(before, now - 2 * window))
    if kept > head.first_seq:
        replica = read(session, head, until=kept - 1)
        with session.transaction([head.id]) as found:
            if not found:  # it was deleted
                return 0
            session.put_snapshot(head.id, kept - 1, __version__, replica.snapshot())
            session.set_first_seq(head.id, kept)
    gone = 0
    for start in range(1, kept, CHUNK):  # from the first: an earlier run may have been interrupted
        with session.transaction():
            gone += session.remove_events(head.id, start, min(start + CHUNK, kept))
    return gone


def _first_since(session: Session, head: Head, t: int) -> int:
    """Return the sequence number of the first event at or after a time, or of the next one if all are older."""
    for start in range(head.first_seq, head.next_seq, CHUNK):
        found = session.first_since(head.id, t, start, min(start + CHUNK, head.next_seq))
        if found is not None:
            return found
    return head.next_seq
