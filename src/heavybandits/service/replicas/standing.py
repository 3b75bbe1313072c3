"""How the arms of an experiment stand: who leads, and what is known at all times; see :mod:`heavybandits.evidence`.

Arms are compared by their rewards, not by what the policy makes of them: the policy may forget or discount rewards.  If
decisions depend on contexts, no arm is best for all of them, and nothing is said but whether the policy earns more than
its control would.  Arms are then ranked by what the policy expects at average features.  Of points, the one that it
rates highest is told.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from ..._format import in_time, number, plural
from ...evidence.gain import Gain
from ...evidence.report import ArmEvidence, Evidence
from ...evidence.words import ONE_EACH
from ..forms import ExperimentView
from ..spec import POINT, Experiment
from .against_control import Lead
from .totals import Totals

if TYPE_CHECKING:
    from .report import ExperimentReport, PointsReport, Taken

RIVALS_WEIGHED = 20  # of the leader, for which evidence is worked out
SLOW_SECONDS = 60.0  # that rewards take on average, from which zeros may well come later than what pays
ZEROS_IN_TIME = "Zeros are reported like other rewards, so this holds only if they come no later than what pays."
LIFTS = 10  # of the highest arms beside the control, which are shown; each takes about a millisecond


class Standing(NamedTuple):
    """Who leads, and what is known.

    Attributes
    ----------
    leader
        The arm that is ahead, None before any reward counts.
    values
        What arms are ranked by: what they are compared by, or plain means where no reward counts yet.
    sign
        1 if the highest value is the best, -1 if rewards are costs.
    sentences
        What is known, in plain words.
    evidence
        What the sentences rest on; None if decisions depend on contexts.
    lead
        That of the policy over its control, if decisions depend on contexts and anything is known.
    lifted
        The control and the highest other arms, whose lifts over the control are shown.
    gain
        How much more all arms have earned than the control would have, if means are compared and anything is known.
    provided
        What all of this takes for granted though it may well be otherwise; ``sentences`` end with it.
    """

    leader: str | None
    values: dict[str, float]
    sign: int
    sentences: tuple[str, ...]
    evidence: Evidence | None
    lead: Lead | None = None
    lifted: frozenset[str] = frozenset()
    gain: Gain | None = None
    provided: tuple[str, ...] = ()

    def about(self, arm: str) -> ArmEvidence:
        """Return what is known about an arm."""
        if self.evidence is None or arm not in self.evidence.estimates:
            return ArmEvidence(arm, 0)
        return self.evidence.about(arm, lift=arm in self.lifted)


def assessed(of: Taken, report: ExperimentReport) -> Standing:
    """Compare the arms that may still be the winner."""
    names, stop = still_compared(of.view, of.ruled_out), of.spec.stop
    arms = [arm for arm in report.arms if arm.name in names]
    last = of.view.finished_with
    finished = () if last is None else (f"Finished: all new decisions are for {last}.",)
    if report.points is not None:
        return _best_point(report.points, of, report.pending, finished)
    if of.against_control is not None:
        rated = {arm.name: arm.mean if math.isnan(arm.estimate) else arm.estimate for arm in arms if arm.rewards}
        values, lead, sign = _finite(rated), of.against_control.lead(), of.spec.sign
        leader = max(values, key=lambda name: sign * values[name], default=None)
        told = of.against_control.sentence(lead) if report.rewards else _nothing_yet(of, report.pending)
        return Standing(leader, values, sign, (*finished, told), None, lead)
    assert of.ledger is not None
    found = of.ledger.evidence(names, of.view.control, stop.delta, stop.eps, closest=RIVALS_WEIGHED)
    counted = found.estimates
    values = {arm.name: arm.mean if math.isnan(counted[arm.name]) else counted[arm.name] for arm in arms if arm.rewards}
    said = found.sentences if report.rewards else (_nothing_yet(of, report.pending),)
    if len(names) == 1 < len(report.arms):
        said = (f"Only {names[0]} is left: the others are retired, or paused because they broke a guardrail.",)
    is_used_up = stop.budget is not None and report.decisions >= stop.budget
    if is_used_up and stop.then == "ask" and not (finished or found.winner or found.is_close):
        said = (f"The budget of {stop.budget:,} decisions is used up without a winner.", *said)
    if finished and found.winner is None:
        said = said[:1]  # nobody waits for a verdict any more
    provided = _provided(of) if report.rewards else ()
    values, sign = _finite(values), of.spec.sign
    control = of.view.control
    best = heapq.nlargest(LIFTS, [name for name in values if name != control], lambda name: sign * values[name])
    lifted = frozenset([control, *best])
    # If arms change, those that are played at other times seem to differ though they never do.
    gain = None if of.spec.drift else of.ledger.gain(found, control, stop.delta)
    sentences = (*finished, *said, *provided)
    return Standing(found.leader, values, sign, sentences, found, lifted=lifted, gain=gain, provided=provided)


def still_compared(view: ExperimentView, ruled_out: Collection[str]) -> list[str]:
    """Return the arms that may still be the winner: neither retired, nor paused because they broke a guardrail."""
    return [arm.name for arm in view.arms if arm.state != "retired" and arm.name not in ruled_out]


def _provided(of: Taken) -> tuple[str, ...]:
    """Say what evidence takes for granted of rewards like these."""
    late = zeros_may_be_late(of.spec, of.totals)
    return (*([ONE_EACH] if of.spec.sticky else []), *([ZEROS_IN_TIME] if late else []))


def zeros_may_be_late(spec: Experiment, totals: Totals) -> bool:
    """Return whether zeros are reported like other rewards, which take long: then equal arms may seem to differ."""
    arms = totals.arms.values()
    is_slow = sum(arm.delay - SLOW_SECONDS * arm.reported for arm in arms) > 0.0
    return not spec.reward.at_close and is_slow and any(arm.zeros for arm in arms)


def _finite(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if math.isfinite(value)}


def _best_point(found: PointsReport, of: Taken, pending: int, finished: tuple[str, ...]) -> Standing:
    """Say where the policy looks: it knows more about points that it plays often."""
    if found.best is None:
        return Standing(None, {}, of.spec.sign, (*finished, _nothing_yet(of, pending)), None)
    best, point = found.best, ", ".join(f"{name} {number(value)}" for name, value in found.best.point.items())
    early = math.isnan(best.estimate)
    told = ["Too early to tell." if early else f"Best so far: {point}, for about {number(best.estimate)} per decision."]
    if math.isfinite(best.low) and math.isfinite(best.high):
        told += [f"The policy expects {number(best.low)} to {number(best.high)} there."]
    told += [f"{plural(found.played, 'point')} {'has' if found.played == 1 else 'have'} been played."]
    return Standing(None, {POINT: best.estimate}, of.spec.sign, (*finished, *told), None)


def _nothing_yet(of: Taken, pending: int) -> str:
    are, decisions = ("is" if pending == 1 else "are"), plural(pending, "decision")
    came = came_so_far(of.spec, of.totals)
    if not came:
        return f"No rewards yet; {decisions} {are} pending."
    final = f"rewards become final {in_time((of.spec.reward.window or 0.0) / 86_400.0)} after their decision"
    return f"{plural(came, 'reward')} {'has' if came == 1 else 'have'} come; {final}. {decisions} {are} pending."


def came_so_far(spec: Experiment, totals: Totals) -> int:
    """Return how many rewards have come, if none is final before the window of its decision ends; otherwise 0."""
    return sum(arm.reported for arm in totals.arms.values()) if spec.reward.at_close else 0
