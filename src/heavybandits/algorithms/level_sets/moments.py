"""Mean, variance and skewness of each arm, where arms share the highest and lowest rewards of all.

When tails are heavy, a few rewards decide the mean of a sample.  So the 40 highest rewards of all arms, and the 40
lowest, do not count at face value: each counts as the average of its list.  An arm that was lucky to get a large reward
gains less by it, and in the long run 80 rewards make no difference to any arm.  A reward that leaves a list, because a
more extreme one came, counts at face value from then on.

Rewards are measured from the first one, in units of a power of two near the first difference.  So an offset common to
all rewards changes nothing, a common factor hardly anything, and cubes neither overflow nor vanish.  Moments are
central sums that each reward updates; differences of large sums of powers would lose all digits to an offset.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import require_within
from ...numerics import LARGEST_FLOAT, clip, power_of_two
from ...protocols import FloatArray, IntArray, compilable, rarely_called

MOST_EXTREMES = 40  # rewards in a list of extremes
REWARDS_PER_EXTREME = 10  # at most one in this many rewards is in a list
OUTLANDISH = 2.0**40  # units: a reward that leaves no digits to the others in a sum of squares
LOST = 2.0**-44  # of what was subtracted: a difference below is rounding
FARTHEST_REWARD = 1e90  # rewards are clipped here, in units, so that cubes and their sums stay finite
TOP, BOTTOM = range(2)  # rows of Extremes.values
MEAN, SECOND, THIRD = range(3)  # columns of Moments.own and Moments.whole


class Extremes(NamedTuple):
    """The highest rewards of all arms (row 0) and the lowest, with their signs reversed (row 1)."""

    values: FloatArray  # (2, MOST_EXTREMES + 1): ascending, in units
    arms: IntArray  # (2, MOST_EXTREMES + 1): whose rewards they are
    size: IntArray  # (2,)
    average: FloatArray  # (2,): of each list; that of the lowest has its original sign

    def check(self, fresh: Extremes, n_arms: int) -> None:
        """Refuse entries of arms that do not exist, and lists that are too long."""
        require_within("arms", self.arms, 0, n_arms - 1)
        require_within("size", self.size, 0, MOST_EXTREMES)

    def carry(self, fresh: Extremes, rows: IntArray) -> Extremes:
        """Keep the entries of the arms ``rows``, which are renumbered 0, 1, ..."""
        renamed = {int(old): new for new, old in enumerate(rows)}
        for row in (TOP, BOTTOM):
            size = self.size[row]
            kept = [i for i in range(size) if int(self.arms[row, i]) in renamed]
            fresh.values[row, : len(kept)] = self.values[row, kept]
            fresh.arms[row, : len(kept)] = [renamed[int(self.arms[row, i])] for i in kept]
            fresh.size[row] = len(kept)
            renew_average(fresh, row)
        return fresh


class Moments(NamedTuple):
    """What is known about the size and shape of each arm's rewards."""

    own: FloatArray  # (arm, 3): mean, and sums of squared and cubed deviations, of the rewards in no list
    listed: IntArray  # (arm, 2): how many of its rewards are in each list
    whole: FloatArray  # (arm, 3): mean, variance and third central moment of all rewards, as of the latest look
    extremes: Extremes
    origin: FloatArray  # the first reward; NaN before it
    unit: FloatArray  # a power of two near the first difference from it; 0 before that

    def check(self, fresh: Moments, n_arms: int) -> None:
        """Refuse counts of listed rewards that do not match the lists."""
        self.extremes.check(fresh.extremes, n_arms)
        require_within("listed", self.listed, 0, MOST_EXTREMES)
        for row in (TOP, BOTTOM):
            listed = np.bincount(self.extremes.arms[row, : self.extremes.size[row]], minlength=n_arms)
            if not np.array_equal(listed, self.listed[:, row]):
                raise ValueError("listed must count the rewards of each arm in the lists")


