"""Verdicts on the claims of the paper."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from ..results.study_result import StudyResult
from .claims import CLAIMS, RUCB_MEDIAN, PaperClaim
from .comparisons import Comparison, growth_needed
from .differences import DIFFERENCES, Difference
from .study_evidence import NotRunError, StudyEvidence

Outcome = Literal["holds", "does not hold", "undecided"]


@dataclass(frozen=True)
class ClaimVerdict:
    """Whether a claim of the paper holds in the results of a study.

    Attributes
    ----------
    claim
        What the paper claims and where, the study that decides it, and the rule.
    comparisons
        What the rule compared, with margins; none if the claim could not be tested.
    lack
        What was missing to test it.
    played, judged
        How many replications were played, and how many of them judge.
    notes
        How the claim was read, and which variant stands for an algorithm; a sentence each.
    differences
        Where the paper's text and its published code differ in what the study plays.
    """

    claim: PaperClaim
    comparisons: tuple[Comparison, ...] = ()
    lack: str = ""
    played: int = 0
    judged: int = 0
    notes: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()

    @cached_property
    def outcome(self) -> Outcome:
        """What the comparisons say; see :mod:`.comparisons`."""
        if self.comparisons and self.favourable == len(self.comparisons):
            return "holds"
        return "does not hold" if self.adverse else "undecided"

    @cached_property
    def favourable(self) -> int:
        """How many comparisons support the claim."""
        return sum(comparison.speaks_for() for comparison in self.comparisons)

    @cached_property
    def adverse(self) -> int:
        """How many comparisons contradict the claim."""
        return sum(comparison.speaks_against(len(self.comparisons)) for comparison in self.comparisons)

    @property
    def is_open(self) -> bool:
        """Whether the claim is undecided and more replications may decide it."""
        return self.outcome == "undecided" and bool(self.comparisons)

    @property
    def weakest(self) -> Comparison | None:
        """The comparison that supports the claim least."""
        return min(self.comparisons, key=lambda comparison: comparison.strength, default=None)

    @property
    def in_brief(self) -> str:
        """The weakest comparison in words and numbers."""
        return self.weakest.words if self.weakest else f"Not tested: {self.lack}"

    @property
    def numbers(self) -> str:
        """The numbers that decide the claim, with the evidence, and what it would take to decide it if it is open."""
        if not self.comparisons:
            return f"{self.in_brief}."
        total = len(self.comparisons)
        counts = f"{self.favourable} of {total} comparisons support it, {self.adverse} contradict it. The weakest: "
        numbers = f"{counts if total > 1 else ''}{self.weakest}."
        return f"{numbers} {self._outlook()}" if self.is_open else numbers

    def _outlook(self) -> str:
        factor = growth_needed(self.comparisons)
        if math.isinf(factor):
            return "How many replications would decide it cannot be told yet."
        needed = math.ceil((factor - 1.0) * self.judged) + self.played
        return f"About {needed:,} replications would decide it if they go on like the {self.played:,} played so far."


def verdicts(
    studies: Mapping[str, StudyResult], further: Mapping[str, StudyResult] = MappingProxyType({})
) -> list[ClaimVerdict]:
    """Check the claims of the paper whose study is given, in the order of the paper.

    Parameters
    ----------
    studies
        Results by the name of the study, one of :data:`~heavybandits.reproduce.PAPER_EXPERIMENTS`; others are ignored.
    further
        More replications of the best policies of some studies, by the same names; see :mod:`.further`.

    Examples
    --------
    >>> import heavybandits as hb
    >>> from heavybandits.results.study_result import StudyResult
    >>> policies = {
    ...     "UCB": hb.UCB(), "RUCB-Median": hb.make("rucb-median", eps=1, v=1), "SGD-UCB": hb.make("sgd-ucb"),
    ...     "SGD-UCB-Median": hb.make("sgd-ucb-median"), "SGD-UCB-SMoM": hb.make("sgd-ucb-smom"),
    ... }
    >>> environments = {"Env1": hb.env1, "Env2": hb.env2, "Env3": hb.env3}
    >>> results = {
    ...     label: hb.simulate(make(hb.Cauchy()), policies, horizon=500, replications=20)
    ...     for label, make in environments.items()
    ... }
    >>> families = {label: label for label in policies}
    >>> study = StudyResult("cauchy", "Cauchy noise", "", results, families, {}, {}, {})
    >>> decided = verdicts({"cauchy": study})
    >>> decided[0].claim.where, decided[0].claim.study, decided[0].outcome
    ('Section 1.2, Section 3', 'cauchy', 'undecided')
    """
    evidence = {name: StudyEvidence(study, further.get(name)) for name, study in studies.items()}
    return [verdict_on(claim, evidence) for claim in CLAIMS if claim.study in studies]


def verdict_on(claim: PaperClaim, studies: Mapping[str, StudyEvidence]) -> ClaimVerdict:
    """Check a claim against the evidence of its study and of those that its rule needs."""
    study = studies[claim.study]
    comparisons, lack = _compared(claim, studies)
    notes, best = claim.notes, study.study.best
    if RUCB_MEDIAN in claim.rule.families and RUCB_MEDIAN in best:
        greedy = f"The text gives {RUCB_MEDIAN} a bonus, but the published code makes it greedy"
        notes = (*notes, f"{greedy}; the best variant here is {best[RUCB_MEDIAN]!r}.")
    differences = tuple(difference for difference in DIFFERENCES if claim.study in difference.studies)
    return ClaimVerdict(claim, comparisons, lack, study.played, study.judged, notes, differences)


def _compared(claim: PaperClaim, studies: Mapping[str, StudyEvidence]) -> tuple[tuple[Comparison, ...], str]:
    """Return what the rule of a claim compares, or what is missing for it."""
    for name in claim.rule.needs:
        if name not in studies:
            return (), f"the study {name} was not run"
    try:
        return tuple(claim.rule.compare(*(studies[name] for name in (claim.study, *claim.rule.needs)))), ""
    except NotRunError as lack:
        return (), str(lack)
