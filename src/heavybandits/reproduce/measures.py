"""What rules compare: numbers measured in the replications of a study, with their standard errors.

Policies play one instance on the same noise, so their replications are paired; different instances are independent.  A
:class:`Measured` keeps the replications apart, so that the error of a difference is that of the paired differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..engine.results import Result, StudyResult
from ..engine.time_to_target import pulls_to_target
from ..protocols import FloatArray

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
        """Its standard error; infinite with a single replication."""
        if any(len(part) < 2 for part in self.parts.values()):
            return math.inf
        return math.sqrt(sum(float(part.var(ddof=1)) / len(part) for part in self.parts.values()))

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
        return with_error(self.value, self.error)


def with_error(value: float, error: float) -> str:
    """A number and its standard error, to two digits of the error.

    Examples
    --------
    >>> with_error(1234.5, 182.3), with_error(0.16974, 0.01213), with_error(3.0, 0.0)
    ('1234 ± 182', '0.170 ± 0.012', '3 ± 0')
    """
    if not error or not math.isfinite(error):
        return f"{value:.4g} ± {error:g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


class Measure(NamedTuple):
    """What is measured of one policy in one result: numbers whose mean over the replications is what the words say."""

    words: str
    of: Callable[[Result, int], FloatArray]  # the result, and the policy's place in it
    logarithmic: bool = False

    def show(self, measured: Measured) -> str:
        """Value and standard error; of a logarithm what it is the logarithm of, and the relative error."""
        return f"{math.exp(measured.value):.4g} ± {measured.error:.1%}" if self.logarithmic else str(measured)


def _regret(result: Result, place: int) -> FloatArray:
    final: FloatArray = result.regret.to_numpy()[place, :, -1]
    return final


def _late_regret(result: Result, place: int) -> FloatArray:
    regret, rounds = result.regret.to_numpy()[place], result.regret["round"].to_numpy()
    lost: FloatArray = regret[:, -1] - regret[:, np.argmax(rounds >= result.horizon - result.horizon // 10)]
    return lost


# Three numbers are not means over replications.  What stands for a replication is its influence on them, so that the
# mean is the number and the spread gives its error (the delta method).


def _log_regret(result: Result, place: int) -> FloatArray:
    regret = _regret(result, place)
    mean = max(float(regret.mean()), 1e-300)
    return math.log(mean) + regret / mean - 1.0


def _growth(result: Result, place: int) -> FloatArray:
    tenth = max(1, result.horizon // 10)
    regret, late = _regret(result, place), _late_regret(result, place) * result.horizon / tenth
    mean = max(float(regret.mean()), 1e-300)
    ratio = float(late.mean()) / mean
    return ratio + (late - ratio * regret) / mean


def _cost(result: Result, place: int) -> FloatArray:
    # The median, for other work of the machine prolongs some replications a lot.
    times = result.wall_time.to_numpy()[place]
    root = math.sqrt(len(times))
    low, median, high = np.quantile(times, (0.5 - 0.5 / root, 0.5, 0.5 + 0.5 / root))
    cost: FloatArray = median + np.sign(times - median) * root * (high - low) / 2.0
    return cost


def misses(target: float) -> Measure:
    """Share of replications that never reach the target."""
    return Measure(
        f"share of replications that never reach a mean regret below {target:g}",
        lambda result, place: np.isinf(pulls_to_target(result, target)[place]).astype(float),
    )


REGRET = Measure("mean regret at the horizon", _regret)
LATE_REGRET = Measure("regret of the last tenth of the rounds", _late_regret)
LOG_REGRET = Measure("geometric mean of the regret at the horizon", _log_regret, logarithmic=True)
GROWTH = Measure("regret per pull in the last tenth of the rounds, divided by that in all rounds,", _growth)
SHARE = Measure(
    "regret at the horizon as a share of that of choosing arms at random",
    lambda result, place: _regret(result, place) / (result.horizon * float(result.instance.gaps.mean())),
)
COST = Measure("median cost of a pull in nanoseconds", _cost)


class Where(NamedTuple):
    """Which instances of a study a claim is about: groups, each of which is compared on the average of its members."""

    words: str
    groups: Callable[[StudyResult], list[list[str]]]

    def spot(self, labels: list[str]) -> str:
        """A group in words: the label of its only member, or what is common to all."""
        return labels[0] if len(labels) == 1 else self.words


def environments(*numbers: int) -> Where:
    """Env1, Env2 or Env3, each by itself: the first, second and third instance of a study."""

    def groups(study: StudyResult) -> list[list[str]]:
        if max(numbers) > len(study.results):
            raise NotRunError(f"Env{max(numbers)} was not run")
        return [[list(study.results)[number - 1]] for number in numbers]

    return Where(f"in {' and '.join(f'Env{number}' for number in numbers)}", groups)


def _deltas(low: float, high: float) -> Callable[[StudyResult], list[list[str]]]:
    def group(study: StudyResult) -> list[list[str]]:
        deltas = {label: study.swept[label]["delta"] for label in study.results}
        top = max(deltas.values())
        chosen = [label for label, delta in deltas.items() if low * top < delta <= high * top]
        if not chosen:
            raise NotRunError(f"the study has no gap between {low:g} and {high:g} times its largest")
        return [chosen]

    return group


EACH = Where("in each instance", lambda study: [[label] for label in study.results])
WHOLE = Where("over all instances", lambda study: [list(study.results)])
CLOSE_ARMS = Where("over the gaps up to a quarter of the largest", _deltas(0.0, 0.25))
NEARER_ARMS = Where("over the gaps up to half the largest", _deltas(0.0, 0.5))
DISTINCT_ARMS = Where("over the gaps above half the largest", _deltas(0.5, 1.0))


def policy_place(study: StudyResult, family: str) -> int:
    """Place, among the policies of the study, of the best of the family."""
    return list(study.families).index(study.best[resolve(study, family)])


def resolve(study: StudyResult, family: str) -> str:
    """The family itself, or the one that is the best of ours."""
    wanted = OURS if family == BEST_OF_OURS else (family,)
    for name in wanted:
        if name not in study.best:
            raise NotRunError(f"{name} was not run")
    labels = list(study.results)
    return min(wanted, key=lambda name: measured(study, name, LOG_REGRET, labels).value if len(wanted) > 1 else 0.0)


def measured(study: StudyResult, family: str, measure: Measure, labels: list[str]) -> Measured:
    """Average over these instances of what is measured of the best policy of the family."""
    place = policy_place(study, family)
    return Measured({label: measure.of(study.results[label], place) / len(labels) for label in labels})
