"""Removal of old events: what was learned from them stays, in a snapshot.

Open decisions stay too, so that their rewards still count.  An id whose events are gone is forgotten: a request that
repeats it counts as new.
"""

from __future__ import annotations

import msgspec

from .. import __version__
from .events import Clock, system_clock
from .replicas import Replicas
from .spec import Experiment
from .storage import Session
from .storage.session import Head

SECOND = 1_000_000  # microseconds


def prune(session: Session, before: int, clock: Clock = system_clock) -> dict[str, int]:
    """Remove events from before a time, and return how many were removed, by experiment.

    The last two windows of an experiment are never touched.
    """
    return {head.name: _pruned(session, head, before, clock()) for head in session.heads()}


def _pruned(session: Session, head: Head, before: int, now: int) -> int:
    window = round((msgspec.json.decode(head.spec, type=Experiment).reward.window or 0.0) * SECOND)
    last = session.last_before(head.id, min(before, now - 2 * window))
    if last < head.first_seq:
        return 0
    replica = Replicas().read(session, head, until=last)
    with session.transaction([head.id]):
        session.put_snapshot(head.id, last, __version__, replica.snapshot())
        return session.remove_events(head.id, last)
