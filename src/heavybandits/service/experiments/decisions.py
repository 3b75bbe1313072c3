"""Decisions: repeated ids, units that keep their arm, a floor drawn by hashing, the control arm, propensities."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from ...online.floor import mixed, taken_by_floor
from ..events import SECOND, DecisionBody, Event, asked_in, iso, kept_by_unit
from ..forms import DecisionAnswer
from ..log.turn import Command, ExperimentTurn, Outcome, refusal
from ..replicas.learners.attributes import AttributeLearner
from ..replicas.learners.points import coordinates_of
from ..replicas.replica import Replica
from ..spec import POINT, Context, attributes_in
from ..storage.rows import OpenDecision, UnitArm

encode = msgspec.json.Encoder(order="deterministic").encode


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
    fields: dict[str, Any] | None = None  # attributes for experiments that take some, instead of a context

    def keys(self, replica: Replica) -> Iterable[str]:
        """Return the id, unless nobody can have used it."""
        return () if self.is_new else (self.id,)

    def units(self, replica: Replica) -> Iterable[str]:
        """Return the hash of the unit, if units keep their arms."""
        return (unit_hash(replica, self.unit),) if self.unit is not None and replica.spec.sticky else ()

    def run(self, turn: ExperimentTurn) -> Outcome:
        """Return the decision with this id: the stored one, or a new one."""
        replica, context = turn.replica, self.context
        if self.fields is not None and isinstance(replica.learner, AttributeLearner):
            try:
                context = {"attributes": replica.learner.usable(self.fields)}
            except ValueError as error:
                return refusal(422, "invalid", str(error))
        earlier = turn.found(self.id).get("decision")
        if isinstance(replica.learner, AttributeLearner):
            context = replica.learner.timed(context, turn.now if earlier is None else earlier.t)
        unit = None if self.unit is None else unit_hash(replica, self.unit)
        among = None if self.among is None else sorted(set(self.among))
        body = encode(DecisionBody(unit, among, context)).decode() if unit or among or context else None
        if earlier is not None:
            if _request_of(earlier) != body:
                what = "for another unit, among other arms or in another context"
                return refusal(409, "id in use", f"decision {self.id!r} was made {what}")
            return Outcome(200, answer(replica, earlier))
        if unknown := [arm for arm in among or () if arm not in replica.arms]:
            return refusal(422, "unknown arm", f"among must name arms of the experiment, got {unknown[0]!r}")
        try:
            replica.learner.check(context)
        except ValueError as error:
            return refusal(422, "invalid", str(error))
        open_arms = replica.open_among(among, context)
        if replica.spec.points is not None and among is not None:
            return refusal(422, "invalid", "among must be left out, because the decisions of the experiment are points")
        if not open_arms:
            return refusal(409, "no open arm", "every arm that may be chosen is paused or retired")
        reason, given, p = self._given(turn, unit, open_arms)
        if replica.spec.points is not None and reason == "sticky":
            context = msgspec.json.decode(turn.units[str(unit)].arm, type=list[float])
        assigned = replica.assign(self.id, given, among, context)
        if reason in ("policy", "floor"):
            p = mixed(_floor(replica, open_arms), assigned.arm, assigned.propensity)
        if replica.spec.points is not None:
            body = encode(DecisionBody(unit, point=assigned.chosen)).decode()
        event = turn.append("decision", self.id, assigned.arm, p=p, reason=reason, body=body)
        if unit is not None and replica.spec.sticky and reason in ("policy", "floor", "only"):
            turn.assign_unit(UnitArm(unit, kept_by_unit(event), p))
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
        if unit is not None and replica.spec.sticky and (kept := turn.units.get(unit)):
            arm_kept = kept.arm if replica.spec.points is None else POINT
            if arm_kept in open_arms:
                return "sticky", arm_kept, kept.p
        if len(open_arms) == 1 and replica.spec.points is None:
            return "only", open_arms[0], 1.0
        if replica.spec.floor:
            at = int.from_bytes(replica.digest("floor", self.id)[:8]) / 2**64
            if (arm := taken_by_floor(_floor(replica, open_arms), at)) is not None:
                return "floor", arm, None
        return "policy", None, None


class EvaluateFlag(Command, frozen=True):
    """A request for a decision whose id follows from the hour: within it, a unit keeps its decision."""

    hour: int
    unit: str
    fields: dict[str, Any]

    def keys(self, replica: Replica) -> Iterable[str]:
        """Return the id."""
        return (self._id(replica),)

    def units(self, replica: Replica) -> Iterable[str]:
        """Return the hash of the unit, if units keep their arms."""
        return self._decide(replica).units(replica)

    def run(self, turn: ExperimentTurn) -> Outcome:
        """Return the decision of this hour: the stored one, or a new one."""
        return self._decide(turn.replica).run(turn)

    def _decide(self, replica: Replica) -> Decide:
        return Decide(self.experiment, self._id(replica), False, self.unit, fields=self.fields)

    def _id(self, replica: Replica) -> str:
        """Return an id that does not tell the unit, as what is stored of units does not, either.

        It depends on attributes too if the experiment takes some, since an id stands for one context.
        """
        takes_attributes = isinstance(replica.learner, AttributeLearner)
        whom = f"{self.unit}/{encode(self.fields).decode()}" if takes_attributes else self.unit
        what = f"flag/{self.experiment}/{self.hour}/{whom}".encode()
        digest = hmac.digest((replica.salt or "").encode(), what, "sha256").hex()[:32]
        return f"{self.hour:06x}{digest}"  # later ids sort later: see new_id


def _floor(replica: Replica, open_arms: list[str]) -> dict[str, float]:
    """Return the shares of the open arms by the floor."""
    return {arm: share for arm, share in replica.spec.floor.items() if arm in open_arms}


def answer(replica: Replica, event: Event) -> DecisionAnswer:
    """Return the answer for a stored decision."""
    window = replica.spec.reward.window
    deadline = None if window is None else iso(event.t + round(window * SECOND))
    arm, reason = str(event.arm), event.reason
    payload: Any = replica.arms[arm].payload
    point = UNSET if replica.spec.points is None else coordinates_of(replica.spec, asked_in(event).point or [])
    return DecisionAnswer(str(event.key), arm, payload, event.p, reason, event.seq, deadline, point)  # type: ignore[arg-type]


def _request_of(decision: Event) -> str | None:
    """Return what was asked for: the body of the event, without the point that was answered."""
    if (held := asked_in(decision)).point is None:
        return decision.body
    return encode(DecisionBody(held.unit)).decode() if held.unit else None


def features_of(decision: Event) -> str | None:
    """Return the vector of the chosen arm, or the point, as the events that settle the decision store it."""
    body = asked_in(decision)
    context = body.context if body.point is None else body.point
    if isinstance(context, dict):
        named = attributes_in(context)
        return encode(context[str(decision.arm)] if named is None else named).decode()
    return None if context is None else encode(context).decode()


def unit_hash(replica: Replica, unit: str) -> str:
    """Return the hash that is stored for a unit: enough to recognise it, not to tell who it is without the salt."""
    if replica.salt is not None:
        return hmac.digest(bytes.fromhex(replica.salt), unit.encode(), "sha256").hex()[:32]
    return hashlib.sha256(f"unit/{replica.spec.seed}/{replica.name}/{unit}".encode()).hexdigest()[:32]
