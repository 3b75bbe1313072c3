"""What the numbers of a diagnosis mean, in sentences."""

from __future__ import annotations

import math

import numpy as np

from .._format import plural
from ..evidence.report import Evidence
from ..logs.rewards import Rewards
from .advice import HEAVY_INDEX, LIGHT_INDEX, Advice, is_symmetric
from .changes import SURE_P_VALUE, changing
from .goals import goal_of_auto
from .replay import LOGGED, Replay
from .shape import Drift, Shape
from .tails import FEWEST_IN_TAIL, Estimate, two_digits

TOGETHER = (
    "All arms change together, as far as one can tell, so the best arm may stay the best.  Leave drift off: an agent "
    "that starts afresh at every change forgets what it knew.  If hours or weekdays explain the change, give them as "
    "features."
)
TIED = 0.1  # share of ties from which it is said whether auto compares means


def about_the_best(rewards: Rewards, evidence: Evidence, advice: Advice, pooled: Shape, drifts: bool) -> list[str]:
    """Say which arm is best, as far as that is known: what :func:`heavybandits.compare` says of the same rewards."""
    if len(rewards.labels) == 1:
        return []
    first, *more = evidence.sentences
    said = [f"Best arm: {first}", *more]
    if drifts:
        said.append("This is about the whole file; but there is drift, so another arm may be better by now.")
    if advice.name == "auto" and pooled.ties > TIED:
        goal = goal_of_auto(rewards.by_arm)
        said.append(f"Many {rewards.noun}s tie, and auto compares {goal}s: print(agent) shows the goal in force.")
    return said


def about_the_noise(pooled: Shape, noun: str = "reward") -> list[str]:
    """Say how heavy the tails are, whether the noise is symmetric, and whether there are ties and outliers."""
    said = [_tail("upper", pooled.upper, noun), _tail("lower", pooled.lower, noun)]
    if pooled.infinite:
        said.append(f"Infinite: {plural(pooled.infinite, noun)}; tail indices leave them out, averages cannot.")
    if math.isnan(pooled.skew.value):
        said.append(f"Symmetry: too {'many equal' if pooled.ties > 0.5 else 'few'} {noun}s to tell.")
    elif is_symmetric(pooled):
        said.append("Symmetry: no skew worth mentioning, so mean (if any) and median rank arms with equal noise alike.")
    else:
        longer = "upper" if pooled.skew.value > 0 else "lower"
        said.append(f"Symmetry: the {longer} side reaches further, so mean and median may rank the arms differently.")
    if pooled.ties > 0.5:
        said.append(f"Ties: {pooled.ties:.0%} of the {noun}s repeat; they may be counts, rounded, or often zero.")
    if not pooled.has_fences:
        said.append(
            f"Outliers: not counted, because they are measured in spreads, and the spread is {pooled.spread:g}."
        )
    elif pooled.outliers > 0:
        share = f"{two_digits(100.0 * pooled.outliers / pooled.size):g}%"
        said.append(f"Outliers: {plural(pooled.outliers, noun)}, {share}; normal noise would give 2 in a million.")
    return said


def about_the_replay(rewards: Rewards, replay: Replay, advised: str, measure: str) -> list[str]:
    """Say what the replay promises, how sure that is, and what is left out."""
    gain, noun = replay.lead(advised, LOGGED), rewards.noun
    if gain.low > 0:
        does = "costs less" if rewards.minimised else "earns more"
        said = [f"On {noun}s that it had not seen, {advised} {does} than what was logged."]
    elif gain.high < 0:
        said = [f"The log did better than {advised} would while it learns."]
    else:
        said = [f"The file cannot tell whether {advised} does better than what was logged: the difference may be 0."]
    low, high = replay.cap
    if low > -math.inf or high < math.inf:
        beyond = 100 * sum(
            np.abs(x - np.clip(x, low, high)).sum() / np.abs(rewards.rewards).sum() for x in rewards.by_arm
        )
        limits = [-limit if rewards.minimised else limit for limit in (low, high)]
        ends = [f"{side} {limit:.4g}" for side, limit in zip(("below", "above"), sorted(limits), strict=True)
                if math.isfinite(limit)]  # fmt: skip
        said.append(f"There may be no variance, so {noun}s {' and '.join(ends)} are cut off there, "
                    f"which leaves out {two_digits(beyond):g}% of the total.")  # fmt: skip
    said.append(f"Each arm pays its {measure} in the half of the file that did not choose it, with 90% intervals.")
    return said


def about_drift(arms: list[tuple[str, Drift]], pooled: Drift, noun: str, measure: str, common: bool | None) -> str:
    """Say whether the level changes, over all arms together or, as when two arms change places, of one arm.

    ``common`` says whether all arms change together; None if nobody knows whether rows are in order.
    """
    if common is None:
        return "Drift: not checked. That needs rows in order of time: a column time, or ordered=True (--in-order)."
    if math.isnan(pooled.p_value):
        return f"Drift: too few different {noun}s to tell."
    surest, own = next(iter(changing(arms).items()), ("", pooled))
    if pooled.p_value < SURE_P_VALUE:
        found, whose, when = pooled, "", "after row"
    elif surest:
        found, whose, when = own, f" of {surest!r}", f"after its {noun} number"
    else:
        return "Drift: none seen."
    most = f"  The clearest case is {surest!r}." if surest and not whose and not common else ""
    if found.shift == 0:
        change = f"{noun}s{whose} change, most likely {when} {found.after}, although their {measure} stays the same"
    else:
        moved = f"; the {measure} moves by {found.shift:+.3g}" if math.isfinite(found.shift) else ""
        change = f"the level{whose} changes, most likely {when} {found.after}{moved}"
    if common and len(arms) > 1:
        so = TOGETHER
    else:
        so = "So the agent needs drift=True: it then starts afresh when it detects a change."
    return f"Drift: {change}.{most}  {so}"


def _tail(side: str, tail: Estimate, noun: str) -> str:
    """Say what the interval of a tail index excludes."""
    if tail.cannot_tell:
        return f"The {side} tail: cannot tell, because {noun}s repeat there; they may be capped, rounded, or counts."
    if math.isnan(tail.value):
        few = f"too few {noun}s on that side of the median to tell"
        return f"The {side} tail: {few}; at least {FEWEST_IN_TAIL} are needed."
    if tail.exceeds(LIGHT_INDEX):
        return f"The {side} tail is light, index above {two_digits(tail.low):g}: averages settle as with normal noise."
    if tail.exceeds(HEAVY_INDEX):
        return f"The {side} tail is moderate, index {tail}: a variance exists, but outliers still move averages."
    is_, no, settle = ("is", "no", "settle") if tail.is_at_most(HEAVY_INDEX) else ("may be", "perhaps no", "may settle")
    if tail.exceeds(1):
        return f"The {side} tail {is_} heavy, index {tail}: a mean exists, but {no} variance; averages {settle} slowly."
    return f"The {side} tail {is_} very heavy, index {tail}: even the mean may not exist, and averages may mislead."
