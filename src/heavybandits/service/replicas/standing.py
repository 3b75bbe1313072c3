"""How the arms of an experiment stand: who leads, and what is known at all times; see :mod:`heavybandits.evidence`.

Arms are compared by their rewards, not by what the policy makes of them: the policy may forget or discount rewards.  If
decisions depend on contexts, no arm is best for all of them, and nothing is said but which one the policy rates highest
at average features.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING, NamedTuple

from ..._format import number, plural
from ...evidence.report import ArmEvidence, Evidence

if TYPE_CHECKING:
    from .report import ExperimentReport, Taken

RIVALS_WEIGHED = 20  # of the leader, for which evidence is worked out
LIFTS = 10  # of the highest arms, which are shown; each takes about a millisecond


class Standing(NamedTuple):
    """Who leads, and what is known.

    Attributes
    ----------
    leader
        The arm that is ahead, None before any reward counts.
    values
        What arms are ranked by: what they are compared by, or plain means where no reward counts yet.
    sentences
        What is known, in plain words.
    evidence
        What the sentences rest on; None if decisions depend on contexts.
    """

    leader: str | None
    values: dict[str, float]
    sentences: tuple[str, ...]
    evidence: Evidence | None

    def about(self, arm: str) -> ArmEvidence:
        """Return what is known about an arm."""
        if self.evidence is None or arm not in self.evidence.estimates:
            return ArmEvidence(arm, 0)
        highest = heapq.nlargest(LIFTS, self.values, self.values.__getitem__)
        return self.evidence.about(arm, lift=arm in highest)


def assessed(of: Taken, report: ExperimentReport) -> Standing:
    """Compare the arms that are not retired."""
    arms = [arm for arm in report.arms if arm.state != "retired"]
    if of.ledger is None:
        rated = {arm.name: arm.mean if math.isnan(arm.estimate) else arm.estimate for arm in arms if arm.rewards}
        return _rated(_finite(rated), of, report.pending)
    names, stop = [arm.name for arm in arms], of.spec.stop
    found = of.ledger.evidence(names, of.view.control, stop.delta, stop.eps, closest=RIVALS_WEIGHED)
    counted = found.estimates
    values = {arm.name: arm.mean if math.isnan(counted[arm.name]) else counted[arm.name] for arm in arms if arm.rewards}
    said = found.sentences if report.rewards else (_nothing_yet(report.pending),)
    if of.view.finished_with is not None:
        said = (f"Finished: all new decisions are for {of.view.finished_with}.", *said)
    return Standing(found.leader, _finite(values), said, found)


def _finite(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if math.isfinite(value)}


def _rated(values: dict[str, float], of: Taken, pending: int) -> Standing:
    if not values:
        return Standing(None, {}, (_nothing_yet(pending),), None)
    leader = max(values, key=values.__getitem__)
    what = f"{leader} leads with a {of.spec.goal} of about {number(values[leader])}"
    if len(values) == 1:
        return Standing(leader, values, (f"{what}; no other arm has a reward yet.",), None)
    where = "at average features; which arm is best differs from decision to decision."
    return Standing(leader, values, (f"{what} {where}",), None)


def _nothing_yet(pending: int) -> str:
    return f"No rewards yet; {plural(pending, 'decision')} {'is' if pending == 1 else 'are'} pending."
