"""What is known about arms, in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._format import number, plural
from ..protocols import FloatArray
from .scale import ENOUGH, WIDE
from .tally import Tally, counts_in_full, has_one_sign, plain_means
from .verdict import TOO_EARLY, Verdict

STARVED = 0.05  # an arm with a smaller share of decisions cannot be judged soon
STARVED_OF_EQUAL = 0.25  # but with many arms all shares are small: so it must be below this part of an equal share, too
TAIL_WARNING = 0.5  # of the lead: what the tails of a rival exceed those of the leader by, before one is warned
ROUNDING = 1e-9  # of what is beyond the clip, in units of the scale
ONE_EACH = "Units keep their arm, so this holds only if each of them reports one reward."
MOST_NAMES = 5  # arms that are named one by one


class Terms(NamedTuple):
    """What the sentences are about."""

    arms: tuple[str, ...]
    goal: str | float  # "mean", "location", or the level of a quantile
    minimise: bool
    delta: float
    eps: float | None
    control: int  # -1: none

    @property
    def sign(self) -> int:
        """By what to multiply: costs are kept as negative rewards."""
        return -1 if self.minimise else 1

    @property
    def noun(self) -> str:
        """What a reward is called."""
        return "cost" if self.minimise else "reward"

    @property
    def measure(self) -> str:
        """What is compared, if it is not the mean."""
        return "median" if self.goal in ("location", 0.5) else f"{100 * float(self.goal):g}% quantile"

    @property
    def is_mean(self) -> bool:
        """Whether means are compared."""
        return self.goal == "mean"


def shown(value: float) -> str:
    """Format a number for a sentence.

    Examples
    --------
    >>> [shown(x) for x in (150.0, 2.3149, -0.5, 1234.5, 0.0)]
    ['150', '2.31', '-0.5', '1234.5', '0']
    """
    return f"{value:g}" if value == round(value, 2) and abs(value) < 1e6 else number(float(value))


def told_apart(one: float, other: float) -> tuple[str, str]:
    """Format two numbers with as many digits as it takes to see which is larger.

    Examples
    --------
    >>> told_apart(2.3149, 1.94), told_apart(15.0, 14.996), told_apart(0.5, 0.5)
    (('2.31', '1.94'), ('15', '14.996'), ('0.5', '0.5'))
    """
    texts, digits = (shown(one), shown(other)), 3
    while float(texts[0]) == float(texts[1]) and one != other:
        digits += 1
        texts = f"{one:.{digits}g}", f"{other:.{digits}g}"
    return texts


def odds(log: float) -> str:
    """Format evidence as odds.

    Examples
    --------
    >>> odds(math.log(12.3)), odds(1.2), odds(50.0), odds(-1.0)
    ('12 : 1', '3.3 : 1', '5.2e+21 : 1', 'below 1 : 1')
    """
    if log < 0.0:
        return "below 1 : 1"
    e = math.exp(min(log, 700.0))
    return (f"{e:.1f}" if e < 10 else f"{e:,.0f}" if e < 1e6 else f"{e:.1e}") + " : 1"


def percent(part: float, to_whole: Callable[[float], float] = np.rint) -> str:
    """Format a fraction as whole percent with its sign.

    Examples
    --------
    >>> percent(0.0), percent(-0.296), percent(0.296, np.floor), percent(0.07, np.ceil), percent(12.5)
    ('0%', '-30%', '+29%', '+7%', '+1,250%')
    """
    whole = to_whole(round(100.0 * part, 9))
    return f"{whole:+,.0f}%" if whole else "0%"


def lift_in_words(lift: float, low: float, high: float) -> str:
    """Format a lift with its interval, whose ends are rounded outwards: no more is written than is known.

    Examples
    --------
    >>> lift_in_words(0.191, 0.049, math.inf), lift_in_words(-0.28, -0.409, -0.131), lift_in_words(0.0, 0.0, 0.0)
    ('+19% (+4% or more)', '-28% (-41% to -13%)', '0%')
    """
    if math.isnan(lift):
        return "-"
    if lift == low == high:
        return "0%"
    end = f"to {percent(high, np.ceil)}" if high < math.inf else "or more"
    return f"{percent(lift)} ({percent(low, np.floor)} {end})"


def rounded(count: float) -> str:
    """Format a count of decisions with two digits.

    Examples
    --------
    >>> rounded(4123.0), rounded(86.2), rounded(3.2)
    ('4,100', '87', '4')
    """
    whole = math.ceil(count)
    return f"{round(whole, 2 - len(str(whole))):,}"


def listed_names(names: list[str]) -> str:
    """Return names in a row, or their number if there are many.

    Examples
    --------
    >>> listed_names(["a"]), listed_names(["a", "b", "c"]), listed_names(list("abcdefgh"))
    ('a', 'a, b and c', '8 arms')
    """
    if len(names) > MOST_NAMES:
        return plural(len(names), "arm")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def counting(tally: Tally, verdict: Verdict, terms: Terms) -> str:
    """Say between what rewards count, or nothing if all count in full."""
    if not terms.is_mean or counts_in_full(tally):
        return ""
    low, high = sorted(terms.sign * limit + 0.0 for limit in verdict.measure.limits)
    return f"{counting_between(low, high, has_one_sign(tally, verdict.measure.limits))} per decision"


def counting_between(low: float, high: float, has_one_sign: bool = True) -> str:
    """Say between which limits rewards count; that they count from 0 on goes without saying if all have one sign.

    Examples
    --------
    >>> [counting_between(*limits) for limits in ((0.0, 30.0), (-30.0, 0.0), (-1.0, 2.5))]
    ['counting at most 30', 'counting at least -30', 'counting from -1 to 2.5']
    >>> counting_between(0.0, 30.0, has_one_sign=False)
    'counting from 0 to 30'
    """
    if low == 0.0 and has_one_sign:
        return f"counting at most {shown(high)}"
    if high == 0.0 and has_one_sign:
        return f"counting at least {shown(low)}"
    return f"counting from {shown(low)} to {shown(high)}"


def sizing_up(tally: Tally, terms: Terms) -> list[str]:
    """Say how many of the first rewards are still to come."""
    noun = terms.noun
    if terms.is_mean:
        what = f"first {ENOUGH} {noun}s that are not zero"
        why = f"they decide up to which amount {noun}s are counted"
    else:
        what, why = f"first {ENOUGH} {noun}s", f"they decide how finely {noun}s are counted"
    return [f"Too early: {int(tally.sizes[0])} of the {what} are in; {why}."]


def sentences(tally: Tally, verdict: Verdict, terms: Terms, lift: float) -> list[str]:
    """Return what is known, in order of importance; ``lift`` is a lower bound of the leader's over the control."""
    if len(terms.arms) == 1:
        return ["There is one arm only, so there is nothing to compare."]
    if verdict.leader < 0:
        return [f"Too early: no {terms.noun} counts yet."]
    if verdict.is_winner:
        said = _winner(tally, verdict, terms, lift)
    elif verdict.is_close:
        said = _close(tally, verdict, terms)
    else:
        said = _open(tally, verdict, terms)
    return said + _tails(tally, verdict, terms)


