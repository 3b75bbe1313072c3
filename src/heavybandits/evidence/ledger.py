"""Rewards of arms that have names and come and go, kept for evidence about them; agents and the service hold one."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from .report import Evidence
from .scale import TAU
from .tally import Tally, learn, new_tally
from .words import Terms

MEDIAN = 0.5  # what a location is compared by
PER_ARM = ("rows", "n", "totals")  # fields of a tally that have a row per arm


class Ledger:
    """The rewards of named arms, in the order in which they were learned.

    Parameters
    ----------
    arms
        The names of the arms.
    goal
        ``"mean"``, or ``"location"`` for medians.

    Examples
    --------
    >>> ledger = Ledger(["blue", "green"], "mean")
    >>> for reward in [1.0, 0.0, 1.0, 1.0] * 50:
    ...     ledger.learn("green", reward)
    ...     ledger.learn("blue", float(reward == 0.0))
    >>> ledger.evidence(["blue", "green"]).winner
    'green'
    """

    def __init__(self, arms: Sequence[str], goal: str) -> None:
        self.goal = goal
        self._numbers: dict[str, int] = {arm: number for number, arm in enumerate(arms)}
        self._tally = new_tally(len(arms), None if goal == "mean" else MEDIAN)

    @property
    def arms(self) -> list[str]:
        """The names of all arms that there ever were."""
        return list(self._numbers)

    @property
    def n(self) -> int:
        """How many rewards there were."""
        return int(self._tally.n.sum())

    def learn(self, arm: str, reward: float) -> None:
        """Take in a reward, which may be infinite but not NaN."""
        with np.errstate(all="ignore"):  # as compiled code does
            learn(self._tally, self._numbers[arm], reward)

    def add_arm(self, arm: str) -> None:
        """Add an arm without rewards; one that was here before goes on with those it had."""
        if arm in self._numbers:
            return
        self._numbers[arm] = len(self._numbers)
        empty = new_tally(1, float(self._tally.scale[TAU]) or None)
        grown = {name: np.concatenate([getattr(self._tally, name), getattr(empty, name)]) for name in PER_ARM}
        self._tally = self._tally._replace(**grown)

    def evidence(
        self, arms: Sequence[str], control: str | None = None, delta: float = 0.05, eps: float | None = None,
        closest: int | None = None,
    ) -> Evidence:  # fmt: skip
        """Return what is known about these arms.

        Parameters
        ----------
        arms
            The arms that are still of interest.
        control
            The one over which lifts are measured.
        delta
            How often a verdict may be wrong.
        eps
            A difference that does not matter.
        closest
            How many rivals of the leader to look at, the closest ones; all by default.
        """
        rows = np.array([self._numbers[arm] for arm in arms])
        part = {name: getattr(self._tally, name)[rows] for name in PER_ARM}
        # Arms that are gone count too: any of them might have been named while it was here.
        level = delta * len(arms) / len(self._numbers)
        number = arms.index(control) if control is not None and control in arms else -1
        terms = Terms(tuple(arms), self.goal, False, delta, eps, number)
        return Evidence(self._tally._replace(**part), terms, level=level, closest=closest)

    def copied(self) -> Ledger:
        """Return a copy that later rewards do not change."""
        fresh = Ledger(list(self._numbers), self.goal)
        fresh._tally = Tally._make(array.copy() for array in self._tally)
        return fresh

    def dumps(self) -> bytes:
        """Return all of it as bytes: the same for equal ledgers."""
        head = json.dumps({"goal": self.goal, "arms": list(self._numbers)})
        return b"\n".join([head.encode(), self._tally.dumps()])

    @classmethod
    def loads(cls, contents: bytes) -> Ledger:
        """Return the ledger that was turned into these bytes.

        Examples
        --------
        >>> Ledger.loads(Ledger(["a"], "mean").dumps()).goal
        'mean'
        >>> Ledger.loads(b"{}")
        Traceback (most recent call last):
            ...
        ValueError: these bytes are no evidence about arms
        """
        head, _, rest = contents.partition(b"\n")
        try:
            ledger = cls(**json.loads(head))
            ledger._tally.fill(rest)
        except (TypeError, ValueError):
            raise ValueError("these bytes are no evidence about arms") from None
        return ledger
