"""A lane: a thread that takes whatever waits as a batch, stores it in one transaction, and then answers.

There is no timer: requests that come while a batch is being stored go with the next one.  Decisions are made inside the
transaction, after taking in everything that other servers have stored, so the order of sequence numbers is the order in
which all servers see all events.

A lane owns the replicas of its experiments.  It never reads one itself, because that may replay a long log: a reader
does so in another thread, and requests to that experiment wait aside until it is done.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ... import __version__
from ..replicas.read import catch_up, read_replica
from ..replicas.replica import Replica
from ..storage import Session, StorageError
from ..storage.rows import Head
from .database import Database
from .requests import DONE, FAILED, UNAVAILABLE, Follow, ReadReplica, Request, Waiting, failure, unreadable
from .turn import Command, ExperimentTurn, Outcome, refusal, run_commands, write_all

if TYPE_CHECKING:
    from .log import Log

LONGEST_QUEUE = 10_000  # requests that may wait
LARGEST_BATCH = 1_000  # requests in one transaction
MOST_EVENTS_BEHIND = 2_000  # events that a replica may be behind before a reader brings it up to date
EVENTS_PER_SNAPSHOT = 20_000
SNAPSHOTS_KEPT = 10

log = logging.getLogger("heavybandits.service")


class Lane:
    """A thread with a connection of its own, and the replicas of some experiments.

    Parameters
    ----------
    log
        The log that it is a part of.
    is_heavy
        Whether its experiments may compute for long, so that it must not hold a lock meanwhile that others need.
    """

    def __init__(self, log: Log, is_heavy: bool = False) -> None:
        self.log = log
        self.replicas: dict[str, Replica] = {}
        self.batches = self.events = 0
        self.database = Database(log.storage, log.note_failure, computes_unlocked=is_heavy)
        self._queue: deque[tuple[Any, Any]] = deque()
        self._aside: dict[str, Waiting] = {}  # requests to experiments that are being read
        self._found: deque[tuple[str, Replica | Outcome]] = deque()  # what readers have found
        self._wake = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="heavybandits-lane", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def submit(self, request: Request, future: Any) -> bool:
        """Queue a request; return False if the queue is full."""
        with self._wake:
            if len(self._queue) >= LONGEST_QUEUE or self._stopping:
                return False
            self._queue.append((request, future))
            if len(self._queue) == 1:  # the thread sleeps only while there is none
                self._wake.notify()
        return True

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return len(self._queue)

    def stop(self) -> None:
        """Finish waiting requests, take snapshots, and stop."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    def _work(self) -> None:
        while not self._stopping or self._queue:
            with self._wake:
                if not (self._queue or self._found or self._stopping):
                    self._wake.wait()
            try:
                self.step()
            except Exception:  # a mistake of ours must not end the lane; requests under way are answered by patience
                log.exception("lane failed")
        for waiting in self._aside.values():
            self._deliver((future, UNAVAILABLE) for _, future in waiting)
        for replica in list(self.replicas.values()):
            if replica.seq > replica.snapshot_seq:
                self.database.work(self._snapshot, replica)
        self.database.close()

    def step(self) -> None:
        """Take back what readers have found, and answer a batch of what waits."""
        with self._wake:
            while self._found:
                name, found = self._found.popleft()
                waiting = self._aside.pop(name, [])
                if isinstance(found, Replica):
                    self.replicas[name] = found
                    self._queue.extendleft(reversed(waiting))
                else:
                    self._deliver((future, found) for _, future in waiting)
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), LARGEST_BATCH))]
        if batch:
            self.answer(batch)

    def answer(self, batch: Waiting) -> None:
        """Store a batch and answer it."""
        batch = [(request, future) for request, future in batch if not future.done()]
        here = self._present([(request, future) for request, future in batch if not callable(request)])
        self._answer_commands([(each, future) for each, future in here if not isinstance(each, ReadReplica | Follow)])
        for request, future in here:
            if isinstance(request, Follow):
                self.database.work(self._follow, request)
                self._deliver([(future, DONE)])
            elif isinstance(request, ReadReplica):
                self._look(request, future)
        for request, future in batch:
            if callable(request):
                found = self.database.work(request)
                self._deliver([(future, failure(found) if found is None or isinstance(found, Exception) else found)])

    def _look(self, request: ReadReplica, future: Any) -> None:
        """Answer a request that only reads, or let it wait if the replica was lost just now."""
        replica = self.replicas.get(request.experiment)
        if replica is None:
            self._put_back([(request, future)])
            return
        try:
            outcome = Outcome(200, request.read(replica))
        except Exception:
            log.exception("request failed")
            outcome = FAILED
        self._deliver([(future, outcome)])

    def _answer_commands(self, commands: Waiting) -> None:
        """Store commands; after an unexpected error, do so one at a time, so that the others are not affected."""
        outcomes = self.database.work(self._store, [command for command, _ in commands])
        if isinstance(outcomes, Exception) and len(commands) > 1:
            for one in commands:
                self._read_again(one[0].experiment)
                self._answer_commands([one])
            return
        if not isinstance(outcomes, list):
            outcomes = [failure(outcomes)] * len(commands)
        pairs = list(zip(commands, outcomes, strict=True))
        self._deliver((future, outcome) for (_, future), outcome in pairs if outcome is not None)
        self._put_back([one for one, outcome in pairs if outcome is None])
        for name in dict.fromkeys(command.experiment for command, _ in commands):
            replica = self.replicas.get(name)
            if replica is not None and replica.seq - replica.snapshot_seq >= EVENTS_PER_SNAPSHOT:
                self.database.work(self._snapshot, replica)
                replica.snapshot_seq = replica.seq  # also if it failed: the next try comes as much later

    def _deliver(self, answers: Iterable[tuple[Any, Outcome]]) -> None:
        self.log.deliver(list(answers))

    def _put_back(self, waiting: Waiting) -> None:
        """Let requests be the first of the next batch."""
        with self._wake:
            self._queue.extendleft(reversed(waiting))

    # Replicas

    def _present(self, batch: Waiting) -> Waiting:
        """Return the requests whose replicas this lane holds; the others are answered, forwarded or put aside."""
        absent: dict[str, Waiting] = {}
        for request, future in batch:
            name = request.experiment
            if name not in self.replicas:
                absent.setdefault(name, []).append((request, future))
        for name, waiting in absent.items():
            if name in self._aside:
                room = LONGEST_QUEUE - len(self._aside[name])
                self._aside[name] += waiting[:room]
                self._deliver((future, UNAVAILABLE) for _, future in waiting[room:])
            elif why := self.log.problems.get(name):
                self._deliver((future, unreadable(why)) for _, future in waiting)
            else:
                self._seek(name, self.database.work(lambda session, name=name: (session.head(name),)), waiting)
        return [one for one in batch if one[0].experiment in self.replicas]

    def _seek(self, name: str, found: Any, waiting: Waiting) -> None:
        """Have an experiment read, if there is one, by the lane that it belongs to."""
        if not isinstance(found, tuple):
            self._deliver((future, failure(found)) for _, future in waiting)
        elif found[0] is None:
            unknown = refusal(404, "unknown experiment", f"there is no experiment {name!r}")
            self._deliver((future, unknown) for _, future in waiting)
        elif (lane := self.log.lane_of(found[0])) is not self:
            for request, future in waiting:
                if not lane.submit(request, future):
                    self._deliver([(future, UNAVAILABLE)])
        else:
            self._aside[name] = waiting
            self.log.readers.submit(self._read, found[0])

    def _read(self, head: Head) -> None:
        """Read an experiment, in a reader's thread."""
        found: Replica | Outcome = UNAVAILABLE
        with contextlib.suppress(StorageError), contextlib.closing(self.log.storage.connect()) as session:
            try:
                found = read_replica(session, head, notice=self.log.note_replay)
            except StorageError:
                raise
            except Exception as error:
                if _has_events_after(session, head.id, head.first_seq - 1):
                    self.log.report(head.name, str(error))
                    found = unreadable(str(error))
        self.log.replays.pop(head.name, None)
        with self._wake:
            self._found.append((head.name, found))
            self._wake.notify()

    def _read_again(self, name: str) -> None:
        """Read an experiment in this thread: it was held just now, so a snapshot is near."""
        head = self.database.work(lambda session: session.head(name)) if name not in self.replicas else None
        if isinstance(head, Head):
            replica = self.database.work(read_replica, head)
            if isinstance(replica, Replica):
                self.replicas[name] = replica

    def _follow(self, session: Session, request: Follow) -> None:
        """Take in what other servers have stored for an experiment."""
        replica = self.replicas.get(request.experiment)
        if replica is not None and (request.progress is None or request.progress.id != replica.exp):
            del self.replicas[replica.name]
        elif replica is not None and request.progress is not None:
            self._caught_up(session, replica, request.progress.next_seq)

    def _caught_up(self, session: Session, replica: Replica, next_seq: int) -> Outcome | None:
        """Bring a replica up to date; return what to answer if it cannot be, and let it be read again."""
        try:
            if next_seq - replica.seq <= MOST_EVENTS_BEHIND:
                catch_up(session, replica, next_seq)
                return None
            del self.replicas[replica.name]
            return UNAVAILABLE
        except StorageError:
            self.replicas.pop(replica.name, None)  # it may have taken in half an event
            raise
        except Exception as error:
            self.replicas.pop(replica.name, None)
            if not _has_events_after(session, replica.exp, replica.seq):
                return UNAVAILABLE
            self.log.report(replica.name, str(error))
            return unreadable(str(error))

    def _snapshot(self, session: Session, replica: Replica) -> None:
        contents = replica.snapshot()

        def put() -> None:
            if found:  # it was not deleted
                session.put_snapshot(replica.exp, replica.seq, __version__, contents)
                session.remove_snapshots(replica.exp, __version__, SNAPSHOTS_KEPT)

        with session.transaction([replica.exp], put) as found:
            pass  # a lane whose transactions compute unlocked must not write here

    def _store(self, session: Session, commands: Sequence[Command]) -> list[Outcome | None]:
        """Store requests in one transaction, and return their outcomes once it is on disk; None for those to repeat."""
        if not commands:
            return []
        by_name: dict[str, list[Command]] = {}
        for command in commands:
            by_name.setdefault(command.experiment, []).append(command)
        known = {replica.exp: replica for name in by_name if (replica := self.replicas.get(name)) is not None}
        turns, absent = dict[str, ExperimentTurn](), dict[str, Outcome]()
        try:
            with session.transaction(list(known), lambda: write_all(session, turns.values())) as next_seqs:
                now = self.log.clock()
                for exp, replica in known.items():
                    if exp not in next_seqs:  # it was deleted; whoever asks again is told so
                        del self.replicas[replica.name]
                    elif (refused := self._caught_up(session, replica, next_seqs[exp])) is None:
                        turns[replica.name] = turn = ExperimentTurn(replica, now)
                        turn.prepare(session, by_name[replica.name])
                    elif refused is not UNAVAILABLE:
                        absent[replica.name] = refused
                outcomes = run_commands(turns, absent, commands)
        except BaseException:
            for turn in turns.values():  # the replica may have taken in what is not stored
                self.replicas.pop(turn.replica.name, None)
            raise
        stored = sum(len(turn.rows) for turn in turns.values())
        self.batches += 1
        self.events += stored
        if stored:
            self.log.note_success()
        return outcomes


def _has_events_after(session: Session, exp: int, seq: int) -> bool:
    """Return whether an experiment was neither deleted nor pruned beyond this event while it was read."""
    now = session.head_of(exp)
    return now is not None and now.first_seq <= seq + 1
