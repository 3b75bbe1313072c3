"""What commands that go through the whole database say: a line for each experiment, and no exception."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..._validate import visible
from ..replicas.read import Unreadable
from ..storage import Session
from ..storage.rows import Head


class Finding(NamedTuple):
    """What was found for an experiment, or for the rest of the database: a line for people."""

    experiment: str | None
    ok: bool
    text: str


class Wrong(Exception):
    """Something that is stored is not what it must be."""


def for_each(session: Session, work: Callable[[Head], str]) -> Iterator[Finding]:
    """Yield what some work says of each experiment, or what is wrong with it."""
    exps = list[int]()
    yield from found("experiments", lambda: exps.extend(session.ids()))
    for exp in exps:
        name = f"experiment {exp}"
        try:
            head = session.head_of(exp)
            if head is None:  # deleted just now
                continue
            name = str(head.name)
            finding = Finding(name, True, _line(f"{name}: {work(head)}"))
        except Exception as error:
            finding = Finding(name, False, _complaint(name, error))
        yield finding


def found(subject: str, work: Callable[[], str | None]) -> Iterator[Finding]:
    """Yield what some work says, if anything, or what is wrong.

    Examples
    --------
    >>> [finding.text for finding in found("tokens", lambda: str(1 / 0))]
    ['tokens: cannot be read (ZeroDivisionError: division by zero)']
    """
    try:
        said = work()
        finding = Finding(None, True, _line(f"{subject}: {said}")) if said is not None else None
    except Exception as error:
        finding = Finding(None, False, _complaint(subject, error))
    if finding is not None:
        yield finding


def _complaint(subject: str, error: Exception) -> str:
    """Return a line for an error: one of ours, or any that a damaged database may lead to."""
    if isinstance(error, Unreadable):  # which names the experiment
        return _line(str(error))
    if isinstance(error, Wrong):
        return _line(f"{subject}: {error}")
    return _line(f"{subject}: cannot be read ({type(error).__name__}: {error})")


def _line(text: str) -> str:
    return visible(" ".join(text.split("\n")))
