"""The rows of the log, the times in them, and their bodies."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from .spec import Arm, Attributes, Context, Experiment, Number, State

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

    ``kind`` is config, decision, reward, named, retract, close, cancel, observe or late.  ``key`` is the id of a
    decision or of an observation; the key of a named reward is "decision/name", and if rewards add up, that of a reward
    is "decision/reward".
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


class Config(msgspec.Struct, omit_defaults=True):
    """The body of a config event: one of the fields is set."""

    create: Experiment | None = None
    state: State | None = None
    add: str | None = None
    payload: Any = None  # of the arm that is added
    attributes: Attributes = {}  # likewise
    pause: str | None = None
    resume: str | None = None
    retire: str | None = None
    finish: str | None = None  # the arm that all decisions are for from now on
    control: str | None = None
    why: str | None = None  # it finished, or an arm was paused, by itself
    by: str | None = None  # the token's id

    @property
    def added(self) -> Arm:
        """The arm that is added."""
        return Arm(str(self.add), self.payload, self.attributes)


class DecisionBody(msgspec.Struct, omit_defaults=True):
    """The body of a decision event: what was asked for."""

    unit: str | None = None  # its hash
    among: list[str] | None = None
    context: Context | None = None
    point: list[float] | None = None  # what was answered, in the coordinates of the cube


class Correction(msgspec.Struct):
    """The body of an event that corrects what the policy has learned for a decision whose window is open."""

    learned: Number
    reward: Number  # in its place


NOTHING_SAID = DecisionBody()
_configs, _bodies = msgspec.json.Decoder(Config), msgspec.json.Decoder(DecisionBody)
_corrections = msgspec.json.Decoder(Correction)


def change_in(event: Event) -> Config:
    """Return the body of a config event."""
    return _configs.decode(event.body or "")


def asked_in(decision: Event) -> DecisionBody:
    """Return the body of a decision."""
    return NOTHING_SAID if decision.body is None else _bodies.decode(decision.body)


def correction_in(event: Event) -> Correction:
    """Return the body of an event that corrects a reward."""
    return _corrections.decode(event.body or "")


def kept_by_unit(decision: Event) -> str:
    """Return what a unit keeps of its decision: the arm, or the point in the coordinates of the cube, as JSON."""
    point = asked_in(decision).point
    return str(decision.arm) if point is None else msgspec.json.encode(point).decode()
