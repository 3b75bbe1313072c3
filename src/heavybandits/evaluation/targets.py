"""What is evaluated: an arm, or a function that chooses by what is known; each as probabilities of the logged arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._validate import unknown
from ..protocols import FloatArray, IntArray
from .decisions import LoggedDecisions

Chooser: TypeAlias = Callable[[dict[str, Any]], Any]


class Target(NamedTuple):
    """A way to decide, on the decisions of a log.

    Attributes
    ----------
    name
        What it is called.
    chances
        The probability with which it chooses the arm that was logged, for each decision.
    covered
        The share of its decisions that the log could have made: whose p was above 0, as far as the log shows it.
    plan
        Its decisions: rows of the log, the numbers of arms, and the probabilities with which it chooses them there.
    """

    name: str
    chances: FloatArray
    covered: float
    plan: tuple[IntArray, IntArray, FloatArray]


def always(log: LoggedDecisions, arm: object) -> Target:
    """Return the target that always chooses one arm.

    Examples
    --------
    >>> from .decisions import read_decisions
    >>> log = read_decisions({"arm": ["a", "b"], "reward": [1, 2], "p": [0.5, 0.5]}, {})
    >>> always(log, "b").chances
    array([0., 1.])
    """
    if str(arm) not in log.labels:
        raise ValueError(f"evaluate: {unknown('arm', str(arm), log.labels)}")
    number, n = log.labels.index(str(arm)), len(log.arms)
    chances = (log.arms == number).astype(float)
    covered = 1.0 - float(np.mean(((log.p == 1.0) & (chances == 0.0)) | log.lacks(str(arm))))
    return Target(str(arm), chances, covered, (np.arange(n), np.full(n, number), np.ones(n)))


def chosen_by(log: LoggedDecisions, choose: Chooser, name: str) -> Target:
    """Return the target that decides by a function.

    ``choose`` is given what was known before a decision, by name, and returns an arm, or the probabilities of arms.

    Examples
    --------
    >>> from .decisions import read_decisions
    >>> columns = {"arm": ["a", "b"], "reward": [1, 2], "p": [0.5, 0.5], "age": [20, 60]}
    >>> log = read_decisions(columns, {}, contexts=True)
    >>> chosen_by(log, lambda known: "a" if known["age"] < 40 else {"a": 0.25, "b": 0.75}, "by age").chances
    array([1.  , 0.75])
    """
    chances, beyond = np.zeros(len(log.arms)), np.zeros(len(log.arms))
    numbers = {label: number for number, label in enumerate(log.labels)}
    lacks = {label: log.lacks(label) for label in log.labels}
    plan: list[tuple[int, int, float]] = []
    for row, (context, logged, p) in enumerate(zip(log.contexts(), log.arms.tolist(), log.p.tolist(), strict=True)):
        chosen = _chances(choose(context), name)
        mine = chances[row] = chosen.get(log.labels[logged], 0.0)
        beyond[row] = (
            1.0 - mine
            if p == 1.0
            else sum(chance for other, chance in chosen.items() if other not in numbers or lacks[other][row])
        )
        plan += [(row, numbers[arm], chance) for arm, chance in chosen.items() if arm in numbers]
    rows, arms, parts = np.array(plan).reshape(-1, 3).T
    return Target(name, chances, 1.0 - float(beyond.mean()), (rows.astype(int), arms.astype(int), parts))


def _chances(answer: Any, name: str) -> dict[str, float]:
    """Return the probability of each arm, from what a function answered."""
    if not isinstance(answer, Mapping):
        return {str(answer): 1.0}
    found = {str(arm): float(chance) for arm, chance in answer.items()}
    if not (all(chance >= 0.0 for chance in found.values()) and abs(sum(found.values()) - 1.0) < 1e-6):
        raise ValueError(f"evaluate: {name} must return an arm, or probabilities of arms that add up to 1, "
                         f"got {answer!r:.80}")  # fmt: skip
    return found


def require_coverage(log: LoggedDecisions, target: Target) -> None:
    """Refuse a target that chooses arms which the log could not have chosen."""
    if target.covered < 1.0 - 1e-12:
        raise ValueError(
            f"{log.source}: {target.name} makes {1.0 - target.covered:.2g} of its decisions for an arm that the log "
            "never chooses there (p = 0), so what they would earn is unknown; leave these decisions out"
        )
