"""Decisions: repeated ids, units that keep their arm, a floor drawn by hashing, the control arm, propensities."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import Any

import msgspec

from ...online.floor import mixed, taken_by_floor
from ..events import SECOND, Event, iso
from ..log.turn import Command, ExperimentTurn, Outcome, refusal
from ..replicas.replica import DecisionBody, Replica
from ..spec import Context, DecisionAnswer
from ..storage.rows import OpenDecision, UnitArm

encode = msgspec.json.Encoder(order="deterministic").encode
_bodies = msgspec.json.Decoder(DecisionBody)


def new_id(now: int) -> str:
    """Return a new id; later ids sort later, which keeps the part of the database's index in use small."""
    return f"{now:014x}{secrets.token_hex(9)}"


class Decide(Command, frozen=True):
    """A request for a decision."""

    id: str
    is_new: bool  # the id was made just now, so nobody can have used it
    unit: str | None = None
    among: list[str] | None = None
    context: Context | None = None

    def keys(self) -> Iterable[str]:
        """Return the id, unless nobody can have used it."""
        return () if self.is_new else (self.id,)

    def units(self, replica: Replica) -> Iterable[str]:
        """Return the hash of the unit, if units keep their arms."""
        return (unit_hash(replica, self.unit),) if self.unit is not None and replica.spec.sticky else ()

    def run(self, turn: ExperimentTurn) -> Outcome:
        """Return the decision with this id: the stored one, or a new one."""
        replica = turn.replica
        unit = None if self.unit is None else unit_hash(replica, self.unit)
        among = None if self.among is None else sorted(set(self.among))
        body = encode(DecisionBody(unit, among, self.context)).decode() if unit or among or self.context else None
        if earlier := turn.found(self.id).get("decision"):
            if earlier.body != body:
                what = "for another unit, among other arms or in another context"
                return refusal(409, "id in use", f"decision {self.id!r} was made {what}")
            return Outcome(200, answer(replica, earlier))
        if unknown := [arm for arm in among or () if arm not in replica.arms]:
            return refusal(422, "unknown arm", f"among must name arms of the experiment, got {unknown[0]!r}")
        try:
            replica.learner.check(self.context)
        except ValueError as error:
            return refusal(422, "invalid", str(error))
        open_arms = replica.open_among(among, self.context)
        if not open_arms:
            return refusal(409, "no open arm", "every arm that may be chosen is paused or retired")
        reason, given, p = self._given(turn, unit, open_arms)
        assigned = replica.assign(self.id, given, among, self.context)
        if reason in ("policy", "floor"):
            p = mixed(_floor(replica, open_arms), assigned.arm, assigned.propensity)
        event = turn.append("decision", self.id, assigned.arm, p=p, reason=reason, body=body)
        if unit is not None and replica.spec.sticky and reason in ("policy", "floor", "only"):
            turn.assign_unit(UnitArm(unit, assigned.arm, p))
        window = replica.spec.reward.window
        if window is not None:
            deadline = turn.now + round(window * SECOND)
            turn.keep_open(OpenDecision(replica.exp, self.id, assigned.arm, deadline, None))
        return Outcome(201, answer(replica, event))

    def _given(
        self, turn: ExperimentTurn, unit: str | None, open_arms: list[str]
    ) -> tuple[str, str | None, float | None]:
        """Return the reason for the decision, and its arm and probability unless the policy chooses it."""
        replica = turn.replica
        if replica.finished_with in open_arms:
            return "finished", replica.finished_with, 1.0
        if replica.state != "running":
            return "paused", replica.control if replica.control in open_arms else open_arms[0], 1.0
        if unit is not None and replica.spec.sticky and (kept := turn.units.get(unit)) and kept.arm in open_arms:
            return "sticky", kept.arm, kept.p
        if len(open_arms) == 1:
            return "only", open_arms[0], 1.0
        if replica.spec.floor:
            at = int.from_bytes(replica.digest("floor", self.id)[:8]) / 2**64
            if (arm := taken_by_floor(_floor(replica, open_arms), at)) is not None:
                return "floor", arm, None
        return "policy", None, None


def _floor(replica: Replica, open_arms: list[str]) -> dict[str, float]:
    """Return the shares of the open arms by the floor."""
    return {arm: share for arm, share in replica.spec.floor.items() if arm in open_arms}


def answer(replica: Replica, event: Event) -> DecisionAnswer:
    """Return the answer for a stored decision."""
    window = replica.spec.reward.window
    deadline = None if window is None else iso(event.t + round(window * SECOND))
    arm, reason = str(event.arm), event.reason
    payload: Any = replica.arms[arm].payload
    return DecisionAnswer(str(event.key), arm, payload, event.p, reason, event.seq, deadline)  # type: ignore[arg-type]


def features_of(decision: Event) -> str | None:
    """Return the vector of the chosen arm, in the form in which events that settle the decision store it."""
    context = None if decision.body is None else _bodies.decode(decision.body).context
    if isinstance(context, dict):
        context = context[str(decision.arm)]
    return None if context is None else encode(context).decode()


def unit_hash(replica: Replica, unit: str) -> str:
    """Return the hash that is stored for a unit: enough to recognise it, not to tell who it is without the salt."""
    if replica.salt is not None:
        return hmac.digest(bytes.fromhex(replica.salt), unit.encode(), "sha256").hex()[:32]
    return hashlib.sha256(f"unit/{replica.spec.seed}/{replica.name}/{unit}".encode()).hexdigest()[:32]
