"""The rows of the tables, apart from events."""

from __future__ import annotations

from typing import NamedTuple


class Head(NamedTuple):
    """An experiment's row: its events are those from ``first_seq`` to below ``next_seq``."""

    id: int
    name: str
    spec: str
    next_seq: int
    first_seq: int
    link: str | None  # of the event ``link_seq`` to all before it; None if only version 0.2.0 has written
    link_seq: int
    salt: str | None  # the key of the hashes of units, a secret; experiments of early versions have none
    seal: str | None  # of the salt


class Progress(NamedTuple):
    """How far an experiment is."""

    id: int
    next_seq: int


class OpenDecision(NamedTuple):
    """A decision whose window is open."""

    exp: int
    key: str
    arm: str
    deadline: int
    total: float | None


class UnitArm(NamedTuple):
    """The arm that a unit keeps."""

    hash: str
    arm: str
    p: float | None  # the probability with which it got the arm, None if unknown


class Token(NamedTuple):
    """A token's row: never the token itself."""

    id: str
    digest: str
    role: str
    name: str
    created: int
    revoked: int | None
