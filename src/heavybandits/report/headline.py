"""What a report says first: a headline and three numbers, chosen by rules from verdicts and results."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ..results.study_result import StudyResult
from .claims import Verdict

TIMES = "\N{MULTIPLICATION SIGN}"
MARGIN = re.compile(r"margin (-?[\d.e+-]+) ± ([\d.e+-]+)")


class Paper(Protocol):
    """The paper whose claims are checked."""

    @property
    def title(self) -> str: ...
    @property
    def authors(self) -> str: ...
    @property
    def year(self) -> int: ...
    @property
    def link(self) -> str: ...
    @property
    def policies(self) -> Sequence[str]: ...


class Card(NamedTuple):
    """A number, what it means, and its kind: "good", "bad" or "news"."""

    number: str
    text: str
    kind: str


class Headline(NamedTuple):
    """The top of the page."""

    title: str
    cards: list[Card]


class Rival(NamedTuple):
    """A policy that is not in the paper, compared with the paper's best policy in each study."""

    name: str
    ratio: float  # of mean regrets: the geometric mean over instances
    lower: int  # instances in which its regret is lower
    instances: int


def headline(studies: Sequence[StudyResult], verdicts: Sequence[Verdict], paper: Paper | None) -> Headline:
    """Choose what to say first."""
    if not verdicts:
        return _of_studies(studies)
    counts = Counter(verdict.verdict for verdict in verdicts)
    holds, fails, total = counts["holds"], counts["does not hold"], len(verdicts)
    rival = best_rival(studies, paper.policies if paper else ())
    title = _how_much_holds(holds, fails, total)
    if rival:
        title += f" {rival.name}, which is not in the paper, beats its best policy."
    cards = [
        Card(f"{holds} of {total}", f"claims hold.{_clearest(verdicts, 'holds')}", "good"),
        Card(str(fails), f"{'does' if fails == 1 else 'do'} not hold.{_clearest(verdicts, 'does not hold')}", "bad"),
    ]
    if rival:
        text = (
            f"the regret of the paper's best policy is the average of {rival.name} over "
            f"{_count(rival.instances, 'instance')}. It does better in {rival.lower} of them."
        )
        cards.append(Card(f"{rival.ratio:.2f} {TIMES}", text, "news"))
    else:
        text = "cannot be decided yet; more replications would decide more claims."
        cards.append(Card(str(counts["undecided"]), text, "news"))
    return Headline(title, cards)


def _how_much_holds(holds: int, fails: int, total: int) -> str:
    """Put the counts in a sentence or two.

    Examples
    --------
    >>> _how_much_holds(27, 8, 49), _how_much_holds(11, 7, 46)
    ('Most of the paper holds; 8 claims do not.', 'Most claims that can be decided hold; 7 do not.')
    """
    if not holds + fails:
        return "No claim of the paper can be decided yet."
    if holds == total:
        return "Every claim of the paper holds."
    if not fails:
        return f"{holds} of {_count(total, 'claim')} hold{'s' * (holds == 1)}; the rest cannot be decided yet."
    not_so = "does not" if fails == 1 else "do not"
    if 2 * holds > total:
        return f"Most of the paper holds; {_count(fails, 'claim')} {not_so}."
    if holds > fails:
        return f"Most claims that can be decided hold; {fails} {not_so}."
    return f"Of {_count(holds + fails, 'claim')} that can be decided, {fails} {not_so} hold."


def _clearest(verdicts: Sequence[Verdict], outcome: str) -> str:
    """Quote the claim with this verdict whose weakest comparison is furthest from zero, in standard errors."""
    chosen = [verdict for verdict in verdicts if verdict.verdict == outcome]
    return f" Most clearly: “{max(chosen, key=clarity).claim.rstrip('.')}”" if chosen else ""


def clarity(verdict: Verdict) -> float:
    """Return how many standard errors the margin is from zero; 0 if unknown.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> clarity(SimpleNamespace(numbers="UCB 3 ± 1, KL-UCB 7 ± 1; margin -4 ± 2."))
    2.0
    """
    found = MARGIN.search(verdict.numbers)
    try:
        margin, error = (float(part.rstrip(".")) for part in found.groups()) if found else (0.0, 0.0)
    except ValueError:
        return 0.0
    return abs(margin) / error if error > 0 else 0.0


def best_rival(studies: Sequence[StudyResult], of_paper: Sequence[str]) -> Rival | None:
    """Return the policy that is not in the paper and beats it most, averaged over all instances; None if none does.

    In each study it is compared with the policy of the paper that has the lowest regret there.
    """
    logs: dict[str, list[float]] = {}
    for study in studies:
        if study.figure == "sweep":  # its many instances would outvote the others
            continue
        means = final_means(study)
        paper = [family for family in study.best if family in of_paper]
        if not paper or not means:
            continue
        best = min(paper, key=lambda family: sum(map(math.log, means[family])))
        for family in study.best:
            if family not in of_paper:
                logs.setdefault(family, []).extend(np.log(np.array(means[family]) / means[best]).tolist())
    rivals = [Rival(name, math.exp(float(np.mean(some))), sum(value < 0 for value in some), len(some))
              for name, some in logs.items()]  # fmt: skip
    beating = [rival for rival in rivals if rival.ratio < 1]
    return min(beating, key=lambda rival: rival.ratio) if beating else None


def final_means(study: StudyResult) -> dict[str, list[float]]:
    """Return each family's mean regrets at the horizon, one for each instance whose arms differ."""
    order = list(study.families)
    finals = [np.maximum(result.regret.to_numpy()[:, :, -1].mean(axis=1), 1e-12)
              for result in study.results.values() if result.instance.gaps.any()]  # fmt: skip
    return {family: [float(final[order.index(label)]) for final in finals]
            for family, label in study.best.items()} if finals else {}  # fmt: skip


def _of_studies(studies: Sequence[StudyResult]) -> Headline:
    """Say which policy wins, if the studies check no claims."""
    title = studies[0].title or studies[0].name
    if len(studies) > 1:
        title = f"{len(studies)} studies"
    first = studies[0]
    means = final_means(first)
    if len(studies) > 1 or not means:
        return Headline(title, [])
    order = sorted(means, key=lambda family: sum(map(math.log, means[family])))
    best, table = order[0], np.array([means[family] for family in order])
    wins, instances = int((table[0] <= table.min(axis=0)).sum()), table.shape[1]
    label = first.best[best]
    row = list(first.families).index(label)
    failed = [result.failed[row] for result in first.results.values()]
    cards = [Card(f"{wins} of {instances}", f"instance{'s' * (instances != 1)} in which {best} has the lowest regret.",
                  "good")]  # fmt: skip
    if len(order) > 1:
        ratio = math.exp(float(np.log(table[0] / table[1]).mean()))
        text = f"the regret of {order[1]}, the next best, is the average of {best} over the instances."
        cards.append(Card(f"{ratio:.2f} {TIMES}", text, "news"))
    lost, runs = sum(int(some.sum()) for some in failed), sum(len(some) for some in failed)
    cards.append(
        Card(f"{lost} of {runs}", f"replications of {best} ended in linear regret.", "bad" if lost else "good")
    )
    return Headline(title, cards)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
