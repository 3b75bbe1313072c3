"""Removal of old events: what was learned from them stays, in a snapshot.

Open decisions stay too, so that their rewards still count.  An id whose events are gone is forgotten: a request that
repeats it counts as new.
"""

from __future__ import annotations

from ... import __version__
from ..._format import plural
from ..events import SECOND, Clock, system_clock
from ..experiments.deletion import remains_removed
from ..replicas.links import seal
from ..replicas.read import read_replica, replayed_events
from ..storage import Session
from ..storage.rows import Head
from .expected import Expected
from .findings import Finding, Wrong, for_each, found
from .verification import check_link, check_numbers, created_with

EVENTS_PER_STATEMENT = 10_000  # events in one statement, so that servers need not wait and none takes too long


def prune(session: Session, before: int, clock: Clock = system_clock) -> list[Finding]:
    """Remove events from before a time, and say for each experiment how many were removed.

    The last two windows of an experiment are never touched, nor is anything since the first decision whose window is
    still open.  An experiment whose log is damaged is left as it is.  What is left of deleted experiments is removed.
    """
    return [
        *found("deleted experiments", lambda: _remove_remains(session)),
        *for_each(session, lambda head: _pruned(session, head, before, clock())),
    ]


def _remove_remains(session: Session) -> str | None:
    rows = sum(remains_removed(session))
    return f"{plural(rows, 'row')} removed" if rows else None


def _pruned(session: Session, head: Head, before: int, now: int) -> str:
    check_numbers(session, head)
    window = round((created_with(session, head).reward.window or 0.0) * SECOND)
    kept = _first_since(session, head, min(before, now - 2 * window))
    if (pending := session.first_pending(head.id)) is not None:  # its rewards may be among those that follow it
        kept = max(head.first_seq, min(kept, pending))
    _settle(session, head, kept)
    gone = 0
    for start in range(1, kept, EVENTS_PER_STATEMENT):  # from the first: an earlier run may have been interrupted
        with session.transaction():
            gone += session.remove_events(head.id, start, min(start + EVENTS_PER_STATEMENT, kept))
            session.seal_events(head.id, start, min(start + EVENTS_PER_STATEMENT, kept))
    return f"{plural(gone, 'event')} removed"


def _settle(session: Session, head: Head, first_seq: int) -> None:
    """Let a snapshot stand for the events before ``first_seq``, once the log is known to be as it was written."""
    replica = read_replica(session, head, until=head.first_seq - 1)
    if first_seq == head.first_seq:
        return
    check_link(head, replica)
    contents, link, implied = b"", b"", Expected()
    for event in replayed_events(session, replica, max(first_seq, head.link_seq + 1)):
        check_link(head, replica)
        implied.take(replica.spec, event)
        if event.seq == first_seq - 1:
            contents, link = replica.snapshot(), replica.link
    _seal_units(session, head.id, implied)
    with session.transaction([head.id]):
        now = session.head_of(head.id)
        if now is None or now.first_seq != head.first_seq:
            raise Wrong("pruned or deleted by somebody else meanwhile")
        session.put_snapshot(head.id, first_seq - 1, __version__, contents)
        session.set_first_seq(head.id, first_seq, link)


def _seal_units(session: Session, exp: int, implied: Expected) -> None:
    """Seal the units that servers of version 0.2.0 have not sealed: once the log is pruned, nothing else tells them."""
    with session.reading():
        stored = session.sealed_units(exp)
    stale = [unit for unit, old in stored if unit in implied.units.get(unit.hash, [])[-1:] and old != seal(exp, *unit)]
    for start in range(0, len(stale), EVENTS_PER_STATEMENT):
        some = stale[start : start + EVENTS_PER_STATEMENT]
        with session.transaction([exp]):
            now = session.units(exp, [unit.hash for unit in some])
            session.put_units(exp, [unit for unit in some if now.get(unit.hash) == unit])


def _first_since(session: Session, head: Head, t: int) -> int:
    """Return the sequence number of the first event at or after a time, or of the next one if all are older."""
    for start in range(head.first_seq, head.next_seq, EVENTS_PER_STATEMENT):
        found = session.first_since(head.id, t, start, min(start + EVENTS_PER_STATEMENT, head.next_seq))
        if found is not None:
            return found
    return head.next_seq
