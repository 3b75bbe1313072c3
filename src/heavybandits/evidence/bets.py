r"""Bets on means of clipped rewards, and how much they must have won whatever the means are.

Rewards are in units of the clip, from 0 to 1.  Who doubts that the mean of b exceeds that of a must hold that some m
lies between them: :math:`\mu_b \le m \le \mu_a`.  Against this m one can bet on every reward of b being high and every
reward of a being low.  The wealth

.. math:: W_{pq}(m) = \prod_{u \text{ of } b} (1 + p\,(u - m)) \prod_{u \text{ of } a} (1 - q\,(u - m))

is then a nonnegative supermartingale, and so is a mixture over fixed pairs of bets p, q.  The evidence is the least
wealth of the mixture over all m.  Its logarithm is computed from below: each factor's logarithm is concave in u, so the
grid never helps, and in m, so that on an interval of m it is least at an end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..protocols import FloatArray, IntArray, compilable, compiled_as, rarely_called
from .scale import COLUMNS, GRID, Clip

# Bets are 1/2, 1/4, 1/8, ... standard deviations.  The weights of the larger bet of a pair favour what 300 to 30,000
# rewards call for; the best bet for n rewards is about sqrt(2 log(1/delta)/n).
LARGER = (0.01, 0.05, 0.17, 0.24, 0.22, 0.14, 0.08, 0.04, 0.02, 0.015, 0.01, 0.005)
# The best pair has n_b p = n_a q.  Most weight is on equal bets; then on b's being 1, 2, ... octaves lower, because
# who chooses arms by their rewards plays the better one more often; and some on a's being lower.
B_LOWER = (0.62, 0.07, 0.04, 0.03, 0.025, 0.02, 0.015, 0.01, 0.008, 0.006, 0.005)
A_LOWER = (0.0, 0.05, 0.025, 0.02, 0.015, 0.01, 0.008, 0.006, 0.004, 0.003, 0.002)
OCTAVES = 14
STEEPEST = 0.5
# Within stated limits nobody knows how much rewards vary, so bets may be up to 2^5 times as large.
UNKNOWN = (0.5, 0.18, 0.12, 0.08, 0.06, 0.06)

SAFE = 0.8  # a bet loses at most this part of the wealth
EDGES = np.concatenate([[0.0], 1.0 / (1.0 + np.exp(-np.arange(-8.0, 8.01, 0.8))), [1.0]])  # each interval has its bets
NEAR_ZERO = 1e-5  # for the odds of the ends of all intervals
SPLITS, CLOSE = 40, 0.02  # at most so many intervals are halved, until the bound is certified to so many nats
MOST = len(EDGES) + SPLITS + 2  # intervals
BISECTIONS = 10  # for ends of intervals: a thousandth of an interval of `EDGES`
RATIO_BLOCK = 2.0  # ratios within such a factor share their bets


class Bets(NamedTuple):
    """A prior over pairs of bets, in octaves below the steepest."""

    steepest: float  # in standard deviations
    skipped: int  # octaves before those of `LARGER`
    joint: FloatArray  # (b's octave, a's octave)
    single: FloatArray  # for one arm alone


class Work(NamedTuple):
    """Room for intervals of m while evidence is computed."""

    ends: FloatArray  # (interval, 2): where it begins and ends
    bound: FloatArray  # (interval,): below the evidence on it
    bets: FloatArray  # (arm, interval, octave)
    logs: FloatArray  # (end, arm, interval, octave): logarithms of wealth
    points: FloatArray  # (arm, point): where the arm has rewards
    weights: FloatArray  # (arm, point)
    sizes: IntArray  # (arm,): how many such points there are


class Border(NamedTuple):
    """The means ``ratio * m + shift`` of b, for means m of a."""

    ratio: float
    shift: float


class Claim(NamedTuple):
    """That the mean of b is above a border that depends on that of a; means count from ``-origin`` on.

    ``middle`` and ``top`` are the middle and the highest of the borders that share their bets.
    """

    border: Border
    middle: Border
    top: Border
    origin: float


_SAME = Border(1.0, 0.0)
HIGHER = Claim(_SAME, _SAME, _SAME, 0.0)


def _prior(unknown: tuple[float, ...]) -> Bets:
    size = OCTAVES + len(unknown) - 1
    joint = np.zeros((size, size))
    for above, chance in enumerate(reversed(unknown)):
        for k, larger in enumerate(LARGER):
            for d, (b_lower, a_lower) in enumerate(zip(B_LOWER, A_LOWER, strict=True)):
                if k + d < OCTAVES:
                    joint[above + k + d, above + k] += chance * larger * b_lower
                    joint[above + k, above + k + d] += chance * larger * a_lower
    joint /= joint.sum()
    skipped = len(unknown) - 1
    return Bets(STEEPEST * 2.0**skipped, skipped, joint, joint.sum(axis=1))


SIZED_UP, STATED = _prior((1.0,)), _prior(UNKNOWN)


def new_work(bets: Bets) -> Work:
    """Return room for computing evidence with these bets."""
    octaves = len(bets.joint)
    return Work(
        np.zeros((MOST, 2)), np.zeros(MOST), np.zeros((2, MOST, octaves)), np.zeros((2, 2, MOST, octaves)),
        np.zeros((2, COLUMNS)), np.zeros((2, COLUMNS)), np.zeros(2, np.int64),
    )  # fmt: skip


@rarely_called
def gather(work: Work, side: int, rows: FloatArray, arm: int, clip: Clip, times: float, mirrored: bool) -> float:
    """Collect where an arm has rewards, with what lies beyond the clip at its ends; return their mean."""
    bottom, width = GRID[clip.first], GRID[clip.last] - GRID[clip.first]
    below, above = 0.0, 0.0
    for j in range(clip.first):
        below += rows[arm, j]
    for j in range(clip.last + 1, COLUMNS):
        above += rows[arm, j]
    n, total, mass = 0, 0.0, 0.0
    for j in range(clip.first, clip.last + 1):
        weight = rows[arm, j]
        if j == clip.first:
            weight += below
        if j == clip.last:
            weight += above
        if weight > 0.0:
            x = (GRID[j] - bottom) / width
            work.points[side, n] = 1.0 - x if mirrored else x
            work.weights[side, n] = weight * times
            total += work.points[side, n] * weight
            mass += weight
            n += 1
    work.sizes[side] = n
    return total / mass if n > 0 else 0.5


@rarely_called
def _weight(work: Work, side: int) -> float:
    """Return how many rewards an arm has."""
    total = 0.0
    for j in range(work.sizes[side]):
        total += work.weights[side, j]
    return total


@rarely_called
def log_wealth_point_by_point(work: Work, side: int, m: float, bet: float) -> float:
    """Do the same as :func:`log_wealth`."""
    total = 0.0
    for j in range(work.sizes[side]):
        total += work.weights[side, j] * math.log(1.0 + bet * (work.points[side, j] - m))
    return total


@compiled_as(log_wealth_point_by_point)
def log_wealth(work: Work, side: int, m: float, bet: float) -> float:
    """Return the logarithm of the wealth that a bet on rewards above m, or below m if it is negative, has made."""
    n = work.sizes[side]
    grown = 1.0 + bet * (work.points[side, :n] - m)
    logs = work.weights[side, :n] * [math.log(each) for each in grown.tolist()]
    return float(np.cumsum(logs)[-1]) if n > 0 else 0.0


@compilable
def threshold(claim: Claim, border: Border, m: float) -> float:
    """Return which mean of b the border denies if that of a is m; no mean is above 1."""
    return min(border.ratio * (m + claim.origin) - claim.origin + border.shift, 1.0)


@compilable
def middle_of(c: int) -> float:
    """Return the middle of an interval, by odds."""
    low, high = EDGES[c], EDGES[c + 1]
    odds = math.sqrt((low + NEAR_ZERO) / (1.0 - low + NEAR_ZERO) * (high + NEAR_ZERO) / (1.0 - high + NEAR_ZERO))
    return odds / (1.0 + odds)


@compilable
def deviation(spread: float, m: float) -> float:
    """Return the standard deviation of rewards whose mean is m."""
    m = min(max(m, 1e-4), 1.0 - 1e-4)
    return math.sqrt(spread * m * (1.0 - m))


@rarely_called
def _put(bets: Bets, work: Work, i: int, c: int, low: float, high: float, spread: float, claim: Claim) -> None:
    """Let interval i of m be from low to high, with the bets of the interval c of `EDGES`."""
    work.ends[i, 0], work.ends[i, 1] = low, high
    middle = middle_of(c)
    sd_a, sd_b = deviation(spread, middle), deviation(spread, threshold(claim, claim.middle, middle))
    most_b, most_a = SAFE / threshold(claim, claim.top, EDGES[c + 1]), SAFE / (1.0 - EDGES[c])
    for k in range(len(bets.single)):
        bet = bets.steepest * 0.5**k
        work.bets[0, i, k] = min(bet / sd_b, most_b)
        work.bets[1, i, k] = min(claim.middle.ratio * bet / sd_a, most_a)


@rarely_called
def _play(bets: Bets, work: Work, i: int, end: int, claim: Claim) -> None:
    """Compute the wealth of all bets at an end of interval i."""
    m = work.ends[i, end]
    against = threshold(claim, claim.border, m)
    for k in range(len(bets.single)):
        if bets.single[k] > 0.0:
            work.logs[end, 0, i, k] = log_wealth(work, 0, against, work.bets[0, i, k])
            work.logs[end, 1, i, k] = log_wealth(work, 1, m, -work.bets[1, i, k])


@rarely_called
def _mixed(bets: Bets, work: Work, i: int, one: int, other: int) -> float:
    """Return the logarithm of the mixture in which each pair of bets has the lower of its wealths at two ends."""
    logs, joint = work.logs, bets.joint
    size = len(bets.single)
    top, total = -math.inf, 0.0
    for k in range(size):
        for j in range(size):
            if joint[k, j] > 0.0:
                g = min(logs[one, 0, i, k] + logs[one, 1, i, j], logs[other, 0, i, k] + logs[other, 1, i, j])
                top = max(top, g)
    for k in range(size):
        for j in range(size):
            if joint[k, j] > 0.0:
                g = min(logs[one, 0, i, k] + logs[one, 1, i, j], logs[other, 0, i, k] + logs[other, 1, i, j])
                if g > top - 30.0:  # what is left out could only add
                    total += joint[k, j] * math.exp(g - top)
    return top + math.log(total)


@rarely_called
def _quick_bound(bets: Bets, work: Work, i: int, above: bool, claim: Claim, enough: float) -> float:
    """Return a bound on interval i, which lies above or below both means, from at most three lopsided pairs of bets.

    The wealth of b's bets falls in m, and that of a's grows.  A bound above ``enough`` needs no other pair.
    """
    low, high = work.ends[i, 0], threshold(claim, claim.border, work.ends[i, 1])
    bound = -math.inf
    for step in (3, 1, 5):
        k = bets.skipped + (step + 4 if above else step)
        j = bets.skipped + (step if above else step + 4)
        won = log_wealth(work, 0, high, work.bets[0, i, k]) + log_wealth(work, 1, low, -work.bets[1, i, j])
        bound = max(bound, won + math.log(bets.joint[k, j]))
        if bound > enough:
            break
    return bound


@rarely_called
def _glance(bets: Bets, work: Work, m: float, spread: float, claim: Claim) -> float:
    """Return the evidence at one m."""
    c = 0
    while c < len(EDGES) - 2 and EDGES[c + 1] <= m:
        c += 1
    _put(bets, work, MOST - 1, c, m, m, spread, claim)
    _play(bets, work, MOST - 1, 0, claim)
    return _mixed(bets, work, MOST - 1, 0, 0)


@rarely_called
def log_evidence(
    bets: Bets, work: Work, rows: FloatArray, clip: Clip, b: int, a: int, claim: Claim, times: float,
    mirrored: bool, below: float, above: float,
) -> float:  # fmt: skip
    """Return the logarithm of the evidence for a claim about arms b and a: never above the exact one.

    ``times`` multiplies all weights, as if so many times as many rewards had come; ``mirrored`` counts rewards from the
    other end of the clip.  If the evidence is certain to be below ``below``, or at least ``above``, the search ends
    early: what is returned is then on the same side.
    """
    mean_b = gather(work, 0, rows, b, clip, times, mirrored)
    mean_a = gather(work, 1, rows, a, clip, times, mirrored)
    if work.sizes[0] == 0 or work.sizes[1] == 0:
        return 0.0
    if below > 0.0 and mean_b <= threshold(claim, claim.border, mean_a):
        return 0.0  # at the mean of a neither arm's bets can have won
    ratio, lift = claim.border.ratio, claim.origin - claim.border.shift
    start = max(lift / ratio - claim.origin, 0.0)  # below, b's mean would be negative
    if start >= 1.0:
        return math.inf  # b's mean cannot be so low
    bend = (1.0 + lift) / ratio - claim.origin  # above, the threshold is 1
    same = (mean_b + lift) / ratio - claim.origin  # the mean of a for which b is at the border
    if below > 0.0:  # where the evidence is likely to be least, it is often too little
        n_b, n_a = _weight(work, 0), _weight(work, 1)
        likely = (n_b * same + n_a * mean_a) / (n_b + n_a)
        glance = _glance(bets, work, min(max(likely, start), 1.0), clip.spread, claim)
        if glance < below:
            return glance
    centre = 0.5 * (mean_a + same)
    n, middle = 0, 0
    for c in range(len(EDGES) - 1):
        low, high = max(EDGES[c], start), EDGES[c + 1]
        if low >= high:
            continue
        if low <= centre:
            middle = n
        if low < bend < high:
            _put(bets, work, n, c, low, bend, clip.spread, claim)
            n, low = n + 1, bend
        _put(bets, work, n, c, low, high, clip.spread, claim)
        n += 1
    found, whole = math.inf, n  # the least value that was attained, and the intervals before any is halved
    for turn in range(2 * whole):  # from the middle outwards
        i = middle + (turn + 1) // 2 * (1 if turn % 2 else -1)
        if i < 0 or i >= whole:
            continue
        if turn > 2 or above < math.inf:
            enough = min(found + 0.5, above)
            bound = _quick_bound(bets, work, i, i > middle, claim, enough)
            if bound > enough:
                work.bound[i] = bound
                continue
        for end in range(2):
            _play(bets, work, i, end, claim)
            found = min(found, _mixed(bets, work, i, end, end))
            if found < below:
                return found
        work.bound[i] = _mixed(bets, work, i, 0, 1)
    for _ in range(SPLITS):
        i = 0
        for other in range(1, n):
            if work.bound[other] < work.bound[i]:
                i = other
        if found - work.bound[i] < CLOSE or work.bound[i] >= above:
            break
        _halve(bets, work, i, n, claim)
        found = min(found, _mixed(bets, work, n, 0, 0))
        if found < below:
            return found
        work.bound[i], work.bound[n] = _mixed(bets, work, i, 0, 1), _mixed(bets, work, n, 0, 1)
        n += 1
    least = work.bound[0]
    for i in range(1, n):
        least = min(least, work.bound[i])
    return float(least)


@rarely_called
def _halve(bets: Bets, work: Work, i: int, n: int, claim: Claim) -> None:
    """Let interval n be the upper half of interval i, which keeps the lower half."""
    work.ends[n, 0], work.ends[n, 1] = 0.5 * (work.ends[i, 0] + work.ends[i, 1]), work.ends[i, 1]
    work.ends[i, 1] = work.ends[n, 0]
    for k in range(len(bets.single)):
        for arm in range(2):
            work.bets[arm, n, k] = work.bets[arm, i, k]
            work.logs[1, arm, n, k] = work.logs[1, arm, i, k]
    _play(bets, work, n, 0, claim)
    for k in range(len(bets.single)):
        for arm in range(2):
            work.logs[1, arm, i, k] = work.logs[0, arm, n, k]


@rarely_called
def _is_refuted(bets: Bets, work: Work, c: int, m: float, spread: float, need: float) -> bool:
    """Return whether bets on rewards above m, a number in the interval c of `EDGES`, have won enough."""
    sd, most, won = deviation(spread, middle_of(c)), SAFE / EDGES[c + 1], 0.0
    for k in range(len(bets.single)):
        if bets.single[k] > 0.0:
            bet = min(bets.steepest * 0.5**k / sd, most)
            log = math.log(bets.single[k]) + log_wealth(work, 0, m, bet) - need
            if log >= 0.0:
                return True
            won += math.exp(log)
    return won >= 1.0


def lowest_mean(
    bets: Bets, work: Work, rows: FloatArray, clip: Clip, arm: int, mirrored: bool, need: float
) -> float:  # fmt: skip
    """Return a lower bound of an arm's mean, in units of the clip: all means below it are refuted.

    With fixed bets wealth falls in m, so an interval is refuted if its right end is.
    """
    gather(work, 0, rows, arm, clip, 1.0, mirrored)
    for c in range(len(EDGES) - 1):
        low, high = EDGES[c], EDGES[c + 1]
        if _is_refuted(bets, work, c, high, clip.spread, need):
            continue
        for _ in range(BISECTIONS):
            m = 0.5 * (low + high)
            if _is_refuted(bets, work, c, m, clip.spread, need):
                low = m
            else:
                high = m
        return float(low)
    return 1.0
