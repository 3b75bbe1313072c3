"""Changes to experiments: their state, control and end, and arms that are added, paused, resumed and retired."""

from __future__ import annotations

from collections import Counter

import msgspec

from ..log.turn import Command, ExperimentTurn, Outcome, refusal
from ..replicas.replica import Config
from ..spec import MAX_ARMS, ArmView, Experiment, StopRule
from .trial import check_payloads, try_out


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
    if spec.reward.at_close and spec.reward.window is None:
        raise ValueError("reward must have a window if it has a default or is a sum: neither is final before its end")
    if spec.stop != StopRule() and spec.context is not None:
        raise ValueError("stop must not be given with a context: the best arm then differs from decision to decision")
    try_out(spec)


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
        arm = turn.replica.arms.get(name)
        if arm is not None:
            if arm.state == "retired" or arm.payload != self.config.payload:
                return refusal(409, "name in use", f"there is, or was, a different arm named {name!r}")
            return Outcome(200, arm)
        if turn.replica.spec.context is not None and turn.replica.spec.context.shared:
            return refusal(409, "arms are fixed", "each arm that shares a context has its own model: none can be added")
        if len(turn.replica.arms) >= MAX_ARMS:
            return refusal(409, "too many arms", f"an experiment has at most {MAX_ARMS} arms")
        try:
            check_payloads([self.config.payload, *(each.payload for each in turn.replica.arms.values())])
        except ValueError as error:
            return refusal(422, "invalid", str(error))
        self._append(turn, name)
        return Outcome(201, ArmView(name, self.config.payload, "running"))

    def _append(self, turn: ExperimentTurn, arm: str | None) -> None:
        turn.append("config", None, arm, body=msgspec.json.encode(self.config).decode())
