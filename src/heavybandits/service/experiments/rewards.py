"""Rewards of decisions, the ends of their windows, cancellations, and rewards without a decision."""

from __future__ import annotations

from collections.abc import Iterable

from ..events import SECOND, Correction, Event
from ..forms import Accepted
from ..log.turn import Command, ExperimentTurn, Outcome, refusal
from ..replicas.against_control import DRAWN
from ..replicas.learners.points import in_cube
from ..replicas.replica import Replica
from ..spec import Experiment, OneContext, RewardRule, as_float, as_json, attributes_in
from .decisions import encode, features_of


class OfDecision(Command, frozen=True):
    """A request about a decision that was made before."""

    decision: str

    def keys(self, replica: Replica) -> Iterable[str]:
        """Return the decision's key."""
        return (self.decision,)

    def run(self, turn: ExperimentTurn) -> Outcome:
        """Find the decision."""
        decision = turn.found(self.decision).get("decision")
        if decision is None:
            return refusal(404, "unknown decision", f"there is no decision {self.decision!r}")
        return self.settle(turn, decision)

    def settle(self, turn: ExperimentTurn, decision: Event) -> Outcome:
        """Do what is asked with the decision."""
        raise NotImplementedError


class Reward(OfDecision, frozen=True):
    """A reward of a decision, with its own id if rewards add up."""

    value: float
    id: str | None = None

    @property
    def key(self) -> str:
        """The key in the log."""
        return self.decision if self.id is None else f"{self.decision}/{self.id}"

    def keys(self, replica: Replica) -> Iterable[str]:
        """Return the keys of the decision and of the reward."""
        return {self.decision, self.key}

    def settle(self, turn: ExperimentTurn, decision: Event) -> Outcome:
        """Count the reward once, unless the decision is closed."""
        replica, rule = turn.replica, turn.replica.spec.reward
        if (rule.combine == "sum") != (self.id is not None):
            where = "rewards/{reward_id}" if rule.combine == "sum" else "reward"
            return refusal(422, "wrong endpoint", f"rewards of this experiment go to .../decisions/{{id}}/{where}")
        if "retract" in turn.found(self.key):
            return refusal(409, "taken back", f"the reward of decision {self.decision!r} was taken back for good")
        if earlier := turn.found(self.key).get("reward"):
            if earlier.value != self.value:
                return refusal(409, "different value", f"the reward was reported before as {earlier.value}")
            is_learned = rule.provisional or not rule.at_close or _is_closed(turn, self.decision)
            return Outcome(200, Accepted(self.key, earlier.seq, is_learned))
        end_if_due(turn, decision)
        if _is_closed(turn, self.decision):
            if "late" not in turn.found(self.key):
                turn.append("late", self.key, decision.arm, self.value, since=decision.t)
            return refusal(
                410, "closed", f"decision {self.decision!r} takes no more rewards; this one is logged as late"
            )
        row = turn.open.get(self.decision) if rule.combine == "sum" else None
        so_far = None if row is None else row.total
        if row is not None:
            row = row._replace(total=(row.total or 0.0) + self.value)
            if row.total != row.total:
                what = f"the rewards of decision {self.decision!r} are infinite already, with the opposite sign"
                return refusal(422, "no sum", f"{what}, so {self.value} cannot be added")
        body = None if rule.at_close else features_of(decision)
        if rule.provisional:
            body = _correction(rule, so_far, self.value if row is None else row.total)
        reason = DRAWN if not rule.at_close and replica.is_drawn(decision) else None
        event = turn.append(
            "reward", self.key, decision.arm, self.value, p=decision.p, reason=reason, since=decision.t, body=body
        )
        if not rule.at_close:
            turn.close(self.decision)
        elif row is not None:
            turn.keep_open(row)
        is_learned = (rule.provisional or not rule.at_close) and decision.arm in replica.agent_arms
        return Outcome(201, Accepted(self.key, event.seq, is_learned))


class NamedReward(OfDecision, frozen=True):
    """A reward with a name: the policy does not learn it, and it may come at any time."""

    name: str
    value: float

    @property
    def key(self) -> str:
        """The key in the log."""
        return f"{self.decision}/{self.name}"

    def keys(self, replica: Replica) -> Iterable[str]:
        """Return the keys of the decision and of the reward."""
        return self.decision, self.key

    def settle(self, turn: ExperimentTurn, decision: Event) -> Outcome:
        """Count the reward once, unless the decision was cancelled."""
        names = turn.replica.named_rewards.names
        if self.name not in names:
            known = f"one of {', '.join(names)}" if names else "left out, because the experiment has no named rewards"
            return refusal(422, "unknown name", f"name must be {known}, got {self.name!r}")
        if "cancel" in turn.found(self.decision):
            return refusal(409, "cancelled", f"decision {self.decision!r} was never shown")
        earlier = turn.found(self.key).get("named")
        if earlier is not None and earlier.value != self.value:
            return refusal(409, "different value", f"{self.name} was reported before as {earlier.value}")
        event = earlier or turn.append("named", self.key, decision.arm, self.value, p=decision.p, since=decision.t)
        return Outcome(201 if earlier is None else 200, Accepted(self.key, event.seq, False))


