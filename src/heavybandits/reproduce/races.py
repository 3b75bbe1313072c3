"""Rules about time: the cost of a pull, and 90% quantiles of the time to a mean regret, as in the published code.

Load on the machine makes times vary, and not independently.  A replication plays all policies in turn, so that load
slows them down alike; so costs are compared within replications, by how often one policy is the dearer one.  Times to a
mean regret are pulls times cost.  Pulls are independent of the machine, and their quantiles are compared at a ratio of
costs that the replications that choose suggest and those that judge must show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import numpy as np

from ..evidence.statements import AllOf, MeanAbove, QuantileAbove, Statement
from ..protocols import FloatArray
from ..results.result import Result
from ..results.time_to_target import late_quantile, pulls_to_target, seconds_to_target
from .comparisons import Comparison, Rule
from .measures import Where
from .rules import Pairs, all_of, members, names
from .study_evidence import StudyEvidence

LATE = 0.9  # the quantile of times to a target
USUAL = 0.9  # of ratios of costs: what is assumed of them and must be shown
HALF = 0.5  # of what choosing at random loses: a mean regret that every algorithm reaches in every environment


def cheaper(families: Sequence[str], rival: str, factor: float) -> Rule:
    """Require that a pull of the rival mostly costs more than ``factor`` times one of each family."""

    def compare(study: StudyEvidence) -> Iterator[Comparison]:
        for family, label in product(families, study.results):
            low, high = (_costs(study, study.result(label), name) for name in (family, rival))
            dear = int((high > factor * low).sum())
            words = (
                f"median cost of a pull, {label}: {study.resolve(family)} {np.median(low):.3g} ns, {rival} "
                f"{np.median(high):.3g} ns; over {factor:g} times as much in {dear} of {low.size} replications"
            )
            yield Comparison(words, mostly_below(factor * low, high), mostly_below(high, factor * low))

    words = f"cost of a pull, over {factor:g} times as much in more than half of the replications"
    return Rule(f"{words}: {rival} against {all_of(families)}", compare, (*families, rival))


def faster(pairs: Pairs, target: float, factor: float = 1.0) -> Rule:
    """Require that the first of each pair takes less time to a mean regret, times ``factor``, than the second."""

    def compare(study: StudyEvidence) -> Iterator[Comparison]:
        [label] = study.results
        for first, second in pairs:
            yield raced(study, label, first, second, target, factor)

    return Rule(f"{_time(target, factor)}: {names(pairs, 'below ')}", compare, members(pairs))


def faster_than_recomputing(
    families: Sequence[str], rival: str, recomputed: str, costs: str, target: float, factor: float
) -> Rule:
    """Require the same against a rival that recomputes every estimate from all rewards at every pull.

    It makes the same choices as the rival.  Its cost is measured in the study ``costs``, next to that of the families;
    n pulls take time proportional to n squared, because pull t looks at t rewards.
    """

    def compare(study: StudyEvidence, dear: StudyEvidence) -> Iterator[Comparison]:
        [label], [timed] = study.results, dear.results
        slow = pulls_to_target(study.result(label), target)[study.position(rival)]
        for family in families:
            fast = pulls_to_target(study.result(label), target)[study.position(family)]
            pulls = factor * fast, slow * slow / dear.result(timed).horizon
            yield timed_pulls(dear, timed, (family, recomputed), pulls)

    words = f"{_time(target, factor)}: {all_of(families)} below {recomputed}"
    return Rule(words, compare, (*families, rival), (costs,))


def same_order(families: Sequence[str], where: Where, target: float, reference: str) -> Rule:
    """Require that families rank by time to a target as the replications that choose do in another study.

    There the target is a mean regret; here it is half of what choosing at random loses.
    """

    def compare(study: StudyEvidence, race: StudyEvidence) -> Iterator[Comparison]:
        [track] = race.choosing.values()
        times = late_quantile(seconds_to_target(track, target))
        order = sorted(families, key=lambda family: float(times[race.position(family)]))
        for (first, second), [label] in product(pairwise(order), where.groups(study)):
            half = HALF * float(study.results[label].instance.gaps.mean())
            compared = raced(study, label, first, second, half, 1.0)
            yield compared._replace(words=f"{label}: {compared.words} (order of {reference})")

    return Rule(
        f"90% quantile {where.words}, over the replications that reach it, of the time to half the mean regret of "
        f"choosing at random: {', '.join(families)} in the order of their times to {target:g} in the even replications "
        f"of the study {reference}",
        compare,
        tuple(families),
        (reference,),
    )


def raced(study: StudyEvidence, label: str, first: str, second: str, target: float, factor: float) -> Comparison:
    """Compare times to a mean regret: the first, times ``factor``, is claimed to be below the second."""
    fast, slow = (pulls_to_target(study.result(label), target)[study.position(name)] for name in (first, second))
    return timed_pulls(study, label, (first, second), (factor * fast, slow))


def timed_pulls(
    study: StudyEvidence, label: str, policies: tuple[str, str], pulls: tuple[FloatArray, FloatArray]
) -> Comparison:
    """Compare 90% quantiles of pulls, times their costs in a study: the first is claimed to be below the second."""
    costs = [_costs(study, study.result(label), name) for name in policies]
    before = [_costs(study, study.choosing[label], name) for name in policies]
    low, high = np.quantile(before[0] / before[1], (1.0 - USUAL, USUAL)).tolist()
    quick, late = (some[np.isfinite(some)] for some in pulls)
    supporting, contradicting = (
        AllOf(mostly_below(costs[0], high * costs[1]), QuantileAbove(late, high * quick, LATE)),
        AllOf(mostly_below(low * costs[1], costs[0]), QuantileAbove(low * quick, late, LATE)),
    )
    times = [f"{float(late_quantile(some)) * np.median(cost) * 1e-6:.3g} ms"
             for some, cost in zip(pulls, costs, strict=True)]  # fmt: skip
    return Comparison(f"{policies[0]} {times[0]}, {policies[1]} {times[1]}", supporting, contradicting)


def mostly_below(low: FloatArray, high: FloatArray) -> Statement:
    """State that the first of paired numbers is below the second in more than half of the pairs."""
    return MeanAbove(np.sign(high - low), 1.0)


def _costs(study: StudyEvidence, result: Result, family: str) -> FloatArray:
    costs: FloatArray = result.wall_time.to_numpy()[study.position(family)]
    return costs


def _time(target: float, factor: float) -> str:
    limit = "" if factor == 1.0 else f" by a factor of {factor:g}"
    return f"90% quantile, over the replications that reach it, of the time to a mean regret below {target:g}{limit}"
