"""The median of a growing set of numbers, from the few numbers next to it.

Up to 16 numbers around the median of each set are kept in order, and the numbers below them are counted.  A new number
joins those kept, or counts as below or above them.  Only when the median leaves the kept range must all numbers be read
again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...._validate import LARGEST_COUNT, require_within
from ....protocols import FloatArray, IntArray, compilable

WINDOW = 16


class Middle(NamedTuple):
    """A set of numbers per row."""

    values: FloatArray  # (row, WINDOW): the numbers that are kept, in order
    kept: IntArray  # per row: how many are kept
    below: IntArray  # per row: how many numbers come before them
    size: IntArray  # per row: numbers in the set

    def check(self, fresh: Middle, n_arms: int) -> None:
        """Refuse counts that contradict one another."""
        require_within("size", self.size, 0, LARGEST_COUNT)
        require_within("below", self.below, 0, LARGEST_COUNT)
        require_within("kept", self.kept, 0, WINDOW)
        if np.any((self.kept == 0) != (self.size == 0)):
            raise ValueError("kept must be 0 where size is 0, and only there")


def init_middle(n_rows: int) -> Middle:
    """Return empty sets."""
    return Middle(
        values=np.zeros((n_rows, WINDOW)),
        kept=np.zeros(n_rows, np.int64),
        below=np.zeros(n_rows, np.int64),
        size=np.zeros(n_rows, np.int64),
    )


@compilable
def fill(middle: Middle, row: int, numbers: FloatArray, n: int) -> None:
    """Replace the set with ``numbers[:n]``, which it reorders.

    Examples
    --------
    >>> middle = init_middle(n_rows=1)
    >>> fill(middle, 0, np.array([5.0, 1.0, 3.0]), 3)
    >>> add_number(middle, 0, 4.0)
    >>> knows_median(middle, 0), median_of(middle, 0)
    (True, 3.5)
    """
    below = max(0, n // 2 - WINDOW // 2)
    end = min(n, below + WINDOW)
    if below > 0:
        partition(numbers, 0, n - 1, below)
    if end < n:
        partition(numbers, below, n - 1, end - 1)
    for i in range(below, end):
        _put(middle.values[row], i - below, numbers[i])
    middle.kept[row], middle.below[row], middle.size[row] = end - below, below, n


@compilable
def add_number(middle: Middle, row: int, x: float) -> None:
    """Add a number to a set that is not empty."""
    values, kept, below, others = middle.values[row], middle.kept[row], middle.below[row], middle.size[row]
    middle.size[row] = others + 1
    if below > 0 and x < values[0]:
        middle.below[row] = below + 1
    elif below + kept < others and x > values[kept - 1]:
        pass
    elif kept < WINDOW:
        _put(values, kept, x)
        middle.kept[row] = kept + 1
    elif below + WINDOW // 2 <= (others + 1) // 2:  # the lowest has to go, as half are below the median
        middle.below[row] = below + 1
        if x > values[0]:
            for i in range(WINDOW - 1):
                values[i] = values[i + 1]
            _put(values, WINDOW - 1, x)
    elif x < values[WINDOW - 1]:  # the highest has to go
        _put(values, WINDOW - 1, x)


@compilable
def knows_median(middle: Middle, row: int) -> bool:
    """Return whether the median is among the numbers that are kept."""
    below, size = middle.below[row], middle.size[row]
    return bool(below <= (size - 1) // 2 and size // 2 < below + middle.kept[row])


@compilable
def median_of(middle: Middle, row: int) -> float:
    """Return the median, which must be known; for an even number of values, the mean of the middle two."""
    values, below, size = middle.values[row], middle.below[row], middle.size[row]
    upper = float(values[size // 2 - below])
    return upper if size % 2 == 1 else 0.5 * float(values[size // 2 - 1 - below]) + 0.5 * upper


@compilable
def partition(values: FloatArray, low: int, high: int, rank: int) -> None:
    """Reorder ``values[low : high + 1]`` so that none before ``rank`` is larger and none after it smaller (Hoare).

    Examples
    --------
    >>> values = np.array([5.0, 1.0, 3.0, 2.0])
    >>> partition(values, 0, 3, 1)
    >>> float(values[1])
    2.0
    """
    while low < high:
        # Values before position i are at most the pivot, and those after position j are at least the pivot.
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break


@compilable
def median_in_place(values: FloatArray, n: int) -> float:
    """Return the median of ``values[:n]``, which it reorders, in O(n); for even n the mean of the middle two.

    Examples
    --------
    >>> median_in_place(np.array([5.0, 1.0, 3.0, 2.0]), 4)
    2.5
    """
    half = n // 2
    partition(values, 0, n - 1, half)
    upper = float(values[half])
    if n % 2 == 1:
        return upper
    lower = float(values[0])
    for i in range(1, half):
        lower = max(lower, float(values[i]))
    return 0.5 * lower + 0.5 * upper


@compilable
def _put(values: FloatArray, n: int, x: float) -> None:
    """Insert x among n sorted values."""
    while n > 0 and values[n - 1] > x:
        values[n] = values[n - 1]
        n -= 1
    values[n] = x
