"""The log: requests go to lanes, which store them; a follower tells lanes what other servers have stored.

Experiments without contexts share one lane, and so their transactions.  Those with contexts or points are spread over
lanes of their own, because their policies may compute for a second now and then, which must hold up nobody else.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import msgspec

from ..events import Clock, system_clock
from ..experiments.rewards import Close
from ..storage import Session, Storage, StorageError
from ..storage.rows import Head
from .database import Database
from .lane import LARGEST_BATCH, Lane
from .requests import Answers, Follow, Request

POLL_SECONDS = 0.1  # seconds between looks at what other servers have stored
CONTEXT_LANES = 8  # lanes for experiments with contexts or points
READER_THREADS = 2  # threads that read experiments
WATCH_SECONDS = 0.5  # seconds between looks at what hangs
BLOCKED_SECONDS = 1.5  # seconds after which whoever holds a lock for too long loses it
STUCK_SECONDS = 10.0  # seconds after which a statement is interrupted
REPLAY_SECONDS = 5.0  # seconds between two lines of the server's own log about a replay
READ_AGAIN_SECONDS = 60.0  # seconds after which an experiment that cannot be read is tried again, and reported again

log = logging.getLogger("heavybandits.service")


def answer_at_once(answers: Answers) -> None:
    """Set the results of futures."""
    for future, outcome in answers:
        future.set_result(outcome)


class Log:
    """Lanes that store requests in batches, and a thread that follows what other servers store.

    Parameters
    ----------
    storage
        The database, its schema up to date.
    clock
        Tells the time, in microseconds since 1970.
    deliver
        Called with the answers of a batch: pairs of a submitted future and its outcome.
    readers
        Runs what reads experiments, by default in threads.
    """

    def __init__(
        self, storage: Storage, clock: Clock = system_clock, deliver: Callable[[Answers], None] = answer_at_once,
        readers: Executor | None = None,
    ) -> None:  # fmt: skip
        self.storage, self.clock, self.deliver = storage, clock, deliver
        self.readers = readers or ThreadPoolExecutor(READER_THREADS, "heavybandits-reader")
        self.ready = threading.Event()  # all experiments have been read, but for those in ``problems``
        self.available = True  # whether the database answers and stores, as of the latest attempt
        self.problems: dict[str, str] = {}  # experiments that this server cannot read, and why
        self.replays: dict[str, tuple[int, int]] = {}  # experiments being read: the event replayed last, and the last
        self.lanes = {-1: Lane(self)}
        self._lane_by_name: dict[str, Lane] = {}
        self._retry_at: dict[str, float] = {}
        self._say_again_at: dict[str, float] = {}
        self._asked: dict[tuple[type, str], Future[Any]] = {}  # what the follower has asked of lanes
        self._started = False
        self._stopping = threading.Event()
        self._database = Database(storage, self.note_failure)
        self._follower = threading.Thread(target=self._follow, name="heavybandits-follower", daemon=True)
        self._watchdog = threading.Thread(target=self._watch, name="heavybandits-watchdog", daemon=True)

    def start(self) -> None:
        """Start the threads."""
        self._started = True
        for lane in self.lanes.values():
            lane.start()
        self._follower.start()
        self._watchdog.start()

    def submit(self, request: Request, future: Any) -> bool:
        """Queue a request; return False if the queue is full."""
        main = self.lanes[-1]
        lane = main if callable(request) else self._lane_by_name.get(request.experiment, main)
        return lane.submit(request, future)

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return sum(lane.waiting for lane in self._all_lanes())

    @property
    def batches(self) -> int:
        """The number of transactions that stored requests."""
        return sum(lane.batches for lane in self._all_lanes())

    @property
    def events(self) -> int:
        """The number of events stored."""
        return sum(lane.events for lane in self._all_lanes())

    def _all_lanes(self) -> list[Lane]:
        return list(self.lanes.copy().values())

    def stop(self) -> None:
        """Finish waiting requests, take snapshots, and stop."""
        self._stopping.set()
        self._follower.join()
        for lane in self._all_lanes():
            lane.stop()
        self.readers.shutdown(cancel_futures=True)

    def lane_of(self, head: Head) -> Lane:
        """Return the lane of an experiment; requests to an unknown one come to the first lane, which asks this."""
        try:
            spec = msgspec.json.decode(head.spec, type=dict[str, Any])
        except msgspec.DecodeError:  # a reader will say so
            spec = {}
        is_heavy = any(spec.get(field) is not None for field in ("context", "points"))
        number = zlib.crc32(head.name.encode()) % CONTEXT_LANES if is_heavy else -1
        lane = self.lanes.get(number)
        if lane is None:
            lane = self.lanes[number] = Lane(self, is_heavy=True)
            if self._started:
                lane.start()
        self._lane_by_name[head.name] = lane
        return lane

    # What lanes report

    def report(self, name: str, why: str) -> None:
        """Note that an experiment cannot be read."""
        log.error("experiment not readable", extra={"experiment": name, "error": why})
        self._retry_at[name] = time.monotonic() + READ_AGAIN_SECONDS
        self.problems[name] = why

    def note_replay(self, name: str, seq: int, last: int) -> None:
        """Note how far an experiment has been replayed; give up if the server stops."""
        if self._stopping.is_set():
            raise StorageError("the server stops")
        self.replays[name] = seq, last
        if time.monotonic() >= self._say_again_at.get(name, 0.0):
            if name in self._say_again_at:
                log.info("replaying", extra={"experiment": name, "event": seq, "of": last})
            self._say_again_at[name] = time.monotonic() + REPLAY_SECONDS

    def compiling(self) -> list[str]:
        """Return the experiments that are answered by plain Python until their policies are compiled."""
        held = [replica for lane in self._all_lanes() for replica in lane.replicas.copy().values()]
        return sorted(replica.name for replica in held if replica.learner.is_compiling())

    def note_failure(self, error: Exception) -> None:
        """Note that the database does not answer or does not store."""
        if self.available:
            log.warning("database unavailable", extra={"error": str(error)})
        self.available = False

    def note_success(self) -> None:
        """Note that the database stores."""
        self.available = True

    # The follower

    def _follow(self) -> None:
        while not self._stopping.is_set():
            self._database.work(self.follow)
            self._stopping.wait(POLL_SECONDS)
        self._database.close()

    def follow(self, session: Session) -> None:
        """Tell lanes what other servers have stored, and which windows are over."""
        self._asked = {key: future for key, future in self._asked.items() if not future.done()}
        stored = session.progress()
        held = {name: replica for lane in self._all_lanes() for name, replica in lane.replicas.copy().items()}
        for name, at in list(self._retry_at.items()):
            if at <= time.monotonic() or name not in stored:
                self._retry_at.pop(name)
                self.problems.pop(name, None)
        for name, progress in stored.items():
            replica = held.get(name)
            if replica is None or replica.exp != progress.id or replica.seq < progress.next_seq - 1:
                self._ask(Follow(name, progress))
        for name in held.keys() - stored.keys():
            self._ask(Follow(name, None))
        if not stored.keys() - held.keys() - self.problems.keys():
            self.ready.set()
        self._close_windows(session, {progress.id: name for name, progress in stored.items()})
        if not self.available:
            session.try_to_store()  # reading works even if the disk is full
            self.available = True
            log.info("database available")

    def _close_windows(self, session: Session, names: dict[int, str]) -> None:
        waiting = [exp for exp, name in names.items() if name in self.problems or (Close, name) in self._asked]
        due: dict[str, list[str]] = {}
        for row in session.due(self.clock(), waiting, LARGEST_BATCH):
            if row.exp in names:
                due.setdefault(names[row.exp], []).append(row.key)
        for name, keys in due.items():
            self._ask(Close(name, tuple(keys)))

    def _ask(self, request: Follow | Close) -> None:
        """Ask a lane, unless it has not done yet what it was asked before."""
        key = type(request), request.experiment
        if key not in self._asked:
            future = self._asked[key] = Future[Any]()
            if not self.submit(request, future):
                future.cancel()

    # The watchdog

    def _watch(self) -> None:
        """Free what is blocked by a server that does not go on, and interrupt what hangs."""
        while not self._stopping.wait(WATCH_SECONDS):
            for session, since in self._busy():
                waited = time.monotonic() - since
                with contextlib.suppress(Exception):
                    if waited > STUCK_SECONDS:
                        log.warning("database hangs")
                        session.interrupt()
                    elif waited > BLOCKED_SECONDS:
                        session.unblock()

    def _busy(self) -> Iterator[tuple[Session, float]]:
        for database in [self._database, *(lane.database for lane in self._all_lanes())]:
            session, since = database.session, database.busy_since
            if session is not None and since is not None:
                yield session, since