def init_moments(n_arms: int) -> Moments:
    """Return moments without rewards."""
    return Moments(
        own=np.zeros((n_arms, 3)),
        listed=np.zeros((n_arms, 2), np.int64),
        whole=np.zeros((n_arms, 3)),
        extremes=Extremes(
            values=np.zeros((2, MOST_EXTREMES + 1)),
            arms=np.zeros((2, MOST_EXTREMES + 1), np.int64),
            size=np.zeros(2, np.int64),
            average=np.zeros(2),
        ),
        origin=np.array([math.nan]),
        unit=np.zeros(1),
    )


@compilable
def in_units(moments: Moments, reward: float) -> float:
    """Return the reward minus the origin, in units; the first reward sets the origin, and the first other one the unit.

    Infinite rewards set neither.
    """
    origin, unit = moments.origin, moments.unit
    if math.isnan(origin[0]):
        origin[0] = reward if abs(reward) <= LARGEST_FLOAT else 0.0
    difference, doublings = reward - origin[0], 1.0
    if abs(difference) > LARGEST_FLOAT:  # two finite rewards can lie farther apart than the largest number
        difference, doublings = 0.5 * reward - 0.5 * origin[0], 2.0
    if unit[0] == 0.0 and 0.0 < abs(difference) <= LARGEST_FLOAT:
        unit[0] = power_of_two(difference)
    if difference == 0.0:
        return 0.0
    return clip(difference / unit[0] * doublings if unit[0] > 0.0 else difference * LARGEST_FLOAT, FARTHEST_REWARD)


@compilable
def in_rewards(moments: Moments, x: float) -> float:
    """Return the reward that lies ``x`` units from the origin."""
    origin, rise = moments.origin[0], x * moments.unit[0]
    if abs(rise) <= LARGEST_FLOAT:
        return clip(origin + rise, LARGEST_FLOAT)
    return clip(2.0 * (0.5 * origin + x * (0.5 * moments.unit[0])), LARGEST_FLOAT)


