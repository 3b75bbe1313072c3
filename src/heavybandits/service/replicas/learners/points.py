"""What learns in an experiment whose decisions are points, such as prices: an agent for points of a cube.

The log has points in the cube's coordinates, from 0 to 1: that of a decision is in its event and in those that settle
it, so a replay needs nothing else.  People name the coordinates and give their ranges.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from typing import Self

import msgspec

from ....online.estimates import ArmEstimate
from ....online.lipschitz_agent import LipschitzAgent, PointEstimate
from ....online.pending import Assigned
from ....protocols import is_randomised
from ...events import Event
from ...spec import POINT, Context, Experiment
from .learner import Learner
from .policy import experiment_policy

_vector = msgspec.json.Decoder(list[float])


def coordinates_of(spec: Experiment, point: list[float]) -> dict[str, float]:
    """Return the coordinates of a point by their names, in their ranges.

    Examples
    --------
    >>> coordinates_of(Experiment(points={"price": [5.0, 25.0]}), [0.25])
    {'price': 10.0}
    """
    axes = (spec.points or {}).items()
    return {
        name: min(low + at * (high - low), high) for (name, (low, high)), at in zip(axes, point, strict=True)
    }  # fmt: skip


def in_cube(spec: Experiment, point: Mapping[str, float]) -> list[float]:
    """Return the coordinates in the cube of a point that people name; refuse one that does not fit.

    Examples
    --------
    >>> in_cube(Experiment(points={"price": [5.0, 25.0]}), {"price": 10.0})
    [0.25]
    >>> in_cube(Experiment(points={"price": [5.0, 25.0]}), {"price": 4.0})
    Traceback (most recent call last):
        ...
    ValueError: point must have a price from 5 to 25, got 4
    """
    ranges = spec.points or {}
    if point.keys() != ranges.keys():
        raise ValueError(f"point must have exactly {', '.join(ranges)}, got {', '.join(point) or 'nothing'}")
    for name, (low, high) in ranges.items():
        if not low <= point[name] <= high:
            raise ValueError(f"point must have a {name} from {low:g} to {high:g}, got {point[name]:g}")
    return [(point[name] - low) / (high - low) for name, (low, high) in ranges.items()]


def best_of(rows: list[PointEstimate]) -> PointEstimate | None:
    """Return the point that is best as far as is known: with the highest lower bound, or else the most played.

    Examples
    --------
    >>> lucky = PointEstimate((0.1,), pulls=1, pending=0, estimate=9.0, low=-5.0, high=23.0)
    >>> best_of([PointEstimate((0.5,), pulls=80, pending=0, estimate=3.0, low=2.5, high=3.5), lucky]).point
    (0.5,)
    """
    played = [row for row in rows if row.pulls]
    return max(played, key=lambda row: (row.low if math.isfinite(row.low) else -math.inf, row.pulls), default=None)


class PointsLearner(Learner):
    """An agent for points; to the rest of the service it has one arm, whose decisions come with points.

    Parameters
    ----------
    agent
        The agent.
    """

    agent: LipschitzAgent
    takes_arms = False

    def __init__(self, agent: LipschitzAgent) -> None:
        self.agent, self._p = agent, None if is_randomised(agent.policy) else 1.0

    @classmethod
    def made(cls, spec: Experiment) -> Self:
        """Return the learner of a new experiment."""
        return cls(LipschitzAgent(experiment_policy(spec), len(spec.points or ()), seed=spec.seed))

    @classmethod
    def loaded(cls, spec: Experiment, contents: bytes) -> Self:
        """Return the learner that these bytes were made from."""
        return cls(LipschitzAgent.loads(contents))

    def check(self, context: Context | None) -> None:
        """Refuse any context."""
        if context is not None:
            raise ValueError("context must be left out, because the decisions of the experiment are points")

    def assign(self, given: str | None, among: list[str], key: bytes, context: Context | None) -> Assigned:
        """Make a decision, whose point is ``chosen``: that of the log if there is one, else the policy's choice.

        If the arm is given, and so the policy is not to choose, it is the best point so far.
        """
        point = context
        if point is None and given is not None:
            best = best_of(self.agent.rows_later()())
            point = [0.5] * self.agent.dim if best is None else list(best.point)
        return Assigned(POINT, self.agent.assign(point, key).tolist(), self._p)

    def learn(self, event: Event) -> None:
        """Let the agent learn from the reward of a point."""
        self.agent.update(_vector.decode(event.body or ""), event.value or 0.0, selected=event.kind != "observe")

    def give_up(self, event: Event) -> None:
        """Let the agent cancel the decision for a point."""
        with contextlib.suppress(ValueError):  # a reward without a decision has settled it
            self.agent.cancel(_vector.decode(event.body or ""))

    def rows_later(self, indices: bool) -> Callable[[], list[ArmEstimate]]:
        """Copy what is known about the best point."""
        pulls, pending, points = self.agent.seen, self.agent.pending, self.agent.rows_later()

        def rows() -> list[ArmEstimate]:
            best = best_of(points())
            ends = (math.nan, math.nan) if best is None else (best.estimate, best.high)
            return [ArmEstimate(POINT, pulls, pending, *ends)]

        return rows
