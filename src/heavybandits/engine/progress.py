"""Progress bars, in a terminal or a notebook; in a notebook they are HTML that needs neither widgets nor JavaScript.

While a bar is shown, whatever takes its time may :func:`say` what it does.
"""

from __future__ import annotations

import html
import importlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import Console

SECONDS_BETWEEN_DRAWINGS = 0.2  # in a notebook

_shown: ContextVar[Bar | None] = ContextVar("_shown", default=None)


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

    def __init__(self, console: Console, total: int | None) -> None:
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        before, after = (TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("before", "after"))
        bar = BarColumn(20, table_column=Column(no_wrap=True))  # or texts would take its place in narrow terminals
        self._bar = Progress(before, bar, after, console=console, transient=True)
        self._task = self._bar.add_task("", total=total, before="", after="")
        self._before = ""
        self._bar.start()

    def show(self, done: int, before: str, after: str) -> None:
        """Draw how much is done, at the bar's own pace; what is new and may take long is drawn at once."""
        is_new, self._before = before != self._before, before
        self._bar.update(self._task, completed=done, before=before, after=after, refresh=is_new)

    def stop(self) -> None:
        """Take the bar away."""
        self._bar.stop()


class NotebookBar:
    """A bar in a notebook, which stays."""

    def __init__(self, total: int | None) -> None:
        display: Any = importlib.import_module("IPython.display").display  # which has no types
        self._total, self._last, self._next = total, (0, "", ""), 0.0
        self._lock = threading.Lock()
        self._handle = display({"text/html": ""}, raw=True, display_id=True)

    def show(self, done: int, before: str, after: str) -> None:
        """Draw how much is done, unless something was drawn just now; what is new and may take long is always drawn."""
        with self._lock:
            if done < self._last[0]:  # a thread that was late
                return
            is_new = before != self._last[1] and done == self._last[0]
            self._last = done, before, after
            if is_new or time.monotonic() >= self._next:
                self._draw()
                self._next = time.monotonic() + SECONDS_BETWEEN_DRAWINGS

    def stop(self) -> None:
        """Draw the last state."""
        self._draw()

    def _draw(self) -> None:
        done, before, after = self._last
        known = f' value="{done}" max="{self._total}"' if self._total else ""
        bar = f'<progress{known} style="width:16em"></progress>'
        shown = f"{html.escape(before)} {bar} {html.escape(after)}"
        self._handle.update({"text/html": shown, "text/plain": f"{before}: {after}"}, raw=True)


def bar_on(console: Console, total: int | None) -> Bar | None:
    """Return a bar on a console; None if it is neither a terminal nor a notebook.

    Without a ``total``, it only shows that something goes on.  The terminal of a command in a notebook,
    ``!heavybandits run``, gets none: such output keeps every drawing.

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
def bar_shown(total: int | None = None) -> Iterator[Bar | None]:
    """Show a bar on standard error, for everything that :func:`say` is called with meanwhile.

    If a bar cannot be drawn, as when output goes to a file, nothing is shown, and this yields None.

    Examples
    --------
    >>> with bar_shown():
    ...     say("thinking")
    """
    from rich.console import Console

    bar = bar_on(Console(stderr=True), total)
    outer = _shown.set(bar)
    try:
        yield bar
    finally:
        _shown.reset(outer)
        if bar is not None:
            bar.stop()


def say(what: str) -> None:
    """Say what begins now beside the bar, if one is shown.

    Examples
    --------
    >>> say("compiling UCB")
    """
    bar = _shown.get()
    if bar is not None:
        bar.show(0, what, "")


def counter(bar: Bar | None, total: int) -> Callable[[], None]:
    """Return a function that moves the bar, if there is one, by one replication; the clock starts now.

    Examples
    --------
    >>> with bar_shown(2) as bar:
    ...     advance = counter(bar, 2)
    ...     advance()
    """
    done, start = itertools.count(1), time.monotonic()

    def advance() -> None:
        number = next(done)
        if bar is not None:
            bar.show(number, "replications", f"{number:,} of {total:,}, {time_of(start, number, total)}")

    return advance


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
