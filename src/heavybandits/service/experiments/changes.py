"""Changes to experiments: their state, control and end, and arms that are added, paused, resumed and retired."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import ValidationError, convert
from msgspec.structs import replace

from ...protocols import is_named_tuple
from ..events import Config
from ..forms import ArmView
from ..log.turn import Command, ExperimentTurn, Outcome, refusal
from ..replicas.learners.attributes import AttributeLearner
from ..replicas.learners.policy import can_correct, experiment_policy
from ..replicas.named_rewards import guardrails_of
from ..spec import MAX_ARMS, MAX_FEATURES, POINT, Arm, Experiment, Name, Range, StopRule
from .trial import check_payloads, kept_of, try_out


def check_experiment(spec: Experiment) -> None:
    """Refuse an invalid experiment.

    Examples
    --------
    >>> from heavybandits.service.spec import Arm
    >>> check_experiment(Experiment(arms=[Arm("a")], control="b"))
    Traceback (most recent call last):
        ...
    ValueError: control must be one of the arms, got 'b'
    """
    names = [arm.name for arm in spec.arms]
    if not names:
        raise ValueError("arms must be given, or the ranges of points")
    if spec.points is not None:
        check_points(spec, spec.points)
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(f"arms must have different names, got {name!r} twice")
    if spec.control is not None and spec.control not in names:
        raise ValueError(f"control must be one of the arms, got {spec.control!r}")
    for arm in spec.floor:
        if arm not in names:
            raise ValueError(f"floor must name arms of the experiment, got {arm!r}")
    if sum(spec.floor.values()) > 1.0 + 1e-12:
        raise ValueError(f"shares of the floor must add up to at most 1, got {sum(spec.floor.values())}")
    if spec.context is not None and spec.context.attributes and (spec.context.shared or spec.context.n_features):
        raise ValueError("context must not have shared or n_features beside attributes, which make features")
    if spec.minimise:
        check_range(experiment_policy(spec))
    if spec.reward.at_close and spec.reward.window is None:
        raise ValueError("reward must have a window if it has a default or is a sum: neither is final before its end")
    if spec.reward.provisional and spec.reward.default is None:
        raise ValueError("reward must have a default if that is provisional")
    if spec.reward.provisional and not can_correct(spec):
        raise ValueError("reward must not be provisional with this policy, which cannot unlearn a reward; "
                         "'auto-mean' and 'thompson-beta' can")  # fmt: skip
    for rail in guardrails_of(spec):
        try:
            convert(rail.column, Name)
        except ValidationError:
            raise ValueError(f"guardrails must be about names of rewards, got {rail.text!r}") from None
    if spec.guardrails and spec.context is not None:
        raise ValueError("guardrails must not be given with a context: arms then get different decisions")
    if spec.guardrails and spec.drift:
        raise ValueError(
            "guardrails must not be given with drift: arms that change would be compared at different times"
        )
    if spec.stop != StopRule() and spec.context is not None:
        raise ValueError("stop must not be given with a context: the best arm then differs from decision to decision")
    if spec.stop.then == "winner" and spec.drift:
        raise ValueError("stop must leave the end to people if there is drift: what is the winner now may change")
    try_out(spec)


def as_created(spec: Experiment) -> Experiment:
    """Return the experiment with a provisional default if nothing is said about that and its policy allows it.

    Examples
    --------
    >>> from heavybandits.service.spec import RewardRule
    >>> as_created(Experiment(arms=[], reward=RewardRule(60, 0.0))).reward.provisional
    True
    """
    rule = spec.reward
    if rule.provisional is not None or rule.default is None or not can_correct(spec):
        return spec
    return replace(spec, reward=replace(rule, provisional=True))


def check_range(policy: Any) -> None:
    """Refuse a policy for costs whose range has none: it learns them as negative rewards.

    Examples
    --------
    >>> from heavybandits.algorithms.registry import make
    >>> check_range(make("thompson-beta", low=-1.0, high=0.0))
    >>> check_range(make("thompson-beta"))
    Traceback (most recent call last):
        ...
    ValueError: policy must have a range below 0, such as low=-1 and high=0, because it learns costs as negative \
