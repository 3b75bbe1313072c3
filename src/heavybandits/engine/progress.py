"""A progress bar for simulations, in a terminal or a notebook."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    drawable = bool(importlib.util.find_spec("ipywidgets")) if console.is_jupyter else console.is_terminal
    columns = (TextColumn("replications"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not drawable) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)
