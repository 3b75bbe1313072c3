"""What is kept of rewards: for each arm one row of weights on a fixed grid.

Rows add up, so apart from rounding the order of rewards does not matter.  Means are kept on a grid of 99 points that is
fine where most rewards lie and reaches 81 times as far: a reward between two points is split between them so that its
mean is kept.  Quantiles are kept as counts: of rewards equal to each of 513 points, and of rewards between them.

Where the grid lies is either stated, or decided by the first rewards, which are then left out (:mod:`.scale`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._validate import require_within
from ..jit.background_compile import interpreted
from ..jit.compiled import compiled, compiled_already
from ..numerics import SUMMABLE, clip
from ..protocols import FloatArray, IntArray, compilable, rarely_called
from .scale import (
    ALL_ALIKE,
    CAPS,
    CELLS,
    COLUMNS,
    ENOUGH,
    GRID,
    LOW,
    RUNGS,
    SCALE,
    SLOTS,
    SPREADS,
    TAIL,
    TAU,
    WIDE,
    settle_means,
    settle_quantiles,
)  # fmt: skip

MANY_REWARDS = 200_000  # rewards that plain Python takes in while the code for them would be compiled
SINH = np.sinh(np.linspace(-6.0, 6.0, SLOTS))  # points for quantiles: fine in the middle, and up to 200 units away


class Tally(NamedTuple):
    """The rewards of all arms, in arrays that are updated in place."""

    rows: FloatArray  # (arm, column): weights on the grid
    n: IntArray  # (arm,): rewards, with those that were left out
    totals: FloatArray  # (arm,): sums of the rewards that count, in units of the scale
    first: FloatArray  # the first rewards, which decide the scale
    sizes: IntArray  # how many of the first rewards there are, and how many zeros besides
    scale: FloatArray  # what :mod:`.scale` decides; its width is 0 until then

    def check(self, fresh: Tally, n_arms: int) -> None:
        """Refuse more first rewards than there is room for."""
        room = len(self.first) - (1 if self.scale[WIDE] == 0.0 else 0)  # for the next one, unless the scale is settled
        require_within("the number of first rewards", self.sizes[:1], 0, room)

    def dumps(self) -> bytes:
        """Return all arrays as bytes: the same for equal tallies."""
        return b"".join(array.tobytes() for array in self)

    def fill(self, contents: bytes) -> None:
        """Take over the bytes of a tally of the same kind.

        Examples
        --------
        >>> new_tally(2).fill(b"")
        Traceback (most recent call last):
            ...
        ValueError: these bytes are no evidence about 2 arms
        """
        if len(contents) != sum(array.nbytes for array in self):
            raise ValueError(f"these bytes are no evidence about {len(self.n)} arms")
        for array in self:
            array[:] = np.frombuffer(contents[: array.nbytes], array.dtype).reshape(array.shape)
            contents = contents[array.nbytes :]
        self.check(self, len(self.n))


def new_tally(n_arms: int, tau: float | None = None, limits: tuple[float, float] | None = None) -> Tally:
    """Return an empty tally: for means, between stated limits if there are any, or for quantiles at a level ``tau``.

    Examples
    --------
    >>> tally = new_tally(2, limits=(0.0, 1.0))
    >>> add(tally, np.array([0, 1, 1]), np.array([1.0, 0.0, 0.25]))
    >>> tally.rows.sum(axis=1), tally.n
    (array([1., 2.]), array([1, 2]))
    """
    scale = np.zeros(SCALE)
    scale[TAU] = tau or 0.0
    if limits is not None:
        low, high = limits
        scale[LOW], scale[WIDE], scale[RUNGS], scale[SPREADS] = low, high - low, 1.0, 1.0
    columns = COLUMNS if tau is None else 2 * SLOTS + 1
    return Tally(
        np.zeros((n_arms, columns)), np.zeros(n_arms, np.int64), np.zeros(n_arms),
        np.zeros(ENOUGH), np.zeros(2, np.int64), scale,
    )  # fmt: skip


@rarely_called
def learn(tally: Tally, arm: int, reward: float) -> None:
    """Take in one reward, which may be infinite but not NaN."""
    scale = tally.scale
    tally.n[arm] += 1
    if scale[WIDE] == 0.0:
        _size_up(tally, reward)
        return
    u = clip((reward - scale[LOW]) / scale[WIDE], SUMMABLE)
    tally.totals[arm] += u
    if scale[TAU] > 0.0:
        tally.rows[arm, slot_of(scale, reward)] += 1.0
        return
    j = cell_of(u)
    part = (GRID[j + 1] - u) / (GRID[j + 1] - GRID[j])
    part = min(max(part, 0.0), 1.0)
    tally.rows[arm, j] += part
    tally.rows[arm, j + 1] += 1.0 - part


@rarely_called
def _size_up(tally: Tally, reward: float) -> None:
    """Keep one of the first rewards, and settle the scale once there are enough.

    For means, zeros are only counted: orders that are mostly zero are sized up by what was paid.
    """
    first, sizes = tally.first, tally.sizes
    means = tally.scale[TAU] == 0.0
    if reward == 0.0 and means:
        sizes[1] += 1
        return
    first[sizes[0]] = reward
    sizes[0] += 1
    if sizes[0] == ENOUGH or (means and sizes[0] >= ALL_ALIKE and _are_alike(first, sizes[0])):
        if means:
            settle_means(first, sizes, tally.scale)
        else:
            settle_quantiles(first, sizes, tally.scale)


@compilable
def _are_alike(values: FloatArray, n: int) -> bool:
    alike = True
    for i in range(1, n):
        alike = alike and values[i] == values[0]
    return alike


@compilable
def cell_of(u: float) -> int:
    """Return the number of the point of :data:`GRID` below u, so that u lies between it and the next.

    Examples
    --------
    >>> [cell_of(u) for u in (-1e9, -0.001, 0.0, 0.01, 0.999, 1.0, 5.0, 1e9)]
    [0, 23, 24, 24, 73, 74, 82, 97]
    """
    if 0.0 <= u < 1.0:
        return TAIL + min(int(u * CELLS), CELLS - 1)
    j, end = (0, TAIL) if u < 0.0 else (TAIL + CELLS, COLUMNS - 1)
    while end - j > 1:
        middle = (j + end) // 2
        if GRID[middle] <= u:
            j = middle
        else:
            end = middle
    return j


@compilable
def slot_of(scale: FloatArray, reward: float) -> int:
    """Return the slot of a reward: 2 j strictly between the points j - 1 and j, 2 j + 1 equal to the point j."""
    j, end = 0, SLOTS  # the first point that is not below the reward
    while j < end:
        middle = (j + end) // 2
        if scale[LOW] + scale[WIDE] * SINH[middle] < reward:
            j = middle + 1
        else:
            end = middle
    if j < SLOTS and scale[LOW] + scale[WIDE] * SINH[j] == reward:
        return 2 * j + 1
    return 2 * j


def _learn_all(tally: Tally, arms: IntArray, rewards: FloatArray) -> None:
    for i in range(len(arms)):
        learn(tally, arms[i], rewards[i])


def add(tally: Tally, arms: Any, rewards: Any) -> None:
    """Take in rewards in the order in which they came, without NaN; ``arms`` has the number of the arm of each."""
    arms, rewards = np.ascontiguousarray(arms, np.int64), np.ascontiguousarray(rewards, np.float64)
    code = compiled_already(_learn_all, tally, arms, rewards)
    if code is None:
        code = interpreted(_learn_all) if len(arms) < MANY_REWARDS else compiled(_learn_all, tally, arms, rewards)
    code(tally, arms, rewards)


def is_sized_up(tally: Tally) -> bool:
    """Return whether the scale is settled, so that rewards count."""
    return bool(tally.scale[WIDE] > 0.0)


def plain_means(tally: Tally) -> FloatArray:
    """Return the arms' plain means of the rewards that count, whatever their size; NaN without any."""
    with np.errstate(all="ignore"):
        return np.asarray(tally.scale[LOW] + tally.scale[WIDE] * (tally.totals / tally.rows.sum(axis=1)))


