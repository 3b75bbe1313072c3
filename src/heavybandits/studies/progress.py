"""Progress of a run: a bar in a terminal or a notebook, else a line now and then."""

from __future__ import annotations

import importlib.util
import time
from typing import Any, NamedTuple

from rich.console import Console


class Step(NamedTuple):
    """How far a run has got."""

    last: str  # what was finished last
    pulls: int  # done in this session
    total: int  # of this session


class Progress:
    """A display of how far a run has got."""

    def __init__(self) -> None:
        self._start = self._shown = time.monotonic()
        self._console = Console()
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __call__(self, step: Step) -> None:
        """Show a step."""
        notebook = self._console.is_jupyter and importlib.util.find_spec("ipywidgets")
        if not step.total:
            print("Everything is stored already.")
        elif self._console.is_terminal or notebook:
            self._draw(step)
        elif step.pulls and (time.monotonic() - self._shown > 5 or step.pulls == step.total):
            self._shown = time.monotonic()
            print(f"{step.last}: {self._words(step)}", flush=True)

    def _words(self, step: Step) -> str:
        speed = step.pulls / max(time.monotonic() - self._start, 1e-9)
        left = (step.total - step.pulls) / speed if speed else 0.0
        return f"{_amount(step.pulls)} of {_amount(step.total)} pulls, {_amount(speed)} per second, {left:.0f} s left"

    def _draw(self, step: Step) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(TextColumn("{task.fields[last]}", markup=False), BarColumn(),
                            TextColumn("{task.fields[words]}"), console=self._console, transient=True)  # fmt: skip
            self._task = self._bar.add_task("", total=step.total, last="compiling", words="")
            self._bar.start()
        if step.pulls:
            self._bar.update(self._task, completed=step.pulls, last=step.last, words=self._words(step))

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _amount(number: float) -> str:
    return f"{number / 1e6:.1f} million" if number >= 1e5 else f"{number:,.0f}"