def _winner(tally: Tally, verdict: Verdict, terms: Terms, lift: float) -> list[str]:
    name, counted = terms.arms[verdict.leader], counting(tally, verdict, terms)
    others = "the other arm" if len(terms.arms) == 2 else "every other arm"
    if terms.is_mean:
        does = f"it {'costs less' if terms.minimise else 'earns more'} than {others}"
    else:
        does = f"its {terms.measure} is {'below' if terms.minimise else 'above'} that of {others}"
    if lift >= 0.01 and verdict.leader != terms.control:
        least = percent(lift, np.floor).removeprefix("+")
        how = f"{least} {'less' if terms.minimise else 'more'} than {terms.arms[terms.control]}"
        does += f", and at least {how}"
    said = [
        f"{name} is the winner: {counted + ', ' if counted else ''}{does}.",
        f"However often you look and however arms are chosen, such a verdict is wrong in at most "
        f"{100 * terms.delta:g}% of experiments.",
    ]
    if counted:
        said.append("If larger amounts count, there is no verdict yet.")
    return said


def _close(tally: Tally, verdict: Verdict, terms: Terms) -> list[str]:
    assert terms.eps is not None
    name, counted = terms.arms[verdict.leader], counting(tally, verdict, terms)
    by = f"by more than {shown(terms.eps)} (wrong in at most {100 * terms.delta:g}% of experiments)"
    what = "" if terms.is_mean else f", by its {terms.measure},"
    return [f"It hardly matters: {counted + ', ' if counted else ''}no arm is better than {name}{what} {by}."]


