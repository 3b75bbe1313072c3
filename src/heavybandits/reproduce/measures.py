"""What rules compare: numbers measured in the replications of a study, with their standard errors.

Policies play one instance on the same noise, so their replications are paired; different instances are independent.  A
:class:`Measured` keeps the replications apart, so that the error of a difference is that of the paired differences.

Each family is represented by its best policy.  :class:`Evidence` holds the replications that did not choose it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..protocols import FloatArray, IntArray
from ..results.result import CHOOSING, JUDGING, Result
from ..results.study_result import StudyResult
from ..results.time_to_target import pulls_to_target

OURS = ("SGD-UCB", "SGD-UCB-Median", "SGD-UCB-SMoM")
BEST_OF_OURS = "the best of the SGD-UCBs"


class NotRunError(LookupError):
    """A study lacks what a claim is about."""


@dataclass(frozen=True)
class Measured:
    """A sum of means over replications, one for each instance, plus a constant.

    Examples
    --------
    >>> a = Measured({"Env1": np.array([10.0, 20.0, 30.0])})
    >>> b = Measured({"Env1": np.array([11.0, 21.0, 31.0])})
    >>> print(a, "|", b - a)
    20.0 ± 5.8 | 1 ± 0
    >>> print(a * 0.5 + 1)
    11.0 ± 2.9
    """

    parts: Mapping[str, FloatArray]
    constant: float = 0.0

    @property
    def value(self) -> float:
        """The sum."""
        return self.constant + sum(float(part.mean()) for part in self.parts.values())

    @property
    def error(self) -> float:
        """The standard error of the sum; it is infinite with a single replication."""
        if any(len(part) < 2 for part in self.parts.values()):
            return math.inf
        return math.sqrt(sum(float(part.var(ddof=1)) / len(part) for part in self.parts.values()))

    @property
    def freedom(self) -> int:
        """The degrees of freedom of the error, or a lower bound: those of the instance with the fewest replications."""
        return min(len(part) for part in self.parts.values()) - 1

    def __add__(self, constant: float) -> Measured:
        return Measured(self.parts, self.constant + constant)

    def __sub__(self, other: Measured) -> Measured:
        zero = np.zeros(1)
        labels = dict.fromkeys((*self.parts, *other.parts))
        parts = {label: self.parts.get(label, zero) - other.parts.get(label, zero) for label in labels}
        return Measured(parts, self.constant - other.constant)

    def __mul__(self, factor: float) -> Measured:
        return Measured({label: part * factor for label, part in self.parts.items()}, self.constant * factor)

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


@dataclass(frozen=True)
class StudyEvidence:
    """The evidence on a study's claims: its best policies, in replications that were not used to choose them.

    Attributes
    ----------
    study
        The study whose even replications choose the best policy of each family.
    further
        More replications of the best policies alone; all are evidence but those used to choose.
    """

    study: StudyResult
    further: StudyResult | None = None

    @cached_property
    def results(self) -> dict[str, Result]:
        """The results of the replications that judge, by label."""
        if self.further is None:
            return {label: result.at(JUDGING) for label, result in self.study.results.items()}
        return {label: self.further.results[label].at(_not_choosing(result, self.further.results[label]))
                for label, result in self.study.results.items()}  # fmt: skip

    @property
    def played(self) -> int:
        """How many replications were played."""
        last = self.further or self.study
        return max(_replications(result) for result in last.results.values())

    def result(self, label: str) -> Result:
        """Return the result of an instance.

        Raises
        ------
        NotRunError
            If there are fewer than two replications that judge.
        """
        result = self.results[label]
        if _replications(result) < 2:
            played = _replications(self.study.results[label])
            raise NotRunError(f"too few replications ({played}): half of them choose variants, the other half judge")
        return result

    def resolve(self, family: str) -> str:
        """Return the family itself, or the best of ours on the replications that choose."""
        wanted = OURS if family == BEST_OF_OURS else (family,)
        for name in wanted:
            if name not in self.study.best:
                raise NotRunError(f"{name} was not run")
        return min(wanted, key=lambda name: self.study.scores[self.study.best[name]])

    def position(self, family: str) -> int:
        """Return the position of the family's best policy among the policies of the results."""
        name = self.resolve(family)
        if self.further is None:
            return list(self.study.families).index(self.study.best[name])
        return list(self.further.families).index(name)


