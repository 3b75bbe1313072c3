"""What to compare the arms by: means or locations.

The goal is the *mean* where means exist: where the intervals of both tail indices are clearly above 1, where the most
extreme rewards are all the same number, as timeouts are, or where no tail can be measured: too few rewards differ from
the median, or they repeat too often.  Otherwise it is the *location*, here the median, unless medians tie and cannot
tell the arms apart.
"""

from __future__ import annotations

import math

import numpy as np

from ..algorithms.level_sets.spreads import init_spreads, learn_spread, repeats
from ..numerics import saturate
from ..protocols import FloatArray
from .shape import Shape
from .tails import FEWEST_IN_TAIL, is_capped

FEWEST_REWARDS = 10  # to tell anything
JUDGED = 20_000  # rewards that tell which goal auto pursues


def choose_goal(by_arm: list[FloatArray], medians: FloatArray, noise: Shape, noun: str = "reward") -> tuple[str, str]:
    """Return what to compare the arms by, and why; ``noun`` is what the file calls a reward.

    Examples
    --------
    >>> from heavybandits.diagnosis.shape import measure
    >>> noise = np.random.default_rng(0).standard_cauchy(1000)
    >>> choose_goal([noise, noise + 1], np.array([0.0, 1.0]), measure(noise))[0]
    'location'
    """
    unmeasured = [(tail, side) for tail, side in ((noise.upper, 1), (noise.lower, -1)) if math.isnan(tail.value)]
    tails = [tail for tail in (noise.upper, noise.lower) if not math.isnan(tail.value)]
    heaviest = min(tails, key=lambda tail: tail.low, default=None)
    unseen = any(not is_capped(by_arm, side) for _, side in unmeasured)
    repeat = any(tail.cannot_tell for tail, _ in unmeasured)
    capped = any(tail.cannot_tell and is_capped(by_arm, side) for tail, side in unmeasured)
    so = "so we assume that means exist" if unseen else "so means exist"
    if noise.infinite:
        return "location", f"Some {noun}s are infinite, so arms have no means and are compared by their medians."
    if sum(map(len, by_arm)) < FEWEST_REWARDS:
        said = f"There are too few {noun}s to tell whether means exist"
        return "mean", f"{said}, fewer than {FEWEST_REWARDS}; choose a goal, or collect more."
    if heaviest is None and not unseen:
        return "mean", f"No tail can be measured: {noun}s are bounded or take few values, {so}."
    if capped and (heaviest is None or heaviest.exceeds(1)):
        return "mean", f"The most extreme {noun}s are all the same number, as timeouts are, {so}."
    if heaviest is None:
        if repeat:
            return "mean", f"The same {noun}s repeat too often to measure a tail, {so}."
        return "mean", (
            f"Too few {noun}s differ from the median to measure a tail, fewer than {FEWEST_IN_TAIL} on a side, {so}."
        )
    if heaviest.exceeds(1):
        which = "only tail that can be measured" if unseen else "heavier tail"
        return "mean", f"The {which} has an index of {heaviest}, clearly above 1, {so}."
    if np.count_nonzero(medians == medians.max()) > 1:
        return "mean", (
            f"The heavier tail has an index of {heaviest}, so means may not exist; but medians tie, so nothing else "
            "tells the arms apart."
        )
    return "location", (
        f"The heavier tail has an index of {heaviest}, not clearly above 1, so means may not exist.  If {noun}s are "
        "bounded and their sum is what matters, ask for the goal mean."
    )


def goal_of_auto(by_arm: list[FloatArray]) -> str:
    """Return what ``auto`` compares after such rewards, ``"mean"`` if they have atoms, or else ``"location"``.

    Examples
    --------
    >>> noise = np.random.default_rng(0).standard_cauchy(1000)
    >>> goal_of_auto([(noise > 1).astype(float)]), goal_of_auto([np.round(noise)])
    ('mean', 'location')
    """
    spreads = init_spreads(len(by_arm))
    with np.errstate(over="ignore"):
        for arm, rewards in enumerate(by_arm):
            for reward in rewards[: JUDGED // len(by_arm)].tolist():
                learn_spread(spreads, arm, saturate(reward))
    return "mean" if repeats(spreads) else "location"
