r"""How loud each arm is relative to the others, and whether rewards repeat, from differences of successive rewards.

Differences depend neither on locations nor on laws, both of which are uncertain in arms with few rewards.  Let
:math:`o_a` be the mean of :math:`\ln|r - r'|` over the q differences of an arm that are not 0, :math:`\bar o` the mean
over all N of them, and W the sum of their squares about the arms' own means.  An arm's log scale is that of all arms,
unless

.. math::  \delta = o_a - \bar o > 2e \quad\text{or}\quad \delta < -3e, \qquad
           e = \sqrt{1.5\,\max(W/(N - K), 0.1)/q};

then it is higher by :math:`\delta - 2e`, or lower by :math:`-\delta - 3e`.  The 1.5 allows for differences that have a
reward in common.  Everything scales with the rewards, exactly so for powers of two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...numerics import power_of_two, saturate
from ...protocols import FloatArray, IntArray, compilable

LOUDER, QUIETER = 2.0, 3.0  # standard errors beyond which an arm counts as louder or quieter
OVERLAP = 1.5  # factor by which differences with a reward in common increase the variance of a mean
LEAST_VARIANCE = 0.1
MOST_LOG_RATIO = 4.0  # largest log ratio of an arm's scale to that of all
FEWEST_DIFFERENCES = 5  # differences after which outlying ones are clipped
BELOW, ABOVE = 4.0, 6.0  # how far from the mean of all they are clipped
FEWEST_PAIRS = 20  # pairs of successive rewards needed to tell whether rewards repeat
EQUAL_SHARE = 0.1  # share of pairs that must be equal
ATOM_SHARE = 2.0 / 3.0  # share of equal pairs, among those at most one step apart, that rounding does not reach
SURE_DEVIATIONS = 2.5  # standard deviations by which a share must be exceeded
SLACK = 1e-3  # relative error of differences that are one step: multiples of 0.01 are not exact
LIGHT = 0.3  # with light tails, the kurtosis of n differences is below this times the root of n
FARTHEST_DIFFERENCE = 1e70  # differences are clipped here, in units, so that sums of their fourth powers stay finite
FREEDOM = 10  # degrees of freedom that W needs
SECOND, FOURTH = range(2)  # rows of Spreads.powers


class Spreads(NamedTuple):
    """Differences between successive rewards of each arm; values that arms share are arrays of length one."""

    last: FloatArray  # per arm: its latest reward; NaN before there is one
    seen: IntArray  # per arm: differences that are not 0
    mean: FloatArray  # per arm: mean of their logarithms, in multiples of the unit
    unit: FloatArray  # a power of two near the first difference; 0 before it
    total: IntArray  # differences that are not 0, of all arms
    centre: FloatArray  # mean of their logarithms
    squares: FloatArray  # sum of their squared deviations from the means of their arms
    equal: IntArray  # differences that are 0, of all arms
    step: FloatArray  # smallest difference that is not 0, of all arms; infinite before there is one
    steps: IntArray  # how many differences are one step
    powers: FloatArray  # (2,): sums of the second and fourth powers of differences, in multiples of the unit


def init_spreads(n_arms: int) -> Spreads:
    """Return spreads without rewards."""
    return Spreads(
        last=np.full(n_arms, math.nan),
        seen=np.zeros(n_arms, np.int64),
        mean=np.zeros(n_arms),
        unit=np.zeros(1),
        total=np.zeros(1, np.int64),
        centre=np.zeros(1),
        squares=np.zeros(1),
        equal=np.zeros(1, np.int64),
        step=np.array([math.inf]),
        steps=np.zeros(1, np.int64),
        powers=np.zeros(2),
    )


@compilable
def learn_spread(spreads: Spreads, arm: int, reward: float) -> None:
    """Learn from a finite reward."""
    last = spreads.last[arm]
    spreads.last[arm] = reward
    if math.isnan(last):
        return
    difference = saturate(abs(reward - last))
    if difference == 0.0:
        spreads.equal[0] += 1
        return
    if spreads.unit[0] == 0.0:
        spreads.unit[0] = power_of_two(difference)
    if difference <= (1.0 + SLACK) * spreads.step[0]:
        if difference >= (1.0 - SLACK) * spreads.step[0]:
            spreads.steps[0] += 1
        else:
            spreads.step[0], spreads.steps[0] = difference, 1
    size = min(max(difference / spreads.unit[0], 1e-300), FARTHEST_DIFFERENCE)
    square = size * size
    spreads.powers[SECOND] += square
    spreads.powers[FOURTH] += square * square
    log = math.log(size)
    if spreads.total[0] >= FEWEST_DIFFERENCES:
        log = min(max(log, spreads.centre[0] - BELOW), spreads.centre[0] + ABOVE)
    spreads.seen[arm] += 1
    spreads.total[0] += 1
    before = log - spreads.mean[arm]
    spreads.mean[arm] += before / spreads.seen[arm]
    spreads.squares[0] += before * (log - spreads.mean[arm])
    spreads.centre[0] += (log - spreads.centre[0]) / spreads.total[0]


@compilable
def loudness(spreads: Spreads, arm: int) -> float:
    """Return the arm's scale divided by that of all arms; 1 without evidence that it differs."""
    seen, freedom = spreads.seen[arm], spreads.total[0] - len(spreads.seen)
    if freedom < FREEDOM or seen < 2:
        return 1.0
    distance = spreads.mean[arm] - spreads.centre[0]
    error = math.sqrt(OVERLAP * max(spreads.squares[0] / freedom, LEAST_VARIANCE) / seen)
    if distance > LOUDER * error:
        return math.exp(min(distance - LOUDER * error, MOST_LOG_RATIO))
    if distance < -QUIETER * error:
        return math.exp(max(distance + QUIETER * error, -MOST_LOG_RATIO))
    return 1.0


@compilable
def repeats(spreads: Spreads) -> bool:
    """Return whether rewards repeat because their law has atoms, and not because they are rounded.

    More than a tenth of successive rewards must be equal.  Rounding can cause that too if its step is near the scale,
    and if tails are then heavy, means are of no use.  But numbers that are rounded to one value are also often rounded
    to the next one.  So in addition, differences of one step must be rare, less than half as many as equal pairs, or
    tails must be light: without a variance, the kurtosis of n differences grows like n.
    """
    equal, others = spreads.equal[0], spreads.total[0]
    pairs = equal + others
    if pairs < FEWEST_PAIRS or not exceeds(equal, pairs, EQUAL_SHARE):
        return False
    if exceeds(equal, equal + spreads.steps[0], ATOM_SHARE):
        return True
    kurtosis = others * spreads.powers[FOURTH] / spreads.powers[SECOND] / spreads.powers[SECOND]
    return bool(kurtosis <= LIGHT * math.sqrt(others))


@compilable
def exceeds(count: int, total: int, share: float) -> bool:
    """Return whether a count exceeds a share of the total by more than chance."""
    return bool(count > share * total + SURE_DEVIATIONS * math.sqrt(share * (1.0 - share) * total))
