"""The replicas that a server holds: read from snapshots and the log, and kept up to date with it."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import msgspec

from .. import __version__
from .replica import Config, Replica
from .storage import Session
from .storage.session import Head

EVERY = 20_000  # events between snapshots
KEPT = 10  # snapshots
CHUNK = 10_000  # events read at a time
SORTED = "0.2.0"  # the version whose snapshots have their arms in the order of names

log = logging.getLogger("heavybandits.service")


class Unreadable(Exception):
    """This version of the library cannot read the experiment, or its log has a gap."""


def replayed(session: Session, replica: Replica, next_seq: int) -> Iterator[int]:
    """Apply the events up to the one before ``next_seq``, and yield the sequence number of each."""
    while replica.seq < next_seq - 1:
        events = session.events(replica.exp, replica.seq, min(CHUNK, next_seq - 1 - replica.seq))
        if not events or events[-1].seq != replica.seq + len(events):
            raise Unreadable(f"{replica.name}: events are missing from the log after event {replica.seq}; "
                             "restore them from a backup")  # fmt: skip
        for event in events:
            replica.apply(event)
            yield event.seq


def _creation_order(session: Session, exp: int) -> list[str]:
    """Return the names of an experiment's arms as the log's changes, which are never pruned, created them."""
    order, after = list[str](), 0
    while changes := session.changes(exp, after, CHUNK):
        for event in changes:
            change = msgspec.json.decode(event.body or "", type=Config)
            if change.create is not None:
                order = [arm.name for arm in change.create.arms]
            elif change.add is not None:
                order.append(change.add)
        after = changes[-1].seq
    return order


class Replicas:
    """Experiments by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Replica] = {}
        self._unreadable: set[str] = set()
        self._snapshot_at: dict[int, int] = {}  # sequence number of the latest known snapshot

    def __iter__(self) -> Iterator[Replica]:
        return iter(self._by_name.values())

    def load(self, session: Session, name: str) -> Replica | None:
        """Return an experiment, reading it if this server does not hold it; None if it does not exist."""
        if name not in self._by_name:
            head = session.head(name)
            if head is None:
                return None
            self._by_name[name] = self.read(session, head, head.next_seq - 1)
        return self._by_name[name]

    def read(self, session: Session, head: Head, until: int) -> Replica:
        """Return an experiment as it was after the event with this sequence number."""
        replica = self._restored(session, head.id, head.name, head.first_seq, until)
        self.catch_up(session, replica, until + 1)
        return replica

    def _restored(self, session: Session, exp: int, name: str, first_seq: int, until: int) -> Replica:
        """Return what the best snapshot holds, or an experiment without events."""
        snapshots = [(seq, version) for seq, version in session.snapshots(exp) if seq <= until]
        ours = [(seq, version) for seq, version in snapshots if version == __version__]
        # Of another version's snapshots only the first is needed: it stands for the events that were pruned.
        others = [pair for pair in snapshots if pair not in ours and pair[0] == first_seq - 1]
        why = "there is none"
        for seq, version in ours + others:
            contents = session.snapshot(exp, seq, version)
            if contents is None:  # removed just now
                continue
            try:
                if version == SORTED:
                    replica = Replica.restored_sorted(exp, name, contents, _creation_order(session, exp))
                else:
                    replica = Replica.restored(exp, name, contents)
            except Exception as error:  # the log is the truth
                why = str(error)
                log.warning("snapshot not usable", extra={"experiment": name, "seq": seq, "error": why})
                continue
            self._snapshot_at[exp] = seq if version == __version__ else 0
            return replica
        if first_seq > 1:
            raise Unreadable(f"{name}: its first events were pruned, and no snapshot can stand for them ({why}); "
                             "restore a backup from before, or create a new experiment")  # fmt: skip
        return Replica(exp, name)

    def catch_up(self, session: Session, replica: Replica, next_seq: int) -> None:
        """Take in the events that are stored, up to the one before ``next_seq``."""
        try:
            for _ in replayed(session, replica, next_seq):
                pass
        except BaseException:
            self.forget(replica)  # it may have taken in half an event
            raise

    def follow(self, session: Session) -> None:
        """Take in everything that is stored, for all experiments."""
        names, stored = {replica.exp: replica.name for replica in self}, session.next_seqs()
        for exp in names.keys() & stored.keys():
            self.catch_up(session, self._by_name[names[exp]], stored[exp])
        if len(names) + len(self._unreadable) < len(stored):
            for head in session.heads():
                try:
                    self.load(session, head.name)
                except Unreadable as error:
                    if head.name not in self._unreadable:
                        log.error("experiment not readable", extra={"error": str(error)})
                    self._unreadable.add(head.name)

    def forget(self, replica: Replica) -> None:
        """Drop a replica, so that it is read again when it is next needed."""
        self._by_name.pop(replica.name, None)

    def snapshot_some(self, session: Session) -> None:
        """Take snapshots of replicas that have had many events since their last."""
        for replica in self:
            if replica.seq - self._snapshot_at.get(replica.exp, 0) >= EVERY:
                self._snapshot(session, replica)

    def snapshot_all(self, session: Session) -> None:
        """Take snapshots of replicas that have had any events since their last."""
        for replica in self:
            if replica.seq > self._snapshot_at.get(replica.exp, 0):
                self._snapshot(session, replica)

    def _snapshot(self, session: Session, replica: Replica) -> None:
        with session.transaction():
            session.put_snapshot(replica.exp, replica.seq, __version__, replica.snapshot())
            session.remove_snapshots(replica.exp, __version__, KEPT)
        self._snapshot_at[replica.exp] = replica.seq
