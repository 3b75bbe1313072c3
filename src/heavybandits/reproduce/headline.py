"""What the page of claims says first: how much of the paper holds, what is clearest, and which policy beats it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._format import plural
from ..report.opening import TIMES, Card, final_means
from ..results.study_result import StudyResult
from .comparisons import ERROR
from .paper import PAPER
from .verdicts import ClaimVerdict, Outcome

TOO_FEW = "too few replications to judge the paper"


class Rival(NamedTuple):
    """A policy that is not in the paper, compared with the paper's best policy in each study."""

    name: str
    ratio: float  # of mean regrets: the geometric mean over instances
    lower: int  # instances in which its regret is lower
    instances: int


def headline(studies: Sequence[StudyResult], verdicts: Sequence[ClaimVerdict]) -> tuple[str, list[Card]]:
    """Say how much of the paper holds and what beats it, in a heading and three numbers."""
    counts, rival = Counter(verdict.outcome for verdict in verdicts), best_rival(studies)
    holds, fails = counts["holds"], counts["does not hold"]
    title = _how_much_holds(holds, fails, len(verdicts))
    cards = [
        Card(f"{holds} of {len(verdicts)}", f"claims hold.{_clearest(verdicts, 'holds')}", "good"),
        Card(str(fails), f"{'does' if fails == 1 else 'do'} not hold.{_clearest(verdicts, 'does not hold')}", "bad"),
    ]
    if not rival:
        text = "cannot be decided yet; more replications would decide more claims."
        return title, [*cards, Card(str(counts["undecided"]), text, "news")]
    text = (
        f"the regret of the paper's best policy is the average of {rival.name} over "
        f"{plural(rival.instances, 'instance')}. It does better in {rival.lower} of them."
    )
    beaten = f"{title} {rival.name}, which is not in the paper, beats its best policy."
    return beaten, [*cards, Card(f"{rival.ratio:.2f} {TIMES}", text, "news")]


def closing(verdicts: Sequence[ClaimVerdict]) -> str:
    """Return how many claims hold, for the terminal."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    holds, fails = counts["holds"], counts["does not hold"]
    if not holds + fails:
        return f"Claims of the paper: {TOO_FEW}"
    verbs = f"{holds} hold{'s' * (holds == 1)}, {fails} do{'es' * (fails == 1)} not"
    return f"Claims of the paper: {verbs}, {counts['undecided']} undecided. {by_chance(len(verdicts))}"


def by_chance(claims: int) -> str:
    """Say how many verdicts may be wrong.

    Examples
    --------
    >>> by_chance(57)
    'A verdict is wrong with a probability of at most 5%, so at most 2.9 of 57 are expected to be wrong.'
    """
    expected = f"at most {claims * ERROR:.1f} of {claims} are expected to be wrong"
    return f"A verdict is wrong with a probability of at most {ERROR:.0%}, so {expected}."


def _how_much_holds(holds: int, fails: int, total: int) -> str:
    """Put the counts in a sentence or two.

    Examples
    --------
    >>> _how_much_holds(27, 8, 49), _how_much_holds(11, 7, 46)
    ('Most of the paper holds; 8 claims do not.', 'Most claims that can be decided hold; 7 do not.')
    """
    if not holds + fails:
        return f"{TOO_FEW[0].upper()}{TOO_FEW[1:]}."
    if holds == total:
        return "Every claim of the paper holds."
    if not fails:
        return f"{holds} of {plural(total, 'claim')} hold{'s' * (holds == 1)}; the rest cannot be decided yet."
    not_so = "does not" if fails == 1 else "do not"
    if 2 * holds > total:
        return f"Most of the paper holds; {plural(fails, 'claim')} {not_so}."
    if holds > fails:
        return f"Most claims that can be decided hold; {fails} {not_so}."
    return f"Of {plural(holds + fails, 'claim')} that can be decided, {fails} {not_so} hold."


def _clearest(verdicts: Sequence[ClaimVerdict], outcome: Outcome) -> str:
    """Quote the claim with this verdict for which there is most evidence, in its weakest comparison."""
    chosen = [verdict for verdict in verdicts if verdict.outcome == outcome]
    return f" Most clearly: “{max(chosen, key=clarity).claim.words.rstrip('.')}”" if chosen else ""


def clarity(verdict: ClaimVerdict) -> float:
    """Return the logarithm of the evidence in the weakest comparison, whichever way it points."""
    return abs(verdict.weakest.strength) if verdict.weakest else 0.0


def best_rival(studies: Sequence[StudyResult]) -> Rival | None:
    """Return the policy that is not in the paper and beats it most, averaged over all instances; None if none does.

    In each study it is compared with the policy of the paper that has the lowest regret there.
    """
    logs: dict[str, list[float]] = {}
    for study in studies:
        if study.figure == "sweep":  # its many instances would outvote the others
            continue
        means = final_means(study)
        paper = [family for family in study.best if family in PAPER.policies]
        if not paper or not means:
            continue
        best = min(paper, key=lambda family: sum(map(math.log, means[family])))
        for family in study.best:
            if family not in PAPER.policies:
                logs.setdefault(family, []).extend(np.log(np.array(means[family]) / means[best]).tolist())
    rivals = [Rival(name, math.exp(float(np.mean(some))), sum(value < 0 for value in some), len(some))
              for name, some in logs.items()]  # fmt: skip
    beating = [rival for rival in rivals if rival.ratio < 1]
    return min(beating, key=lambda rival: rival.ratio) if beating else None
