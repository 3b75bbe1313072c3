"""Verdicts on the claims of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..results.study_result import StudyResult
from .claims import CLAIMS, MEDIAN, Claim
from .decisions import Outcome, decide
from .differences import DIFFERENCES
from .measures import Evidence


@dataclass(frozen=True)
class Verdict:
    """Whether a claim of the paper holds in the results of a study.

    Attributes
    ----------
    claim
        The claim in our words.
    where
        The section, figure or table of the paper in which it appears.
    study
        The study that decides it.
    verdict
        "holds", "does not hold" or "undecided".
    numbers
        The numbers that decide it, with standard errors.
    rule
        How it is decided; see :mod:`.rules` and :mod:`.decisions`.
    note
        Relevant differences between the paper's text and its published code, and how the claim was read.
    is_open
        Whether it is undecided and more replications may decide it.
    """

    claim: str
    where: str
    study: str
    verdict: Outcome
    numbers: str
    rule: str
    note: str
    is_open: bool = False


def verdicts(
    studies: Mapping[str, StudyResult], further: Mapping[str, StudyResult] = MappingProxyType({})
) -> list[Verdict]:
    """Check the claims of the paper whose study is given, in the order of the paper.

    Parameters
    ----------
    studies
        Results by the name of the study, one of :data:`~heavybandits.reproduce.EXPERIMENTS`; others are ignored.
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
    >>> decided[0].where, decided[0].study, {verdict.verdict for verdict in decided} > {"undecided"}
    ('Section 1.2; Section 3', 'cauchy', True)
    """
    evidence = {name: Evidence(study, further.get(name)) for name, study in studies.items()}
    return [_verdict(claim, evidence) for claim in CLAIMS if claim.study in studies]


def _verdict(claim: Claim, studies: Mapping[str, Evidence]) -> Verdict:
    best = studies[claim.study].study.best
    outcome, numbers, is_open = decide(claim.rule, studies[claim.study], studies)
    notes = [claim.note, *(d.code for d in DIFFERENCES if claim.study in d.studies)]
    if MEDIAN in claim.rule.words and MEDIAN in best:
        notes.append(
            f"The text gives {MEDIAN} a bonus, but the published code makes it greedy; the best variant here is "
            f"{best[MEDIAN]!r}."
        )
    rule = f"{claim.rule.words[0].upper()}{claim.rule.words[1:]}."
    note = " ".join(filter(None, notes))
    return Verdict(
        claim=claim.words, where=claim.where, study=claim.study, verdict=outcome, numbers=numbers, rule=rule, note=note,
        is_open=is_open,
    )  # fmt: skip
