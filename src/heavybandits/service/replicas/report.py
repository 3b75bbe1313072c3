"""What is known about an experiment, from its replica alone.

The log's thread only copies; what is told is worked out elsewhere, while decisions go on.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import asdict

from ... import __version__
from ...evidence.ledger import Ledger
from ...online.estimates import ArmEstimate
from ...online.lipschitz_agent import PointEstimate
from ..events import iso
from ..forms import ArmView, ExperimentView
from ..spec import ArmState, Experiment, as_json
from .against_control import AgainstControl
from .learners.learner import as_reported
from .learners.points import PointsLearner, best_of, coordinates_of
from .named_rewards import NamedRewards
from .replica import ARMS_OVER_TIME, Replica
from .standing import Standing, assessed
from .totals import ArmTotals, Totals

_checksums: WeakKeyDictionary[Replica, tuple[int, str]] = WeakKeyDictionary()  # with the events that they are of
POINTS_SHOWN = 20  # of those played most
RETIRED = ArmEstimate(None, 0, 0, math.nan, math.nan)  # what an agent knows about an arm that it no longer has


class Taken(NamedTuple):
    """A copy of what a replica holds, except its agent; ``rows`` returns what that knew about each arm."""

    exp: int
    spec: Experiment
    view: ExperimentView
    totals: Totals
    ledger: Ledger | None
    against_control: AgainstControl | None
    named_rewards: NamedRewards
    rows: Callable[[], list[ArmEstimate]]
    points: Callable[[], list[PointEstimate]] | None = None  # returns what it knew about each point
    ruled_out: frozenset[str] = frozenset()  # arms that a guardrail has paused


def taken(replica: Replica, indices: bool = False) -> Taken:
    """Copy what pages and reports are made from, in the log's thread; only reports show the indices of arms."""
    view = replica.view()
    view.arms = [copy.copy(arm) for arm in view.arms]
    spec, learner, rows = replica.spec, replica.learner, replica.learner.rows_later(indices)
    return Taken(
        replica.exp, spec, view, replica.totals.copied(), None if replica.ledger is None else replica.ledger.copied(),
        None if replica.against_control is None else replica.against_control.copied(),
        replica.named_rewards.copied(), lambda: as_reported(spec, rows()),
        learner.agent.rows_later() if isinstance(learner, PointsLearner) else None,
        frozenset(filter(replica.is_ruled_out, replica.arms)),
    )  # fmt: skip


def checked(replica: Replica) -> tuple[Taken, str]:
    """Copy what a report is made from, and return a checksum with it; that costs a snapshot if anything happened."""
    if _checksums.get(replica, (0, ""))[0] != replica.seq:
        _checksums[replica] = replica.seq, replica.checksum()
    return taken(replica, indices=True), _checksums[replica][1]


class ArmReport(Struct):
    """What is known about an arm; NaN where nothing is."""

    name: str
    state: ArmState
    payload: Any
    decisions: int
    by_policy: int
    share: float
    rewards: int
    pending: int
    late: int
    given_up: int
    zeros: int
    infinite: int
    total: float
    mean: float
    standard_error: float
    estimate: float
    index: float
    mean_delay: float


class LargeReward(Struct):
    """One of the largest rewards, and the decision or observation that it belongs to."""

    value: float
    arm: str
    id: str | None
    time: str


class PointReport(Struct):
    """What is known about a point: its coordinates by name, and an interval for what it pays."""

    point: dict[str, float]
    rewards: int
    pending: int
    estimate: float
    low: float
    high: float


class PointsReport(Struct):
    """The best point so far, None before any reward, and those that were played most, out of all that were."""

    best: PointReport | None
    most_played: list[PointReport]
    played: int


class ExperimentReport(Struct):
    """What reports and pages both show: all but medians and the course of time."""

    experiment: ExperimentView
    decisions: int
    rewards: int
    pending: int
    notes: list[str]
    arms: list[ArmReport]
    largest: list[LargeReward]
    points: PointsReport | None = None


