"""Verdicts on the claims of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..engine.results import StudyResult
from .claims import CLAIMS, MEDIAN, Claim
from .decisions import Outcome, decide
from .differences import DIFFERENCES


@dataclass(frozen=True)
class Verdict:
    """Whether a claim of the paper holds in the results of a study.

    Attributes
    ----------
    claim
        In our words.
    where
        Section, figure or table of the paper.
    study
        The study that decides it.
    verdict
        "holds", "does not hold" or "undecided".
    numbers
        Those that decide it, with standard errors.
    rule
        How it is decided; see :mod:`.rules` and :mod:`.decisions`.
    note
        Where the paper's text and its published code differ in what bears on it, and how the claim was read.
    """

    claim: str
    where: str
    study: str
    verdict: Outcome
    numbers: str
    rule: str
    note: str


def verdicts(studies: Mapping[str, StudyResult]) -> list[Verdict]:
    """Check the claims of the paper whose study is given, in the order of the paper.

    Parameters
    ----------
    studies
        Results by the name of the study, one of :data:`~heavybandits.reproduce.EXPERIMENTS`; others are ignored.

    Examples
    --------
    >>> import heavybandits as hb
    >>> from heavybandits.engine.results import StudyResult
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
    >>> decided[0].where, decided[0].study, {verdict.verdict for verdict in decided} > {"undecided"}
    ('Section 1.2; Section 3', 'cauchy', True)
    """
    return [_verdict(claim, studies) for claim in CLAIMS if claim.study in studies]


def _verdict(claim: Claim, studies: Mapping[str, StudyResult]) -> Verdict:
    study = studies[claim.study]
    outcome, numbers = decide(claim.rule, study, studies)
    notes = [claim.note, *(d.code for d in DIFFERENCES if claim.study in d.studies)]
    if MEDIAN in claim.rule.words and MEDIAN in study.best:
        notes.append(
            f"The text gives {MEDIAN} a bonus, the published code makes it greedy; the best variant here is "
            f"{study.best[MEDIAN]!r}."
        )
    rule = f"{claim.rule.words[0].upper()}{claim.rule.words[1:]}."
    return Verdict(claim.words, claim.where, claim.study, outcome, numbers, rule, " ".join(filter(None, notes)))
