"""The log: one thread that takes whatever waits as a batch, stores it in one transaction, and then answers.

There is no timer: requests that come while a batch is being stored go with the next one.  The thread owns the replicas.
Decisions are made inside the transaction, after taking in everything that other servers have stored, so the order of
sequence numbers is the order in which all servers see all events.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .events import Clock, system_clock
from .replica import Replica
from .replicas import Replicas, Unreadable
from .rewards import Close
from .storage import Session, Storage, StorageError, Unavailable
from .turn import Command, Outcome, Turn, problem

QUEUE = 10_000  # requests that may wait
BATCH = 1_000  # requests in one transaction
POLL = 0.1  # seconds between looks at what other servers have stored
STUCK = 10.0  # seconds after which a statement is interrupted

log = logging.getLogger("heavybandits.service")
Work = Callable[[Session, Replicas], Any]
Answers = list[tuple[Any, Outcome]]
UNAVAILABLE = problem(503, "unavailable", "the database did not confirm; repeat the request with the same id")
FAILED = problem(500, "internal error", "the request failed; the server's own log says why")


def answer_at_once(answers: Answers) -> None:
    """Set the results of futures."""
    for future, outcome in answers:
        future.set_result(outcome)


class Log:
    """A thread that stores requests in batches, and follows what other servers store.

    Parameters
    ----------
    storage
        The database, its schema up to date.
    clock
        Tells the time, in microseconds since 1970.
    deliver
        Called with the answers of a batch: pairs of a submitted future and its outcome.
    """

    def __init__(
        self, storage: Storage, clock: Clock = system_clock, deliver: Callable[[Answers], None] = answer_at_once
    ) -> None:
        self.storage, self.clock, self.deliver = storage, clock, deliver
        self.ready = threading.Event()  # all experiments are compiled and caught up
        self.replicas = Replicas()
        self.available = True  # whether the database answers and stores, as of the latest attempt
        self.batches = self.events = 0
        self._queue: deque[tuple[Command | Work, Any]] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._session: Session | None = None
        self._busy_since: float | None = None
        self._thread = threading.Thread(target=self._work, name="heavybandits-log", daemon=True)
        self._watchdog = threading.Thread(target=self._watch, name="heavybandits-watchdog", daemon=True)

    def start(self) -> None:
        """Start the threads."""
        self._thread.start()
        self._watchdog.start()

    def submit(self, command: Command | Work, future: Any) -> bool:
        """Queue a request, or a function that reads; return False if the queue is full."""
        with self._wake:
            if len(self._queue) >= QUEUE or self._stopping:
                return False
            self._queue.append((command, future))
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
        last_poll = 0.0
        while True:
            batch = self._take()
            if batch:
                self.answer(batch)
            elif self._stopping:
                break
            if time.monotonic() - last_poll >= POLL:
                self._guarded(self._follow)
                last_poll = time.monotonic()
        self._guarded(lambda session: self.replicas.snapshot_all(session))
        if self._session is not None:
            self._session.close()

    def _take(self) -> list[tuple[Command | Work, Any]]:
        """Return the waiting requests, or an empty list after a while."""
        with self._wake:
            if not self._queue and not self._stopping:
                self._wake.wait(POLL)
            return [self._queue.popleft() for _ in range(min(len(self._queue), BATCH))]

    def answer(self, batch: list[tuple[Command | Work, Any]]) -> None:
        """Store a batch and answer it; after an unexpected error, do so one request at a time."""
        batch = [(command, future) for command, future in batch if not future.done()]
        commands = [(command, future) for command, future in batch if not callable(command)]
        outcomes = self._guarded(lambda session: self._store(session, [command for command, _ in commands]))
        if outcomes is None:
            outcomes = [UNAVAILABLE] * len(commands)
        elif isinstance(outcomes, Exception):
            if len(commands) > 1:
                for one in commands:
                    self.answer([one])
                commands, outcomes = [], []
            else:
                outcomes = [FAILED]
        answers = [(future, outcome) for (_, future), outcome in zip(commands, outcomes, strict=True)]
        for work, future in batch:
            if callable(work):
                found = self._guarded(lambda session, work=work: work(session, self.replicas))  # type: ignore[misc]
                answers.append(
                    (future, UNAVAILABLE if found is None else FAILED if isinstance(found, Exception) else found)
                )
        self.deliver(answers)

    def _guarded(self, work: Callable[[Session], Any]) -> Any:
        """Work with the database; return None if it cannot be reached or fails, the exception for any other error."""
        for attempt in range(2):
            was_open = self._session is not None
            try:
                if self._session is None:
                    self._session = self.storage.connect()
                self._busy_since = time.monotonic()
                return work(self._session)
            except StorageError as error:
                self._disconnect()
                if isinstance(error, Unavailable) and was_open and attempt == 0:
                    continue  # the connection had gone stale, and nothing was begun
                if self.available:
                    log.warning("database unavailable", extra={"error": str(error)})
                self.available = False
                return None
            except Exception as error:
                self._disconnect()
                log.exception("request failed")
                return error
            finally:
                self._busy_since = None
        return None

    def _disconnect(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None

    def _store(self, session: Session, commands: Sequence[Command]) -> list[Outcome]:
        """Store requests in one transaction, and return their outcomes once it is on disk."""
        if not commands:
            return []
        by_name: dict[str, list[Command]] = {}
        for command in commands:
            by_name.setdefault(command.experiment, []).append(command)
        known, turns = dict[int, Replica](), dict[str, Turn]()
        absent: dict[str, Outcome] = {}
        for name in by_name:
            replica, absent[name] = self._loaded(session, name)
            if replica is not None:
                known[replica.exp] = replica
        try:
            with session.transaction(list(known), last=lambda: _write(session, turns.values())) as next_seqs:
                now = self.clock()
                for exp, replica in known.items():
                    self.replicas.catch_up(session, replica, next_seqs[exp])
                    turns[replica.name] = turn = Turn(replica, now)
                    turn.prepare(session, by_name[replica.name])
                outcomes = [self._run(turns.get(command.experiment), command, absent) for command in commands]
        except BaseException:
            for turn in turns.values():
                if turn.rows:  # the replica has taken in events that may not be stored
                    self.replicas.forget(turn.replica)
            raise
        stored = sum(len(turn.rows) for turn in turns.values())
        self.batches += 1
        self.events += stored
        if stored:
            self.available = True
        return outcomes

    def _loaded(self, session: Session, name: str) -> tuple[Replica | None, Outcome]:
        """Return an experiment, and what to answer if there is none."""
        try:
            return self.replicas.load(session, name), problem(
                404, "unknown experiment", f"there is no experiment {name!r}"
            )
        except Unreadable as error:
            return None, problem(500, "experiment not readable", str(error))

    @staticmethod
    def _run(turn: Turn | None, command: Command, absent: dict[str, Outcome]) -> Outcome:
        return absent[command.experiment] if turn is None else command.run(turn)

    def _follow(self, session: Session) -> None:
        """Take in what other servers have stored, and close windows that are over."""
        self.replicas.follow(session)
        self.ready.set()
        for replica in list(self.replicas):
            if replica.spec.reward.window is not None:
                self._end_windows(session, replica)
        self.replicas.snapshot_some(session)
        if not self.available:
            session.try_to_store()  # reading works even if the disk is full
            self.available = True
            log.info("database available")

    def _end_windows(self, session: Session, replica: Replica) -> None:
        due = session.due(replica.exp, self.clock(), BATCH)
        if due:
            self._store(session, [Close(replica.name, tuple(row.key for row in due))])

    def _watch(self) -> None:
        """Interrupt a statement that hangs, so that requests get an answer and the next batch a new connection."""
        while self._thread.is_alive():
            self._thread.join(1.0)
            since, session = self._busy_since, self._session
            if since is not None and session is not None and time.monotonic() - since > STUCK and self.ready.is_set():
                log.warning("database hangs")
                with contextlib.suppress(Exception):
                    session.interrupt()


def _write(session: Session, turns: Iterable[Turn]) -> None:
    for turn in turns:
        turn.write(session)
