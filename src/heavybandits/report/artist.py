"""Drawing in a separate process, because figures hold the interpreter lock for a long time."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path

from ..studies.store import Store
from .section import Section, study_section


class Artist:
    """A process that draws stored studies and returns what the page shows of them.

    Examples
    --------
    >>> with Artist(Path(".")) as artist:
    ...     artist.sections()
    {}
    """

    def __init__(self, directory: Path) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would inherit the locks of this process's threads
        self._connection, other_end = context.Pipe()
        self._process = context.Process(target=_draw, args=(other_end, directory), daemon=True)
        with _deaf_children():
            self._process.start()
        other_end.close()  # so that the process ends when this end is closed, even by a crash
        self._waiting = ThreadPoolExecutor(1)
        self._drawn: dict[str, Future[Section | None]] = {}

    def draw(self, location: str) -> None:
        """Request the figure and the tables of the study stored at a location."""
        self._drawn[location] = self._waiting.submit(self._ask, location)

    def _ask(self, location: str) -> Section | None:
        with suppress(OSError, EOFError):  # the process has ended
            self._connection.send(location)
            return self._connection.recv()  # type: ignore[no-any-return]
        return None

    def sections(self) -> dict[str, Section]:
        """Wait for the requested sections and return them by location, without studies that could not be drawn."""
        drawn = {location: future.result() for location, future in self._drawn.items()}
        return {location: section for location, section in drawn.items() if section is not None}

    def __enter__(self) -> Artist:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._connection.close()
        if error is not None:
            self._process.terminate()  # otherwise it would keep drawing in the background
        self._waiting.shutdown(wait=error is None, cancel_futures=True)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Shield processes started in this block from Ctrl-C; this process receives it once they have started."""
    if sys.platform == "win32":  # signals cannot be blocked there
        yield
        return
    heard: list[int] = []
    here = threading.current_thread() is threading.main_thread()  # Ctrl-C interrupts only that thread
    if here:
        handler = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    resource_tracker.ensure_running()  # otherwise starting it below would unblock the signal
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # children inherit the mask
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if here:
            signal.signal(signal.SIGINT, handler)
            if heard:
                signal.raise_signal(signal.SIGINT)


def _draw(connection: Connection, directory: Path) -> None:
    """Answer requests with sections until the connection closes; answer None, for the parent to report, on failure."""
    while True:
        section = None
        try:
            location = connection.recv()
        except EOFError:
            return
        with suppress(Exception):
            section = study_section(directory, Store(location).load())
        try:
            connection.send(section)
        except OSError:  # the other process has ended
            return