def points_of(scale: FloatArray) -> FloatArray:
    """Return the points between which rewards are counted for quantiles."""
    return np.asarray(scale[LOW] + scale[WIDE] * SINH)


def counts_in_full(tally: Tally) -> bool:
    """Return whether every reward counts as it is: within stated limits, or all of them equal to two numbers.

    Examples
    --------
    >>> tally = new_tally(1, limits=(0.0, 1.0))
    >>> add(tally, [0, 0], [0.2, 1.0])
    >>> counts_in_full(tally)
    True
    >>> add(tally, [0], [1.5])
    >>> counts_in_full(tally)
    False
    """
    counted = tally.rows.sum(axis=0)
    inside = counted[TAIL : TAIL + CELLS + 1].copy()
    if tally.scale[RUNGS] == CAPS:
        inside[1:-1] = 0.0
        if not _are_alike(tally.first, int(tally.sizes[0])):
            return False
    return bool(inside.sum() == counted.sum())


def has_one_sign(tally: Tally, limits: tuple[float, float]) -> bool:
    """Return whether no reward lies on the other side of a limit that is zero; true if neither limit is.

    Examples
    --------
    >>> tally = new_tally(1, limits=(0.0, 10.0))
    >>> add(tally, [0, 0], [3.0, 12.0])
    >>> has_one_sign(tally, (0.0, 10.0))
    True
    >>> add(tally, [0], [-5.0])
    >>> has_one_sign(tally, (0.0, 10.0))
    False
    """
    counted = tally.rows.sum(axis=0)
    below, above = counted[:TAIL].any(), counted[TAIL + CELLS + 1 :].any()
    return not ((limits[0] == 0.0 and below) or (limits[1] == 0.0 and above))
