"""What an experiment is made from, in requests and in the log, as types that check themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

MAX_ARMS, MAX_EXPERIMENTS, MAX_BATCH = 1_000, 1_000, 1_000
MAX_FEATURES = 512  # that a policy gets: decision time and snapshot size grow as their square
LARGEST_CONTEXT_NUMBER = 1e6  # in absolute value: even fourth powers are far from overflow
MAX_NAMED_REWARDS = 20  # and guardrails
MAX_COORDINATES = 8  # of a point: more than four are hard to search
POINT = "point"  # the only arm of an experiment whose decisions are points
LARGEST_ATTRIBUTE = 10**15  # in absolute value: times in microseconds are allowed
MAX_ATTRIBUTES = 100
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
GuardrailText = Annotated[str, Meta(max_length=200)]  # such as "quality >= -2%"
Hypothesis = Annotated[str, Meta(max_length=1000, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")]
State = Literal["running", "paused", "stopped", "finished"]
ArmState = Literal["running", "paused", "retired"]
Feature = Annotated[float, Meta(ge=-LARGEST_CONTEXT_NUMBER, le=LARGEST_CONTEXT_NUMBER)]
Vector = Annotated[list[Feature], Meta(min_length=1, max_length=MAX_FEATURES)]
Range = Annotated[list[float], Meta(min_length=2, max_length=2)]  # from, to
Ranges = Annotated[dict[Name, Range], Meta(min_length=1, max_length=MAX_COORDINATES)]
Coordinates = Annotated[dict[Name, float], Meta(min_length=1, max_length=MAX_COORDINATES)]
AttributeNumber = Meta(ge=-LARGEST_ATTRIBUTE, le=LARGEST_ATTRIBUTE)
AttributeText = Annotated[str, Meta(max_length=200)]
AttributeValue = bool | Annotated[int, AttributeNumber] | Annotated[float, AttributeNumber] | AttributeText | None
Attributes = Annotated[dict[Name, AttributeValue], Meta(max_length=MAX_ATTRIBUTES)]
AttributeKind = (
    Literal["number", "category", "boolean", "datetime", "hour", "weekday"]
    | Annotated[int, Meta(ge=1, le=MAX_FEATURES)]  # the largest number of levels
    | Annotated[list[AttributeText], Meta(min_length=1, max_length=MAX_FEATURES)]  # the only levels
)
Schema = Annotated[dict[Name, AttributeKind], Meta(min_length=1, max_length=MAX_ATTRIBUTES)]
Context = Vector | Annotated[dict[Name, Vector | Attributes], Meta(min_length=1, max_length=MAX_ARMS)]
OneContext = Vector | Annotated[dict[Literal["attributes"], Attributes], Meta(min_length=1)]


class QuantileGoal(Struct, frozen=True, forbid_unknown_fields=True):
    """The quantile of rewards that is to be high, or low if they are costs.

    Examples
    --------
    >>> print(QuantileGoal(0.95))
    95% quantile
    """

    quantile: Annotated[float, Meta(gt=0, lt=1)]

    def __str__(self) -> str:
        return f"{100 * self.quantile:g}% quantile"


class Arm(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An arm: its name, whatever the caller wants to get back when it is chosen, and its attributes.

    It may have attributes if decisions come with attributes.
    """

    name: Name
    payload: Any = None
    attributes: Attributes = {}


class RewardRule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """When a decision's reward is final: at once, or at the end of a window in seconds.

    A ``provisional`` default is learned at once, and corrected when the reward comes.  If that is left out, a new
    experiment does so if its policy can unlearn a reward.
    """

    window: Annotated[float, Meta(gt=0, le=LONGEST_WINDOW_SECONDS)] | None = None
    default: Number | None = None
    combine: Literal["first", "sum"] = "first"
    provisional: bool | None = None

    @property
    def at_close(self) -> bool:
        """Whether rewards are final when the window ends, so that those that come fast do not count more."""
        return self.default is not None or self.combine == "sum"


class ContextRule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What decisions come with: a vector per arm, one vector that all arms share, or named attributes.

    If the length of a vector is not given, the first one sets it.  With attributes or a shared vector, each arm has its
    own model.  The schema of attributes may be given, or else is found out.  If a time zone is given, such as
    "Europe/Berlin", an attribute ``time`` says when each decision was made there, unless the request has one.
    """

    shared: bool = False
    n_features: Annotated[int, Meta(ge=1, le=MAX_FEATURES)] | None = None
    attributes: bool | Schema = False
    time_zone: Annotated[str, Meta(min_length=1, max_length=100)] | None = None

    @property
    def is_of_arms(self) -> bool:
        """Whether each arm comes with a vector of its own."""
        return not self.shared and not self.attributes


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
    """The description of a new experiment: its arms, or the ranges of the points that its decisions are."""

    arms: Annotated[list[Arm], Meta(min_length=1, max_length=MAX_ARMS)] = []
    goal: Goal | QuantileGoal = "mean"
    minimise: bool = False  # rewards are costs
    drift: bool = False  # arms may change, so the policy starts afresh when one does
    policy: str | dict[str, Any] | None = None
    control: Name | None = None
    floor: dict[Name, Annotated[float, Meta(gt=0, le=1)]] = {}
    sticky: bool = False
    reward: RewardRule = RewardRule()
    named_rewards: Annotated[list[Name], Meta(max_length=MAX_NAMED_REWARDS)] = []  # besides the one that is learned
    guardrails: Annotated[list[GuardrailText], Meta(max_length=MAX_NAMED_REWARDS)] = []
    context: ContextRule | None = None
    stop: StopRule = StopRule()
    seed: Annotated[int, Meta(ge=0, lt=2**53)] = 0
    points: Ranges | None = None
    hypothesis: Hypothesis = ""  # what is tried and what is expected, for people

    def __post_init__(self) -> None:
        if self.points is not None and not self.arms:
            self.arms = [Arm(POINT)]

    @property
    def kind(self) -> Literal["arms", "linear", "lipschitz"]:
        """What the policy chooses: an arm, a row of features or a point."""
        return "linear" if self.context is not None else "arms" if self.points is None else "lipschitz"

    @property
    def first_control(self) -> str:
        """The arm that others are compared with until people choose another one."""
        return self.control or self.arms[0].name

    @property
    def sign(self) -> int:
        """By what to multiply what is reported, so that more is better."""
        return -1 if self.minimise else 1

    @property
    def compared_by(self) -> str | float:
        """What evidence is about: ``"mean"``, ``"location"``, or the level of a quantile."""
        return self.goal.quantile if isinstance(self.goal, QuantileGoal) else self.goal


def offered_in(context: Context | None) -> Mapping[str, Any] | None:
    """Return the arms that a context names, each with its vector; None if it is for all arms.

    Examples
    --------
    >>> offered_in({"small": [1.0]}), offered_in([1.0]), offered_in({"attributes": {"age": 31}})
    ({'small': [1.0]}, None, None)
    """
    return context if isinstance(context, dict) and attributes_in(context) is None else None


def attributes_in(context: Any) -> dict[str, Any] | None:
    """Return the attributes of a context, if it has any.

    Examples
    --------
    >>> attributes_in({"attributes": {"age": 31}}), attributes_in({"attributes": [1.0]}), attributes_in([1.0])
    ({'age': 31}, None, None)
    """
    held = context.get("attributes") if isinstance(context, dict) else None
    return held if isinstance(held, dict) else None


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
