"""Old events go; what they have taught stays, in a snapshot.

Decisions without an end stay too, so that their rewards still count.  An id whose events are gone is forgotten: a
repeat of it would count as new.
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
    """Remove events from before a time, and return how many went, by experiment.

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