class Retract(OfDecision, frozen=True):
    """The request to take a reward back that was reported by mistake, before it is final."""

    def settle(self, turn: ExperimentTurn, decision: Event) -> Outcome:
        """Let the decision end as if it had got no reward, unless the reward is final."""
        rule, found = turn.replica.spec.reward, turn.found(self.decision)
        if rule.combine == "sum":
            return refusal(409, "rewards add up", "report another reward with the opposite sign instead")
        if "reward" not in found:
            return refusal(404, "no reward", f"decision {self.decision!r} has no reward")
        if earlier := found.get("retract"):
            return Outcome(200, Accepted(self.decision, earlier.seq, False))
        end_if_due(turn, decision)
        if not rule.at_close or _is_closed(turn, self.decision):
            return refusal(409, "learned", "the policy has learned this reward, and cannot unlearn it")
        body = _correction(rule, found["reward"].value, None) if rule.provisional else None
        event = turn.append("retract", self.decision, decision.arm, since=decision.t, body=body)
        return Outcome(201, Accepted(self.decision, event.seq, False))


class Cancel(OfDecision, frozen=True):
    """The cancellation of a decision that was never shown."""

    def settle(self, turn: ExperimentTurn, decision: Event) -> Outcome:
        """Give the decision up, unless it has a reward or its window is over."""
        found = turn.found(self.decision)
        if cancelled := found.get("cancel"):
            return Outcome(200, Accepted(self.decision, cancelled.seq, False))
        row = turn.open.get(self.decision)
        if "reward" in found or (row is not None and row.total is not None):
            return refusal(409, "rewarded", f"decision {self.decision!r} has a reward, so it was shown")
        end_if_due(turn, decision)
        if "close" in found:
            return refusal(410, "closed", f"the window of decision {self.decision!r} is over")
        body = features_of(decision)
        event = turn.append("cancel", self.decision, decision.arm, p=decision.p, since=decision.t, body=body)
        turn.close(self.decision)
        return Outcome(201, Accepted(self.decision, event.seq, False))


class Observe(Command, frozen=True):
    """A reward that no decision led to."""

    id: str
    is_new: bool
    arm: str
    value: float
    context: OneContext | None = None
    point: dict[str, float] | None = None

    def keys(self, replica: Replica) -> Iterable[str]:
        """Return the id, unless nobody can have used it."""
        return () if self.is_new else (self.id,)

    def run(self, turn: ExperimentTurn) -> Outcome:
        """Learn from the reward, once."""
        replica = turn.replica
        try:
            vector = self._vector(replica.spec)
        except ValueError as error:
            return refusal(422, "invalid", str(error))
        named = attributes_in(vector)
        body = None if vector is None else encode(vector if named is None else named).decode()
        if earlier := turn.found(self.id).get("observe"):
            if (earlier.arm, earlier.value, earlier.body) != (self.arm, self.value, body):
                what = "another arm, value, context or point"
                return refusal(409, "id in use", f"observation {self.id!r} was reported before with {what}")
            return Outcome(200, Accepted(self.id, earlier.seq, self.arm in replica.agent_arms))
        if self.arm not in replica.arms:
            return refusal(422, "unknown arm", f"arm must be an arm of the experiment, got {self.arm!r}")
        try:
            replica.check_observed(self.arm, self.context)
        except ValueError as error:
            return refusal(422, "invalid", str(error))
        event = turn.append("observe", self.id, self.arm, self.value, body=body)
        return Outcome(201, Accepted(self.id, event.seq, self.arm in replica.agent_arms))

    def _vector(self, spec: Experiment) -> OneContext | None:
        """Return what the log has of an observation: its features, or its point in the cube."""
        if (self.point is None) != (spec.points is None):
            what = "left out, because the experiment has arms" if spec.points is None else "given instead of an arm"
            raise ValueError(f"point must be {what}")
        return self.context if self.point is None else in_cube(spec, self.point)


class Close(Command, frozen=True):
    """The end of the windows of some decisions."""

    decisions: tuple[str, ...]

    def keys(self, replica: Replica) -> Iterable[str]:
        """Return the decisions' keys."""
        return self.decisions

    def run(self, turn: ExperimentTurn) -> Outcome:
        """End the windows that are over; another server may have been first."""
        for key in self.decisions:
            if turn.open.get(key) is not None and (decision := turn.found(key).get("decision")):
                end_if_due(turn, decision)
        return Outcome(200, None)


def _is_closed(turn: ExperimentTurn, decision: str) -> bool:
    return not turn.found(decision).keys().isdisjoint(("close", "cancel"))


def _correction(rule: RewardRule, learned: float | None, reward: float | None) -> str:
    """Return the body of an event that corrects what was learned; without a reward that is the default."""
    before, after = (rule.default if value is None else as_json(value) for value in (learned, reward))
    return encode(Correction(before or 0.0, after or 0.0)).decode()


def end_if_due(turn: ExperimentTurn, decision: Event) -> None:
    """Close a decision's window if it is over: learn its reward or the default, or give the decision up."""
    key, rule, found = str(decision.key), turn.replica.spec.reward, turn.found(str(decision.key))
    row = turn.open.get(key)
    if row is None or rule.window is None or turn.now < decision.t + round(rule.window * SECOND):
        return
    reported = None if "retract" in found else found.get("reward")
    value = row.total if rule.combine == "sum" else None if reported is None else reported.value
    if value is None and rule.default is not None:
        value = as_float(rule.default)
    if value is not None and value != value:  # a sum of infinities of both signs, which version 0.2.0 accepted
        value = None
    reason = DRAWN if value is not None and turn.replica.is_drawn(decision) else None
    turn.append(
        "close", key, decision.arm, value, p=decision.p, reason=reason, since=decision.t, body=features_of(decision)
    )
    turn.close(key)
