"""Progress bars, in a terminal or a notebook; in a notebook they are HTML that needs neither widgets nor JavaScript."""

from __future__ import annotations

import html
import importlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import Console

SECONDS_BETWEEN_DRAWINGS = 0.2  # in a notebook


class Bar(Protocol):
    """A bar between two texts; threads may share it."""

    def show(self, done: int, before: str, after: str) -> None:
        """Draw how much is done."""
        ...

    def stop(self) -> None:
        """Draw nothing more."""
        ...


class TerminalBar:
    """A bar in a terminal, which goes when it stops."""

    def __init__(self, console: Console, total: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        before, after = (TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("before", "after"))
        bar = BarColumn(20, table_column=Column(no_wrap=True))  # or texts would take its place in narrow terminals
        self._bar = Progress(before, bar, after, console=console, transient=True)
        self._task = self._bar.add_task("", total=total, before="", after="")
        self._bar.start()

    def show(self, done: int, before: str, after: str) -> None:
        """Draw how much is done."""
        self._bar.update(self._task, completed=done, before=before, after=after)

    def stop(self) -> None:
        """Take the bar away."""
        self._bar.stop()


class NotebookBar:
    """A bar in a notebook, which stays."""

    def __init__(self, total: int) -> None:
        display: Any = importlib.import_module("IPython.display").display  # which has no types
        self._total, self._last, self._next = total, (0, "", ""), 0.0
        self._lock = threading.Lock()
        self._handle = display({"text/html": ""}, raw=True, display_id=True)

    def show(self, done: int, before: str, after: str) -> None:
        """Draw how much is done, unless something was drawn just now."""
        with self._lock:
            self._last = max(self._last, (done, before, after))
            if time.monotonic() >= self._next:
                self._draw()
                self._next = time.monotonic() + SECONDS_BETWEEN_DRAWINGS

    def stop(self) -> None:
        """Draw the last state."""
        self._draw()

    def _draw(self) -> None:
        done, before, after = self._last
        bar = f'<progress value="{done}" max="{self._total}" style="width:16em"></progress>'
        shown = f"{html.escape(before)} {bar} {html.escape(after)}"
        self._handle.update({"text/html": shown, "text/plain": f"{before}: {after}"}, raw=True)


def bar_on(console: Console, total: int) -> Bar | None:
    """Return a bar on a console; None if it is neither a terminal nor a notebook.

    The terminal of a command in a notebook, ``!heavybandits run``, gets none: such output keeps every drawing.

    Examples
    --------
    >>> import io
    >>> from rich.console import Console
    >>> bar_on(Console(file=io.StringIO()), 10) is None
    True
    """
    if console.is_jupyter:
        return NotebookBar(total)
    from_notebook = "JPY_PARENT_PID" in os.environ  # set by Jupyter for its kernels
    return TerminalBar(console, total) if console.is_terminal and not from_notebook else None


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[], None]]:
    """Show a bar, and yield a function that moves it by one replication; threads may share it.

    If a bar cannot be drawn, as when output goes to a file, nothing is shown.

    Examples
    --------
    >>> with progress_bar(2) as advance:
    ...     advance()
    """
    from rich.console import Console

    bar, done, start = bar_on(Console(stderr=True), total), itertools.count(1), time.monotonic()
    if bar is None:
        yield lambda: None
        return

    def advance() -> None:
        number = next(done)
        bar.show(number, "replications", f"{number:,} of {total:,}, {time_of(start, number, total)}")

    bar.show(0, "compiling", "")
    try:
        yield advance
    finally:
        bar.stop()


def time_of(start: float, done: int, total: int) -> str:
    """Return how long the rest takes if it goes on as it did since the start, or how long all of it took.

    Examples
    --------
    >>> start = time.monotonic() - 10.0
    >>> time_of(start, 20, 30), time_of(start, 30, 30)
    ('5 s left', '10 s')
    """
    taken = time.monotonic() - start
    return f"{taken * (total - done) / done:.0f} s left" if done < total else f"{taken:.0f} s"
