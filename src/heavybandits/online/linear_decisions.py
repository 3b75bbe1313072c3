"""A decision among rows and a reward in compiled code, and the rows whose rewards have not come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ..algorithms.parts.choice.pending_rows import ask, settle
from ..protocols import FloatArray

Row = tuple[float, ...]
KEPT = 10_000  # at most: pending decisions, because some rewards never come
LARGEST_FEATURE = 1e100  # squares of larger ones, and products of those, might be infinite
REFUSED = -1  # returned instead of a row


def decide(policy: Any, state: Any, asking: Any, features: FloatArray, t: int, rng: Any, given: int) -> int:
    """Return the row that the policy selects, and record a decision for it, or for the row ``given`` instead.

    If a feature is not a number or too large, return ``REFUSED`` and record nothing.
    """
    for i in range(features.shape[0]):
        for j in range(features.shape[1]):
            if not abs(features[i, j]) <= LARGEST_FEATURE:
                return REFUSED
    row: int = policy.select(state, features, t, rng)
    played = row if given < 0 else given
    if 0 <= played < features.shape[0]:
        ask(asking, features[played])
    return row


def learn(policy: Any, state: Any, asking: Any, x: FloatArray, reward: float, settles: bool) -> bool:
    """Let the policy learn from the reward of a row, unless a feature is refused, and return whether it did."""
    for i in range(len(x)):
        if not abs(x[i]) <= LARGEST_FEATURE:
            return False
    policy.update(state, x, reward)
    if settles:
        settle(asking, x)
    return True


class AwaitedRows:
    """Rows of pending decisions, the oldest first; a row may be pending several times.

    Examples
    --------
    >>> awaited = AwaitedRows([[1.0, 2.0]])
    >>> awaited.add((3.0, 4.0))
    >>> awaited.take((1.0, 2.0))
    >>> awaited.rows, awaited.total
    ([[3.0, 4.0]], 1)
    """

    def __init__(self, rows: Iterable[Iterable[float]] = ()) -> None:
        self.times = dict(Counter(map(tuple, rows)))  # how often each row is pending
        self.total = sum(self.times.values())

    @property
    def rows(self) -> list[list[float]]:
        """All rows, each as often as it is pending."""
        return [list(row) for row, times in self.times.items() for _ in range(times)]

    def add(self, row: Row) -> Row | None:
        """Record a decision, and return the oldest one if there are now too many."""
        self.times[row] = self.times.get(row, 0) + 1
        self.total += 1
        return next(iter(self.times)) if self.total > KEPT else None

    def take(self, row: Row) -> None:
        """Remove a decision for the row."""
        self.total -= 1
        times = self.times[row]
        if times == 1:
            del self.times[row]
        else:
            self.times[row] = times - 1
