"""What learns in an experiment without contexts: an agent that knows arms by their names alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Self

from ....online.agent import Agent
from ....online.estimates import ArmEstimate
from ....online.pending import Assigned
from ...events import Event
from ...spec import Arm, Context, Experiment
from .learner import Learner
from .policy import experiment_policy


class ArmsLearner(Learner):
    """An agent that knows arms by their names alone.

    A policy that draws arms weighs a reward by the probability of its own decision, which is in the log.

    Parameters
    ----------
    agent
        The agent.
    """

    agent: Agent

    def __init__(self, agent: Agent) -> None:
        self.agent, self._arms, self.draws = agent, set(agent.arms), agent.draws

    @classmethod
    def made(cls, spec: Experiment) -> Self:
        """Return the learner of a new experiment."""
        return cls(Agent(experiment_policy(spec), arms=[arm.name for arm in spec.arms], seed=spec.seed))

    @classmethod
    def loaded(cls, spec: Experiment, contents: bytes) -> Self:
        """Return the learner that these bytes were made from."""
        return cls(Agent.loads(contents))

    @property
    def takes_arms(self) -> bool:
        """Whether another arm can be added: always."""
        return True

    def check(self, context: Context | None) -> None:
        """Refuse any context."""
        if context is not None:
            raise ValueError("context must be left out, because the experiment was made without one")

    def assign(self, given: str | None, among: list[str], key: bytes, context: Context | None) -> Assigned:
        """Let the agent make a decision."""
        return self.agent.assign(given, None if len(among) == len(self._arms) else among, key)

    def decided(self, event: Event) -> None:
        """Use the probability in the log, which accounts for floors and units."""
        if self.draws and event.p is not None:
            self.agent.correct_propensity(event.arm, event.p)

    def learn(self, event: Event) -> None:
        """Let the agent learn, with the probability of the reward's own decision."""
        if event.arm in self._arms:
            propensity = event.p if self.draws else None
            self.agent.update(event.arm, event.value or 0.0, selected=event.kind != "observe", propensity=propensity)

    def give_up(self, event: Event) -> None:
        """Let the agent cancel the decision."""
        if event.arm in self._arms:
            self.agent.cancel(event.arm, propensity=event.p if self.draws else None)

    def correct(self, arm: str, learned: float, reward: float | None) -> None:
        """Let the agent replace a reward."""
        if arm in self._arms:
            self.agent.correct(arm, learned, reward)

    def add_arm(self, arm: Arm) -> None:
        """Add an arm to the agent."""
        self.agent.add_arm(arm.name)
        self._arms.add(arm.name)

    def remove_arm(self, name: str) -> None:
        """Remove an arm from the agent."""
        self.agent.remove_arm(name)
        self._arms.remove(name)

    def rows(self) -> list[ArmEstimate]:
        """Return what the agent knows about each arm."""
        return self.agent.rows()

    def rows_later(self, indices: bool) -> Callable[[], list[ArmEstimate]]:
        """Copy what the agent knows: working out estimates and indices takes a hundred times as long."""
        pulls, pending, frozen = self.agent.pulls, self.agent.pending, self.agent.frozen()

        def rows() -> list[ArmEstimate]:
            slots = range(len(pulls))
            heights = frozen.indices(slots) if indices else [math.nan] * len(pulls)
            shown = zip(pulls, frozen.values(slots), heights, strict=True)
            return [ArmEstimate(arm, pulls[arm], pending[arm], value, height) for arm, value, height in shown]

        return rows
