"""The bodies of requests and answers, as types that check themselves."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from .spec import (
    MAX_ARMS,
    MAX_BATCH,
    Arm,
    ArmState,
    Attributes,
    Context,
    Coordinates,
    Goal,
    Key,
    Name,
    Number,
    OneContext,
    QuantileGoal,
    Range,
    State,
    Unit,
)


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
    attributes: Attributes = {}


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
    """A reward; one with a name is not learned, but compared and guarded."""

    value: Number
    name: Name | None = None


class Observation(Struct, forbid_unknown_fields=True):
    """A reward that no decision of the service led to; one with an ``id`` may be repeated."""

    value: Number
    arm: Name | None = None  # left out if there is a point
    id: Key | None = None
    context: OneContext | None = None  # the arm's own, or the one that arms share
    point: Coordinates | None = None


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
    name: Name | None = None


class Batch(Struct, forbid_unknown_fields=True):
    """Many requests in one."""

    items: Annotated[list[BatchItem], Meta(min_length=1, max_length=MAX_BATCH)]


class DecisionAnswer(Struct):
    """A decision; if it is a point, the arm is called "point", and ``point`` has the coordinates.

    ``p`` is the probability with which this arm was chosen; null only for units that an earlier version gave their arm.
    """

    id: str
    arm: str
    payload: Any
    p: float | None
    reason: Literal["policy", "floor", "sticky", "only", "paused", "finished"]
    seq: int
    deadline: str | None
    point: dict[str, float] | UnsetType = UNSET  # left out of other decisions


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
    attributes: Attributes | UnsetType = UNSET  # left out if it has none

    @classmethod
    def of(cls, arm: Arm) -> ArmView:
        """Return a new arm."""
        return cls(arm.name, arm.payload, "running", arm.attributes or UNSET)


class ExperimentView(Struct):
    """An experiment as it is now."""

    name: str
    state: State
    goal: Goal | QuantileGoal
    minimise: bool
    drift: bool
    policy: Any
    arms: list[ArmView]
    control: str
    floor: dict[str, float]
    sticky: bool
    reward: dict[str, Any]
    named_rewards: list[str]
    guardrails: list[str]
    context: dict[str, Any] | None
    stop: dict[str, Any]
    finished_with: str | None  # the arm that all decisions are for
    seed: int
    seq: int
    notes: list[str]
    points: dict[str, Range] | None = None
    hypothesis: str = ""


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
