"""The bodies of requests and answers, as types that check themselves."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

MAX_ARMS, MAX_EXPERIMENTS, MAX_BATCH = 1_000, 1_000, 1_000
MAX_FEATURES = 512  # that a policy gets: decision time and snapshot size grow as their square
LARGEST_CONTEXT_NUMBER = 1e6  # in absolute value: even fourth powers are far from overflow
LONGEST_WINDOW_SECONDS = 366 * 86_400  # seconds

# Names appear in paths and on pages, so they have no slashes or control characters and are not "." or "..".  In Python
# "$" also matches before a final line break, which (?!\n) excludes.
Name = Annotated[str, Meta(pattern=r"^(?!\.{1,2}$)[^\x00-\x1f\x7f-\x9f/\\]{1,64}$(?!\n)", max_length=64)]
Key = Annotated[str, Meta(pattern=r"^(?!\.{1,2}$)[^\x00-\x1f\x7f-\x9f/\\]{1,128}$(?!\n)", max_length=128)]
Flag = Annotated[str, Meta(min_length=1)]  # which gets OpenFeature's own error if no experiment can have this name
PARTS = {"experiment": Name, "arm": Name, "decision": Key, "reward": Key, "flag": Flag}  # of paths
Unit = Annotated[str, Meta(min_length=1, max_length=1024)]
Number = float | Literal["Infinity", "-Infinity"]  # JSON has no infinite numbers
Goal = Literal["mean", "location"]
State = Literal["running", "paused", "stopped", "finished"]
ArmState = Literal["running", "paused", "retired"]
Feature = Annotated[float, Meta(ge=-LARGEST_CONTEXT_NUMBER, le=LARGEST_CONTEXT_NUMBER)]
Vector = Annotated[list[Feature], Meta(min_length=1, max_length=MAX_FEATURES)]
Context = Vector | Annotated[dict[Name, Vector], Meta(min_length=1, max_length=MAX_ARMS)]


class Arm(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An arm: its name, and whatever the caller wants to get back when it is chosen."""

    name: Name
    payload: Any = None


class RewardRule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """When a decision's reward is final: at once, or at the end of a window in seconds."""

    window: Annotated[float, Meta(gt=0, le=LONGEST_WINDOW_SECONDS)] | None = None
    default: Number | None = None
    combine: Literal["first", "sum"] = "first"

    @property
    def at_close(self) -> bool:
        """Whether all rewards are learned when the window ends, so that those that come fast do not count more."""
        return self.default is not None or self.combine == "sum"


class ContextRule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What decisions come with: a vector per arm, or one vector that all arms share, each with its own model.

    If the length of a vector is not given, the first one sets it.
    """

    shared: bool = False
    n_features: Annotated[int, Meta(ge=1, le=MAX_FEATURES)] | None = None


class StopRule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """When an experiment has found out enough.

    It has if an arm is shown to be better than every other one; with ``eps``, also if no arm is shown to be better than
    the leader by more than that.  Such a verdict is wrong in at most a share ``delta`` of experiments.  After
    ``budget`` decisions it ends without a winner.  ``then`` says whether it finishes by itself, or people are asked.
    """

    delta: Annotated[float, Meta(gt=0, lt=1)] = 0.05
    eps: Annotated[float, Meta(gt=0)] | None = None
    budget: Annotated[int, Meta(ge=1, lt=2**53)] | None = None
    then: Literal["winner", "ask"] = "ask"


class Experiment(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The description of a new experiment."""

    arms: Annotated[list[Arm], Meta(min_length=1, max_length=MAX_ARMS)]
    goal: Goal = "mean"
    policy: str | dict[str, Any] | None = None
    control: Name | None = None
    floor: dict[Name, Annotated[float, Meta(gt=0, le=1)]] = {}
    sticky: bool = False
    reward: RewardRule = RewardRule()
    context: ContextRule | None = None
    stop: StopRule = StopRule()
    seed: Annotated[int, Meta(ge=0, lt=2**53)] = 0


class Deleted(Struct):
    """An experiment that is gone, and the sequence number of its last event."""

    name: str
    seq: int


