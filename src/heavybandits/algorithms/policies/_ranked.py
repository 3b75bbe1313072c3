"""Rewards in order of magnitude, each with the sums up to it, so that no large reward spoils a sum of small ones.

Rewards that need never be told apart again may be *settled*: only their sums are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...protocols import FloatArray, compilable, rarely_called
from ..parts.state.pool import Pool, append, init_pool

RECORD_WIDTH = 3  # a record: the reward, and the sums of rewards and of squares up to it, without the settled ones


class Ranked(NamedTuple):
    """The part of a policy's state that :func:`insert` works on."""

    pool: Pool  # per arm: in order of magnitude
    total: FloatArray  # per arm: sum of the settled rewards
    squares: FloatArray  # per arm: sum of their squares


def init_ranked(n_arms: int, horizon: int | None) -> Ranked:
    """Return a state without rewards.

    Examples
    --------
    >>> init_ranked(n_arms=1, horizon=None).total
    array([0.])
    """
    return Ranked(pool=init_pool(n_arms, horizon, RECORD_WIDTH), total=np.zeros(n_arms), squares=np.zeros(n_arms))


@compilable
def insert(ranked: Ranked, arm: int, x: float, limit: float) -> None:
    """Insert a reward by its magnitude, or settle it if its magnitude is at most the limit.

    Examples
    --------
    >>> ranked = init_ranked(n_arms=1, horizon=None)
    >>> for x in (1.0, -4.0, 2.0):
    ...     insert(ranked, 0, x, limit=1.5)
    >>> inside(ranked, 0, 2.5), [float(s) for s in sums(ranked, 0, 1)]
    (1, [3.0, 5.0])
    """
    if abs(x) <= limit:
        ranked.total[arm] += x
        ranked.squares[arm] += x * x
        return
    append(ranked.pool, arm)
    records, start = ranked.pool.records, ranked.pool.start[arm]
    at = start + RECORD_WIDTH * (ranked.pool.size[arm] - 1)
    while at > start and abs(records[at - RECORD_WIDTH]) > abs(x):
        records[at] = records[at - RECORD_WIDTH]
        records[at + 1] = records[at - RECORD_WIDTH + 1] + x
        records[at + 2] = records[at - RECORD_WIDTH + 2] + x * x
        at -= RECORD_WIDTH
    records[at] = x
    records[at + 1] = x + (records[at - RECORD_WIDTH + 1] if at > start else 0.0)
    records[at + 2] = x * x + (records[at - RECORD_WIDTH + 2] if at > start else 0.0)


@compilable
def magnitude(ranked: Ranked, arm: int, i: int) -> float:
    """Return the magnitude of the i-th record."""
    return float(abs(ranked.pool.records[ranked.pool.start[arm] + RECORD_WIDTH * i]))


@compilable
def inside(ranked: Ranked, arm: int, limit: float) -> int:
    """Return how many records have a magnitude of at most the limit."""
    low, high = 0, ranked.pool.size[arm]
    while low < high:
        middle = (low + high) // 2
        if magnitude(ranked, arm, middle) <= limit:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compilable
def sums(ranked: Ranked, arm: int, n: int) -> tuple[float, float]:
    """Return the sum of the settled rewards and the first n records, and the sum of their squares."""
    total, squares = ranked.total[arm], ranked.squares[arm]
    if n > 0:
        at = ranked.pool.start[arm] + RECORD_WIDTH * (n - 1)
        total, squares = total + ranked.pool.records[at + 1], squares + ranked.pool.records[at + 2]
    return total, squares


@rarely_called
def settle(ranked: Ranked, arm: int, limit: float) -> None:
    """Settle the records whose magnitude is at most the limit.

    Examples
    --------
    >>> ranked = init_ranked(n_arms=1, horizon=None)
    >>> for x in (1.0, -4.0, 2.0):
    ...     insert(ranked, 0, x, limit=0.0)
    >>> settle(ranked, 0, limit=2.0)
    >>> float(ranked.total[0]), float(ranked.squares[0]), int(ranked.pool.size[0])
    (3.0, 5.0, 1)
    """
    n = inside(ranked, arm, limit)
    total, squares = sums(ranked, arm, n)
    ranked.total[arm], ranked.squares[arm] = total, squares
    records, start = ranked.pool.records, ranked.pool.start[arm]
    ranked.pool.size[arm] -= n
    total, squares = 0.0, 0.0
    for i in range(ranked.pool.size[arm]):  # differences of sums would be inexact, so add up again
        x = records[start + RECORD_WIDTH * (i + n)]
        total, squares = total + x, squares + x * x
        at = start + RECORD_WIDTH * i
        records[at], records[at + 1], records[at + 2] = x, total, squares
