"""A replica of an experiment: an agent, and totals, that only the events of the log change, in their order.

Every server, every restart and every replay goes through the same calls in the same order, so all hold the same bits.
A server that makes a decision makes it on its replica in the transaction that stores it; if that fails, the replica is
thrown away and read again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from .. import __version__
from ..algorithms.registry import estimators, make, policies
from ..online.agent import Agent
from ..online.decisions import Assigned
from .events import Event
from .spec import ArmView, Experiment, ExperimentView, State
from .totals import ArmTotals, Totals

SHOWN = 64  # arms up to which estimates are kept over time


class Config(msgspec.Struct, omit_defaults=True):
    """The body of a config event: one of the fields is set."""

    create: Experiment | None = None
    state: State | None = None
    add: str | None = None
    payload: Any = None  # of the arm that is added
    pause: str | None = None
    resume: str | None = None
    retire: str | None = None
    by: str | None = None  # the token's id


class DecisionBody(msgspec.Struct, omit_defaults=True):
    """The body of a decision: what was asked for, as far as there is anything to say."""

    unit: str | None = None  # its hash
    among: list[str] | None = None


class Held(msgspec.Struct):
    """The contents of a snapshot."""

    seq: int
    spec: Experiment
    state: State
    arms: dict[str, ArmView]
    agent: bytes
    totals: Totals


_configs, _bodies = msgspec.json.Decoder(Config), msgspec.json.Decoder(DecisionBody)
_encode, _decode = msgspec.msgpack.Encoder(order="deterministic").encode, msgspec.msgpack.Decoder(Held).decode


def policy_of(spec: Experiment) -> Any:
    """Return the policy of an experiment: its own, or the one that needs no knowledge for its goal.

    Only what is registered is made: a request cannot name code to run.

    Examples
    --------
    >>> policy_of(Experiment(arms=[], policy="ucb"))
    UCB(c=1.0)
    >>> policy_of(Experiment(arms=[], policy="mine.py:Mine"))
    Traceback (most recent call last):
        ...
    ValueError: policy must be made of registered ones, got 'mine.py:Mine'
    """
    default = "auto-mean" if spec.goal == "mean" else "auto"
    given = spec.policy if spec.policy is not None else default
    description = {"kind": given} if isinstance(given, str) else given
    for kind in _kinds(description):
        if kind not in policies() and kind not in estimators():
            raise ValueError(f"policy must be made of registered ones, got {kind!r}")
    if description["kind"] not in policies():
        raise ValueError(f"policy must be a policy, got {description['kind']!r}, which is an estimator")
    return make(**description)


def _kinds(description: Any) -> Iterable[Any]:
    """Yield the names of all that a description is made of."""
    if "kind" not in description:
        raise ValueError("policy must have a kind, such as {'kind': 'ucb', 'c': 2}")
    yield description["kind"]
    for value in description.values():
        if isinstance(value, dict):
            yield from _kinds(value)


class Replica:
    """An experiment as its events have made it.

    Parameters
    ----------
    exp, name
        The experiment's number and name.
    """

    def __init__(self, exp: int, name: str) -> None:
        self.exp, self.name, self.seq = exp, name, 0
        self.spec = Experiment(arms=[])
        self.state: State = "running"
        self.arms: dict[str, ArmView] = {}
        self.totals = Totals()
        self.open: list[str] = []
        self.agent_arms: set[str] = set()
        self.control = ""
        self.agent: Agent

    def assign(self, key: str, given: str | None, among: list[str] | None) -> Assigned:
        """Make the decision of this key: for the arm that is given, or else for one that the policy chooses."""
        open_arms = self.open_among(among)
        restricted = None if len(open_arms) == len(self.agent_arms) else open_arms
        return self.agent.assign(given, restricted, self.digest("policy", key))

    def digest(self, purpose: str, key: str) -> bytes:
        """Return what stands for chance in the decision of this key: the same on every server."""
        return hashlib.sha256(f"{purpose}/{self.spec.seed}/{self.name}/{key}".encode()).digest()

    def open_among(self, among: list[str] | None) -> list[str]:
        """Return the arms that may be chosen now."""
        return self.open if among is None else [arm for arm in self.open if arm in among]

    def apply(self, event: Event) -> None:
        """Take in an event of the log."""
        if event.seq != self.seq + 1:
            raise ValueError(f"{self.name}: after event {self.seq} must come the next one, got {event.seq}")
        if event.kind == "decision":
            among = None if event.body is None else _bodies.decode(event.body).among
            if event.arm in self.agent_arms:
                self.assign(str(event.key), event.arm, among)
        self.note(event)

    def note(self, event: Event) -> None:
        """Take in an event, but for the choice that a decision is, which was made just now."""
        kind, arm = event.kind, event.arm
        if kind == "decision":
            if event.p is not None and self.spec.floor and arm in self.agent_arms:
                self.agent.correct_chance(arm, event.p)
            self.totals.decided(event, self.estimates)
        elif kind == "config":
            self._configure(_configs.decode(event.body or ""))
        elif kind == "late":
            self.totals.arms[str(arm)].late += 1
        elif kind == "cancel" or (kind == "close" and event.value is None):
            self.totals.arms[str(arm)].given_up += 1
            if arm in self.agent_arms:
                self.agent.cancel(arm)
        elif kind == "reward" and self.spec.reward.at_close:
            self.totals.reported(event)
        else:  # a reward, an observation, or the end of a window
            if kind == "reward":
                self.totals.reported(event)
            if arm in self.agent_arms:
                self.agent.update(arm, event.value or 0.0, asked=kind != "observe")
            self.totals.rewarded(event, self.estimates)
        self.seq = event.seq

    def estimates(self) -> dict[str, float]:
        """Return the policy's estimate of each arm that has one."""
        if len(self.agent_arms) > SHOWN:
            return {}
        return {row.arm: row.estimate for row in self.agent.rows() if row.estimate == row.estimate}

    def _configure(self, change: Config) -> None:
        if change.create is not None:
            self.spec = change.create
            names = [arm.name for arm in change.create.arms]
            self.arms = {arm.name: ArmView(arm.name, arm.payload, "running") for arm in change.create.arms}
            self.totals.arms = {name: ArmTotals() for name in names}
            self.agent = Agent(policy_of(change.create), arms=names, seed=change.create.seed)
        elif change.state is not None:
            self.state = change.state
        elif change.add is not None:
            self.arms[change.add] = ArmView(change.add, change.payload, "running")
            self.totals.arms[change.add] = ArmTotals()
            self.agent.add_arm(change.add)
        elif change.retire is not None:
            self.arms[change.retire].state = "retired"
            self.agent.remove_arm(change.retire)
        elif change.pause is not None:
            self.arms[change.pause].state = "paused"
        elif change.resume is not None:
            self.arms[change.resume].state = "running"
        self._take_stock()

    def _take_stock(self) -> None:
        self.agent_arms = set(self.agent.arms)
        self.open = [arm.name for arm in self.arms.values() if arm.state == "running"]
        self.control = self.spec.control or self.spec.arms[0].name

    def snapshot(self) -> bytes:
        """Return all that the replica is."""
        return _encode(Held(self.seq, self.spec, self.state, self.arms, self.agent.dumps(), self.totals))

    @classmethod
    def restored(cls, exp: int, name: str, contents: bytes) -> Replica:
        """Return the replica that a snapshot was made of."""
        replica, held = cls(exp, name), _decode(contents)
        replica.seq, replica.spec, replica.state, replica.arms = held.seq, held.spec, held.state, held.arms
        replica.totals, replica.agent = held.totals, Agent.loads(held.agent)
        replica._take_stock()
        return replica

    def checksum(self) -> str:
        """Return a digest that equal replicas share."""
        return hashlib.sha256(f"{__version__}/".encode() + self.snapshot()).hexdigest()

    def view(self) -> ExperimentView:
        """Return what the experiment looks like from outside."""
        spec = self.spec
        return ExperimentView(
            self.name, self.state, spec.goal, spec.policy, list(self.arms.values()), self.control, dict(spec.floor),
            spec.sticky, msgspec.structs.asdict(spec.reward), spec.seed, self.seq, self.notes(),
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
                notes.append("rewards that are mostly zero, such as orders of visitors, want goal 'mean'")
        if not self.spec.floor:
            notes.append(
                "without a floor p is 0 or 1, unless the policy draws: the log allows no off-policy evaluation"
            )
        if self.spec.reward.window is None:
            notes.append("without a window a decision waits for its reward for ever; cancel those that will get none")
        return notes
