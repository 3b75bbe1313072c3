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
from ..events import iso
from ..spec import ArmState, ArmView, Experiment, ExperimentView, as_json
from .replica import ARMS_OVER_TIME, Replica
from .standing import Standing, assessed
from .totals import ArmTotals, Totals

_checksums: WeakKeyDictionary[Replica, tuple[int, str]] = WeakKeyDictionary()  # with the events that they are of
RETIRED = ArmEstimate(None, 0, 0, math.nan, math.nan)  # what an agent knows about an arm that it no longer has


class Taken(NamedTuple):
    """A copy of what a replica holds, except its agent; ``rows`` returns what that knew about each arm."""

    exp: int
    spec: Experiment
    view: ExperimentView
    totals: Totals
    ledger: Ledger | None
    rows: Callable[[], list[ArmEstimate]]


def taken(replica: Replica, indices: bool = False) -> Taken:
    """Copy what pages and reports are made from, in the log's thread; only reports show the indices of arms."""
    view = replica.view()
    view.arms = [copy.copy(arm) for arm in view.arms]
    ledger = None if replica.ledger is None else replica.ledger.copied()
    return Taken(replica.exp, replica.spec, view, replica.totals.copied(), ledger, replica.learner.rows_later(indices))


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


class ExperimentReport(Struct):
    """What reports and pages both show: all but medians and the course of time."""

    experiment: ExperimentView
    decisions: int
    rewards: int
    pending: int
    notes: list[str]
    arms: list[ArmReport]
    largest: list[LargeReward]


def summary(of: Taken, rows: list[ArmEstimate]) -> ExperimentReport:
    """Return what a report and a page both show."""
    totals, known = of.totals, {row.arm: row for row in rows}
    decisions = sum(arm.decisions for arm in totals.arms.values())
    arms = [_of_arm(arm, totals.arms[arm.name], known.get(arm.name, RETIRED), decisions) for arm in of.view.arms]
    largest = [LargeReward(one.value, one.arm, one.key, iso(one.t)) for one in sorted(totals.largest, reverse=True)]
    rewards, pending = sum(arm.rewards for arm in arms), sum(row.pending for row in rows)
    return ExperimentReport(of.view, decisions, rewards, pending, of.view.notes, arms, largest)


def _of_arm(arm: ArmView, totals: ArmTotals, row: ArmEstimate, decisions: int) -> ArmReport:
    finite = totals.rewards - totals.infinite
    return ArmReport(
        arm.name, arm.state, arm.payload, totals.decisions, totals.by_policy, totals.decisions / max(decisions, 1),
        totals.rewards, row.pending, totals.late, totals.given_up, totals.zeros, totals.infinite, totals.total,
        totals.total / finite if finite else math.nan, _standard_error(totals.total, totals.squares, finite),
        row.estimate, row.index, totals.delay / totals.reported if totals.reported else math.nan,
    )  # fmt: skip


def full_report(of: Taken, checksum: str) -> dict[str, Any]:
    """Return an experiment's totals, evidence, estimates, medians and spans of time, in JSON's form."""
    totals, rows = of.totals, of.rows()
    found = summary(of, rows)
    busiest = sorted(totals.arms, key=lambda name: -totals.arms[name].decisions)[:ARMS_OVER_TIME]
    return _plain_fields(asdict(found)) | {
        "arms": [_plain_fields(asdict(arm)) | _plain_median(totals.arms[arm.name]) for arm in found.arms],
        "largest": [_plain_fields(asdict(one)) for one in found.largest],
        "evidence": _evidence(assessed(of, found), busiest),
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


def _evidence(found: Standing, arms: list[str]) -> dict[str, Any] | None:
    """Return the evidence, with a row for each of these arms; None if there can be none."""
    if found.evidence is None:
        return None
    forecast, cap = found.evidence.forecast, found.evidence.cap
    return {
        "winner": found.evidence.winner, "leader": found.leader, "sentences": list(found.sentences),
        "cap": None if cap is None else [_plain(end) for end in cap],
        "more_decisions": None if forecast is None else [_plain(float(count)) for count in forecast],
        "arms": [_plain_fields(found.about(arm)._asdict()) for arm in arms if arm in found.evidence.estimates],
    }  # fmt: skip


def _plain_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields with their numbers in JSON's form."""
    return {name: _plain(value) if isinstance(value, float) else value for name, value in fields.items()}


def _plain_median(arm: ArmTotals) -> dict[str, Any]:
    middle, interval = median(arm)
    return {"median": _plain(middle), "median_interval": [*map(_plain, interval)] if arm.sample else None}


def _plain(value: float) -> Any:
    """Return a number in JSON's form; None for a missing one."""
    return value if math.isfinite(value) else None if value != value else as_json(value)
