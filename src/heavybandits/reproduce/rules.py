"""Rules that decide claims from the results of a study; :mod:`.comparisons` says what their comparisons must show.

"Close", "similar", "slightly" and "not large" mean a ratio of at most 1.25; "significantly", "much" and "crucially" one
of at least 2; "almost the same mean regret" a difference of at most a twentieth of what choosing at random loses.
An algorithm converges if a round costs less at the end than on average and at most one replication in twenty ends in
linear regret.  Each algorithm is represented by the variant of its grid that is best in the study, as the paper takes
the best hyper-parameters; even replications choose it, odd ones judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, product

import numpy as np

from ..evidence.statements import PairedNumbers, ProductBelow
from .comparisons import Comparison, Rule
from .measures import (
    FALLING,
    LATE_REGRET,
    REGRET,
    SHARE_FAILED,
    SHARE_OF_RANDOM,
    Measured,
    ResultMeasure,
    Where,
    measured,
)
from .study_evidence import NotRunError, StudyEvidence

Pairs = Sequence[tuple[str, str]]  # of families: the one claimed to have the smaller number, and its rival
Bound = Callable[[int], float]  # on the regret up to a round

SIMILAR = 1.25
MUCH = 2.0
ALMOST = 0.05


def each(better: Iterable[str], worse: Iterable[str]) -> Pairs:
    """Return every pair of a better and a worse family.

    Examples
    --------
    >>> each(["SGD-UCB"], ["UCB", "RUCB-Median"])
    [('SGD-UCB', 'UCB'), ('SGD-UCB', 'RUCB-Median')]
    """
    return list(product(better, worse))


def below(pairs: Pairs, where: Where, measure: ResultMeasure = REGRET, factor: float = 1.0, slack: float = 0.0) -> Rule:
    """Require that the measure of the first of each pair is below ``factor`` times that of the second plus a slack."""

    def compare(study: StudyEvidence) -> Iterator[Comparison]:
        for pair, labels in product(pairs, where.groups(study)):
            low, high = (measured(study, family, measure, labels) for family in pair)
            first, second = (study.resolve(family) for family in pair)
            words = f"{measure.name}, {where.spot(labels)}: {first} {low}, {second} {high}"
            yield Comparison.of(words, high * factor - low + slack)

    limit = "" if factor == 1.0 else f"{factor:g} times "
    return Rule(f"{measure.words} {where.words}: {names(pairs, f'below {limit}')}", compare, members(pairs))


def close(pairs: Pairs, where: Where) -> Rule:
    """Require that the regrets of each pair are within a factor of 1.25."""
    rule = below([*pairs, *_turned(pairs)], where, factor=SIMILAR)
    words = f"{REGRET.words} {where.words}, within a factor of {SIMILAR:g}: {names(pairs, 'against ')}"
    return rule._replace(words=words)


def almost_the_same(pairs: Pairs, where: Where) -> Rule:
    """Require that the mean regrets of each pair differ by at most a twentieth of what choosing at random loses."""
    rule = below([*pairs, *_turned(pairs)], where, SHARE_OF_RANDOM, slack=ALMOST)
    return rule._replace(words=f"{SHARE_OF_RANDOM.words} {where.words}, within {ALMOST:g}: {names(pairs, 'against ')}")


def under(families: Sequence[str], where: Where, measure: ResultMeasure, limit: float) -> Rule:
    """Require that the measure of each family is at most a limit."""

    def compare(study: StudyEvidence) -> Iterator[Comparison]:
        for family, labels in product(families, where.groups(study)):
            found = measured(study, family, measure, labels)
            shown = f"{study.resolve(family)} {found}, limit {limit:.3g}"
            words = f"{measure.name}, {where.spot(labels)}: {shown}"
            yield Comparison.of(words, found * -1.0 + limit)

    return Rule(f"{measure.words} {where.words}, at most {limit:g}: {all_of(families)}", compare, tuple(families))


def lower_in(families: Sequence[str], low: Where, high: Where, measure: ResultMeasure = REGRET) -> Rule:
    """Require that the measure of each family is smaller in some instances than in others."""

    def compare(study: StudyEvidence) -> Iterator[Comparison]:
        for family, less, more in product(families, low.groups(study), high.groups(study)):
            small, large = (measured(study, family, measure, labels) for labels in (less, more))
            shown = f"{low.spot(less)} {small}, {high.spot(more)} {large}"
            yield Comparison.of(f"{measure.name}, {study.resolve(family)}: {shown}", large - small)

    return Rule(f"{measure.words}, smaller {low.words} than {high.words}: {all_of(families)}", compare, tuple(families))


def converges(families: Sequence[str], where: Where) -> Rule:
    """Require that mean regret still falls at the end, and that hardly any replication ends in linear regret."""

    def compare(study: StudyEvidence) -> Iterator[Comparison]:
        for family, labels in product(families, where.groups(study)):
            name, spot = study.resolve(family), where.spot(labels)
            late, excess, failed = (
                measured(study, family, measure, labels) for measure in (LATE_REGRET, FALLING, SHARE_FAILED)
            )
            shown = f"{name} {late}, an average tenth {late - excess}"
            yield Comparison.of(f"{LATE_REGRET.name}, {spot}: {shown}", excess * -1.0)
            lost = f"{round(failed.numbers.sum())} of {failed.numbers.size} replications"
            yield Comparison.of(f"{spot}: {name} ends in linear regret in {lost}", failed * -1.0 + ALMOST)

    words = f"{FALLING.words} {where.words} below 0, and {SHARE_FAILED.words} at most {ALMOST:g}"
    return Rule(f"{words}: {all_of(families)}", compare, tuple(families))


def grows_no_faster(families: Sequence[str], noise: str, bound: Bound, words: str) -> Rule:
    """Require that regret grows by no larger factor from one horizon to the next than a bound does."""

    def compare(study: StudyEvidence) -> Iterator[Comparison]:
        labels = [label for label in study.results if label.startswith(noise)]
        labels.sort(key=lambda label: study.results[label].horizon)
        if len(labels) < 2:
            raise NotRunError(f"fewer than two horizons were run under {noise} noise")
        for family, (short, long) in product(families, pairwise(labels)):
            shorter, longer = (study.results[label].horizon for label in (short, long))
            less, more = (measured(study, family, REGRET, [label]) for label in (short, long))
            limit = bound(longer) / bound(shorter)
            shown = f"regret {more} instead of {less}, limit {limit:.3g} times as much"
            yield Comparison.of(
                f"{study.resolve(family)}, {longer:,} instead of {shorter:,} pulls: {shown}", less * limit - more
            )

    return Rule(
        f"growth of mean regret under {noise} noise from each horizon to the next, no more than that of {words}: "
        f"{all_of(families)}",
        compare,
        tuple(families),
    )


def below_on_average(pairs: Pairs, where: Where) -> Rule:
    """Require that the geometric mean over instances of the first's mean regret is below that of the second."""

    def compare(study: StudyEvidence) -> Iterator[Comparison]:
        for (first, second), labels in product(pairs, where.groups(study)):
            ratios = [_both(study, first, second, label) for label in labels]
            first_mean, second_mean = (_geometric(side) for side in zip(*ratios, strict=True))
            shown = f"{study.resolve(first)} {first_mean:.4g}, {study.resolve(second)} {second_mean:.4g}"
            yield _compared_ratios(f"{REGRET.name}, {where.spot(labels)}: {shown}", ratios)

    words = f"geometric mean of the mean regret at the horizon {where.words}"
    return Rule(f"{words}: {names(pairs, 'below ')}", compare, members(pairs))


