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
from ..events import Event
from ..spec import ArmView, Context, Experiment, ExperimentView, State
from .learners import ArmsLearner, Learner, experiment_policy
from .linear_learner import LinearLearner
from .links import first_link, next_link
from .snapshots import ReplicaState, opened, opened_sorted, sealed
from .totals import ArmTotals, Totals

ARMS_OVER_TIME = 64  # most arms for which estimates are kept over time


class Config(msgspec.Struct, omit_defaults=True):
    """The body of a config event: one of the fields is set."""

    create: Experiment | None = None
    state: State | None = None
    add: str | None = None
    payload: Any = None  # of the arm that is added
    pause: str | None = None
    resume: str | None = None
    retire: str | None = None
    finish: str | None = None  # the arm that all decisions are for from now on
    control: str | None = None
    why: str | None = None  # it finished by itself
    by: str | None = None  # the token's id


class DecisionBody(msgspec.Struct, omit_defaults=True):
    """The body of a decision event: what was asked for."""

    unit: str | None = None  # its hash
    among: list[str] | None = None
    context: Context | None = None


NOTHING_SAID = DecisionBody()
_configs, _bodies = msgspec.json.Decoder(Config), msgspec.json.Decoder(DecisionBody)


def learner_of(spec: Experiment) -> Learner:
    """Return the learner of a new experiment."""
    return ArmsLearner.made(spec) if spec.context is None else LinearLearner.made(spec)


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
        self.ledger: Ledger | None = None  # None if decisions depend on contexts, so that no arm is best for all

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
        offered = context if isinstance(context, dict) else self.open
        if among is None and offered is self.open:
            return self.open
        return [arm for arm in self.open if arm in offered and (among is None or arm in among)]

    def check_vector(self, arm: str, vector: list[float] | None) -> None:
        """Refuse an observation's vector that does not fit."""
        of_arm = vector is not None and self.spec.context is not None and not self.spec.context.shared
        self.learner.check({arm: vector} if of_arm and vector is not None else vector)

    def apply(self, event: Event) -> None:
        """Take in an event of the log."""
        if event.seq != self.seq + 1:
            raise ValueError(f"{self.name}: the next event must be {self.seq + 1}, got {event.seq}")
        if event.kind == "decision" and event.arm in self.agent_arms:
            body = NOTHING_SAID if event.body is None else _bodies.decode(event.body)
            self.assign(str(event.key), event.arm, body.among, body.context)
        self.note(event)

    def note(self, event: Event) -> None:
        """Take in an event, except the choice that a decision makes, which has just been made."""
        kind, arm = event.kind, event.arm
        if kind == "decision":
            self.decisions += 1
            if arm in self.agent_arms:
                self.learner.decided(event)
            self.totals.decided(event, self.estimates)
        elif kind == "config":
            self._configure(_configs.decode(event.body or ""))
        elif kind == "late":
            self.totals.arms[str(arm)].late += 1
        elif kind == "cancel" or (kind == "close" and event.value is None):
            self.totals.arms[str(arm)].given_up += 1
            self.learner.give_up(event)
        elif kind == "reward" and self.spec.reward.at_close:
            self.totals.reported(event)
        elif kind == "retract":
            pass  # nothing has been learned yet
        elif kind not in ("reward", "observe", "close"):
            raise ValueError(f"this version of heavybandits does not know events of kind {kind!r}")
        else:
            if kind == "reward":
                self.totals.reported(event)
            self.learner.learn(event)
            self.totals.rewarded(event, self.estimates)
            if self.ledger is not None:
                self.ledger.learn(str(arm), float(event.value or 0.0))
        self.seq, self.link = event.seq, next_link(self.link, event)

    def estimates(self) -> dict[str, float]:
        """Return the policy's estimate of each arm that has one."""
        if len(self.agent_arms) > ARMS_OVER_TIME:
            return {}
        return {row.arm: row.estimate for row in self.learner.rows() if row.estimate == row.estimate}

    def _configure(self, change: Config) -> None:
        if change.create is not None:
            self.spec = change.create
            names = [arm.name for arm in change.create.arms]
            self.arms = {arm.name: ArmView(arm.name, arm.payload, "running") for arm in change.create.arms}
            self.totals.arms = {name: ArmTotals() for name in names}
            self.learner = learner_of(change.create)
            self.ledger = Ledger(names, change.create.goal) if change.create.context is None else None
        elif change.finish is not None:
            self.state, self.finished_with = "finished", change.finish
        elif change.state is not None:
            self.state, self.finished_with = change.state, None
        elif change.control is not None:
            self.later_control = change.control
        elif change.add is not None:
            self.arms[change.add] = ArmView(change.add, change.payload, "running")
            self.totals.arms[change.add] = ArmTotals()
            self.learner.add_arm(change.add)
            if self.ledger is not None:
                self.ledger.add_arm(change.add)
        elif change.retire is not None:
            self.arms[change.retire].state = "retired"
            self.learner.remove_arm(change.retire)
        elif change.pause is not None:
            self.arms[change.pause].state = "paused"
        elif change.resume is not None:
            self.arms[change.resume].state = "running"
        self._take_stock()

    def _take_stock(self) -> None:
        self.agent_arms = {arm.name for arm in self.arms.values() if arm.state != "retired"}
        self.open = [arm.name for arm in self.arms.values() if arm.state == "running"]
        self.control = self.later_control or self.spec.control or self.spec.arms[0].name

    def snapshot(self) -> bytes:
        """Return the whole replica as bytes."""
        arms = list(self.arms.values())
        evidence = b"" if self.ledger is None else self.ledger.dumps()
        held = ReplicaState(
            self.seq, self.link, self.spec, self.state, arms, self.learner.dumps(), self.totals, evidence
        )
        held.finished_with, held.later_control = self.finished_with, self.later_control
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
        self.later_control = held.later_control
        self.arms = {arm.name: arm for arm in held.arms}
        is_linear = held.spec.context is not None
        self.learner = LinearLearner.loaded(held.spec, held.learner) if is_linear else ArmsLearner.loaded(held.learner)
        self.decisions = sum(arm.decisions for arm in held.totals.arms.values())
        self.ledger = None if is_linear else Ledger.loads(held.evidence)
        self._take_stock()
        return self

    def checksum(self) -> str:
        """Return a digest that equal replicas share."""
        return hashlib.sha256(f"{__version__}/".encode() + self.snapshot()).hexdigest()

    def view(self) -> ExperimentView:
        """Return what the experiment looks like from outside."""
        spec = self.spec
        return ExperimentView(
            self.name, self.state, spec.goal, spec.policy, list(self.arms.values()), self.control, dict(spec.floor),
            spec.sticky, msgspec.structs.asdict(spec.reward),
            None if spec.context is None else msgspec.structs.asdict(spec.context), msgspec.structs.asdict(spec.stop),
            self.finished_with, spec.seed, self.seq, self.notes(),
        )  # fmt: skip

    def notes(self) -> list[str]:
        """Return what the owner of the experiment should know."""
        notes = []
        rewards = sum(arm.rewards for arm in self.totals.arms.values())
        zeros = sum(arm.zeros for arm in self.totals.arms.values())
        if self.spec.goal == "location":
            if rewards >= 20 and zeros > rewards / 2:
                notes.append(
                    f"{zeros} of {rewards} rewards are zero, so arms do not differ in location: use goal 'mean'"
                )
            elif rewards < 20:
                notes.append("rewards that are mostly zero, such as visitors' orders, need goal 'mean'")
        if not (self.spec.floor or is_randomised(experiment_policy(self.spec))):
            notes.append("without a floor p is 0 or 1, so the log allows no off-policy evaluation")
        if self.spec.reward.window is None:
            notes.append("without a window a decision waits for its reward for ever; cancel those that will get none")
        return notes
