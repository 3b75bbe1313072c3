"""The parts of the page below the sentence: the arms, curves over time, and what the rewards look like."""

from __future__ import annotations

import itertools
import json
import math
import operator
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from ..._format import number
from ...diagnosis.shape import drift, level
from ...diagnosis.tails import UNKNOWN_ESTIMATE, Estimate, distances, end_at_caps, tail_index
from ...evidence.report import ArmEvidence
from ...palette import HUES, LINES
from .known import Known

LEADING_ARMS = 50  # arms on the page; a page of their own has all
CURVE_PIXELS = 2.0  # of a curve, in pixels
DRIFT_P_VALUE = 0.01  # p-value below which a change of level is reported


class LeaderboardRow(NamedTuple):
    """An arm of the leaderboard, as text."""

    position: int  # in the order in which arms were made; an arm keeps its place and its colour
    name: str
    state: str
    colour: int | None  # number of its hue, None if it is not drawn
    rank: str
    share: str
    decisions: str
    pending: str
    mean: str
    median: str
    estimate: str
    counted: str
    lift: str
    leads: bool


def ranking(known: Known) -> list[str]:
    """Return the names of all arms, best first; retired ones come last."""
    arms, values = known.report.arms, known.standing.values
    ranked = sorted(arms, key=lambda arm: (arm.state == "retired", -values.get(arm.name, -math.inf)))
    return [arm.name for arm in ranked]


def leading(known: Known) -> set[str]:
    """Return the names of the best arms, with the control among them."""
    best, control = ranking(known)[:LEADING_ARMS], known.report.experiment.control
    return {*best} if control in best else {*best[: LEADING_ARMS - 1], control}


def leaderboard(known: Known, names: Collection[str]) -> list[LeaderboardRow]:
    """Return these arms, in the order in which they were made: a row that moves is hard to read and easy to miss."""
    ranks = {name: rank for rank, name in enumerate(ranking(known), 1) if name in known.standing.values}
    return [
        LeaderboardRow(
            position, arm.name, arm.state, position % len(HUES) if position in known.drawn else None,
            str(ranks.get(arm.name, "-")), f"{arm.share:.0%}", f"{arm.decisions:,}", f"{arm.pending:,}",
            _with_error(arm.mean, arm.standard_error), _with_interval(*known.median(arm.name)), number(arm.estimate),
            *_evidence(known.standing.about(arm.name)), arm.name == known.standing.leader,
        )
        for position, arm in enumerate(known.report.arms)
        if arm.name in names
    ]  # fmt: skip