def _open(tally: Tally, verdict: Verdict, terms: Terms) -> list[str]:
    leader, rival = verdict.leader, verdict.rival
    estimates = terms.sign * verdict.measure.estimates()
    name, other = terms.arms[leader], terms.arms[rival]
    if math.isnan(estimates[rival]):
        noun = terms.noun
        early = f"had {noun}s only among the first ones, which decide how {noun}s are counted"
        return [f"Too early to tell: {other} has {early if tally.n[rival] else f'no {noun} that counts'}."]
    counted = counting(tally, verdict, terms)
    tail = f", {counted}" if counted else ""
    of = "" if terms.is_mean else f" (the {terms.measure}s)"
    mine, theirs = told_apart(float(estimates[leader]), float(estimates[rival]))
    log = float(verdict.logs[rival])
    if estimates[leader] == estimates[rival]:
        said = [f"Too early to tell: {name} and {other} tie, both with {mine}{of}{tail}."]
    elif log < TOO_EARLY:
        lead = f"{name} leads {other}, {mine} against {theirs}{of}{tail}, but such a lead may well be chance."
        said = [f"Too early to tell. {lead}"]
    else:
        said = [f"{name} leads {other}, {mine} against {theirs}{of}{tail}.",
                f"Evidence {odds(log)}; a verdict needs {odds(verdict.need)}."]  # fmt: skip
    said += _outlook(verdict, terms, shares_of(tally))
    out = [terms.arms[arm] for arm in np.flatnonzero(verdict.logs >= verdict.need) if arm != leader]
    if out:
        said.append(f"{listed_names(out)} {'is' if len(out) == 1 else 'are'} out: {name} is shown to be better.")
    return said


def _outlook(verdict: Verdict, terms: Terms, shares: FloatArray) -> list[str]:
    """Say how long a verdict takes, or why none is in sight."""
    arm, said = starved(verdict, shares), []
    if verdict.forecast is not None and math.isfinite(verdict.forecast.decisions):
        more, low, high = map(rounded, verdict.forecast)
        said.append(f"If things go on like this, it takes about {more} more decisions ({low} to {high}).")
    elif verdict.forecast is not None or arm >= 0:
        said.append("No verdict is in sight.")
    if arm >= 0:
        said.append(f"{terms.arms[arm]} gets {100 * float(shares[arm]):.2g}% of decisions: this experiment earns "
                    "rather than learns. A higher floor would tell sooner.")  # fmt: skip
    return said


def shares_of(tally: Tally) -> FloatArray:
    """Return the share of each arm in the rewards that count."""
    weights = tally.rows.sum(axis=1)
    shares: FloatArray = weights / weights.sum()
    return shares


def starved(verdict: Verdict, shares: FloatArray) -> int:
    """Return the one of the leader and its rival that gets too few decisions to be judged soon, or -1."""
    arm = min(verdict.leader, verdict.rival, key=lambda arm: float(shares[arm]))
    return arm if shares[arm] < min(STARVED, STARVED_OF_EQUAL / len(shares)) else -1


def tail_warning(tally: Tally, verdict: Verdict) -> int:
    """Return the arm whose rewards beyond the clip may make it better than the leader, or -1."""
    leader, estimates = verdict.leader, verdict.measure.estimates()
    with np.errstate(invalid="ignore", over="ignore"):
        beyond: FloatArray = plain_means(tally) - estimates
        excess = beyond - beyond[leader] - TAIL_WARNING * (estimates[leader] - estimates)
    excess = np.nan_to_num(excess, nan=-math.inf)
    excess[leader] = -math.inf
    arm = int(np.argmax(excess))
    return arm if excess[arm] > ROUNDING * tally.scale[WIDE] else -1


def _tails(tally: Tally, verdict: Verdict, terms: Terms) -> list[str]:
    arm = tail_warning(tally, verdict) if terms.is_mean else -1
    if arm < 0:
        return []
    plain, estimates = plain_means(tally), verdict.measure.estimates()
    low, high = verdict.measure.limits
    name, other = terms.arms[verdict.leader], terms.arms[arm]
    if 0.0 in (low, high) and has_one_sign(tally, (low, high)):
        mine, theirs = (_share_beyond(float(plain[k]), float(estimates[k])) for k in (verdict.leader, arm))
        cap, did = shown(abs(low + high)), "cost" if terms.minimise else "earned"
        side = "below -" if high == 0.0 and not terms.minimise else "above "
        said = f"{theirs} of what {other} {did} lies {side}{cap}, of {name} {mine}."
    else:
        said = f"Without limits, {other} has {shown(terms.sign * float(plain[arm]))} on average, and {name} "
        said += f"{shown(terms.sign * float(plain[verdict.leader]))}."
    return [f"{said} Counting everything, {other} may be better."]


def _share_beyond(plain: float, clipped: float) -> str:
    """Format the part of a total that lies beyond the clip."""
    return f"{100 * max(1.0 - clipped / plain, 0.0):.0f}%" if math.isfinite(plain) and plain != 0.0 else "100%"
