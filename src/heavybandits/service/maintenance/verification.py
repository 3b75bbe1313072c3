"""Whether everything that is stored agrees: the log with its chain of digests, and all else with the log.

Events from before a log was pruned, units that only those told of, and tokens have seals of their own.  What version
0.2.0 wrote has neither links nor seals: it is counted, and compared with whatever else tells it.
"""

from __future__ import annotations

import msgspec

from ... import __version__
from ..._format import plural
from ..events import change_in
from ..replicas.links import seal
from ..replicas.read import SORTING_VERSION, read_replica, replayed_events
from ..replicas.replica import Replica
from ..replicas.snapshots import Unusable, opened
from ..spec import Experiment
from ..storage import Session
from ..storage.rows import Head
from .expected import Expected
from .findings import Finding, Wrong, for_each, found


def verify(session: Session) -> list[Finding]:
    """Check the database itself, its tokens and every experiment; the first two only if there is something to say."""
    return [
        *found("database", lambda: _check_database(session)),
        *found("tokens", lambda: _check_tokens(session)),
        *for_each(session, lambda head: _check_experiment(session, head.id)),
    ]


def check_numbers(session: Session, head: Head) -> None:
    """Refuse an experiment whose row says what cannot be."""
    exp, first, stop = head.id, head.first_seq, head.next_seq
    if not 1 <= first <= stop or stop < 2:
        raise Wrong(f"its events cannot be those from {first} to below {stop}")
    if first < stop and [event.seq for event in session.events(exp, stop - 2, 1)] != [stop - 1]:
        raise Wrong(f"events are missing from the log before event {stop}")
    if first > 1 and first - 1 not in {seq for seq, _ in session.snapshots(exp)}:
        raise Wrong(f"no snapshot stands for the events before event {first}, which were pruned")
    is_linked = head.link is not None
    if is_linked != (head.link_seq != 0) or (is_linked and not max(first - 1, 1) <= head.link_seq < stop):
        raise Wrong(f"event {head.link_seq} cannot be the last one that is linked")
    if head.seal is not None and head.seal != seal(exp, head.salt):
        raise Wrong("the salt of its units is not as it was written")


def check_link(head: Head, replica: Replica) -> None:
    """Refuse a log that is not the one whose latest link was stored."""
    if head.link is not None and replica.seq == head.link_seq and replica.link.hex() != head.link:
        raise Wrong(f"the events up to event {replica.seq} are not as they were written: their digests differ")


def created_with(session: Session, head: Head) -> Experiment:
    """Return what an experiment was created from, which its row has too."""
    created = session.changes(head.id, 0, 1)
    spec = change_in(created[0]).create if created else None
    if spec is None or msgspec.json.encode(spec, order="deterministic").decode() != head.spec:
        raise Wrong("its description is not the one that it was created with")
    return spec


def _check_database(session: Session) -> None:
    if wrong := session.damage():
        raise Wrong("; ".join(wrong[:3]) + (f"; and {len(wrong) - 3} more" if len(wrong) > 3 else ""))


def _check_tokens(session: Session) -> str | None:
    tokens = session.sealed_tokens()
    for token, stored in tokens:
        if stored is not None and stored != seal(*token):
            raise Wrong(f"token {token.id} is not as it was written")
    unsealed = sum(stored is None for _, stored in tokens)
    return f"{plural(len(tokens), 'token')}{_note(token=unsealed)}" if tokens else None


def _check_experiment(session: Session, exp: int) -> str:
    """Check an experiment as it is at one moment, and return what to say of it."""
    with session.reading():
        head = session.head_of(exp)
        if head is None:
            return "deleted just now"
        check_numbers(session, head)
        if session.events(exp, head.next_seq - 1, 1):
            raise Wrong(f"there are events after event {head.next_seq - 1}, which its row says is the last")
        replica, implied = read_replica(session, head, until=head.first_seq - 1), Expected()
        events = _check_kept_events(session, head, replica, implied)
        events += head.next_seq - max(head.first_seq, head.link_seq + 1)
        equal, snapshots = _check_log(session, head, replica, implied)
        if replica.spec != created_with(session, head):
            raise Wrong("what a snapshot describes is not what was created")
        _check_windows(session, head, implied)
        units = _check_units(session, head, implied)
        what = f"{plural(replica.seq, 'event')}, {plural(equal, 'snapshot')} equal, checksum {replica.checksum()[:16]}"
        return what + _note(event=events, unit=units, snapshot=snapshots)