def series(known: Known) -> str:
    """Return the curves as JSON: shares of decisions, estimates, and what finding out has cost, by span of time."""
    spans = known.totals.spans
    values = known.standing.values
    best = max(values.values(), default=0.0)
    lost = {} if known.has_context else {name: best - value for name, value in values.items()}
    decisions, costs = [], []
    for span in spans:
        made = [row[0] for row in span.arms.values()]
        decisions.append(sum(made))
        costs.append(sum(map(operator.mul, made, map(lost.get, span.arms, itertools.repeat(0.0)))))
    curves = {
        "t": [span.start / 1e6 for span in spans],
        "arms": [
            {
                "name": name, "hue": HUES[position % len(HUES)],
                "dash": [CURVE_PIXELS * length for length in LINES[position // len(HUES) % len(LINES)]],
                "share": [span.arms.get(name, [0.0])[0] / total if total else None
                          for span, total in zip(spans, decisions, strict=True)],
                "estimate": [_finite(estimates.get(name, math.nan)) for estimates in known.estimates],
            }
            for position, name in known.drawn.items()
        ],
        "cost": [] if known.has_context else [_finite(cost) for cost in itertools.accumulate(costs)],
    }  # fmt: skip
    return json.dumps(curves)


class Outliers(NamedTuple):
    """The largest rewards, and what dropping them would do to the ranking by means, if that matters."""

    largest: list[dict[str, str]]
    verdict: str


def outliers(known: Known) -> Outliers:
    """Check whether a few rewards decide which arm has the highest mean."""
    largest = known.report.largest
    dropped: dict[str, list[float]] = {}
    for one in largest:
        if math.isfinite(one.value):
            dropped.setdefault(one.arm, []).append(one.value)
    means: dict[str, tuple[float, float]] = {}
    for arm in known.report.arms:
        without = dropped.get(arm.name, [])
        count = arm.rewards - arm.infinite
        if arm.state != "retired" and count > len(without) and math.isfinite(arm.total):
            means[arm.name] = arm.total / count, (arm.total - math.fsum(without)) / (count - len(without))
    rows = [{"value": number(one.value), "arm": one.arm, "id": one.id or "-", "time": one.time} for one in largest]
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


def describe_rewards(known: Known, names: Collection[str]) -> list[tuple[str, str]]:
    """Describe the rewards: zeros and infinities of all arms, tails of these, drift of those that are drawn."""
    arms = [arm for arm in known.report.arms if arm.rewards]
    if not arms:
        return []
    upper, lower = _tails(known, [arm.name for arm in arms if arm.name in names])
    drawn = [name for name in known.drawn.values() if known.totals.arms[name].rewards]
    drifting = [name for name in drawn if drift(known.sample(name)).p_value * len(drawn) < DRIFT_P_VALUE]
    where = "" if len(drawn) == len(arms) else " in the arms that are drawn"
    return [
        ("upper tail index", f"{upper}; means exist above 1, variances above 2"),
        ("lower tail index", f"{lower}"),
        ("zeros", f"{sum(arm.zeros for arm in arms) / known.report.rewards:.0%} of rewards"),
        ("infinite", f"{sum(arm.infinite for arm in arms):,}"),
        ("level over time", f"changes for {', '.join(drifting)}" if drifting else f"no change seen{where}"),
    ]


@np.errstate(invalid="ignore", over="ignore")
def _tails(known: Known, names: list[str]) -> tuple[Estimate, Estimate]:
    """Return the indices of the upper and the lower tail of distances to the medians of these arms."""
    by_arm = [np.array([value for _, value in list(known.totals.arms[name].sample)]) for name in names]
    if not by_arm:
        return UNKNOWN_ESTIMATE, UNKNOWN_ESTIMATE
    residuals = np.concatenate([rewards - level(rewards, "location") for rewards in by_arm])
    middle = level(residuals, "location")
    upper, lower = (tail_index(distances(residuals, middle, side)) for side in (1, -1))
    return end_at_caps(upper, lower, by_arm)


def describe_delays(known: Known) -> list[tuple[str, str]]:
    """Describe rewards that are pending, and those that came too late."""
    arms = known.report.arms
    times = [arm.mean_delay for arm in arms if not math.isnan(arm.mean_delay)]
    return [
        ("pending decisions", f"{known.report.pending:,}"),
        ("mean delay", f"{number(sum(times) / len(times))} s" if times else "-"),
        ("late, not learned", f"{sum(arm.late for arm in arms):,}"),
        ("given up", f"{sum(arm.given_up for arm in arms):,}"),
    ]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _evidence(found: ArmEvidence) -> tuple[str, str]:
    """Return what an arm pays as far as it is counted, and its lift over the control, both with intervals."""
    counted = "-"
    if not math.isnan(found.low):
        counted = f"{number(found.estimate)} ({number(found.low)} to {number(found.high)})"
    if math.isnan(found.lift) or found.lift == found.lift_low == found.lift_high:
        return counted, "-"
    ends = f"{found.lift_low:+.0%} {f'to {found.lift_high:+.0%}' if found.lift_high < math.inf else 'or more'}"
    return counted, f"{found.lift:+.0%} ({ends})"


def _with_error(mean: float, error: float) -> str:
    return number(mean) if math.isnan(error) else f"{number(mean)} ± {number(error)}"


def _with_interval(median: float, interval: tuple[float, float]) -> str:
    if not all(map(math.isfinite, interval)):  # there are too few rewards
        return number(median)
    return f"{number(median)} ({number(interval[0])} to {number(interval[1])})"
