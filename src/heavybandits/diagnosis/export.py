"""A diagnosis for programs: the same numbers as the report, in plain values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .replay import LOGGED
from .tails import Estimate

if TYPE_CHECKING:
    from .report import Report


def as_values(report: Report) -> dict[str, Any]:
    """Return a diagnosis as values that JSON can hold; numbers that are not finite are None.

    Examples
    --------
    >>> import heavybandits as hb
    >>> found = as_values(hb.diagnose({"arm": ["a", "b"] * 20, "reward": [0.0, 1.0] * 20}))
    >>> found["leader"], found["advice"]["policy"], found["replay"]["as logged"]["earned"]["value"]
    ('b', 'thompson-beta', 0.5)
    """
    rewards, evidence, replay = report.rewards, report.evidence, report.replay
    sign = -1.0 if rewards.minimised else 1.0
    arms = []
    for arm, shape in report.arms.items():
        known, shape = evidence.about(rewards.labels[arm]), shape.mirrored() if rewards.minimised else shape
        arms.append({
            "arm": rewards.labels[arm], "count": shape.size, "mean": _finite(sign * report.levels[arm].mean),
            "known": _interval(Estimate(known.estimate, known.low, known.high)), "median": _finite(shape.median),
            "upper_tail": _interval(shape.upper), "lower_tail": _interval(shape.lower), "skew": _interval(shape.skew),
        })  # fmt: skip
    promised = {
        label: {"earned": _interval(replay.earned(label).mirrored() if rewards.minimised else replay.earned(label)),
                "better_than_logged": _interval(replay.lead(label, LOGGED))}
        for label in replay.shares
    }  # fmt: skip
    advice = {"policy": report.advice.name, "parameters": report.advice.parameters, "reason": report.advice.reason}
    return {
        "source": rewards.source, "count": len(rewards.rewards), "arms": len(rewards.labels), "goal": report.goal,
        "why": report.why, "leader": evidence.leader, "winner": evidence.winner, "findings": report.findings(),
        "drifts": None if report.common is None else report.drifts, "table": arms, "advice": advice,
        "program": report.snippet, "replay": promised, "note": replay.note,
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _interval(estimate: Estimate) -> dict[str, float | None]:
    return {name: _finite(value) for name, value in estimate._asdict().items()}
