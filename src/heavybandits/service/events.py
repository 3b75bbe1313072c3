"""The rows of the log, and the times in them."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

Clock = Callable[[], int]  # microseconds since 1970
SECOND = 1_000_000  # microseconds


def system_clock() -> int:
    """Return the present time."""
    return time.time_ns() // 1000


def iso(t: int) -> str:
    """Return a time as text.

    Examples
    --------
    >>> iso(0)
    '1970-01-01T00:00:00.000000Z'
    """
    return datetime.fromtimestamp(t / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Event(NamedTuple):
    """A row of the log.

    ``kind`` is config, decision, reward, retract, close, cancel, observe or late.  ``key`` is the id of a decision or
    of an observation; if rewards add up, the key of a reward is "decision/reward".
    """

    exp: int
    seq: int
    kind: str
    key: str | None
    arm: str | None
    value: float | None
    p: float | None
    reason: str | None
    t: int
    since: int | None  # when the decision that a reward or an end belongs to was made
    body: str | None
