"""A replica of an experiment: an agent and totals that only the events of the log change, in their order.

Every server, every restart and every replay goes through the same calls in the same order, so all hold the same bits.
A server that makes a decision makes it on its replica in the transaction that stores it; if that fails, the replica is
thrown away and read again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from ... import __version__
from ...evidence.ledger import Ledger
from ...online.pending import Assigned
from ...protocols import is_randomised
from ..events import Config, Event, asked_in, change_in, correction_in
from ..forms import ArmView, ExperimentView
from ..spec import MAX_FEATURES, Attributes, Context, Experiment, OneContext, State, as_float, offered_in
from .against_control import DRAWN, AgainstControl
from .learners import learner_of
from .learners.attributes import AttributeLearner
from .learners.learner import Learner, as_reported
from .learners.policy import experiment_policy
from .links import first_link, next_link
from .named_rewards import NamedRewards
from .snapshots import ReplicaState, opened, opened_sorted, sealed
from .standing import zeros_may_be_late
from .totals import ArmTotals, Totals

GUARDED_FLOOR = 0.1  # a share of decisions with which guardrails can judge an arm; see docs/service-measured.md
ARMS_OVER_TIME = 64  # most arms for which estimates are kept over time


class Replica:
    """An experiment as its events have made it.

    Parameters
    ----------
    exp, name
        The experiment's number and name.
    """

    def __init__(self, exp: int, name: str) -> None:
        self.exp, self.name, self.seq, self.link = exp, name, 0, first_link(exp, name)
        self.snapshot_seq = 0  # event after which this version's latest known snapshot was taken
        self.spec = Experiment(arms=[])
        self.state: State = "running"
        self.arms: dict[str, ArmView] = {}
        self.totals = Totals()
        self.open: list[str] = []
        self.agent_arms: set[str] = set()
        self.control = ""
        self.finished_with: str | None = None
        self.later_control: str | None = None  # instead of the one that the experiment was created with
        self.decisions = 0
        self.salt: str | None = None  # see Head; never part of a snapshot
        self.learner: Learner
        self.named_rewards: NamedRewards
        self.paused_because: dict[str, str] = {}  # by arm, which guardrail it broke; kept if people resume it
        self.ledger: Ledger | None = None  # None if no arm is best for all decisions: they have contexts, or are points
        self.against_control: AgainstControl | None = None  # what can be told of contexts instead

    def is_ruled_out(self, arm: str) -> bool:
        """Return whether an arm is paused because it broke a guardrail, so that it cannot be the winner."""
        return arm in self.paused_because and arm not in self.open

    def assign(
        self, key: str, given: str | None, among: list[str] | None, context: Context | None = None
    ) -> Assigned:  # fmt: skip
        """Make the decision with this key, for the given arm or for one that the policy chooses."""
        return self.learner.assign(given, self.open_among(among, context), self.digest("policy", key), context)

    def digest(self, purpose: str, key: str) -> bytes:
        """Return the random bytes for the decision with this key: the same on every server."""
        return hashlib.sha256(f"{purpose}/{self.spec.seed}/{self.name}/{key}".encode()).digest()

    def open_among(self, among: list[str] | None, context: Context | None = None) -> list[str]:
        """Return the arms that may be chosen now; if arms have their own features, only those that came with some."""
        offered = offered_in(context)
        if among is None and offered is None:
            return self.open
        return [arm for arm in self.open if (offered is None or arm in offered) and (among is None or arm in among)]

    def is_drawn(self, decision: Event) -> bool:
        """Return whether a decision might have been for the control, with a known probability."""
        if self.against_control is None:
            return False
        body = asked_in(decision)
        return self.against_control.counts(decision, self.control in self.open_among(body.among, body.context))

    def check_observed(self, arm: str, context: OneContext | None) -> None:
        """Refuse an observation's context that does not fit."""
        is_of_arm = isinstance(context, list) and self.spec.context is not None and self.spec.context.is_of_arms
        self.learner.check({arm: context} if is_of_arm else context)  # type: ignore[arg-type,dict-item]

    def check_arm(self, attributes: Attributes) -> None:
        """Refuse attributes of an arm that do not fit."""
        if isinstance(self.learner, AttributeLearner):
            self.learner.check_arm(attributes)
        elif attributes:
            raise ValueError("arms must not have attributes unless decisions come with attributes as their context")

    def apply(self, event: Event) -> None:
        """Take in an event of the log."""
        if event.seq != self.seq + 1:
            raise ValueError(f"{self.name}: the next event must be {self.seq + 1}, got {event.seq}")
        if event.kind == "decision" and event.arm in self.agent_arms:
            body = asked_in(event)
            self.assign(str(event.key), event.arm, body.among, body.context if body.point is None else body.point)
        self.note(event)

    def note(self, event: Event) -> None:
        """Take in an event, except the choice that a decision makes, which has just been made."""
        kind, arm = event.kind, event.arm
        if kind == "decision":
            self.decisions += 1
            if arm in self.agent_arms:
                self.learner.decided(event)
            self.totals.decided(event, self.estimates)
            if self.spec.reward.provisional:
                self.totals.arms[str(arm)].provisional += 1
                self.learner.learn(event._replace(value=self._as_learned(self._default)))
        elif kind == "config":
            self._configure(change_in(event))
        elif kind == "named":
            name = str(event.key).rpartition("/")[2]
            self.named_rewards.learn(name, str(arm), float(event.value or 0.0))
        elif kind == "late":
            self.totals.arms[str(arm)].late += 1
        elif kind == "cancel" or (kind == "close" and event.value is None):
            self.totals.arms[str(arm)].given_up += 1
            if self.spec.reward.provisional:
                self.totals.arms[str(arm)].provisional -= 1
                self._correct(str(arm), self._default, None)
            else:
                self.learner.give_up(event)
        elif kind == "retract" or (kind == "reward" and self.spec.reward.at_close):
            if kind == "reward":
                self.totals.reported(event)
            if self.spec.reward.provisional:  # else nothing has been learned yet
                change = correction_in(event)
                self._correct(str(arm), as_float(change.learned), as_float(change.reward))
        elif kind not in ("reward", "observe", "close"):
            raise ValueError(f"this version of heavybandits does not know events of kind {kind!r}")
        else:
            if kind == "reward":
                self.totals.reported(event)
            if kind == "close" and self.spec.reward.provisional:  # the policy knows
                self.totals.arms[str(arm)].provisional -= 1
            elif self.spec.sign > 0:
                self.learner.learn(event)
            else:
                self.learner.learn(event._replace(value=self._as_learned(event.value or 0.0)))
            self.totals.rewarded(event, self.estimates)
            if self.ledger is not None:
                self.ledger.learn(str(arm), float(event.value or 0.0))
            if self.against_control is not None and event.reason == DRAWN:
                self.against_control.learn(event)
        self.seq, self.link = event.seq, next_link(self.link, event)

    @property
    def _default(self) -> float:
        return as_float(self.spec.reward.default or 0.0)

    def _correct(self, arm: str, learned: float, reward: float | None) -> None:
        self.learner.correct(arm, self._as_learned(learned), None if reward is None else self._as_learned(reward))

    def _as_learned(self, value: float) -> float:
        """Return what the policy gets for a value that was reported: more is better, and zeros have no sign."""
        return self.spec.sign * value + 0.0

    def estimates(self) -> dict[str, float]:
        """Return the policy's estimate of each arm that has one."""
        if len(self.agent_arms) > ARMS_OVER_TIME:
            return {}
        rows = as_reported(self.spec, self.learner.rows())
        return {row.arm: row.estimate for row in rows if row.estimate == row.estimate}

    def _configure(self, change: Config) -> None:
        if change.create is not None:
            self.spec = change.create
            names = [arm.name for arm in change.create.arms]
            self.arms = {arm.name: ArmView.of(arm) for arm in change.create.arms}
            self.totals.arms = {name: ArmTotals() for name in names}
            self.learner = learner_of(change.create).made(change.create)
            self.named_rewards = NamedRewards(change.create, names)
            if change.create.kind == "arms":
                self.ledger = Ledger(names, change.create.compared_by, change.create.minimise)
            elif change.create.kind == "linear":
                self._take_stock()
                self.against_control = AgainstControl(change.create, self.control, self.seq + 1)
        elif change.finish is not None:
            self.state, self.finished_with = "finished", change.finish
        elif change.state is not None:
            self.state, self.finished_with = change.state, None
        elif change.control is not None:
            self.later_control = change.control
        elif change.add is not None:
            self.arms[change.add] = ArmView.of(change.added)
            self.totals.arms[change.add] = ArmTotals()
            self.learner.add_arm(change.added)
            self.named_rewards.add_arm(change.add)
            if self.ledger is not None:
                self.ledger.add_arm(change.add)
        elif change.retire is not None:
            self.arms[change.retire].state = "retired"
            self.learner.remove_arm(change.retire)
        elif change.pause is not None:
            self.arms[change.pause].state = "paused"
            if change.why is not None:
                self.paused_because[change.pause] = change.why
        elif change.resume is not None:
            self.arms[change.resume].state = "running"
        self._take_stock()
        if self.against_control is not None:
            self.against_control = self.against_control.now(self.control, self.control in self.open, self.seq + 1)

    def _take_stock(self) -> None:
        self.agent_arms = {arm.name for arm in self.arms.values() if arm.state != "retired"}
        self.open = [arm.name for arm in self.arms.values() if arm.state == "running"]
        self.control = self.later_control or self.spec.first_control

    def snapshot(self) -> bytes:
        """Return the whole replica as bytes."""
        arms = list(self.arms.values())
        evidence = b"" if self.ledger is None else self.ledger.dumps()
        held = ReplicaState(
            self.seq, self.link, self.spec, self.state, arms, self.learner.dumps(), self.totals, evidence
        )
        held.finished_with, held.later_control = self.finished_with, self.later_control
        held.against_control = b"" if self.against_control is None else self.against_control.dumps()
        held.named_rewards, held.paused_because = self.named_rewards.dumps(), self.paused_because
        return sealed(held)

    @classmethod
    def restored(cls, exp: int, name: str, contents: bytes) -> Replica:
        """Return the replica that a snapshot was made from."""
        return cls(exp, name)._become(opened(contents))

    @classmethod
    def restored_sorted(cls, exp: int, name: str, contents: bytes, order: Sequence[str]) -> Replica:
        """Return the replica that a snapshot of version 0.2.0 was made from, its arms in the order of the log."""
        return cls(exp, name)._become(opened_sorted(contents, order, first_link(exp, name)))

    def _become(self, held: ReplicaState) -> Replica:
        self.seq, self.link, self.totals = held.seq, held.link, held.totals
        self.spec, self.state, self.finished_with = held.spec, held.state, held.finished_with
        self.later_control, self.paused_because = held.later_control, held.paused_because
        self.named_rewards = NamedRewards(held.spec, [arm.name for arm in held.arms], held.named_rewards)
        self.arms = {arm.name: arm for arm in held.arms}
        self.learner = learner_of(held.spec).loaded(held.spec, held.learner)
        self.decisions = sum(arm.decisions for arm in held.totals.arms.values())
        self.ledger = Ledger.loads(held.evidence) if held.spec.kind == "arms" else None
        self._take_stock()
        is_linear = held.spec.kind == "linear"
        if is_linear and held.against_control:
            self.against_control = AgainstControl.loads(held.spec, held.against_control)
        elif is_linear:  # it was not kept, so it begins here
            self.against_control = AgainstControl(
                held.spec, self.control, self.seq if self.control in self.open else None
            )
        return self

    def checksum(self) -> str:
        """Return a digest that equal replicas share."""
        return hashlib.sha256(f"{__version__}/".encode() + self.snapshot()).hexdigest()

    def view(self) -> ExperimentView:
        """Return what the experiment looks like from outside."""
        spec = self.spec
        plain = msgspec.structs.asdict
        return ExperimentView(
            self.name, self.state, spec.goal, spec.minimise, spec.drift, spec.policy, list(self.arms.values()),
            self.control, dict(spec.floor), spec.sticky, plain(spec.reward), self.named_rewards.names,
            list(spec.guardrails), self._context_view(), plain(spec.stop), self.finished_with,
            spec.seed, self.seq, self.notes(), spec.points, spec.hypothesis,
        )  # fmt: skip

    def _context_view(self) -> dict[str, Any] | None:
        """Return what decisions come with; for attributes, also what is known about them."""
        rule = self.spec.context
        if rule is None or not isinstance(self.learner, AttributeLearner):
            return None if rule is None else {"shared": rule.shared, "n_features": rule.n_features}
        shown = {"attributes": rule.attributes, "schema": self.learner.agent.schema}
        return shown if rule.time_zone is None else {**shown, "time_zone": rule.time_zone}

    def notes(self) -> list[str]:
        """Return what the owner of the experiment should know."""
        notes = [f"{arm} was paused: {why.rstrip('.')}." for arm, why in self.paused_because.items()]
        rewards = sum(arm.rewards for arm in self.totals.arms.values())
        zeros = sum(arm.zeros for arm in self.totals.arms.values())
        if self.spec.goal == "location":
            if rewards >= 20 and zeros > rewards / 2:
                notes.append(
                    f"{zeros:,} of {rewards:,} rewards are zero, so arms do not differ in location: use goal 'mean'."
                )
            elif rewards < 20:
                notes.append("Rewards that are mostly zero, such as visitors' orders, need goal 'mean'.")
        if self.spec.kind != "lipschitz" and not (self.spec.floor or is_randomised(experiment_policy(self.spec))):
            notes.append("Without a floor p is 0 or 1, so the log allows no off-policy evaluation.")
        enough = min(GUARDED_FLOOR, 0.5 / max(len(self.agent_arms), 1))
        if self.spec.guardrails and any(self.spec.floor.get(arm, 0.0) < enough for arm in self.agent_arms):
            notes.append(
                "Guardrails cannot judge an arm that gets few decisions, nor any arm if the control gets few: "
                f"give a floor of {enough:.2g} to the control and to each arm."
            )
        if isinstance(self.learner, AttributeLearner) and (names := self.learner.agent.left_out):
            parts = ", ".join(names)
            notes.append(f"Part of {parts} is ignored: attributes and arms need more than {MAX_FEATURES} features.")
        if self.spec.drift:
            notes.append("Arms may change, but evidence is about all rewards since the beginning.")
        if self.ledger is not None and zeros_may_be_late(self.spec, self.totals):
            notes.append(
                "Zeros are reported like other rewards. If they come later than what pays, equal arms may seem to "
                "differ: give the reward a window and a default of 0 instead."
            )
        if self.spec.reward.window is None:
            notes.append("Without a window a decision waits for its reward for ever; cancel those that will get none.")
        return notes
