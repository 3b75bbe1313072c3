"""Progress of a run: a bar in a terminal or a notebook, else a line now and then."""

from __future__ import annotations

import time
from typing import NamedTuple

from rich.console import Console

from ..engine.progress import Bar, bar_on, time_of

SECONDS_BETWEEN_LINES = 5.0


class RunStep(NamedTuple):
    """How far a run has got."""

    last: str  # what was finished last, or what comes first
    pulls: int  # done in this session
    total: int  # of this session


class RunProgress:
    """A display of how far a run has got."""

    def __init__(self) -> None:
        self._start = self._shown = time.monotonic()
        self._bar: Bar | None = None
        self._started = False

    def __enter__(self) -> RunProgress:
        return self

    def __call__(self, step: RunStep) -> None:
        """Show a step."""
        if not step.total:
            print("Everything is stored already.")
            return
        if not self._started:
            self._started, self._bar = True, bar_on(Console(), step.total)
        if self._bar is not None:
            self._bar.show(step.pulls, step.last if step.pulls else f"compiling {step.last}", self._words(step))
        elif step.pulls and (time.monotonic() - self._shown > SECONDS_BETWEEN_LINES or step.pulls == step.total):
            self._shown = time.monotonic()
            print(f"{step.last}: {self._words(step)}", flush=True)

    def _words(self, step: RunStep) -> str:
        if not step.pulls:
            return ""
        speed = _amount(step.pulls / max(time.monotonic() - self._start, 1e-9))
        return f"{step.pulls / step.total:.0%}, {speed} pulls/s, {time_of(self._start, step.pulls, step.total)}"

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _amount(number: float) -> str:
    return f"{number / 1e6:.1f} million" if number >= 1e5 else f"{number:,.0f}"