def summary(of: Taken, rows: list[ArmEstimate]) -> ExperimentReport:
    """Return what a report and a page both show."""
    totals, known = of.totals, {row.arm: row for row in rows}
    decisions = sum(arm.decisions for arm in totals.arms.values())
    arms = [_of_arm(arm, totals.arms[arm.name], known.get(arm.name, RETIRED), decisions) for arm in of.view.arms]
    largest = [LargeReward(one.value, one.arm, one.key, iso(one.t)) for one in sorted(totals.largest, reverse=True)]
    rewards, pending = sum(arm.rewards for arm in arms), sum(arm.pending for arm in arms)
    points = None if of.points is None else _of_points(of.spec, of.points())
    return ExperimentReport(of.view, decisions, rewards, pending, of.view.notes, arms, largest, points)


def _of_points(spec: Experiment, rows: list[PointEstimate]) -> PointsReport:
    def of_point(row: PointEstimate) -> PointReport:
        ends = (row.low, row.high) if spec.sign > 0 else (0.0 - row.high, 0.0 - row.low)
        return PointReport(
            coordinates_of(spec, list(row.point)), row.pulls, row.pending, spec.sign * row.estimate, *ends
        )

    best = best_of(rows)
    return PointsReport(None if best is None else of_point(best), [*map(of_point, rows[:POINTS_SHOWN])], len(rows))


def _of_arm(arm: ArmView, totals: ArmTotals, row: ArmEstimate, decisions: int) -> ArmReport:
    finite = totals.rewards - totals.infinite
    return ArmReport(
        arm.name, arm.state, arm.payload, totals.decisions, totals.by_policy, totals.decisions / max(decisions, 1),
        totals.rewards, row.pending + totals.provisional, totals.late, totals.given_up, totals.zeros, totals.infinite,
        totals.total, totals.total / finite if finite else math.nan,
        _standard_error(totals.total, totals.squares, finite), row.estimate, row.index,
        totals.delay / totals.reported if totals.reported else math.nan,
    )  # fmt: skip


def full_report(of: Taken, checksum: str) -> dict[str, Any]:
    """Return an experiment's totals, evidence, estimates, medians and spans of time, in JSON's form."""
    totals, rows = of.totals, of.rows()
    found = summary(of, rows)
    busiest = sorted(totals.arms, key=lambda name: -totals.arms[name].decisions)[:ARMS_OVER_TIME]
    return _plain_fields(asdict(found)) | {
        "arms": [_plain_fields(asdict(arm)) | _plain_median(totals.arms[arm.name]) for arm in found.arms],
        "largest": [_plain_fields(asdict(one)) for one in found.largest],
        "points": None if found.points is None else _plain_points(found.points),
        "evidence": _evidence(assessed(of, found), busiest),
        "named_rewards": {name: _named(of, name, busiest) for name in of.named_rewards.names},
        "guardrails": _guarded(of, busiest),
        "library_version": __version__, "checksum": checksum,
        "first": None if totals.first_t is None else iso(totals.first_t),
        "last": iso(totals.last_t) if totals.spans else None, "span_seconds": totals.width / 1e6,
        "spans": [
            {
                "start": iso(span.start), "decisions": int(sum(row[0] for row in span.arms.values())),
                "arms": {arm: {"decisions": int(row[0]), "rewards": int(row[1]), "total": _plain(row[2])}
                         for arm in busiest if (row := span.arms.get(arm)) is not None},
                "estimates": {arm: _plain(value) for arm, value in estimates.items()},
            }
            for span, estimates in zip(totals.spans, over_time(totals, rows), strict=True)
        ],
    }  # fmt: skip


def over_time(totals: Totals, rows: list[ArmEstimate]) -> list[dict[str, float]]:
    """Return the estimates at the end of each span of time; the last one is not over, and has those of now."""
    kept = len(rows) <= ARMS_OVER_TIME
    now = {row.arm: row.estimate for row in rows if kept and row.estimate == row.estimate}
    return [span.estimates for span in totals.spans[:-1]] + [now] * bool(totals.spans)


