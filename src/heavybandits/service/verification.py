"""A full replay of the log, compared with the snapshots."""

from __future__ import annotations

from typing import NamedTuple

from .. import __version__
from .._format import plural
from .replicas import Unreadable, read, replayed
from .storage import Session
from .storage.session import Head


class Finding(NamedTuple):
    """What was found for an experiment."""

    experiment: str
    ok: bool
    text: str


def verify(session: Session) -> list[Finding]:
    """Replay every experiment, and compare with each snapshot that this version of the library wrote."""
    return [_verified(session, head) for head in session.heads()]


def _verified(session: Session, head: Head) -> Finding:
    stored = {seq for seq, version in session.snapshots(head.id) if version == __version__}
    compared = 0
    try:
        replica = read(session, head, until=head.first_seq - 1)
        for seq in replayed(session, replica, head.next_seq):
            if seq in stored and (kept := session.snapshot(head.id, seq, __version__)) is not None:
                if kept != replica.snapshot():
                    return Finding(head.name, False, f"{head.name}: the snapshot at event {seq} differs from a replay")
                compared += 1
    except Unreadable as error:
        return Finding(head.name, False, str(error))
    found = f"{plural(replica.seq, 'event')}, {plural(compared, 'snapshot')} equal"
    text = f"{head.name}: {found}, checksum {replica.checksum()[:16]}"
    return Finding(head.name, True, text)
