"""An experiment's turn in a batch: what requests may read, and what they add to the log."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from ..events import Event
from ..forms import Problem
from ..replicas.replica import Replica
from ..replicas.stopping import consequence
from ..storage.rows import OpenDecision, UnitArm
from ..storage.session import Session

BATCH_SECONDS = 0.25  # after which the requests that are left go with the next transaction


class Outcome(NamedTuple):
    """An answer: its status and its body."""

    status: int
    body: Any


def refusal(status: int, title: str, detail: str = "") -> Outcome:
    """Return an answer that says what is wrong."""
    return Outcome(status, Problem(title, status, detail))


class Command(Struct, frozen=True):
    """A request to an experiment."""

    experiment: str

    def keys(self, replica: Replica) -> Iterable[str]:
        """Return the keys whose events it needs."""
        return ()

    def units(self, replica: Replica) -> Iterable[str]:
        """Return the hashes of the units whose arms it needs."""
        return ()

    def run(self, turn: ExperimentTurn) -> Outcome:
        """Run the request; anything wrong with it is an outcome, not an exception."""
        raise NotImplementedError


class ExperimentTurn:
    """What the requests of a batch to one experiment share.

    Parameters
    ----------
    replica
        The experiment, up to date with the log.
    now
        The time of this batch.
    """

    def __init__(self, replica: Replica, now: int) -> None:
        self.replica, self.now = replica, now
        self.rows: list[Event] = []
        self.units: dict[str, UnitArm] = {}
        self.assigned: dict[str, UnitArm] = {}  # units that get an arm in this turn
        self.open: dict[str, OpenDecision | None] = {}  # open decisions; None once closed
        self._written: set[str] = set()
        self._found: dict[str, dict[str, Event]] = defaultdict(dict)

    def prepare(self, session: Session, commands: Iterable[Command]) -> None:
        """Read what the requests need."""
        exp = self.replica.exp
        keys, units = set[str](), set[str]()
        for command in commands:
            keys.update(command.keys(self.replica))
            units.update(command.units(self.replica))
        if keys:
            for event in session.find(exp, keys):
                self._found[str(event.key)][event.kind] = event
            if self.replica.spec.reward.window is not None:
                self.open = {row.key: row for row in session.pending(exp, keys)}
        if units:
            self.units = session.units(exp, units)

    def found(self, key: str) -> dict[str, Event]:
        """Return the events of a key by kind."""
        return self._found[key]

    def append(
        self, kind: str, key: str | None, arm: str | None, value: float | None = None, *, p: float | None = None,
        reason: str | None = None, since: int | None = None, body: str | None = None,
    ) -> Event:  # fmt: skip
        """Add an event to the log, and let the replica take it in."""
        replica = self.replica
        value = None if value is None else value + 0.0  # not every database keeps the sign of zero
        event = Event(replica.exp, replica.seq + 1, kind, key, arm, value, p, reason, self.now, since, body)
        replica.note(event)
        self.rows.append(event)
        if key is not None:
            self._found[key][kind] = event
        if (change := consequence(replica, event)) is not None:
            self.append("config", None, change.finish or change.pause, body=msgspec.json.encode(change).decode())
        return event

    def keep_open(self, row: OpenDecision) -> None:
        """Note a decision whose window is open, or what has been added to its total."""
        self.open[row.key] = row
        self._written.add(row.key)

    def close(self, key: str) -> None:
        """Note that a decision's window is no longer open."""
        if self.replica.spec.reward.window is not None:
            self.open[key] = None
            self._written.add(key)

    def assign_unit(self, unit: UnitArm) -> None:
        """Let a unit keep an arm."""
        self.units[unit.hash] = self.assigned[unit.hash] = unit

    def write(self, session: Session) -> None:
        """Store everything that the turn has added."""
        exp = self.replica.exp
        if self.rows:
            session.append(self.rows)
            session.set_last(exp, self.replica.seq, self.replica.link)
        if self.assigned:
            session.put_units(exp, self.assigned.values())
        written = [(key, self.open[key]) for key in self._written]
        if kept := [row for _, row in written if row is not None]:
            session.put_pending(kept)
        if gone := [key for key, row in written if row is None]:
            session.drop_pending(exp, gone)


def run_commands(
    turns: dict[str, ExperimentTurn], absent: dict[str, Outcome], commands: Sequence[Command]
) -> list[Outcome | None]:
    """Run commands until they have taken long enough; None for those left, and those whose replicas are read again."""
    outcomes: list[Outcome | None] = []
    end = math.inf
    for command in commands:
        turn = turns.get(command.experiment)
        if turn is None:
            outcomes.append(absent.get(command.experiment))
        else:
            outcomes.append(command.run(turn) if time.monotonic() < end else None)
            end = min(end, time.monotonic() + BATCH_SECONDS)  # at least one is run
    return outcomes


def write_all(session: Session, turns: Iterable[ExperimentTurn]) -> None:
    """Store everything that these turns have added."""
    for turn in turns:
        turn.write(session)
