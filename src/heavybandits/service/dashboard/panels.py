"""The parts of the page for those who want to know more: the arms in numbers, and what the rewards look like."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from ..._format import number
from ...diagnosis.shape import drift, level
from ...diagnosis.tails import UNKNOWN_ESTIMATE, Estimate, distances, end_at_caps, tail_index
from ...evidence.report import ArmEvidence
from ...evidence.words import lift_in_words
from ...palette import HUES
from ...results.summary import with_error
from ..replicas.report import ArmReport
from .known import Known

LEADING_ARMS = 50  # arms on the page; a page of their own has all
DRIFT_P_VALUE = 0.01  # p-value below which a change of level is reported


def hue(position: int) -> int:
    """Return the number of an arm's colour, which it keeps for ever, by its place in the order of creation."""
    return position % len(HUES)


class LeaderboardRow(NamedTuple):
    """An arm of the leaderboard, as text."""

    position: int  # in the order in which arms were made; an arm keeps its place and its colour
    name: str
    state: str
    hue: int
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
    is_control: bool


def ranking(known: Known) -> list[str]:
    """Return the names of all arms, best first, and retired ones last.

    If quantiles are compared, arms of which no reward counts come after those that have one: all that is known of them
    is a mean.
    """
    values, sign, evidence = known.standing.values, known.spec.sign, known.standing.evidence
    quantiles = {} if evidence is None or known.goal == "mean" else evidence.estimates

    def order(arm: ArmReport) -> tuple[bool, bool, float]:
        is_mean_only = math.isnan(quantiles.get(arm.name, 0.0))
        return arm.state == "retired", is_mean_only, -sign * values.get(arm.name, -sign * math.inf)

    return [arm.name for arm in sorted(known.report.arms, key=order)]


def leading(known: Known) -> set[str]:
    """Return the names of the best arms, with the control among them."""
    best, control = ranking(known)[:LEADING_ARMS], known.report.experiment.control
    return {*best} if control in best else {*best[: LEADING_ARMS - 1], control}


def leaderboard(known: Known, names: Collection[str]) -> list[LeaderboardRow]:
    """Return these arms, in the order in which they were made: a row that moves is hard to read and easy to miss."""
    ranks = {name: rank for rank, name in enumerate(ranking(known), 1) if name in known.standing.values}
    return [
        LeaderboardRow(
            position, arm.name, arm.state, hue(position),
            str(ranks.get(arm.name, "-")), f"{arm.share:.0%}", f"{arm.decisions:,}", f"{arm.pending:,}",
            with_error(arm.mean, arm.standard_error), _with_interval(*known.median(arm.name)), number(arm.estimate),
            *_evidence(known.standing.about(arm.name)), arm.name == known.standing.leader,
            arm.name == known.report.experiment.control,
        )
        for position, arm in enumerate(known.report.arms)
        if arm.name in names
    ]  # fmt: skip


class Outliers(NamedTuple):
    """The largest rewards, and what dropping them would do to the ranking by means, if that matters."""

    largest: list[dict[str, str]]
    verdict: str


def outliers(known: Known) -> Outliers:
    """Check whether a few rewards decide which arm has the best mean."""
    largest = known.report.largest
    dropped: dict[str, list[float]] = {}
    for one in largest:
        if math.isfinite(one.value):
            dropped.setdefault(one.arm, []).append(one.value)
    means: dict[str, tuple[float, float]] = {}
    for arm in known.report.arms:
        without = dropped.get(arm.name, [])
        count = arm.rewards - arm.infinite
        kept = arm.total - sum(without)  # which is not finite if a sum is too large for a number
        if arm.state != "retired" and count > len(without) and math.isfinite(kept):
            means[arm.name] = arm.total / count, kept / (count - len(without))
    rows = [{"value": number(one.value), "arm": one.arm, "id": one.id or "-", "time": one.time} for one in largest]
    if known.has_context:  # arms are ranked at average features, not by means
        return Outliers(rows, "")
    if len(means) < 2 or not rows:
        return Outliers(rows, "There are too few rewards to tell how the largest affect the ranking.")
    before, after = (max(means, key=lambda name: known.spec.sign * means[name][which]) for which in (0, 1))
    what = "lowest mean" if known.spec.minimise else "highest mean"
    verdict = (
        f"Dropping them does not change which arm has the {what}: {before}."
        if before == after
        else f"Without them {after} would have the {what} instead of {before}."
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
        ("upper tail index", f"{_in_words(upper)}; means exist above 1, variances above 2"),
        ("lower tail index", _in_words(lower)),
        ("zeros", f"{sum(arm.zeros for arm in arms) / known.report.rewards:.0%} of rewards"),
        ("infinite", f"{sum(arm.infinite for arm in arms):,}"),
        ("level over time", f"changes for {', '.join(drifting)}" if drifting else f"no change seen{where}"),
    ]


def _in_words(index: Estimate) -> str:
    return "none seen" if index.low == math.inf else str(index)


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


def _evidence(found: ArmEvidence) -> tuple[str, str]:
    """Return what an arm pays as far as it is counted, and its lift over the control, both with intervals."""
    counted = "-"
    if not math.isnan(found.low):
        counted = f"{number(found.estimate)} ({number(found.low)} to {number(found.high)})"
    is_control = found.lift == found.lift_low == found.lift_high
    return counted, "-" if is_control else lift_in_words(found.lift, found.lift_low, found.lift_high)


def _with_interval(median: float, interval: tuple[float, float]) -> str:
    if not all(map(math.isfinite, interval)):  # there are too few rewards
        return number(median)
    return f"{number(median)} ({number(interval[0])} to {number(interval[1])})"
