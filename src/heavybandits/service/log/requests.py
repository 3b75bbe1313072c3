"""What the log is asked for besides commands, and what it answers when it cannot do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..replicas.replica import Replica
from ..storage import Rejected, Session
from ..storage.rows import Progress
from .turn import Command, Outcome, refusal

Answers = list[tuple[Any, Outcome]]
UNAVAILABLE = refusal(503, "unavailable", "the database did not confirm; repeat the request with the same id")
DONE = Outcome(200, None)
FAILED = refusal(500, "internal error", "the request failed; the server's own log says why")


class ReadReplica(NamedTuple):
    """A request to read something about an experiment from its replica."""

    experiment: str
    read: Callable[[Replica], Any]


class Follow(NamedTuple):
    """A request to take in what other servers have stored, or that the experiment is gone."""

    experiment: str
    progress: Progress | None


Work = Callable[[Session], Outcome]  # something to do with the database, but with no replica
Request = Command | ReadReplica | Follow | Work
Waiting = list[tuple[Any, Any]]  # requests with the futures of their answers


def unreadable(why: str) -> Outcome:
    """Return the answer to a request about an experiment that cannot be read."""
    return refusal(500, "experiment not readable", why)


def failure(error: Exception | None) -> Outcome:
    """Return the answer to a request that failed with this error, or because the database did."""
    if error is None:
        return UNAVAILABLE
    return refusal(422, "not storable", str(error)) if isinstance(error, Rejected) else FAILED
