"""Rules about the time to a mean regret: 90% quantiles over the replications that reach it, as in the published code.

Errors come from a bootstrap of the replications that judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import numpy as np

from ..protocols import FloatArray
from ..results.time_to_target import late_quantile, pulls_to_target, seconds_to_target
from .comparisons import Comparison, Rule
from .measures import StudyEvidence, Where
from .rules import Pairs, all_of, members, names

BOOTSTRAP_DRAWS = 1000
HALF = 0.5  # of what choosing at random loses: a mean regret that every algorithm reaches in every environment


def faster(pairs: Pairs, target: float, factor: float = 1.0) -> Rule:
    """Require that the first of each pair takes less time to a mean regret, times ``factor``, than the second."""

    def compare(study: StudyEvidence) -> Iterator[Comparison]:
        [label] = study.results
        for first, second in pairs:
            fast, slow = (milliseconds(study, label, family, target) for family in (first, second))
            yield compared(f"{first} {{}}, {second} {{}}", fast, slow, factor)

    return Rule(f"{_time(target, factor)}: {names(pairs, 'below ')}", compare, members(pairs))


def faster_than_recomputing(
    families: Sequence[str], rival: str, recomputed: str, costs: str, target: float, factor: float
) -> Rule:
    """Require the same against a rival that recomputes every estimate from all rewards at every pull.

    It makes the same choices as the rival.  Its cost is measured in the study ``costs``; n pulls take time proportional
    to n squared, because pull t looks at t rewards.
    """

    def compare(study: StudyEvidence, dear: StudyEvidence) -> Iterator[Comparison]:
        [label], [timed] = study.results, dear.results
        cost = float(np.median(dear.result(timed).wall_time.to_numpy()[dear.position(recomputed)]))
        pulls = pulls_to_target(study.result(label), target)[study.position(rival)]
        slow = pulls * pulls / dear.result(timed).horizon * cost * 1e-6
        for family in families:
            fast = milliseconds(study, label, family, target)
            yield compared(f"{family} {{}}, {recomputed} {{}}", fast, slow, factor)

    words = f"{_time(target, factor)}: {all_of(families)} below {recomputed}"
    return Rule(words, compare, (*families, rival), (costs,))


def same_order(families: Sequence[str], where: Where, target: float, reference: str) -> Rule:
    """Require that families rank by time to a target as they do in another study.

    There the target is a mean regret; here it is half of what choosing at random loses.
    """

    def compare(study: StudyEvidence, raced: StudyEvidence) -> Iterator[Comparison]:
        [track] = raced.results
        found = {family: float(late_quantile(milliseconds(raced, track, family, target))) for family in families}
        order = sorted(families, key=found.__getitem__)
        for (first, second), [label] in product(pairwise(order), where.groups(study)):
            half = HALF * float(study.results[label].instance.gaps.mean())
            fast, slow = (milliseconds(study, label, family, half) for family in (first, second))
            yield compared(f"{label}: {first} {{}}, {second} {{}} (order of {reference})", fast, slow)

    return Rule(
        f"90% quantile {where.words}, over the replications that reach it, of the time to half the mean regret of "
        f"choosing at random: {', '.join(families)} in the order of their times to {target:g} in the study {reference}",
        compare,
        tuple(families),
        (reference,),
    )


def milliseconds(study: StudyEvidence, label: str, family: str, target: float) -> FloatArray:
    """Return the times to a mean regret of the best policy of a family, in the replications that judge."""
    times: FloatArray = seconds_to_target(study.result(label), target)[study.position(family)] * 1e3
    return times


def compared(words: str, fast: FloatArray, slow: FloatArray, factor: float = 1.0) -> Comparison:
    """Compare 90% quantiles of times: the first, times ``factor``, is claimed to be below the second."""
    drawn = np.random.default_rng(0).integers(fast.size, size=(BOOTSTRAP_DRAWS, fast.size))
    quick, late = float(late_quantile(fast)), float(late_quantile(slow))
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        margins = late_quantile(slow[drawn]) - factor * late_quantile(fast[drawn])
    margins = margins[np.isfinite(margins)] if np.isfinite(margins).any() else np.zeros(1)
    margin = math.nan if math.isinf(quick) and math.isinf(late) else late - factor * quick
    shown = words.format(f"{quick:.3g} ms", f"{late:.3g} ms")
    return Comparison(shown, margin, float(margins.std()), fast.size - 1)


def _time(target: float, factor: float) -> str:
    limit = "" if factor == 1.0 else f" by a factor of {factor:g}"
    return f"90% quantile, over the replications that reach it, of the time to a mean regret below {target:g}{limit}"
