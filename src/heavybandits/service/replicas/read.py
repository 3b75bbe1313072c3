"""Reading experiments: what the best snapshot holds, and the events of the log after it.

A policy is compiled in the background.  Few events are replayed as plain Python meanwhile; many wait for compiled code,
which takes them in so much faster.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator

from ... import __version__
from ..events import Event, change_in
from ..storage import Session
from ..storage.rows import Head
from .replica import Replica

EVENTS_PER_READ = 1_000  # events read at a time
EVENTS_WORTH_COMPILING = 20_000  # events that take plain Python about as long as compiling takes
PLAIN_EVENT_SECONDS = 0.0003  # what an event takes plain Python
SORTING_VERSION = "0.2.0"  # the version whose snapshots have their arms in the order of names

log = logging.getLogger("heavybandits.service")


class Unreadable(Exception):
    """This version of the library cannot read the experiment, or its log has a gap."""


Notice = Callable[[str, int, int], None]  # told an experiment's name, its last event replayed, and the last of all


def nobody_looks(name: str, seq: int, last: int) -> None:
    """Take no notice."""


def read_replica(session: Session, head: Head, until: int | None = None, notice: Notice = nobody_looks) -> Replica:
    """Return an experiment as it is now, or as it was after the event with this sequence number.

    ``notice`` is told again and again how far the replay has come; what it raises ends the replay.
    """
    until = head.next_seq - 1 if until is None else until
    replica = _restored(session, head, until)
    replica.salt = head.salt
    for _ in replayed_events(session, replica, until + 1, notice):
        pass
    if replica.seq:
        replica.learner.change_over()
    return replica


def catch_up(session: Session, replica: Replica, next_seq: int) -> None:
    """Let a replica take in the events that are stored, up to the one before ``next_seq``."""
    for _ in replayed_events(session, replica, next_seq):
        pass


def replayed_events(
    session: Session, replica: Replica, next_seq: int, notice: Notice = nobody_looks
) -> Iterator[Event]:  # fmt: skip
    """Apply the events up to the one before ``next_seq``, and yield each."""
    has_waited = False
    while replica.seq < next_seq - 1:
        notice(replica.name, replica.seq, next_seq - 1)
        if replica.seq and not has_waited and next_seq - replica.seq > EVENTS_WORTH_COMPILING:
            _wait_for_code(replica, next_seq, notice)
            has_waited = True
        events = session.events(replica.exp, replica.seq, min(EVENTS_PER_READ, next_seq - 1 - replica.seq))
        if not events or events[-1].seq != replica.seq + len(events):
            raise Unreadable(f"{replica.name}: events are missing from the log after event {replica.seq}; "
                             "restore them from a backup")  # fmt: skip
        for event in events:
            try:
                replica.apply(event)
            except Exception as error:
                raise Unreadable(f"{replica.name}: event {event.seq} cannot be read: {error!r}") from error
            yield event


def _wait_for_code(replica: Replica, next_seq: int, notice: Notice) -> None:
    """Wait until the policy is compiled, but no longer than plain Python would take for the events."""
    end = time.monotonic() + (next_seq - replica.seq) * PLAIN_EVENT_SECONDS
    replica.learner.change_over()
    while replica.learner.is_compiling() and time.monotonic() < end:
        time.sleep(0.05)
        notice(replica.name, replica.seq, next_seq - 1)
        replica.learner.change_over()


def _restored(session: Session, head: Head, until: int) -> Replica:
    """Return what the best snapshot holds, or an experiment without events."""
    exp, name, is_pruned = head.id, head.name, head.first_seq > 1
    snapshots = [(seq, version) for seq, version in session.snapshots(exp) if seq <= until]
    ours = [pair for pair in snapshots if pair[1] == __version__]
    # Of another version's snapshots only the first is needed: it stands for the events that were pruned.
    others = [pair for pair in snapshots if pair not in ours and pair[0] == head.first_seq - 1] if is_pruned else []
    why = "there is none"
    for seq, version in ours + others:
        contents = session.snapshot(exp, seq, version)
        if contents is None:  # removed just now
            continue
        try:
            if version == SORTING_VERSION:
                return Replica.restored_sorted(exp, name, contents, _creation_order(session, exp))
            replica = Replica.restored(exp, name, contents)
            replica.snapshot_seq = seq if version == __version__ else 0
            return replica
        except Exception as error:  # the log is the truth
            why = str(error)
            log.warning("snapshot not usable", extra={"experiment": name, "seq": seq, "error": why})
    if is_pruned:
        raise Unreadable(f"{name}: its first events were pruned, and no snapshot can stand for them ({why}); "
                         "restore a backup from before, or create a new experiment")  # fmt: skip
    return Replica(exp, name)


def _creation_order(session: Session, exp: int) -> list[str]:
    """Return the names of an experiment's arms as the log's changes, which are never pruned, created them."""
    order, after = list[str](), 0
    while changes := session.changes(exp, after, EVENTS_PER_READ):
        for event in changes:
            change = change_in(event)
            if change.create is not None:
                order = [arm.name for arm in change.create.arms]
            elif change.add is not None:
                order.append(change.add)
        after = changes[-1].seq
    return order
