"""What rules compare: numbers measured in the replications of a study, and the limits that they cannot exceed.

Policies play one instance on the same noise, so their replications are paired; different instances are independent.
Regret is at most that of always choosing the worst arm, so all numbers have limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..protocols import FloatArray
from ..results.result import Result
from ..results.time_to_target import pulls_to_target
from .study_evidence import NotRunError, StudyEvidence


@dataclass(frozen=True)
class Measured:
    """A number for each replication, and the limits between which it must lie.

    Examples
    --------
    >>> a = Measured(np.array([10.0, 20.0, 30.0]), 0.0, 100.0)
    >>> b = Measured(np.array([11.0, 21.0, 31.0]), 0.0, 100.0)
    >>> print(a, "|", b - a)
    20.0 ± 5.8 | 1 ± 0
    >>> half = a * -0.5 + 1
    >>> print(half, half.low, half.high)
    -9.0 ± 2.9 -49.0 1.0
    """

    numbers: FloatArray
    low: float
    high: float

    @property
    def value(self) -> float:
        """The mean."""
        return float(self.numbers.mean())

    @property
    def error(self) -> float:
        """The standard error of the mean; it is infinite with a single replication."""
        n = len(self.numbers)
        return float(self.numbers.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf

    def __add__(self, constant: float) -> Measured:
        return Measured(self.numbers + constant, self.low + constant, self.high + constant)

    def __sub__(self, other: Measured) -> Measured:
        n = min(len(self.numbers), len(other.numbers))
        return Measured(self.numbers[:n] - other.numbers[:n], self.low - other.high, self.high - other.low)

    def __mul__(self, factor: float) -> Measured:
        low, high = sorted((self.low * factor, self.high * factor))
        return Measured(self.numbers * factor, low, high)

    def __str__(self) -> str:
        return value_and_error(self.value, self.error)


def value_and_error(value: float, error: float) -> str:
    """Return a number and its standard error as text, to two digits of the error.

    Examples
    --------
    >>> value_and_error(1234.5, 182.3), value_and_error(0.16974, 0.01213), value_and_error(3.0, 0.0)
    ('1234 ± 182', '0.170 ± 0.012', '3 ± 0')
    """
    if not error or not math.isfinite(error):
        return f"{value:.4g} ± {error:g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


class ResultMeasure(NamedTuple):
    """A measurement of one policy in one result: a number per replication, whose mean is what the words describe."""

    name: str  # short, to precede numbers
    words: str
    of: Callable[[Result, int], Measured]  # the result, and the policy's position in it


def _regret(result: Result, position: int) -> Measured:
    return Measured(result.regret.to_numpy()[position, :, -1], 0.0, result.horizon * float(result.instance.gaps.max()))


def _late_regret(result: Result, position: int) -> Measured:
    regret, rounds = result.regret.to_numpy()[position], result.regret["round"].to_numpy()
    start = late_start(result)
    most = float(rounds[-1] - rounds[start]) * float(result.instance.gaps.max())
    return Measured(regret[:, -1] - regret[:, start], 0.0, most)


def late_start(result: Result) -> int:
    """Return the checkpoint with which the last tenth of the rounds begins."""
    rounds = result.regret["round"].to_numpy()
    return int(np.argmax(rounds >= result.horizon - result.horizon // 10))


def _falling(result: Result, position: int) -> Measured:
    rounds = result.regret["round"].to_numpy()
    share = float(rounds[-1] - rounds[late_start(result)]) / result.horizon
    return _late_regret(result, position) - _regret(result, position) * share


def misses(target: float) -> ResultMeasure:
    """Return the measure of the share of replications that never reach the target."""
    return ResultMeasure(
        f"share above {target:g}",
        f"share of replications that never reach a mean regret below {target:g}",
        lambda result, position: _share(np.isinf(pulls_to_target(result, target)[position])),
    )


def _share(happened: FloatArray) -> Measured:
    return Measured(happened.astype(float), 0.0, 1.0)


REGRET = ResultMeasure("regret", "mean regret at the horizon", _regret)
LATE_REGRET = ResultMeasure("late regret", "regret of the last tenth of the rounds", _late_regret)
FALLING = ResultMeasure("excess", "regret of the last tenth of the rounds, minus that of an average tenth,", _falling)
SHARE_OF_RANDOM = ResultMeasure(
    "share of random regret",
    "regret at the horizon as a share of that of choosing arms at random",
    lambda result, position: _regret(result, position) * (1.0 / (result.horizon * float(result.instance.gaps.mean()))),
)
SHARE_FAILED = ResultMeasure(
    "failures", "share of replications that end in linear regret",
    lambda result, position: _share(result.failed[position]),
)  # fmt: skip


class Where(NamedTuple):
    """The instances of a study that a claim is about, in groups that are compared by the averages of their members."""

    words: str
    groups: Callable[[StudyEvidence], list[list[str]]]

    def spot(self, labels: list[str]) -> str:
        """Return a group in words: the label of its only member, or what all have in common."""
        return labels[0] if len(labels) == 1 else self.words


def environments(*numbers: int) -> Where:
    """Return Env1, Env2 or Env3, each by itself: the first, second and third instance of a study."""

    def groups(study: StudyEvidence) -> list[list[str]]:
        if max(numbers) > len(study.results):
            raise NotRunError(f"Env{max(numbers)} was not run")
        return [[list(study.results)[number - 1]] for number in numbers]

    return Where(f"in {' and '.join(f'Env{number}' for number in numbers)}", groups)


def _deltas(low: float, high: float) -> Callable[[StudyEvidence], list[list[str]]]:
    def group(study: StudyEvidence) -> list[list[str]]:
        deltas = _delta_of(study)
        top = max(deltas.values())
        chosen = [label for label, delta in deltas.items() if low * top < delta <= high * top]
        if not chosen:
            raise NotRunError(f"the study has no gap between {low:g} and {high:g} times its largest")
        return [chosen]

    return group


def _delta_of(study: StudyEvidence) -> dict[str, float]:
    return {label: study.study.swept[label]["delta"] for label in study.results}


def _closest(study: StudyEvidence) -> list[list[str]]:
    deltas = _delta_of(study)
    above_zero = sorted((label for label in deltas if deltas[label] > 0), key=deltas.__getitem__)
    return [[label] for label in above_zero[:2]]


EACH_INSTANCE = Where("in each instance", lambda study: [[label] for label in study.results])
ALL_INSTANCES = Where("over all instances", lambda study: [list(study.results)])
CLOSE_ARMS = Where("at each of the two smallest gaps above 0", _closest)
NEARER_ARMS = Where("over the gaps up to half the largest", _deltas(0.0, 0.5))
DISTINCT_ARMS = Where("over the gaps above half the largest", _deltas(0.5, 1.0))


def measured(study: StudyEvidence, family: str, measure: ResultMeasure, labels: Sequence[str]) -> Measured:
    """Return the measure of the family's best policy, averaged over these instances."""
    position = study.position(family)
    parts = [measure.of(study.result(label), position) for label in labels]
    n = min(len(part.numbers) for part in parts)
    low, high = (float(np.mean([getattr(part, end) for part in parts])) for end in ("low", "high"))
    return Measured(np.mean([part.numbers[:n] for part in parts], axis=0), low, high)