def _standard_error(total: float, squares: float, n: int) -> float:
    """Return the standard error of a mean; NaN if there are too few rewards."""
    if n < 2:
        return math.nan
    return math.sqrt(max(squares - total * total / n, 0.0) / (n - 1) / n)


def median(arm: ArmTotals) -> tuple[float, tuple[float, float]]:
    """Return the median of an arm's rewards with an interval; NaN and the whole line if there are none.

    Examples
    --------
    >>> median(ArmTotals(sample=[(0, 2.0), (1, 1.0)]))
    (1.5, (-inf, inf))
    """
    values = sorted([value for _, value in list(arm.sample)])  # copied in one step: the log's thread may add to it
    if not values:
        return math.nan, (-math.inf, math.inf)
    low, high = values[(len(values) - 1) // 2], values[len(values) // 2]
    return low if low == high else (low + high) / 2, _median_interval(values)


def _median_interval(values: list[float]) -> tuple[float, float]:
    """Return an interval that holds the median with probability 95%, from sorted values; the whole line if too few.

    Examples
    --------
    >>> _median_interval([1.0]), _median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    ((-inf, inf), (2.0, 8.0))
    """
    left_out = _left_out(len(values))
    return (-math.inf, math.inf) if left_out < 0 else (values[left_out], values[-1 - left_out])


@functools.cache
def _left_out(n: int) -> int:
    """Return how many values may be left out at an end: the median is among them with probability 2.5% at most."""
    most, ways = -1, 1
    while 40 * ways <= 2**n:
        most += 1
        ways += math.comb(n, most + 1)
    return most


def _evidence(found: Standing, arms: list[str]) -> dict[str, Any]:
    """Return the evidence, with a row for each of these arms; about the policy alone if decisions have contexts."""
    known, lead = found.evidence, found.lead
    forecast, winner = (None, None) if known is None else (known.forecast, known.winner)
    cap = known.cap if known is not None else None if lead is None else lead.cap
    return {
        "winner": winner, "leader": found.leader, "sentences": list(found.sentences),
        "cap": None if cap is None else [_plain(end) for end in cap],
        "more_decisions": None if forecast is None else [_plain(float(count)) for count in forecast],
        "arms": [_plain_fields(found.about(arm)._asdict()) for arm in arms if known and arm in known.estimates],
        "lead": None if lead is None else lead._asdict(),
        "gain": None if found.gain is None else _plain_fields(found.gain._asdict()),
    }  # fmt: skip


def _named(of: Taken, name: str, arms: list[str]) -> list[dict[str, Any]]:
    """Return what is known about the rewards with a name, for each of these arms."""
    found = of.named_rewards.of(name).evidence(arms, None, of.spec.stop.delta, closest=1)
    shown = (found.about(arm, lift=False) for arm in arms)
    return [_plain_fields({"arm": one.arm, "n": one.n, "estimate": one.estimate, "low": one.low, "high": one.high})
            for one in shown]  # fmt: skip


def _guarded(of: Taken, arms: list[str]) -> list[dict[str, Any]]:
    """Return how each of these arms stands with each guardrail."""
    control, delta = of.view.control, of.spec.stop.delta
    others = [arm for arm in arms if arm != control] if of.spec.guardrails else []
    return [_plain_fields(one._asdict()) for arm in others for one in of.named_rewards.guarded(arm, control, delta)]


def _plain_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields with their numbers in JSON's form."""
    return {name: _plain(value) if isinstance(value, float) else value for name, value in fields.items()}


def _plain_points(found: PointsReport) -> dict[str, Any]:
    best = None if found.best is None else _plain_fields(asdict(found.best))
    return {
        "best": best, "most_played": [_plain_fields(asdict(one)) for one in found.most_played], "played": found.played
    }  # fmt: skip


def _plain_median(arm: ArmTotals) -> dict[str, Any]:
    middle, interval = median(arm)
    return {"median": _plain(middle), "median_interval": [*map(_plain, interval)] if arm.sample else None}


def _plain(value: float) -> Any:
    """Return a number in JSON's form; None for a missing one."""
    return value if math.isfinite(value) else None if value != value else as_json(value)