def _check_kept_events(session: Session, head: Head, replica: Replica, implied: Expected) -> int:
    """Check what pruning has left of the events before the first; return how many have no seal."""
    unsealed = 0
    for event, stored in session.sealed_events(head.id, head.first_seq):
        if event.seq >= head.first_seq:
            raise Wrong(f"event {event.seq} is sealed as if those before it had been pruned")
        if event.kind not in ("config", "decision"):
            raise Wrong(f"not all events before event {head.first_seq} have been pruned; run prune again")
        if stored is None:
            unsealed += 1
        elif stored != seal(*event):
            raise Wrong(f"event {event.seq} is not as it was written")
        implied.take_kept(replica.spec, event)
    return unsealed


def _check_log(session: Session, head: Head, replica: Replica, implied: Expected) -> tuple[int, int]:
    """Replay the log; return how many snapshots are equal to a replay, and how many say nothing about themselves."""
    stored = session.snapshots(head.id)
    ours = {seq for seq, version in stored if version == __version__ and head.first_seq - 1 <= seq < head.next_seq}
    _check_state(session, head, replica, ours)
    for event in replayed_events(session, replica, head.next_seq):
        _check_state(session, head, replica, ours)
        implied.take(replica.spec, event)
    for seq, version in stored:
        if seq >= head.next_seq:
            raise Wrong(f"the snapshot at event {seq} is of a time after the last event")
        if version != SORTING_VERSION and not (version == __version__ and seq in ours):
            _check_digest(session.snapshot(head.id, seq, version) or b"", seq)
    return len(ours), sum(version == SORTING_VERSION for _, version in stored)


def _check_state(session: Session, head: Head, replica: Replica, snapshots: set[int]) -> None:
    check_link(head, replica)
    if replica.seq in snapshots and session.snapshot(head.id, replica.seq, __version__) != replica.snapshot():
        raise Wrong(f"the snapshot at event {replica.seq} differs from a replay")


def _check_digest(contents: bytes, seq: int) -> None:
    try:
        opened(contents)
    except Unusable:
        raise Wrong(f"the snapshot at event {seq} is damaged") from None
    except msgspec.MsgspecError:  # another version of the library holds other things
        pass


def _check_windows(session: Session, head: Head, implied: Expected) -> None:
    for row in session.all_pending(head.id):
        expected = implied.open.pop(row.key, None)
        if expected is None:
            raise Wrong(f"decision {row.key!r} is stored as pending, but in the log its window is not open")
        if expected.total != expected.total:
            expected = expected._replace(total=row.total)
        if row != expected:
            raise Wrong(f"the window of decision {row.key!r} is not stored as the log has it")
    if implied.open:
        raise Wrong(
            f"decision {next(iter(implied.open))!r} is not stored as pending, but its window is open in the log"
        )


def _check_units(session: Session, head: Head, implied: Expected) -> int:
    """Check the arms of units; return how many neither the log nor a seal confirms."""
    unsealed = 0
    for unit, stored in session.sealed_units(head.id):
        arms = implied.units.pop(unit.hash, [])
        # A server of version 0.2.0 leaves the seal as it was, so that it may be of an earlier arm, and so may the p be.
        seals = {seal(head.id, *arm) for arm in arms or [unit]}
        if stored is not None and stored not in seals:
            raise Wrong(f"the arm of unit {unit.hash} is not as it was written")
        if arms and unit != arms[-1] and (stored is not None or unit != arms[-1]._replace(p=None)):
            raise Wrong(f"the arm of unit {unit.hash} is not the one that the log has")
        if not arms and head.first_seq == 1:
            raise Wrong(f"unit {unit.hash} is not in the log")
        unsealed += not arms and stored is None
    if implied.units:
        raise Wrong(f"unit {next(iter(implied.units))} is in the log, but its arm is not stored")
    return unsealed


def _note(**counts: int) -> str:
    """Return how much nothing protects, because version 0.2.0 wrote it.

    Examples
    --------
    >>> _note(event=3, unit=0)
    '; written by version 0.2.0, without a digest: 3 events'
    """
    counted = [plural(count, noun) for noun, count in counts.items() if count]
    return f"; written by version 0.2.0, without a digest: {', '.join(counted)}" if counted else ""
