"""The picture at the top of the page: how each arm compares with the control, as bars in the rows of a table.

The numbers stand beside the bars, so the table itself says in words what the picture shows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..._format import number
from ...evidence.words import lift_in_words, percent
from ..replicas.standing import LIFTS
from .axes import ticks
from .known import Known, goal_in_words
from .panels import hue, ranking

LEAST_REACH = 0.1  # of the axis, as a lift
BEYOND_ESTIMATES = 2.5  # how far the axis reaches at most, relative to the estimate that is farthest from zero


class ArmBar(NamedTuple):
    """An arm of the picture; positions are percentages of its width."""

    name: str
    hue: int
    tags: tuple[str, ...]  # what it is: control, winner, leader, paused
    text: str  # the comparison in words
    value: str  # what it pays, as counted
    share: str
    at: float | None  # None for the control and for arms without rewards
    low: float
    high: float
    open_left: bool  # the bar goes on beyond the picture
    open_right: bool
    verdict: str  # better, worse or empty


class Picture(NamedTuple):
    """The bars with their axis."""

    title: str
    is_lift: bool
    bars: list[ArmBar]
    ticks: list[tuple[float, str]]
    zero: float
    ends: tuple[str, str]  # what is to the left and to the right
    left_out: int


class _Compared(NamedTuple):
    """An arm's difference to the control; infinite or NaN where nothing is known."""

    at: float
    low: float
    high: float


def against_control(known: Known) -> Picture | None:
    """Return the picture; None if arms cannot be compared."""
    found, control = known.standing.evidence, known.report.experiment.control
    if found is None or found.cap is None or control not in found.estimates or len(found.estimates) < 2:
        return None
    best = [name for name in ranking(known) if name != control and name in found.estimates][:LIFTS]
    rows = {row.arm: row for row in map(known.standing.about, best)}
    is_lift = all(row.n == 0 or not math.isnan(row.lift_low) for row in rows.values())
    compared = {
        name: _Compared(row.lift, row.lift_low, row.lift_high) if is_lift else _Compared(*found.difference(name))
        for name, row in rows.items()
    }
    left, right = _axis(list(compared.values()), is_lift)

    def place(value: float) -> float:
        return round(100.0 * (min(max(value, left), right) - left) / (right - left), 2)

    shown, minimise = {*best, control}, known.spec.minimise
    bars = []
    for position, arm in enumerate(known.report.arms):
        if arm.name not in shown:
            continue
        about, one = known.standing.about(arm.name), compared.get(arm.name)
        tags = [tag for tag, holds in {
            "control": arm.name == control, "winner": arm.name == found.winner,
            "leads": found.winner is None and arm.name == found.leader, "paused": arm.state == "paused",
            "for everybody": arm.name == known.report.experiment.finished_with,
        }.items() if holds]  # fmt: skip
        counts = not math.isnan(about.estimate)
        value = f"{number(about.estimate)} ({number(about.low)} to {number(about.high)})" if counts else ""
        common = arm.name, hue(position), tuple(tags)
        if one is None or math.isnan(one.at):
            whose = f" of {control}" if counts else ""
            text = "" if one is None else f"no reward{whose} counts yet"
            bars.append(ArmBar(*common, text, value, f"{arm.share:.0%}", None, 0.0, 0.0, False, False, ""))
            continue
        better = one.high < 0.0 if minimise else one.low > 0.0
        worse = one.low > 0.0 if minimise else one.high < 0.0
        text = (lift_in_words if is_lift else difference_in_words)(*one)
        bars.append(ArmBar(
            *common, text, value, f"{arm.share:.0%}", place(one.at), place(one.low), place(one.high), one.low < left,
            one.high > right, "better" if better else "worse" if worse else "",
        ))  # fmt: skip
    ends = ("costs less", "costs more") if minimise else ("earns less", "earns more")
    if found.counted == "" and known.goal != "mean":
        ends = f"lower {goal_in_words(known.spec.goal)}", f"higher {goal_in_words(known.spec.goal)}"
    of = "" if known.goal == "mean" else f" in the {goal_in_words(known.spec.goal)}"
    what = "Lift over" if is_lift else f"Difference{of} to"
    title = f"{what} {control}{', ' + found.counted if found.counted else ''}"
    marks = [(place(tick), percent(tick) if is_lift else f"{tick:+g}" if tick else "0") for tick in ticks(left, right)]
    return Picture(title, is_lift, bars, marks, place(0.0), ends, len(found.estimates) - len(bars))


def difference_in_words(at: float, low: float, high: float) -> str:
    """Return a difference with its interval.

    Examples
    --------
    >>> difference_in_words(-0.5, -1.25, 0.25), difference_in_words(2.0, 1.5, math.inf)
    ('-0.500 (-1.25 to +0.250)', '+2.00 (+1.50 or more)')
    """
    if math.isinf(low) and math.isinf(high):
        return f"{signed(at)} (anything is possible)"
    if math.isinf(low) or math.isinf(high):
        end, side = (high, "less") if math.isinf(low) else (low, "more")
        return f"{signed(at)} ({signed(end)} or {side})"
    return f"{signed(at)} ({signed(low)} to {signed(high)})"


def signed(value: float) -> str:
    """Format a difference with its sign.

    Examples
    --------
    >>> signed(0.0), signed(-0.041), signed(2.0)
    ('0', '-0.0410', '+2.00')
    """
    return f"{'+' if value > 0.0 else ''}{number(value)}"


def _axis(compared: list[_Compared], is_lift: bool) -> tuple[float, float]:
    """Return where the axis begins and ends: it has all estimates, and of intervals as much as does not dwarf them."""
    estimates = [abs(one.at) for one in compared if math.isfinite(one.at)]
    narrowest = min((one.high - one.low for one in compared if math.isfinite(one.high - one.low)), default=0.0)
    reach = BEYOND_ESTIMATES * max([LEAST_REACH if is_lift else narrowest, *estimates]) or 1.0
    ends = [min(max(end, -reach), reach) for one in compared for end in (one.low, one.high) if not math.isnan(end)]
    left, right = min([0.0, *ends]), max([0.0, *ends])
    if left == right:
        left, right = -reach, reach
    room = 0.04 * (right - left)
    return left - room, right + room
