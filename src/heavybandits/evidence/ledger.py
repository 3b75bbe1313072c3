"""Rewards of arms that have names and come and go, kept for evidence about them; agents and the service hold one."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from .ab_test.guardrails import Guardrail, GuardrailState, stand
from .gain import Gain, gain_over
from .measures import ClippedMean
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
        ``"mean"``, ``"location"`` for medians, or the level of a quantile.
    minimise
        Whether rewards are costs.

    Examples
    --------
    >>> ledger = Ledger(["blue", "green"], "mean")
    >>> for reward in [1.0, 0.0, 1.0, 1.0] * 50:
    ...     ledger.learn("green", reward)
    ...     ledger.learn("blue", float(reward == 0.0))
    >>> ledger.evidence(["blue", "green"]).winner
    'green'
    """

    def __init__(self, arms: Sequence[str], goal: str | float, minimise: bool = False) -> None:
        self.goal, self.minimise = goal, minimise
        self._numbers: dict[str, int] = {arm: number for number, arm in enumerate(arms)}
        tau = None if goal == "mean" else MEDIAN if goal == "location" else float(goal)
        self._tally = new_tally(len(arms), 1.0 - tau if tau is not None and minimise else tau)

    @property
    def arms(self) -> list[str]:
        """The names of all arms that there ever were."""
        return list(self._numbers)

    @property
    def n(self) -> int:
        """How many rewards there were."""
        return int(self._tally.n.sum())

    def n_of(self, arm: str) -> int:
        """Return how many rewards of an arm there were."""
        return int(self._tally.n[self._numbers[arm]])

    def guarded(self, rail: Guardrail, arm: str, control: str, level: float) -> GuardrailState:
        """Return whether an arm keeps to a guardrail against the control, in a ledger that was not told of costs.

        Examples
        --------
        >>> from heavybandits.evidence.ab_test.guardrails import read_guardrail
        >>> ledger = Ledger(["blue", "green"], "mean")
        >>> for n in range(400):
        ...     ledger.learn("blue", 1.0)
        ...     ledger.learn("green", float(n % 2))
        >>> ledger.guarded(read_guardrail("docs", "quality >= -0.1"), "green", "blue", 0.05).state
        'broken'
        """
        numbers = self._numbers
        return stand(rail, self._tally, list(numbers), numbers[arm], numbers[control], level)

    def learn(self, arm: str, reward: float) -> None:
        """Take in a reward, which may be infinite but not NaN."""
        with np.errstate(all="ignore"):  # as compiled code does
            learn(self._tally, self._numbers[arm], 0.0 - reward if self.minimise else reward)

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
        terms = Terms(tuple(arms), self.goal, self.minimise, delta, eps, number)
        return Evidence(self._tally._replace(**part), terms, level=level, closest=closest)

    def gain(self, found: Evidence, control: str, delta: float = 0.05) -> Gain | None:
        """Return how much more all arms have earned than the control would have, those that are gone included.

        Parameters
        ----------
        found
            What is known about the arms, which says up to which amount rewards count.
        control
            The arm to compare with.
        delta
            How often the bounds may be wrong.

        Examples
        --------
        >>> ledger = Ledger(["blue", "green"], "mean")
        >>> for reward in [1.0, 0.0, 1.0, 1.0] * 50:
        ...     ledger.learn("green", reward)
        ...     ledger.learn("blue", float(reward == 0.0))
        >>> gain = ledger.gain(ledger.evidence(["blue", "green"]), "blue")
        >>> 0 < gain.low < gain.value < gain.high
        True
        """
        measure = found.measure
        if not isinstance(measure, ClippedMean):  # sums of medians mean nothing
            return None
        whole = ClippedMean(self._tally, measure.clip, measure.share)
        return gain_over(whole, self._numbers[control], delta * measure.share)

    def copied(self) -> Ledger:
        """Return a copy that later rewards do not change."""
        fresh = Ledger(list(self._numbers), self.goal, self.minimise)
        fresh._tally = Tally._make(array.copy() for array in self._tally)
        return fresh

    def dumps(self) -> bytes:
        """Return all of it as bytes: the same for equal ledgers."""
        costs = {"minimise": True} if self.minimise else {}
        head = json.dumps({"goal": self.goal, "arms": list(self._numbers)} | costs)
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