def _replications(result: Result) -> int:
    return int(result.regret.sizes["replication"])


def _not_choosing(chosen: Result, further: Result) -> IntArray:
    """Return the replications of a further result that are not among those that chose."""
    every = np.arange(_replications(further))
    return np.setdiff1d(every, np.arange(_replications(chosen))[CHOOSING])


class ResultMeasure(NamedTuple):
    """A measurement of one policy in one result: a number per replication, whose mean is what the words describe."""

    name: str  # short, to precede numbers
    words: str
    of: Callable[[Result, int], FloatArray]  # the result, and the policy's position in it
    logarithmic: bool = False

    def show(self, measured: Measured) -> str:
        """Return value and standard error; for a logarithm, the number itself and its relative error."""
        return f"{math.exp(measured.value):.4g} ± {measured.error:.1%}" if self.logarithmic else str(measured)


def _regret(result: Result, position: int) -> FloatArray:
    final: FloatArray = result.regret.to_numpy()[position, :, -1]
    return final


def _late_regret(result: Result, position: int) -> FloatArray:
    regret, rounds = result.regret.to_numpy()[position], result.regret["round"].to_numpy()
    lost: FloatArray = regret[:, -1] - regret[:, np.argmax(rounds >= result.horizon - result.horizon // 10)]
    return lost


# Three of the numbers are not means over replications.  Each replication then contributes its influence on the number,
# so that the mean is the number and the spread gives its error (the delta method).


def _log_regret(result: Result, position: int) -> FloatArray:
    regret = _regret(result, position)
    mean = max(float(regret.mean()), 1e-300)
    return math.log(mean) + regret / mean - 1.0


def _growth(result: Result, position: int) -> FloatArray:
    tenth = max(1, result.horizon // 10)
    regret, late = _regret(result, position), _late_regret(result, position) * result.horizon / tenth
    mean = max(float(regret.mean()), 1e-300)
    ratio = float(late.mean()) / mean
    return ratio + (late - ratio * regret) / mean


def _cost(result: Result, position: int) -> FloatArray:
    # The lower quartile, because other load on the machine can only slow replications down.
    times, level = result.wall_time.to_numpy()[position], 0.25
    spread = math.sqrt(level * (1.0 - level) / len(times))
    low, quartile, high = np.quantile(times, (max(0.0, level - spread), level, min(1.0, level + spread)))
    above: FloatArray = (times > quartile).astype(float)
    cost: FloatArray = quartile + (above - above.mean()) * (high - low) / (2.0 * spread)
    return cost


def _failed(result: Result, position: int) -> FloatArray:
    # Two replications of each kind are added (Agresti and Coull): no failure in sixty does not mean there are none.
    return np.append(result.failed[position], (True, True, False, False)).astype(float)


def misses(target: float) -> ResultMeasure:
    """Return the measure of the share of replications that never reach the target."""
    return ResultMeasure(
        f"share above {target:g}",
        f"share of replications that never reach a mean regret below {target:g}",
        lambda result, position: np.isinf(pulls_to_target(result, target)[position]).astype(float),
    )


REGRET = ResultMeasure("regret", "mean regret at the horizon", _regret)
LATE_REGRET = ResultMeasure("late regret", "regret of the last tenth of the rounds", _late_regret)
LOG_REGRET = ResultMeasure("regret", "geometric mean of the regret at the horizon", _log_regret, logarithmic=True)
LATE_GROWTH = ResultMeasure(
    "growth", "regret per pull in the last tenth of the rounds, divided by that in all rounds,", _growth
)
SHARE_OF_RANDOM = ResultMeasure(
    "share of random regret",
    "regret at the horizon as a share of that of choosing arms at random",
    lambda result, position: _regret(result, position) / (result.horizon * float(result.instance.gaps.mean())),
)
COST = ResultMeasure("ns per pull", "lower quartile of the cost of a pull in nanoseconds", _cost)
SHARE_FAILED = ResultMeasure("failures", "share of replications that end in linear regret", _failed)


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


def measured(study: StudyEvidence, family: str, measure: ResultMeasure, labels: list[str]) -> Measured:
    """Return the measure of the family's best policy, averaged over these instances."""
    position = study.position(family)
    return Measured({label: measure.of(study.result(label), position) / len(labels) for label in labels})
