"""Rewards in order of their magnitude, with the sums of all up to each: sums over the small ones never see a large one.

Rewards that will never be told apart again may be *settled*: only their sums are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...protocols import FloatArray, compilable, rarely_called
from ..kit.pool import Store, append, init_store

WIDTH = 3  # a record: the reward, and the sums of rewards and of squares up to it, settled ones left out


class Ranked(NamedTuple):
    """The part of a policy's state that :func:`insert` works on."""

    records: Store  # per arm: in order of magnitude
    settled: FloatArray  # (arm, 2): sums of the settled rewards and of their squares


def init_ranked(n_arms: int, horizon: int | None) -> Ranked:
    """No rewards.

    Examples
    --------
    >>> init_ranked(n_arms=1, horizon=None).settled
    array([[0., 0.]])
    """
    return Ranked(init_store(n_arms, horizon, WIDTH), np.zeros((n_arms, 2)))


@compilable
def insert(ranked: Ranked, arm: int, x: float, limit: float) -> None:
    """Put a reward in its place, or settle it if its magnitude is not above the limit.

    Examples
    --------
    >>> ranked = init_ranked(n_arms=1, horizon=None)
    >>> for x in (1.0, -4.0, 2.0):
    ...     insert(ranked, 0, x, limit=1.5)
    >>> inside(ranked, 0, 2.5), [float(s) for s in sums(ranked, 0, 1)]
    (1, [3.0, 5.0])
    """
    if abs(x) <= limit:
        ranked.settled[arm, 0] += x
        ranked.settled[arm, 1] += x * x
        return
    append(ranked.records, arm)
    pool, start = ranked.records.pool, ranked.records.start[arm]
    at = start + WIDTH * (ranked.records.size[arm] - 1)
    while at > start and abs(pool[at - WIDTH]) > abs(x):
        pool[at] = pool[at - WIDTH]
        pool[at + 1] = pool[at - WIDTH + 1] + x
        pool[at + 2] = pool[at - WIDTH + 2] + x * x
        at -= WIDTH
    pool[at] = x
    pool[at + 1] = x + (pool[at - WIDTH + 1] if at > start else 0.0)
    pool[at + 2] = x * x + (pool[at - WIDTH + 2] if at > start else 0.0)


@compilable
def magnitude(ranked: Ranked, arm: int, i: int) -> float:
    """That of the i-th record."""
    return float(abs(ranked.records.pool[ranked.records.start[arm] + WIDTH * i]))


@compilable
def inside(ranked: Ranked, arm: int, limit: float) -> int:
    """How many records have a magnitude up to the limit."""
    low, high = 0, ranked.records.size[arm]
    while low < high:
        middle = (low + high) // 2
        if magnitude(ranked, arm, middle) <= limit:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compilable
def sums(ranked: Ranked, arm: int, n: int) -> tuple[float, float]:
    """Sum of the settled rewards and the first n records, and of their squares."""
    total, squares = ranked.settled[arm, 0], ranked.settled[arm, 1]
    if n > 0:
        at = ranked.records.start[arm] + WIDTH * (n - 1)
        total, squares = total + ranked.records.pool[at + 1], squares + ranked.records.pool[at + 2]
    return total, squares


@rarely_called
def settle(ranked: Ranked, arm: int, limit: float) -> None:
    """Settle the records up to the limit.

    Examples
    --------
    >>> ranked = init_ranked(n_arms=1, horizon=None)
    >>> for x in (1.0, -4.0, 2.0):
    ...     insert(ranked, 0, x, limit=0.0)
    >>> settle(ranked, 0, limit=2.0)
    >>> ranked.settled.tolist(), int(ranked.records.size[0])
    ([[3.0, 5.0]], 1)
    """
    n = inside(ranked, arm, limit)
    total, squares = sums(ranked, arm, n)
    ranked.settled[arm, 0], ranked.settled[arm, 1] = total, squares
    pool, start = ranked.records.pool, ranked.records.start[arm]
    ranked.records.size[arm] -= n
    total, squares = 0.0, 0.0
    for i in range(ranked.records.size[arm]):  # differences of sums would be inexact, so they are added up anew
        x = pool[start + WIDTH * (i + n)]
        total, squares = total + x, squares + x * x
        at = start + WIDTH * i
        pool[at], pool[at + 1], pool[at + 2] = x, total, squares
