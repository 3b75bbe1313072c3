"""What is known about an experiment, from its replica alone."""

from __future__ import annotations

import functools
import math
import statistics
from typing import Any

from .. import __version__
from .events import iso
from .replica import Replica
from .spec import as_json


def report(replica: Replica) -> dict[str, Any]:
    """Return an experiment's totals, estimates and spans of time, in JSON's form."""
    totals, known = replica.totals, {row.arm: row for row in replica.learner.rows()}
    decisions = sum(arm.decisions for arm in totals.arms.values())
    arms = []
    for name, view in replica.arms.items():
        arm = totals.arms[name]
        row = known.get(name)  # None if it is retired
        finite = arm.rewards - arm.infinite
        sample = sorted(value for _, value in arm.sample)
        low, high = _median_interval(sample)
        arms.append({
            "name": name, "state": view.state, "payload": view.payload,
            "decisions": arm.decisions, "by_policy": arm.by_policy, "share": arm.decisions / max(decisions, 1),
            "rewards": arm.rewards, "pending": row.pending if row else 0, "late": arm.late, "given_up": arm.given_up,
            "zeros": arm.zeros, "infinite": arm.infinite, "total": _plain(arm.total),
            "mean": _plain(arm.total / finite) if finite else None,
            "standard_error": _plain(_standard_error(arm.total, arm.squares, finite)),
            "median": _plain(statistics.median(sample)) if sample else None,
            "median_interval": [_plain(low), _plain(high)] if sample else None,
            "estimate": _plain(row.estimate) if row else None, "index": _plain(row.index) if row else None,
            "mean_delay": arm.delay / arm.reported if arm.reported else None,
        })  # fmt: skip
    return {
        "experiment": replica.view(), "library_version": __version__, "checksum": replica.checksum(),
        "decisions": decisions, "rewards": sum(arm.rewards for arm in totals.arms.values()),
        "pending": sum(row.pending for row in known.values()), "arms": arms, "notes": replica.notes(),
        "first": None if totals.first_t is None else iso(totals.first_t),
        "last": iso(totals.last_t) if totals.spans else None,
        "largest": [
            {"value": _plain(large.value), "arm": large.arm, "id": large.key, "time": iso(large.t)}
            for large in sorted(totals.largest, reverse=True)
        ],
        "span_seconds": totals.width / 1e6,
        "spans": [
            {
                "start": iso(span.start),
                "arms": {arm: {"decisions": int(row[0]), "rewards": int(row[1]), "total": _plain(row[2])}
                         for arm, row in span.arms.items()},
                "estimates": {arm: _plain(value) for arm, value in (span.estimates or replica.estimates()).items()},
            }
            for span in totals.spans
        ],
    }  # fmt: skip


def _standard_error(total: float, squares: float, n: int) -> float:
    """Return the standard error of a mean; NaN if there are too few rewards."""
    if n < 2:
        return math.nan
    return math.sqrt(max(squares - total * total / n, 0.0) / (n - 1) / n)


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


def _plain(value: float) -> Any:
    """Return a number in JSON's form; None for a missing one."""
    return None if value != value else as_json(value)
