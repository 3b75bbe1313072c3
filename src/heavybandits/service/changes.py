"""Changes of experiments: their state, and arms that come, pause and go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from ..online.agent import Agent
from .replica import Config, Replica, policy_of
from .spec import MAX_ARMS, ArmView, Experiment
from .turn import Outcome, Turn, problem


def check(spec: Experiment) -> None:
    """Refuse an experiment that cannot be; what its policy needs is compiled on the way.

    Examples
    --------
    >>> from heavybandits.service.spec import Arm
    >>> check(Experiment(arms=[Arm("a")], control="b"))
    Traceback (most recent call last):
        ...
    ValueError: control must be one of the arms, got 'b'
    """
    names = [arm.name for arm in spec.arms]
    if len(set(names)) < len(names):
        raise ValueError("arms must have different names")
    if spec.control is not None and spec.control not in names:
        raise ValueError(f"control must be one of the arms, got {spec.control!r}")
    for arm in spec.floor:
        if arm not in names:
            raise ValueError(f"floor must name arms of the experiment, got {arm!r}")
    if sum(spec.floor.values()) > 1.0 + 1e-12:
        raise ValueError(f"shares of the floor must add up to 1 at most, got {sum(spec.floor.values())}")
    if spec.reward.at_close and spec.reward.window is None:
        raise ValueError("reward must have a window if it has a default or adds up, for only its end makes them final")
    trial = Agent(policy_of(spec), arms=names, seed=spec.seed)
    trial.assign(None, [names[0]], bytes(32))  # some policies cannot choose among some arms
    trial.update(names[0], 1.0)


class Change(NamedTuple):
    """A change of an experiment that is there."""

    experiment: str
    config: Config

    def keys(self) -> Iterable[str]:
        """Return nothing."""
        return ()

    def units(self, replica: Replica) -> Iterable[str]:
        """Return nothing."""
        return ()

    def run(self, turn: Turn) -> Outcome:
        """Make the change, unless it is made already."""
        replica, change = turn.replica, self.config
        if change.state is not None:
            if change.state != replica.state:
                self._append(turn, None)
            return Outcome(200, replica.view())
        if change.add is not None:
            return self._add(turn, change.add)
        name = str(change.pause or change.resume or change.retire)
        arm = replica.arms.get(name)
        if arm is None:
            return problem(404, "unknown arm", f"there is no arm {name!r}")
        wanted = "paused" if change.pause else "running" if change.resume else "retired"
        if arm.state == "retired" != wanted:
            return problem(409, "retired", f"arm {name!r} is retired, for good")
        if wanted == "retired" != arm.state and len(replica.agent_arms) == 1:
            return problem(409, "only arm", f"arm {name!r} is the only one left")
        if arm.state != wanted:
            self._append(turn, name)
        return Outcome(200, replica.arms[name])

    def _add(self, turn: Turn, name: str) -> Outcome:
        arm = turn.replica.arms.get(name)
        if arm is not None:
            if arm.state == "retired" or arm.payload != self.config.payload:
                return problem(409, "name in use", f"there is, or was, an arm {name!r} that differs")
            return Outcome(200, arm)
        if len(turn.replica.arms) >= MAX_ARMS:
            return problem(409, "too many arms", f"an experiment has at most {MAX_ARMS} arms")
        self._append(turn, name)
        return Outcome(201, ArmView(name, self.config.payload, "running"))

    def _append(self, turn: Turn, arm: str | None) -> None:
        turn.append("config", None, arm, body=msgspec.json.encode(self.config).decode())
