"""Draws studies in a process of its own, while this one goes on: figures hold the interpreter for long."""

from __future__ import annotations

import multiprocessing
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

from ..studies.store import Store
from .section import Section, study_section


class Artist:
    """Takes the places of stores, and gives back what the page shows of them.

    Examples
    --------
    >>> with Artist(Path(".")) as artist:
    ...     artist.sections()
    {}
    """

    def __init__(self, directory: Path) -> None:
        context = multiprocessing.get_context("spawn")  # a copy of this process would have the locks of its threads
        self._connection, other_end = context.Pipe()
        self._process = context.Process(target=_draw, args=(other_end, directory), daemon=True)
        heard = signal.signal(signal.SIGINT, signal.SIG_IGN)  # and so from its first moment, where it can inherit that
        try:
            self._process.start()
        finally:
            signal.signal(signal.SIGINT, heard)
        other_end.close()  # so that the process ends when this end is closed, even by a crash
        self._waiting = ThreadPoolExecutor(1)
        self._drawn: dict[str, Future[Section]] = {}

    def draw(self, place: str) -> None:
        """Ask for the figure and the tables of the study that is stored there."""
        self._drawn[place] = self._waiting.submit(self._ask, place)

    def _ask(self, place: str) -> Section:
        self._connection.send(place)
        return self._connection.recv()  # type: ignore[no-any-return]

    def sections(self) -> dict[str, Section]:
        """What was asked for, as soon as it is there; studies that could not be drawn are left out."""
        return {place: future.result() for place, future in self._drawn.items() if future.exception() is None}

    def __enter__(self) -> Artist:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._connection.close()
        self._waiting.shutdown(wait=error is None)


def _draw(connection: Connection, directory: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process hears of it
    while True:
        try:
            place = connection.recv()
        except EOFError:
            return
        connection.send(study_section(directory, Store(place).load()))