def harder(pairs: Pairs, hard: Where, easy: Where) -> Rule:
    """Require that the regret of the first of each pair, relative to the second, is larger in the hard instances."""

    def compare(study: StudyEvidence) -> Iterator[Comparison]:
        for (first, second), [more], [less] in product(pairs, hard.groups(study), easy.groups(study)):
            high, low = (_both(study, second, first, more), _both(study, first, second, less))
            shown = f"{more} {high[1].value / high[0].value:.3g}, {less} {low[0].value / low[1].value:.3g}"
            families = f"{study.resolve(first)} divided by that of {study.resolve(second)}"
            yield _compared_ratios(f"{REGRET.name} of {families}: {shown}", [high, low])

    ratio = f"ratio of mean regrets at the horizon, larger {hard.words} than {easy.words}"
    return Rule(f"{ratio}: {names(pairs, 'to ')}", compare, members(pairs))


def _both(study: StudyEvidence, first: str, second: str, label: str) -> tuple[Measured, Measured]:
    one, other = (measured(study, family, REGRET, [label]) for family in (first, second))
    return one, other


def _geometric(regrets: Sequence[Measured]) -> float:
    return float(np.exp(np.mean([np.log(max(regret.value, 1e-300)) for regret in regrets])))


def _compared_ratios(words: str, ratios: Sequence[tuple[Measured, Measured]]) -> Comparison:
    """Compare products of mean regrets in different instances: that of the first is claimed to be below the other."""
    below = ProductBelow([PairedNumbers(one.numbers, other.numbers, one.high) for one, other in ratios])
    above = ProductBelow([PairedNumbers(other.numbers, one.numbers, other.high) for one, other in ratios])
    return Comparison(words, below, above)


def no_worse_in_batches(single: str, batches: dict[str, int], where: Where) -> Rule:
    """Require that batches of size b add at most the 2 (b - 1) further pulls of each arm that the bound allows."""

    def compare(study: StudyEvidence) -> Iterator[Comparison]:
        for (family, batch), [label] in product(batches.items(), where.groups(study)):
            one, many = (measured(study, name, REGRET, [label]) for name in (single, family))
            fixed = 2.0 * (batch - 1) * float(study.results[label].instance.gaps.sum())
            words = f"{family} {many}, {single} {one}, fixed part for batches of {batch} pulls {fixed:.4g}"
            yield Comparison.of(f"{REGRET.name}, {label}: {words}", one - many + fixed)

    sizes = ", ".join(f"{family} (b = {batch})" for family, batch in batches.items())
    words = f"{REGRET.words} {where.words}: {sizes} below {single} plus 2 (b - 1) times the sum of the gaps"
    return Rule(words, compare, (single, *batches))


def _turned(pairs: Pairs) -> Pairs:
    return [(second, first) for first, second in pairs]


def members(pairs: Pairs) -> tuple[str, ...]:
    """Return the families of all pairs."""
    return tuple(dict.fromkeys(family for pair in pairs for family in pair))


def all_of(families: Sequence[str]) -> str:
    """Return families in words."""
    return families[0] if len(families) == 1 else f"each of {', '.join(families)}"


def names(pairs: Pairs, verb: str) -> str:
    """Return pairs in words."""
    firsts, seconds = (list(dict.fromkeys(side)) for side in zip(*pairs, strict=True))
    if set(pairs) == set(product(firsts, seconds)):
        return f"{all_of(firsts)} {verb}{all_of(seconds)}"
    return ", ".join(f"{first} {verb}{second}" for first, second in pairs)
