"""How large rewards are: up to which amount they count, decided by the first ones.

The first rewards, until 24 of them are not zero, decide and are then left out; 12 are enough if they are all the same,
as those of coins are.  Because they are left out, what they decide is as good as stated in advance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._validate import finite, positive
from ..numerics import SUMMABLE, clip
from ..protocols import FloatArray, IntArray, compilable, rarely_called

ENOUGH, ALL_ALIKE = 24, 12  # rewards that decide; so many are enough if they are equal
COMMON = 0.9  # the first cap is about this quantile of what is not zero
CELLS = 50  # equal cells up to the first cap
FACTOR, CAPS = 3.0, 5  # each cap is so many times the one before
STEPS = 6  # cells from one cap to the next
TAIL = STEPS * (CAPS - 1)
_BEYOND = FACTOR ** (np.arange(1, TAIL + 1) / STEPS)
GRID = np.concatenate([1.0 - _BEYOND[::-1], np.arange(CELLS + 1) / CELLS, _BEYOND])  # in units of the first cap
COLUMNS = len(GRID)
SLOTS = 513  # points for quantiles

# What the array `scale` holds.  For means: the ends of the first clip are LOW and LOW + WIDE; higher caps reach further
# down or up or both.  For quantiles of the level TAU: LOW is the middle of the points, and WIDE their unit.
LOW, WIDE, DOWN, UP, RUNGS, TAU, SPREADS = 0, 1, 2, 3, 4, 5, 6  # of SPREADS there are CAPS
SCALE = SPREADS + CAPS

FINEST = 1e-9  # a clip is at least this wide, relative to its ends, so that all points of the grid differ
SMALLEST = 1e-290
LEAST_SPREAD = 1e-4


class Clip(NamedTuple):
    """Limits between which rewards count, as a part of the grid."""

    first: int
    last: int
    spread: float  # the variance of the first rewards, divided by m (1 - m), the largest that their mean m allows

    @property
    def x(self) -> FloatArray:
        """The points, from 0 to 1."""
        part = GRID[self.first : self.last + 1]
        return np.asarray((part - part[0]) / (part[-1] - part[0]))

    def limits(self, scale: FloatArray) -> tuple[float, float]:
        """Return between what rewards count."""
        low, wide = float(scale[LOW]), float(scale[WIDE])
        if (self.first, self.last) == (TAIL, TAIL + CELLS):
            return low, low + wide
        return low + wide * float(GRID[self.first]), low + wide * float(GRID[self.last])


def stated_limits(owner: str, cap: Any) -> tuple[float, float]:
    """Return between what rewards count: from 0 to a number, or from one number to another.

    Examples
    --------
    >>> stated_limits("compare", 50), stated_limits("compare", (-5, 5))
    ((0.0, 50.0), (-5.0, 5.0))
    """
    if not isinstance(cap, Sequence | np.ndarray):
        return 0.0, positive(owner, "cap", cap)
    if len(cap) != 2 or isinstance(cap, str):
        raise ValueError(f"{owner}: cap must be a number, or two numbers, got {cap!r}")
    low, high = (finite(owner, "cap", end) for end in cap)
    if not FINEST * max(abs(low), abs(high)) < high - low < math.inf:
        raise ValueError(f"{owner}: cap must be two numbers, the first below the second, got {cap!r}")
    return low, high


@compilable
def first_of(scale: FloatArray, rung: int) -> int:
    """Return the first point of a clip."""
    return TAIL - rung * STEPS if scale[DOWN] > 0.0 else TAIL


@compilable
def last_of(scale: FloatArray, rung: int) -> int:
    """Return the last point of a clip."""
    return TAIL + CELLS + rung * STEPS if scale[UP] > 0.0 else TAIL + CELLS


def ladder(scale: FloatArray) -> list[Clip]:
    """Return the clips, from the narrowest to the widest.

    Examples
    --------
    >>> first, sizes, scale = np.arange(1.0, 25.0), np.array([24, 0]), np.zeros(SCALE)
    >>> settle_means(first, sizes, scale)
    >>> [clip.limits(scale)[1].__round__() for clip in ladder(scale)]
    [30, 90, 270, 810, 2430]
    """
    rungs = range(int(scale[RUNGS]))
    return [Clip(first_of(scale, rung), last_of(scale, rung), float(scale[SPREADS + rung])) for rung in rungs]


@compilable
def nice(x: float) -> float:
    """Return the least of 1, 1.5, 2, 3, 5, 7, 10 times a power of ten that is not below x > 0.

    Examples
    --------
    >>> [nice(x) for x in (0.12, 1.0, 29.0, 7.5)]
    [0.15, 1.0, 30.0, 10.0]
    """
    power = math.floor(math.log10(x) + 1e-12)
    for digit in (1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0):
        found = digit * 10.0**power if power >= 0 else digit / 10.0**-power
        if found >= x * (1.0 - 1e-9):
            break
    return found


@rarely_called
def _sort(values: FloatArray, n: int) -> None:
    """Sort the first n values in place."""
    for i in range(1, n):
        x, j = values[i], i
        while j > 0 and values[j - 1] > x:
            values[j] = values[j - 1]
            j -= 1
        values[j] = x


@rarely_called
def _quantile(values: FloatArray, start: int, end: int, level: float) -> float:
    """Return a quantile of sorted values, between neighbours by interpolation."""
    at = start + level * (end - 1 - start)
    below = int(at)
    above = min(below + 1, end - 1)
    return float(values[below] + (at - below) * (values[above] - values[below]))


@rarely_called
def settle_means(first: FloatArray, sizes: IntArray, scale: FloatArray) -> None:
    """Choose the clips from the first rewards: ``sizes`` says how many are not zero, and how many are."""
    n = sizes[0]
    _sort(first, n)
    start, end = 0, n  # of the finite ones: infinite rewards count as the cap
    while start < end and first[start] == -math.inf:
        start += 1
    while end > start and first[end - 1] == math.inf:
        end -= 1
    down, up = first[0] < 0.0, first[n - 1] > 0.0
    for i in range(n):
        first[i] = clip(first[i], SUMMABLE)
    low, high = -1.0 if down else 1.0, 1.0 if up else -1.0  # if all are infinite
    if start < end:
        low, high = _quantile(first, start, end, 1.0 - COMMON), _quantile(first, start, end, COMMON)
    span = high - low
    if not (down and up) and (sizes[1] > 0 or min(abs(low), abs(high)) <= span or span == 0.0):  # from zero on
        size = max(abs(low), abs(high), SMALLEST)
        size = size if span == 0.0 else nice(size)
        low, high = (-size, 0.0) if down else (0.0, size)
    else:  # both signs, or far from zero
        down = up = True
        largest = max(abs(low), abs(high))
        span = max(span, FINEST * largest, SMALLEST) if span > 0.0 else largest
        step = nice(span / 4.0)
        low, high = math.floor((low - span / 2.0) / step) * step, math.ceil((high + span / 2.0) / step) * step
    scale[LOW], scale[WIDE], scale[RUNGS] = low, high - low, CAPS
    scale[DOWN], scale[UP] = 1.0 if down else 0.0, 1.0 if up else 0.0
    for rung in range(CAPS):
        scale[SPREADS + rung] = _spread(first, sizes, scale, rung)


@rarely_called
def _spread(first: FloatArray, sizes: IntArray, scale: FloatArray, rung: int) -> float:
    """Return the variance of the first rewards within a clip, divided by the largest that their mean allows."""
    bottom, top = GRID[first_of(scale, rung)], GRID[last_of(scale, rung)]
    n = sizes[0] + sizes[1]
    total, squares = 0.0, 0.0
    for i in range(sizes[0] + 1):  # the last one stands for the zeros
        reward, times = (first[i], 1.0) if i < sizes[0] else (0.0, float(sizes[1]))
        u = ((reward - scale[LOW]) / scale[WIDE] - bottom) / (top - bottom)
        u = min(max(u, 0.0), 1.0)
        total += times * u
        squares += times * u * u
    mean = total / n
    guess = (total + 0.5) / (n + 1.0)  # away from 0 and 1
    return float(min(max((squares / n - mean * mean) / (guess * (1.0 - guess)), LEAST_SPREAD), 1.0))


@rarely_called
def settle_quantiles(first: FloatArray, sizes: IntArray, scale: FloatArray) -> None:
    """Choose the middle and the unit of the points from the first rewards."""
    n = sizes[0]
    for i in range(n):
        first[i] = clip(first[i], SUMMABLE)
    _sort(first, n)
    middle = _quantile(first, 0, n, scale[TAU])
    unit = _quantile(first, 0, n, 0.75) - _quantile(first, 0, n, 0.25)
    if unit == 0.0:
        for i in range(n):
            unit += abs(first[i] - middle) / n
    if unit == 0.0:
        unit = abs(middle) if middle != 0.0 else 1.0
    scale[LOW], scale[RUNGS] = middle, 1.0
    scale[WIDE] = max(unit, FINEST * abs(middle), SMALLEST)
