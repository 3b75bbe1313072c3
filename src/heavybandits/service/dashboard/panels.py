"""The parts of the page below the sentence: the arms, curves over time, and what the rewards look like."""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from ..._format import number
from ...diagnosis.shape import measure
from ...palette import HUES
from .judgement import Judgement
from .known import Known

CURVES = 8  # arms that are drawn, the busiest
DRIFTS = 0.01  # p-value below which a change of level is reported


class Row(NamedTuple):
    """An arm of the leaderboard, as text."""

    name: str
    state: str
    colour: int | None  # number of its hue, None if it is not drawn
    share: str
    decisions: str
    pending: str
    mean: str
    median: str
    estimate: str
    chance: str
    leads: bool


def leaderboard(known: Known, judgement: Judgement) -> list[Row]:
    """Return the arms, best first."""
    drawn = _drawn(known)
    ranked = sorted(
        known.report["arms"], key=lambda arm: (arm["state"] == "retired", -judgement.values.get(arm["name"], -math.inf))
    )
    return [
        Row(
            arm["name"], arm["state"], drawn.index(arm["name"]) if arm["name"] in drawn else None,
            f"{arm['share']:.0%}", f"{arm['decisions']:,}", f"{arm['pending']:,}",
            _with_error(arm["mean"], arm["standard_error"]),
            _with_interval(arm["median"], arm["median_interval"]), _shown(arm["estimate"]),
            f"{judgement.chances[arm['name']]:.0%}" if arm["name"] in judgement.chances else "-",
            arm["name"] == judgement.leader,
        )
        for arm in ranked
    ]  # fmt: skip


def series(known: Known, judgement: Judgement) -> str:
    """Return the curves as JSON: shares of decisions, estimates, and what finding out has cost, by span of time."""
    spans, drawn = known.report["spans"], _drawn(known)
    best = max(judgement.values.values(), default=0.0)
    cost, total = [], 0.0
    for span in () if known.has_context else spans:
        total += sum(row["decisions"] * (best - judgement.values[arm])
                     for arm, row in span["arms"].items() if arm in judgement.values)  # fmt: skip
        cost.append(_finite(total))
    curves = {
        "t": [datetime.fromisoformat(span["start"]).timestamp() for span in spans],
        "arms": [
            {"name": name, "hue": HUES[number % len(HUES)], "share": [_share(span, name) for span in spans],
             "estimate": [_finite(span["estimates"].get(name)) for span in spans]}
            for number, name in enumerate(drawn)
        ],
        "cost": cost,
    }  # fmt: skip
    return json.dumps(curves)


class Outliers(NamedTuple):
    """The largest rewards, and what dropping them would do to the ranking by means, if that matters."""

    largest: list[dict[str, str]]
    verdict: str


def outliers(known: Known) -> Outliers:
    """Check whether a few rewards decide which arm has the highest mean."""
    largest = known.report["largest"]
    means: dict[str, tuple[float, float]] = {}
    for arm in known.report["arms"]:
        dropped = [float(one["value"]) for one in largest
                   if one["arm"] == arm["name"] and math.isfinite(float(one["value"]))]  # fmt: skip
        count = arm["rewards"] - arm["infinite"]
        if arm["state"] != "retired" and count > len(dropped) and math.isfinite(float(arm["total"])):
            total = float(arm["total"])
            means[arm["name"]] = total / count, (total - math.fsum(dropped)) / (count - len(dropped))
    rows = [{"value": _shown(one["value"]), "arm": one["arm"], "id": one["id"] or "-", "time": one["time"]}
            for one in largest]  # fmt: skip
    if known.has_context:  # arms are ranked at average features, not by means
        return Outliers(rows, "")
    if len(means) < 2 or not rows:
        return Outliers(rows, "There are too few rewards to tell how the largest affect the ranking.")
    before, after = (max(means, key=lambda name: means[name][which]) for which in (0, 1))
    verdict = (
        f"Dropping them does not change which arm has the highest mean: {before}."
        if before == after
        else f"Without them {after} would have the highest mean instead of {before}."
    )
    return Outliers(rows, verdict)


def noise(known: Known) -> list[tuple[str, str]]:
    """Describe the rewards: tails, zeros and drift."""
    arms = [arm for arm in known.report["arms"] if arm["rewards"]]
    samples = {arm["name"]: known.samples[arm["name"]] for arm in arms}
    if not samples:
        return []
    with np.errstate(invalid="ignore", over="ignore"):
        shape = measure(np.concatenate([sample - np.median(sample) for sample in samples.values()]))
    count = sum(arm["rewards"] for arm in arms)
    drifting = [name for name, sample in samples.items() if measure(sample).drift.p_value * len(samples) < DRIFTS]
    return [
        ("upper tail index", f"{shape.upper}; means exist above 1, variances above 2"),
        ("lower tail index", f"{shape.lower}"),
        ("zeros", f"{sum(arm['zeros'] for arm in arms) / count:.0%} of rewards"),
        ("infinite", f"{sum(arm['infinite'] for arm in arms):,}"),
        ("level over time", f"changes for {', '.join(drifting)}" if drifting else "no change seen"),
    ]


def delays(known: Known) -> list[tuple[str, str]]:
    """Describe rewards that are pending, and those that came too late."""
    arms = known.report["arms"]
    times = [arm["mean_delay"] for arm in arms if arm["mean_delay"] is not None]
    return [
        ("pending decisions", f"{known.report['pending']:,}"),
        ("mean delay", f"{number(sum(times) / len(times))} s" if times else "-"),
        ("late, not learned", f"{sum(arm['late'] for arm in arms):,}"),
        ("given up", f"{sum(arm['given_up'] for arm in arms):,}"),
    ]


def _drawn(known: Known) -> list[str]:
    """Return the names of the busiest arms, in the order in which they were made."""
    busiest = sorted(known.report["arms"], key=lambda arm: -arm["decisions"])[:CURVES]
    return [arm["name"] for arm in known.report["arms"] if arm in busiest]


def _share(span: dict[str, Any], name: str) -> float | None:
    total = sum(row["decisions"] for row in span["arms"].values())
    return span["arms"].get(name, {"decisions": 0})["decisions"] / total if total else None


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(float(value)) else None


def _shown(value: Any) -> str:
    return "-" if value is None else number(float(value))


def _with_error(mean: Any, error: Any) -> str:
    return _shown(mean) if error is None else f"{_shown(mean)} ± {_shown(error)}"


def _with_interval(median: Any, interval: Any) -> str:
    if median is None or not all(map(math.isfinite, map(float, interval))):  # too few for an interval
        return _shown(median)
    return f"{_shown(median)} ({_shown(interval[0])} to {_shown(interval[1])})"