@compilable
def add_reward(moments: Moments, pulls: IntArray, arm: int, reward: float, clock: int) -> None:
    """Learn from a reward that is already counted in ``pulls`` and in ``clock``, the number of all rewards."""
    extremes, x = moments.extremes, in_units(moments, reward)
    room = min(MOST_EXTREMES, clock // REWARDS_PER_EXTREME)
    values, size = extremes.values, extremes.size
    if room == 0 and abs(x) >= OUTLANDISH:  # in a list it can be unlearned
        enter(moments, pulls, TOP if x > 0.0 else BOTTOM, arm, abs(x), clock)
    elif room > 0 and (size[TOP] == 0 or x > values[TOP, 0]):
        enter(moments, pulls, TOP, arm, x, room)
    elif room > 0 and (size[BOTTOM] == 0 or -x > values[BOTTOM, 0]):
        enter(moments, pulls, BOTTOM, arm, -x, room)
    else:
        add_own(moments, pulls, arm, x)


@rarely_called
def enter(moments: Moments, pulls: IntArray, row: int, arm: int, x: float, room: int) -> None:
    """Insert a reward into a list; if the list is full, the least extreme one leaves it and joins its arm's own."""
    values, arms, size = moments.extremes.values[row], moments.extremes.arms[row], moments.extremes.size
    i = size[row]
    while i > 0 and values[i - 1] > x:
        values[i], arms[i] = values[i - 1], arms[i - 1]
        i -= 1
    values[i], arms[i] = x, arm
    moments.listed[arm, row] += 1
    size[row] += 1
    if size[row] > room:
        left, value = arms[0], values[0]
        size[row] -= 1
        for i in range(size[row]):
            values[i], arms[i] = values[i + 1], arms[i + 1]
        moments.listed[left, row] -= 1
        add_own(moments, pulls, left, value if row == TOP else -value)
    renew_average(moments.extremes, row)


@compilable
def renew_average(extremes: Extremes, row: int) -> None:
    """Update a list's average; that of equal values is exact."""
    size, least = extremes.size[row], extremes.values[row, 0]
    total = 0.0
    for i in range(size):
        total += extremes.values[row, i] - least
    average = least + total / size if size > 0 else 0.0
    extremes.average[row] = average if row == TOP else -average


@compilable
def add_own(moments: Moments, pulls: IntArray, arm: int, x: float) -> None:
    """Add a reward, which is already counted, to the sums of its arm."""
    own, listed = moments.own, moments.listed
    n = pulls[arm] - listed[arm, TOP] - listed[arm, BOTTOM]
    difference = x - own[arm, MEAN]
    step = difference / n
    growth = difference * step * (n - 1)
    own[arm, THIRD] += growth * step * (n - 2) - 3.0 * step * own[arm, SECOND]
    own[arm, SECOND] += growth
    own[arm, MEAN] += step


@compilable
def remove_own(moments: Moments, pulls: IntArray, arm: int, x: float) -> None:
    """Subtract a reward, which is still counted, from the sums of its arm.

    What it leaves of a sum is 0 if the reward was so large that only its rounding error would be left.
    """
    own, listed = moments.own, moments.listed
    n = pulls[arm] - listed[arm, TOP] - listed[arm, BOTTOM]
    if n <= 1:
        own[arm, MEAN] = own[arm, SECOND] = own[arm, THIRD] = 0.0
        return
    step = (x - own[arm, MEAN]) / (n - 1)
    growth = step * step * n * (n - 1)
    own[arm, MEAN] -= step
    left = own[arm, SECOND] - growth
    own[arm, SECOND] = left if left > LOST * growth else 0.0
    skewed = growth * step * (n - 2) - 3.0 * step * own[arm, SECOND]
    left = own[arm, THIRD] - skewed
    own[arm, THIRD] = left if abs(left) > LOST * abs(skewed) else 0.0


@rarely_called
def remove_reward(moments: Moments, pulls: IntArray, arm: int, reward: float) -> None:
    """Unlearn a reward of the arm, which is still counted in ``pulls``.

    Examples
    --------
    >>> moments, pulls = init_moments(1), np.zeros(1, np.int64)
    >>> for reward in (3.0, 1.0, 8.0):
    ...     pulls[0] += 1
    ...     add_reward(moments, pulls, 0, reward, pulls[0])
    >>> remove_reward(moments, pulls, 0, 8.0)
    >>> float(in_rewards(moments, moments.own[0, MEAN]))
    2.0
    """
    x, extremes = in_units(moments, reward), moments.extremes
    for row in (TOP, BOTTOM):
        for i in range(extremes.size[row]):
            if extremes.arms[row, i] == arm and extremes.values[row, i] == (x if row == TOP else -x):
                leave(moments, row, i)
                return
    remove_own(moments, pulls, arm, x)


@compilable
def leave(moments: Moments, row: int, i: int) -> None:
    """Remove the entry ``i`` from a list."""
    values, arms, size = moments.extremes.values[row], moments.extremes.arms[row], moments.extremes.size
    moments.listed[arms[i], row] -= 1
    size[row] -= 1
    for j in range(i, size[row]):
        values[j], arms[j] = values[j + 1], arms[j + 1]
    renew_average(moments.extremes, row)


@compilable
def update_whole(moments: Moments, pulls: IntArray, arm: int) -> None:
    """Update the moments of all rewards of an arm, where those in a list count as its average."""
    own, whole, average = moments.own, moments.whole, moments.extremes.average
    n, high, low = pulls[arm], moments.listed[arm, TOP], moments.listed[arm, BOTTOM]
    rest = n - high - low
    base = own[arm, MEAN] if rest > 0 else average[TOP] if high > 0 else average[BOTTOM]
    mean = base + (high * (average[TOP] - base) + low * (average[BOTTOM] - base)) / n
    from_rest, from_top, from_bottom = base - mean, average[TOP] - mean, average[BOTTOM] - mean
    second, third = own[arm, SECOND], own[arm, THIRD] + 3.0 * from_rest * own[arm, SECOND]
    for count, distance in ((rest, from_rest), (high, from_top), (low, from_bottom)):
        square = count * distance * distance
        second += square
        third += square * distance
    whole[arm, MEAN], whole[arm, SECOND], whole[arm, THIRD] = mean, max(second / n, 0.0), third / n
