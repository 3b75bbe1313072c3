"""What is known about a target, in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .._format import number, plural

if TYPE_CHECKING:
    from .value import Gap, Value

FEW = 30  # effective decisions
ONE_TERM = 0.2  # of the estimate: such a term makes it depend on one decision


def limited(cap: tuple[float, float] | None, has_one_sign: bool = True) -> str:
    """Say between what rewards count; that they count from 0 on goes without saying if none is negative.

    Examples
    --------
    >>> limited((0.0, 50.0)), limited((-1.0, 1.0)), limited(None)
    ('Counting at most 50 per decision, ', 'Counting rewards from -1 to 1, ', '')
    >>> limited((0.0, 50.0), has_one_sign=False)
    'Counting rewards from 0 to 50, '
    """
    if cap is None or not math.isfinite(cap[1]):
        return ""
    low, high = cap
    if low == 0.0 and has_one_sign:
        return f"Counting at most {high:g} per decision, "
    return f"Counting rewards from {low:g} to {high:g}, "


def range_in_words(low: float, high: float) -> str:
    """Say between what a number lies.

    Examples
    --------
    >>> range_in_words(1.0, 2.5), range_in_words(1.0, math.inf), range_in_words(-math.inf, math.inf)
    ('between 1.00 and 2.50', 'at least 1.00', 'an amount that cannot be told')
    """
    if math.isfinite(low) and math.isfinite(high):
        return f"between {number(low)} and {number(high)}"
    if math.isfinite(low):
        return f"at least {number(low)}"
    return f"at most {number(high)}" if math.isfinite(high) else "an amount that cannot be told"


def contradiction(low: float, high: float) -> str:
    """Say what bounds mean that leave nothing between them.

    Examples
    --------
    >>> contradiction(2.5, 1.0)
    'contradict each other (at least 2.50, at most 1.00): p is wrong, or the log could not make some of its decisions.'
    """
    return (f"contradict each other (at least {number(low)}, at most {number(high)}): p is wrong, or the log could not "
            "make some of its decisions.")  # fmt: skip


def about_value(value: Value) -> list[str]:
    """Return the sentences about a value."""
    prefix = limited(value.cap, value.has_one_sign)
    earns, earned = ("costs", "cost") if value.are_costs else ("earns", "earned")
    said = [
        f"{prefix}{value.target} {earns} {number(value.estimate)} per decision, estimated from the "
        f"{plural(value.used, 'decision')} (of {value.decisions:,}) that it might have made; the log itself {earned} "
        f"{number(value.logged)}.",
        f"{prefix}it {earns} {range_in_words(value.low, value.high)}, however often you look (wrong in at most "
        f"{100 * value.delta:g}% of logs).",
    ]
    if value.low > value.high:
        said[1] = f"{prefix}the bounds {contradiction(value.low, value.high)}"
    said[1] = said[1][0].upper() + said[1][1:]
    if value.low == -math.inf:
        said.append("Rewards may be negative, so a lower bound needs the least that a reward can be: state cap=(low, "
                    "high).")  # fmt: skip
    elif value.high == math.inf:
        said.append("There is no upper bound without a limit on rewards, because a reward that has not come yet may be "
                    "larger than all others; state cap if you know a limit.")  # fmt: skip
    if value.lead is not None:
        said.append(about_lead(value.target, "the log", value.lead, value.are_costs))
    largest = "largest term makes" if len(value.largest) == 1 else f"largest {len(value.largest)} terms make"
    share = f"; the {largest} up {sum(value.largest):.0%} of it"
    said.append(f"The estimate is as precise as {plural(math.floor(value.effective), 'decision')} of its own would "
                f"make it{share if value.largest else ''}.")  # fmt: skip
    if value.effective < FEW or (value.largest and value.largest[0] > ONE_TERM):
        said.append("That is too little to rely on the estimate; the interval holds all the same.")
    return [*said, *value.notes]


def about_lead(one: str, other: str, lead: Gap, are_costs: bool = False) -> str:
    """Say which of two targets earns or costs more, if that is known.

    Examples
    --------
    >>> from .value import Gap
    >>> about_lead("green", "blue", Gap(0.5, 0.2, 0.8, (0.0, 9.0)))
    'Counting at most 9 per decision, green earns more than blue: by 0.500, between 0.200 and 0.800.'
    """
    counted = limited(lead.cap, lead.has_one_sign)
    earns, interval = "costs" if are_costs else "earns", range_in_words(lead.low, lead.high)
    if lead.low > lead.high:
        bounds = f"{counted}the bounds of the difference between {one} and {other}"
        return f"{bounds[0].upper()}{bounds[1:]} {contradiction(lead.low, lead.high)}"
    if lead.low > 0.0:
        return f"{counted}{one} {earns} more than {other}: by {number(lead.estimate)}, {interval}."
    if lead.high < 0.0:
        return f"{counted}{one} {earns} less than {other}: the difference is {number(lead.estimate)}, {interval}."
    return f"{counted}whether {one} or {other} {earns} more is open: the difference is {interval}."