class ExperimentChange(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A new state of an experiment, with the arm that all decisions are for once it is finished; or another control."""

    state: State | None = None
    arm: Name | None = None
    control: Name | None = None


class NewArm(Struct, forbid_unknown_fields=True):
    """What a new arm comes with."""

    payload: Any = None


class ArmChange(Struct, forbid_unknown_fields=True):
    """Whether an arm may be chosen."""

    state: Literal["running", "paused"]


class DecisionRequest(Struct, forbid_unknown_fields=True):
    """A request for a decision; one with an ``id`` may be repeated."""

    id: Key | None = None
    unit: Unit | None = None
    among: Annotated[list[Name], Meta(min_length=1, max_length=MAX_ARMS)] | None = None
    context: Context | None = None


class RewardRequest(Struct, forbid_unknown_fields=True):
    """A reward."""

    value: Number


class Observation(Struct, forbid_unknown_fields=True):
    """A reward that no decision of the service led to; one with an ``id`` may be repeated."""

    arm: Name
    value: Number
    id: Key | None = None
    context: Vector | None = None  # the arm's own, or the one that arms share


class BatchItem(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A decision, a reward of a decision, a cancellation or an observation: exactly one."""

    decision: DecisionRequest | UnsetType = UNSET
    reward: BatchReward | UnsetType = UNSET
    cancel: Key | UnsetType = UNSET
    observation: Observation | UnsetType = UNSET


class BatchReward(Struct, forbid_unknown_fields=True):
    """A reward in a batch, with the decision that it belongs to."""

    decision: Key
    value: Number
    id: Key | None = None  # needed if rewards add up


class Batch(Struct, forbid_unknown_fields=True):
    """Many requests in one."""

    items: Annotated[list[BatchItem], Meta(min_length=1, max_length=MAX_BATCH)]


class DecisionAnswer(Struct):
    """A decision.

    ``p`` is the probability with which this arm was chosen; null only for units that an earlier version gave their arm.
    """

    id: str
    arm: str
    payload: Any
    p: float | None
    reason: Literal["policy", "floor", "sticky", "only", "paused", "finished"]
    seq: int
    deadline: str | None


class Accepted(Struct):
    """What became of a reward, a cancellation or an observation; ``learned`` says whether the policy has learned it."""

    id: str
    seq: int
    learned: bool


class ItemAnswer(Struct):
    """The answer to an item of a batch: its status, and the body that it would have had on its own."""

    status: int
    body: Any


class BatchAnswer(Struct):
    """The answers to a batch, in order."""

    items: list[ItemAnswer]


class ArmView(Struct):
    """An arm as it is now."""

    name: str
    payload: Any
    state: ArmState


class ExperimentView(Struct):
    """An experiment as it is now."""

    name: str
    state: State
    goal: Goal
    policy: Any
    arms: list[ArmView]
    control: str
    floor: dict[str, float]
    sticky: bool
    reward: dict[str, Any]
    context: dict[str, Any] | None
    stop: dict[str, Any]
    finished_with: str | None  # the arm that all decisions are for
    seed: int
    seq: int
    notes: list[str]


class ExperimentList(Struct):
    """All experiments."""

    experiments: list[ExperimentView]


class Change(Struct):
    """Who changed what, and when."""

    seq: int
    time: str
    change: Any


class Audit(Struct):
    """Changes to an experiment, in order."""

    changes: list[Change]


class Problem(Struct, omit_defaults=True):
    """An error, as in RFC 9457."""

    title: str
    status: int
    detail: str = ""
    type: str = "about:blank"


def as_float(value: Number) -> float:
    """Return a number as a float; a negative zero becomes a positive one, because SQLite does not keep its sign.

    Examples
    --------
    >>> as_float("-Infinity"), as_float(3), as_float(-0.0)
    (-inf, 3.0, 0.0)
    """
    return float(value) + 0.0


def as_json(value: float) -> Number:
    """Return a number in JSON's form.

    Examples
    --------
    >>> as_json(2.0), as_json(float("inf"))
    (2.0, 'Infinity')
    """
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
