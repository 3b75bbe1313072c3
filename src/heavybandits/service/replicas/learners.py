"""What learns in an experiment, driven by the events of the log.

Experiments with and without contexts take the same calls, so the rest of the service need not know which it has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from ...algorithms.registry import all_policies, estimators, make, policies
from ...online.agent import Agent
from ...online.estimates import ArmEstimate
from ...online.pending import Assigned
from ..events import Event
from ..spec import Context, Experiment

DEFAULT_POLICIES = {("arms", "mean"): "auto-mean", ("arms", "location"): "auto",
            ("linear", "mean"): "linear-auto-mean", ("linear", "location"): "linear-auto"}  # fmt: skip


class Learner(Protocol):
    """What an experiment expects of its learner."""

    draws: bool  # whether the policy draws arms with probabilities that it knows

    def check(self, context: Context | None) -> None:
        """Refuse a context that does not fit."""

    def assign(self, given: str | None, among: list[str], key: bytes, context: Context | None) -> Assigned:
        """Make a decision for the given arm, or for the one of ``among`` that the policy chooses."""

    def decided(self, event: Event) -> None:
        """Take in the probability with which the latest decision was made."""

    def learn(self, event: Event) -> None:
        """Take in a reward, of a decision or observed, unless the arm is retired."""

    def give_up(self, event: Event) -> None:
        """Take in that the reward of a decision will never come."""

    def add_arm(self, name: str) -> None:
        """Take in a new arm."""

    def remove_arm(self, name: str) -> None:
        """Take in that an arm is retired."""

    def rows(self) -> list[ArmEstimate]:
        """Return what is known about each arm that is not retired."""

    def rows_later(self, indices: bool) -> Callable[[], list[ArmEstimate]]:
        """Return a function with which another thread finds the rows as they are now, with indices only if asked."""

    def dumps(self) -> bytes:
        """Return the whole learner as bytes."""

    def is_compiling(self) -> bool:
        """Return whether faster code is still to come."""

    def change_over(self) -> None:
        """Use compiled code if there is some by now; otherwise let it be compiled in the background."""


def experiment_policy(spec: Experiment) -> Any:
    """Return the policy of an experiment: its own, or the default for its goal, which needs no prior knowledge.

    Only registered policies and estimators are made, so a request cannot name code to run.

    Examples
    --------
    >>> experiment_policy(Experiment(arms=[], policy="ucb"))
    UCB(c=1.0)
    >>> experiment_policy(Experiment(arms=[], policy="mine.py:Mine"))
    Traceback (most recent call last):
        ...
    ValueError: policy must be made of registered policies and estimators, got 'mine.py:Mine'
    """
    kind = "arms" if spec.context is None else "linear"
    given = DEFAULT_POLICIES[kind, spec.goal] if spec.policy is None else spec.policy
    description = {"kind": given} if isinstance(given, str) else given
    for name in _kinds(description):
        if name not in all_policies() and name not in estimators():
            raise ValueError(f"policy must be made of registered policies and estimators, got {name!r}")
    name = description["kind"]
    if name in estimators():
        raise ValueError(f"policy must be a policy, got {name!r}, which is an estimator")
    if name not in policies(kind):
        known = "without features unless there is a context" if kind == "arms" else "for features, such as 'lin-ucb'"
        raise ValueError(f"policy must be one {known}, got {name!r}")
    return make(**description)


def _kinds(description: Any) -> Iterable[Any]:
    """Yield the names of all parts of a description."""
    if "kind" not in description:
        raise ValueError("policy must have a kind, such as {'kind': 'ucb', 'c': 2}")
    yield description["kind"]
    for value in description.values():
        if isinstance(value, dict):
            yield from _kinds(value)


class ArmsLearner:
    """An agent that knows arms by their names alone.

    A policy that draws arms weighs a reward by the probability of its own decision, which is in the log.

    Parameters
    ----------
    agent
        The agent.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent, self._arms, self.draws = agent, set(agent.arms), agent.draws

    @classmethod
    def made(cls, spec: Experiment) -> ArmsLearner:
        """Return the learner of a new experiment."""
        return cls(Agent(experiment_policy(spec), arms=[arm.name for arm in spec.arms], seed=spec.seed))

    @classmethod
    def loaded(cls, contents: bytes) -> ArmsLearner:
        """Return the learner that these bytes were made from."""
        return cls(Agent.loads(contents))

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

    def add_arm(self, name: str) -> None:
        """Add an arm to the agent."""
        self.agent.add_arm(name)
        self._arms.add(name)

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

    def dumps(self) -> bytes:
        """Return the agent as bytes."""
        return self.agent.dumps()

    def is_compiling(self) -> bool:
        """Return whether the agent still waits for faster code."""
        return self.agent.is_compiling

    def change_over(self) -> None:
        """Let the agent use compiled code as soon as there is some."""
        self.agent.change_over()
