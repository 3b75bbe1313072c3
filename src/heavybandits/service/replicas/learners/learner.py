"""What an experiment expects of its learner, which the events of the log drive.

Experiments with and without contexts take the same calls, so the rest of the service need not know which it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Self

from ....online.base import BaseAgent
from ....online.estimates import ArmEstimate
from ....online.pending import Assigned
from ...events import Event
from ...spec import Arm, Context, Experiment


class Learner(ABC):
    """What learns in an experiment: an agent, if it has one yet, and what its kind of experiment needs beside it."""

    agent: BaseAgent | None
    draws = False  # whether the policy draws arms with probabilities that it knows

    @classmethod
    @abstractmethod
    def made(cls, spec: Experiment) -> Self:
        """Return the learner of a new experiment."""

    @classmethod
    @abstractmethod
    def loaded(cls, spec: Experiment, contents: bytes) -> Self:
        """Return the learner that these bytes were made from."""

    @property
    @abstractmethod
    def takes_arms(self) -> bool:
        """Whether another arm can be added."""

    @abstractmethod
    def check(self, context: Context | None) -> None:
        """Refuse a context that does not fit."""

    @abstractmethod
    def assign(self, given: str | None, among: list[str], key: bytes, context: Context | None) -> Assigned:
        """Make a decision for the given arm, or for the one of ``among`` that the policy chooses."""

    def decided(self, event: Event) -> None:  # noqa: B027
        """Take in the probability with which the latest decision was made, if the policy weighs rewards by it."""

    @abstractmethod
    def learn(self, event: Event) -> None:
        """Take in a reward, of a decision or observed, unless the arm is retired."""

    @abstractmethod
    def give_up(self, event: Event) -> None:
        """Take in that the reward of a decision will never come."""

    def correct(self, arm: str, learned: float, reward: float | None) -> None:
        """Replace what was learned for a decision, if the policy can; None if nothing comes in its place."""
        raise NotImplementedError

    def add_arm(self, arm: Arm) -> None:
        """Take in a new arm, if it takes arms."""
        raise NotImplementedError

    def remove_arm(self, name: str) -> None:
        """Take in that an arm is retired."""
        raise NotImplementedError

    def rows(self) -> list[ArmEstimate]:
        """Return what is known about each arm that is not retired."""
        return self.rows_later(indices=False)()

    @abstractmethod
    def rows_later(self, indices: bool) -> Callable[[], list[ArmEstimate]]:
        """Return a function with which another thread finds the rows as they are now, with indices only if asked."""

    def dumps(self) -> bytes:
        """Return the whole learner as bytes: those of its agent, if that is all."""
        assert self.agent is not None
        return self.agent.dumps()

    def is_compiling(self) -> bool:
        """Return whether faster code is still to come."""
        return self.agent is not None and self.agent.is_compiling

    def change_over(self) -> None:
        """Use compiled code if there is some by now; otherwise let it be compiled in the background."""
        if self.agent is not None:
            self.agent.change_over()


def as_reported(spec: Experiment, rows: list[ArmEstimate]) -> list[ArmEstimate]:
    """Return what a learner knows in the units of the reports: it learns costs as negative rewards.

    Examples
    --------
    >>> as_reported(Experiment(arms=[], minimise=True), [ArmEstimate("a", 1, 0, -3.0, -2.5)])[0].estimate
    3.0
    """
    if spec.sign > 0:
        return rows
    return [replace(row, estimate=0.0 - row.estimate, index=0.0 - row.index) for row in rows]
