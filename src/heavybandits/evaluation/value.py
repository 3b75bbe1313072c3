"""What a target would have earned: an estimate, bounds that hold at all times, and how much of the log they rest on."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .._format import html_table, number, text_table
from .._validate import visible
from ..protocols import FloatArray, IntArray
from .bounds import least_mean
from .estimators import METHODS, doubly_robust_by_arms, ips, snips
from .words import about_value

if TYPE_CHECKING:
    import pandas as pd

LARGEST_TERMS = 5


@dataclass(frozen=True)
class Counting:
    """Between what rewards count, and whether somebody said so or the first rewards did."""

    low: float
    high: float
    stated: bool

    def counted(self, rewards: FloatArray) -> FloatArray:
        """Return rewards as they count."""
        return np.clip(rewards, self.low, self.high)

    def has_one_sign(self, rewards: FloatArray) -> bool:
        """Return whether no reward is below a lower limit of 0."""
        return self.low != 0.0 or not bool((rewards < 0.0).any())


@dataclass(frozen=True)
class Weighted:
    """Rewards of a log with the weights of a target.

    Attributes
    ----------
    name
        What the target is called.
    weights, rewards, arms
        Target's chance / p, what was paid, and which arm was chosen, for each decision.
    plan
        What the target chooses: rows, arms and probabilities.
    most
        What no weight can exceed; infinite if that is not known.
    """

    name: str
    weights: FloatArray
    rewards: FloatArray
    arms: IntArray
    plan: tuple[IntArray, IntArray, FloatArray]
    most: float

    def low(self, limits: Counting, delta: float) -> float:
        """Return a lower bound of what the target earns per decision."""
        if limits.low == -math.inf:
            return -math.inf
        counted = limits.counted(self.rewards) if limits.stated else self.rewards
        return limits.low + self._least(counted - limits.low, limits, delta)

    def high(self, limits: Counting, delta: float) -> float:
        """Return an upper bound of what the target earns per decision, counting rewards within the limits."""
        if limits.high == math.inf:
            return math.inf
        return limits.high - self._least(limits.high - limits.counted(self.rewards), limits, delta)

    def _least(self, paid: FloatArray, limits: Counting, delta: float) -> float:
        """Return a lower bound of the mean of nonnegative rewards; they are no coins if a stated limit may cut them."""
        terms, coin = self.weights * paid, self.most * (limits.high - limits.low)
        are_coins = not limits.stated and bool(((terms == 0.0) | (terms == coin)).all())
        return least_mean(self.weights, terms, self.most, delta, coin if are_coins else None)

    def estimate(self, method: str, limits: Counting) -> float:
        """Return what the target earns per decision, by a method of :data:`~.estimators.METHODS` or ``"dr"``."""
        rewards = limits.counted(self.rewards) if limits.stated else self.rewards
        if method == "dr":
            return doubly_robust_by_arms(self.weights, rewards, self.arms, self.plan)
        return METHODS[method](self.weights, rewards)


@dataclass(frozen=True)
class Gap:
    """By how much one target earns more than another, per decision.

    Attributes
    ----------
    estimate, low, high
        An estimate and an interval that holds at all times, counting rewards within the cap.
    cap
        From which amount to which rewards count.
    has_one_sign
        Whether no reward is below a cap that begins at 0.
    """

    estimate: float
    low: float
    high: float
    cap: tuple[float, float]
    has_one_sign: bool = True


def gap(one: Weighted, other: Weighted, limits: Counting, delta: float, skipped: int = 0) -> Gap:
    """Bound the difference of two targets on one log, without its first decisions if these decided the limits.

    With rewards from 0 to c, :math:`w r + w' (c - r)` is nonnegative and has mean c plus the difference.
    """
    wide, rest = limits.high - limits.low, slice(skipped, None)
    paid = limits.counted(one.rewards[rest]) - limits.low
    mine, theirs = one.weights[rest], other.weights[rest]
    low = least_mean(theirs, mine * paid + theirs * (wide - paid), other.most, delta / 2.0) - wide
    high = wide - least_mean(mine, theirs * paid + mine * (wide - paid), one.most, delta / 2.0)
    has_one_sign = limits.has_one_sign(one.rewards)
    return Gap(snips(mine, paid) - snips(theirs, paid), low, high, (limits.low, limits.high), has_one_sign)


@dataclass(frozen=True, repr=False)
class Value:
    """What a target would have earned per decision: see :func:`~heavybandits.evaluate`, which makes it.

    ``print`` says it in sentences; a notebook shows it by itself.

    Attributes
    ----------
    target
        What was evaluated.
    estimate, low, high
        What it earns per decision, and an interval that holds however often you look, as long as p is right.
    method
        How the estimate was made.
    effective
        The effective sample size: how many decisions of the target itself would be worth as much, by its weights.
    covered
        The share of the target's decisions that the log could have made.
    largest
        The shares of the estimate that its five largest terms make.
    used, decisions
        How many decisions of the log the estimate uses, and how many there are.
    logged
        What the log itself earned per decision.
    lead
        By how much the target earns more than the log did; None if the log is too short to say how far rewards count.
    cap
        From which amount to which rewards count; None if in full.
    delta
        How often the interval may be wrong.
    notes
        What else to know.
    has_one_sign
        Whether no reward is below a cap that begins at 0.
    are_costs
        Whether rewards are costs.
    """

    target: str
    estimate: float
    low: float
    high: float
    method: str
    effective: float
    covered: float
    largest: tuple[float, ...]
    used: int
    decisions: int
    logged: float
    lead: Gap | None
    cap: tuple[float, float] | None
    delta: float
    notes: tuple[str, ...] = ()
    has_one_sign: bool = True
    are_costs: bool = False

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What is known, in plain words."""
        return tuple(about_value(self))

    @property
    def table(self) -> pd.DataFrame:
        """The target, the log itself, and the difference: estimates and intervals."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=["what", "estimate", "low", "high"])

    def _rows(self) -> list[tuple[str, float, float, float]]:
        rows = [(self.target, self.estimate, self.low, self.high), ("as logged", self.logged, math.nan, math.nan)]
        return rows + ([("difference", self.lead.estimate, self.lead.low, self.lead.high)] if self.lead else [])

    def __repr__(self) -> str:
        return f"Value({self.target!r}, estimate={self.estimate:.4g}, low={self.low:.4g}, high={self.high:.4g})"

    def __str__(self) -> str:
        return visible("\n".join((*self.sentences, "", text_table(*self._cells()))))

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{html.escape(visible(line))}</p>" for line in self.sentences)
        return said + html_table("Per decision", *self._cells())

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        head = ["per decision", "estimate", "low", "high"]
        return head, [[str(row[0]), *(number(float(cell)) for cell in row[1:])] for row in self._rows()]


def effective_size(weights: FloatArray) -> float:
    """Return the effective sample size.

    Examples
    --------
    >>> effective_size(np.array([2.0, 2.0, 0.0, 0.0]))
    2.0
    """
    if not (most := float(weights.max(initial=0.0))):
        return 0.0
    return float((weights / most).sum()) ** 2 / float(((weights / most) ** 2).sum())


def largest_shares(weights: FloatArray, rewards: FloatArray) -> tuple[float, ...]:
    """Return which shares of the sum of all weighted rewards the largest ones make.

    Examples
    --------
    >>> largest_shares(np.ones(4), np.array([1.0, 2.0, 5.0, 0.0]))
    (0.625, 0.25, 0.125)
    """
    terms = np.abs(weights * rewards)
    total = float(terms.sum())
    largest = np.sort(terms[terms > 0.0])[::-1][:LARGEST_TERMS]
    return tuple((largest / total).tolist()) if total > 0.0 else ()


def weighted_value(
    one: Weighted, logged: Weighted, limits: Counting, sized: tuple[Counting, int] | None, *, method: str,
    delta: float, covered: float, notes: tuple[str, ...], are_costs: bool,
) -> Value:  # fmt: skip
    """Evaluate a target; ``sized`` has limits for statements that need some, and how many decisions they took."""
    between, skipped = (limits, 0) if math.isfinite(limits.high - limits.low) else (sized or (None, 0))
    counted = limits.counted(one.rewards) if limits.stated else one.rewards
    return Value(
        target=one.name, estimate=one.estimate(method, limits), low=one.low(limits, delta / 2.0),
        high=one.high(limits, delta / 2.0), method=method, effective=effective_size(one.weights), covered=covered,
        largest=largest_shares(one.weights, counted), used=int(np.count_nonzero(one.weights)),
        decisions=len(one.weights), logged=ips(logged.weights, counted),
        lead=None if between is None else gap(one, logged, between, delta, skipped),
        cap=(limits.low, limits.high) if limits.stated else None, delta=delta, notes=notes,
        has_one_sign=limits.has_one_sign(one.rewards), are_costs=are_costs,
    )  # fmt: skip