rewards; got low=0 and high=1
    """
    low, high = getattr(policy, "low", None), getattr(policy, "high", None)
    if low is not None and high is not None and low >= 0.0:
        raise ValueError("policy must have a range below 0, such as low=-1 and high=0, because it learns costs as "
                         f"negative rewards; got low={low:g} and high={high:g}")  # fmt: skip
    for part in filter(is_named_tuple, policy):
        check_range(part)


def check_points(spec: Experiment, ranges: Mapping[str, Range]) -> None:
    """Refuse what makes no sense where decisions are points.

    Examples
    --------
    >>> check_points(Experiment(points={"price": [5, 5]}), {"price": [5, 5]})
    Traceback (most recent call last):
        ...
    ValueError: points must have ranges from a lower to a higher finite number, got 5 to 5 for 'price'
    """
    if spec.arms != [Arm(POINT)]:
        raise ValueError("arms must be left out if the decisions are points")
    for name, (low, high) in ranges.items():
        if not (low < high and math.isfinite(high - low)):
            wanted = "ranges from a lower to a higher finite number"
            raise ValueError(f"points must have {wanted}, got {low:g} to {high:g} for {name!r}")
    given = {
        "context": spec.context, "floor": spec.floor, "control": spec.control, "drift": spec.drift,
        "guardrails": spec.guardrails, "stop": spec.stop != StopRule(),
    }  # fmt: skip
    for field, value in given.items():
        if value:
            raise ValueError(f"{field} must not be given if the decisions are points")


class Configure(Command, frozen=True):
    """A change to an existing experiment."""

    config: Config

    def run(self, turn: ExperimentTurn) -> Outcome:
        """Make the change, unless it has been made already."""
        replica, change = turn.replica, self.config
        if change.state is not None:
            if change.state != replica.state:
                self._append(turn, None)
            return Outcome(200, replica.view())
        if change.finish is not None or change.control is not None:
            return self._choose(turn, str(change.finish or change.control))
        if change.add is not None:
            return self._add(turn, change.add)
        name = str(change.pause or change.resume or change.retire)
        arm = replica.arms.get(name)
        if arm is None:
            return refusal(404, "unknown arm", f"there is no arm {name!r}")
        if replica.spec.points is not None:
            return refusal(409, "arms are fixed", "the decisions are points: pause the experiment instead")
        wanted = "paused" if change.pause else "running" if change.resume else "retired"
        if arm.state == "retired" != wanted:
            return refusal(409, "retired", f"arm {name!r} is retired for good")
        if wanted == "retired" != arm.state and len(replica.agent_arms) == 1:
            return refusal(409, "only arm", f"arm {name!r} is the only one left")
        if arm.state != wanted:
            self._append(turn, name)
        return Outcome(200, replica.arms[name])

    def _choose(self, turn: ExperimentTurn, name: str) -> Outcome:
        """Let all decisions be for an arm from now on, or make it the control."""
        replica = turn.replica
        if name not in replica.arms:
            return refusal(404, "unknown arm", f"there is no arm {name!r}")
        if name not in replica.agent_arms:
            return refusal(409, "retired", f"arm {name!r} is retired for good")
        if name != (replica.finished_with if self.config.finish else replica.control):
            self._append(turn, name)
        return Outcome(200, replica.view())

    def _add(self, turn: ExperimentTurn, name: str) -> Outcome:
        arm, new = turn.replica.arms.get(name), ArmView.of(self.config.added)
        if arm is not None:
            if arm.state == "retired" or (arm.payload, arm.attributes) != (new.payload, new.attributes):
                return refusal(409, "name in use", f"there is, or was, a different arm named {name!r}")
            return Outcome(200, arm)
        if turn.replica.spec.points is not None:
            return refusal(409, "arms are fixed", "the decisions of this experiment are points: it has no other arms")
        if not turn.replica.learner.takes_arms:
            why = f"an arm has its own model, and there must be at most {MAX_FEATURES} features in all"
            if not isinstance(turn.replica.learner, AttributeLearner):
                why = "each arm that shares a context has its own model"
            return refusal(409, "arms are fixed", f"{why}: none can be added")
        if len(turn.replica.arms) >= MAX_ARMS:
            return refusal(409, "too many arms", f"an experiment has at most {MAX_ARMS} arms")
        try:
            turn.replica.check_arm(self.config.attributes)
            check_payloads([part for each in (new, *turn.replica.arms.values()) for part in kept_of(each)])
        except ValueError as error:
            return refusal(422, "invalid", str(error))
        self._append(turn, name)
        return Outcome(201, new)

    def _append(self, turn: ExperimentTurn, arm: str | None) -> None:
        turn.append("config", None, arm, body=msgspec.json.encode(self.config).decode())
