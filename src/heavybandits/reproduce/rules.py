"""Rules that decide claims from the results of a study.

A rule turns a claim into *comparisons*.  Each has a margin, which is positive if the comparison speaks for the claim,
and the standard error of that margin over paired replications.  The claim

- *holds* if every margin is above 2 standard errors,
- *does not hold* if one is below -z standard errors, where z is 2 for one comparison; for k of them it is where the
  normal tail is k times smaller, because one of many may be low by chance (Bonferroni),
- is *undecided* otherwise, and if the study lacks what the claim is about.

"Close", "similar", "slightly" and "not large" mean a ratio of at most 1.25; "significantly", "much" and "crucially" one
of at least 2; "almost the same mean regret" a difference of at most a twentieth of what choosing at random loses.
Each algorithm is represented by its variant that is best in the study, as the paper takes the best hyper-parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from ..engine.results import StudyResult
from ..engine.time_to_target import late_quantile, seconds_to_target
from .measures import (
    GROWTH,
    LOG_REGRET,
    REGRET,
    SHARE,
    Measure,
    Measured,
    NotRunError,
    Where,
    measured,
    policy_place,
    resolve,
    with_error,
)  # fmt: skip

Outcome = Literal["holds", "does not hold", "undecided"]
Pairs = Sequence[tuple[str, str]]  # of families: the one that is to have the smaller number, and its rival

SURE = 2.0
SIMILAR = 1.25
MUCH = 2.0
ALMOST = 0.05
DRAWS = 1000  # of the bootstrap


class Comparison(NamedTuple):
    """What is compared, in words with numbers; the margin, and its standard error."""

    words: str
    margin: float
    error: float

    @property
    def strength(self) -> float:
        """Margin in standard errors."""
        if not self.margin or math.isnan(self.margin) or math.isinf(self.error):
            return 0.0
        return self.margin / self.error if self.error else math.copysign(math.inf, self.margin)

    def __str__(self) -> str:
        return f"{self.words}; margin {with_error(self.margin, self.error)}"


class Rule(NamedTuple):
    """How a claim is decided: in words, and as comparisons."""

    words: str
    compare: Callable[[StudyResult], Iterable[Comparison]]


def contradiction(comparisons: int) -> float:
    """Standard errors by which one of so many margins must be below zero to contradict a claim.

    Examples
    --------
    >>> [round(contradiction(k), 2) for k in (1, 2, 6)]
    [-2.0, -2.28, -2.67]
    """
    normal = NormalDist()
    return normal.inv_cdf(normal.cdf(-SURE) / comparisons)


def decide(rule: Rule, study: StudyResult) -> tuple[Outcome, str]:
    """The verdict, and the numbers that decide it."""
    try:
        comparisons = list(rule.compare(study))
    except NotRunError as lack:
        return "undecided", f"Not tested: {lack}."
    limit = contradiction(len(comparisons))
    weakest = min(comparisons, key=lambda comparison: comparison.strength)
    outcome: Outcome = (
        "holds" if weakest.strength > SURE else "does not hold" if weakest.strength < limit else "undecided"
    )
    if len(comparisons) == 1:
        return outcome, f"{weakest}."
    favourable = sum(comparison.strength > SURE for comparison in comparisons)
    adverse = sum(comparison.strength < limit for comparison in comparisons)
    return outcome, f"{favourable} of {len(comparisons)} comparisons for it, {adverse} against. The weakest: {weakest}."


def each(better: Iterable[str], worse: Iterable[str]) -> Pairs:
    """Every one of the first with every one of the second.

    Examples
    --------
    >>> each(["SGD-UCB"], ["UCB", "RUCB-Median"])
    [('SGD-UCB', 'UCB'), ('SGD-UCB', 'RUCB-Median')]
    """
    return list(product(better, worse))


def below(pairs: Pairs, where: Where, measure: Measure = REGRET, factor: float = 1.0, slack: float = 0.0) -> Rule:
    """What is measured of the first of each pair is below ``factor`` times that of the second, plus ``slack``."""

    def compare(study: StudyResult) -> Iterator[Comparison]:
        for pair, labels in product(pairs, where.groups(study)):
            low, high = (measured(study, family, measure, labels) for family in pair)
            first, second = (resolve(study, family) for family in pair)
            words = f"{where.spot(labels)}, {first} {measure.show(low)}, {second} {measure.show(high)}"
            yield _compared(words, high * factor - low + slack)

    limit = "" if factor == 1.0 else f"{factor:g} times "
    return Rule(f"{measure.words} {where.words}: {_names(pairs, f'below {limit}')}", compare)


def close(pairs: Pairs, where: Where) -> Rule:
    """The regrets of each pair are within a factor of 1.25."""
    rule = below([*pairs, *_turned(pairs)], where, factor=SIMILAR)
    return Rule(
        f"{REGRET.words} {where.words}, within a factor of {SIMILAR:g}: {_names(pairs, 'against ')}", rule.compare
    )


def almost_the_same(pairs: Pairs, where: Where) -> Rule:
    """The mean regrets of each pair differ by at most a twentieth of what choosing at random loses."""
    rule = below([*pairs, *_turned(pairs)], where, SHARE, slack=ALMOST)
    return Rule(f"{SHARE.words} {where.words}, within {ALMOST:g}: {_names(pairs, 'against ')}", rule.compare)


def under(families: Sequence[str], where: Where, measure: Measure, limit: Callable[[int], float], words: str) -> Rule:
    """What is measured of each family is at most a limit, which may depend on the horizon and is put in words."""

    def compare(study: StudyResult) -> Iterator[Comparison]:
        for family, labels in product(families, where.groups(study)):
            most = float(np.mean([limit(study.results[label].horizon) for label in labels]))
            found = measured(study, family, measure, labels)
            spot = f"{where.spot(labels)}, {resolve(study, family)} {measure.show(found)}, limit {most:.3g}"
            yield _compared(spot, found * -1.0 + most)

    return Rule(f"{measure.words} {where.words}, at most {words}: {_list(families)}", compare)


def lower_in(families: Sequence[str], low: Where, high: Where, measure: Measure = REGRET) -> Rule:
    """What is measured of each family is smaller in some instances than in others."""

    def compare(study: StudyResult) -> Iterator[Comparison]:
        for family, less, more in product(families, low.groups(study), high.groups(study)):
            small, large = (measured(study, family, measure, labels) for labels in (less, more))
            shown = f"{low.spot(less)} {measure.show(small)}, {high.spot(more)} {measure.show(large)}"
            yield _compared(f"{resolve(study, family)}, {shown}", large - small)

    return Rule(f"{measure.words}, smaller {low.words} than {high.words}: {_list(families)}", compare)


def converges(families: Sequence[str], where: Where) -> Rule:
    """Mean regret falls at the end: a pull then loses less than pulls did on average.

    Replications whose regret still grows linearly, :attr:`~heavybandits.Result.failed`, are counted with it.
    """

    def compare(study: StudyResult) -> Iterator[Comparison]:
        for family in families:
            place = policy_place(study, family)
            failed = {label: result.failed[place] for label, result in study.results.items()}
            counts = ", ".join(f"{label} {flags.sum()} of {flags.size}" for label, flags in failed.items())
            for [label] in where.groups(study):
                growth = measured(study, family, GROWTH, [label])
                words = f"{label}, {resolve(study, family)} {growth} (replications still losing much: {counts})"
                yield _compared(words, growth * -1.0 + 1.0)

    return Rule(f"{GROWTH.words} {where.words} below 1: {_list(families)}", compare)


def harder(pairs: Pairs, hard: Where, easy: Where) -> Rule:
    """The regret of the first of each pair, divided by that of the second, is larger in one instance than in others."""

    def compare(study: StudyResult) -> Iterator[Comparison]:
        for (first, second), more, less in product(pairs, hard.groups(study), easy.groups(study)):
            high, low = (
                measured(study, first, LOG_REGRET, labels) - measured(study, second, LOG_REGRET, labels)
                for labels in (more, less)
            )
            ratios = f"{hard.spot(more)} {LOG_REGRET.show(high)}, {easy.spot(less)} {LOG_REGRET.show(low)}"
            yield _compared(f"{resolve(study, first)} to {resolve(study, second)}, {ratios}", high - low)

    names = _names(pairs, "to ")
    return Rule(f"ratio of mean regrets at the horizon, larger {hard.words} than {easy.words}: {names}", compare)


def faster(pairs: Pairs, target: float, factor: float = 1.0) -> Rule:
    """The time that the first of each pair takes to a mean regret, times ``factor``, is below that of the second.

    Times are 90% quantiles over the replications that get there; errors come from a bootstrap of the replications.
    """

    def compare(study: StudyResult) -> Iterator[Comparison]:
        [result] = study.results.values()
        times = seconds_to_target(result, target) * 1e3
        drawn = np.random.default_rng(0).integers(times.shape[1], size=(DRAWS, times.shape[1]))
        for pair in pairs:
            first, second = (times[policy_place(study, family)] for family in pair)
            fast, slow = float(late_quantile(first)), float(late_quantile(second))
            with np.errstate(invalid="ignore"):  # never minus never
                margins = late_quantile(second[drawn]) - factor * late_quantile(first[drawn])
            margins = margins[np.isfinite(margins)] if np.isfinite(margins).any() else np.zeros(1)
            error = float(margins.std()) if times.shape[1] > 1 else math.inf
            yield Comparison(f"{pair[0]} {fast:.3g} ms, {pair[1]} {slow:.3g} ms", slow - factor * fast, error)

    limit = "" if factor == 1.0 else f" by a factor of {factor:g}"
    return Rule(
        f"90% quantile, over the replications that get there, of the time to a mean regret below {target:g}{limit}: "
        f"{_names(pairs, 'below ')}",
        compare,
    )


def _compared(words: str, margin: Measured) -> Comparison:
    return Comparison(words, margin.value, margin.error)


def _turned(pairs: Pairs) -> Pairs:
    return [(second, first) for first, second in pairs]


def _list(families: Sequence[str]) -> str:
    return families[0] if len(families) == 1 else f"each of {', '.join(families)}"


def _names(pairs: Pairs, verb: str) -> str:
    firsts, seconds = (list(dict.fromkeys(side)) for side in zip(*pairs, strict=True))
    if set(pairs) == set(product(firsts, seconds)):
        return f"{_list(firsts)} {verb}{_list(seconds)}"
    return ", ".join(f"{first} {verb}{second}" for first, second in pairs)
