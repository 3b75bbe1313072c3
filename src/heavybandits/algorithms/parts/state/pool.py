r"""A pool of rewards: a growing sequence of records for each arm, all in one array.

A *record* is a fixed number of floats.  The records of an arm lie side by side in a *segment* of the array.  A full
segment moves behind all others and doubles, so appending costs O(1) amortised.  An arm has no segment before its first
record, then one of four records, then eight, and so on.  With n > 4 records, its segment has room for fewer than 2n,
and the segments it has left behind for fewer than that together; with n = 1, ..., 4 there is only the first one.
Either way an arm takes up at most 4n records, so *an array of 4T records holds any T rewards*, however they are spread
over the arms.  Without a horizon the array starts small, and :meth:`Pool.grown` enlarges it between rewards, where
memory may be allocated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...._validate import require_within
from ....protocols import FloatArray, IntArray, compilable

FIRST_SEGMENT = 4  # records in an arm's first segment
LARGEST_HORIZON = 2**22  # most rewards for which room is made at once: 128 MiB for each float of a record


class Pool(NamedTuple):
    """The part of a state that keeps rewards, and that :func:`append` works on.

    The records of arm a are the ``size[a] * width[0]`` floats of ``records`` from ``start[a]`` on.  Code that needs
    only the first few may lower ``size[a]``.
    """

    records: FloatArray
    start: IntArray  # per arm: where its segment begins
    room: IntArray  # per arm: records that fit into its segment
    size: IntArray  # per arm: records in it
    width: IntArray  # array of length one: floats in a record
    used: IntArray  # array of length one: floats taken up so far
    need: IntArray  # array of length one: floats that the next record may take up

    def carry(self, fresh: Pool, rows: IntArray) -> Pool:
        """Copy the records of the arms ``rows`` to the first arms of ``fresh``, which grows if necessary.

        Examples
        --------
        >>> pool = init_pool(n_arms=2, horizon=10, width=1)
        >>> pool.records[append(pool, 1)] = 5.0
        >>> pool = pool.carry(init_pool(n_arms=3, horizon=10, width=1), np.array([1]))
        >>> pool.size.tolist(), float(pool.records[pool.start[0]])
        ([1, 0, 0], 5.0)
        """
        width, kept = int(self.width[0]), len(rows)
        fresh.room[:kept], fresh.size[:kept] = self.room[rows], self.size[rows]
        ends = width * np.cumsum(fresh.room)
        fresh.start[:] = ends - width * fresh.room
        used, need = int(ends[-1]), width * max(FIRST_SEGMENT, 2 * int(fresh.room.max()))
        fresh.used[0], fresh.need[0] = used, need
        records = fresh.records if used + need <= len(fresh.records) else np.zeros(2 * (used + need))
        # One index for all floats at once: a loop over 1e5 arms would take a tenth of a second.
        floats = width * self.size[rows]
        inside = np.arange(floats.sum()) - np.repeat(np.cumsum(floats) - floats, floats)
        new, old = np.repeat(fresh.start[:kept], floats) + inside, np.repeat(self.start[rows], floats) + inside
        records[new] = self.records[old]
        return fresh._replace(records=records)

    def check(self, fresh: Pool, n_arms: int) -> None:
        """Refuse segments that reach beyond the records, and records of another width."""
        width, used, length = int(self.width[0]), int(self.used[0]), len(self.records)
        if width != fresh.width[0]:
            raise ValueError(f"records must have {fresh.width[0]} floats, got {width}")
        require_within("floats taken up", self.used, 0, length)
        require_within("room", self.room, 0, used // width)
        require_within("size", self.size, 0, used // width)
        require_within("start", self.start, 0, used)
        if (self.size > self.room).any() or (self.start + width * self.room > used).any():
            raise ValueError("the records of an arm must lie in its segment, and the segment in the floats taken up")
        least = width * max(FIRST_SEGMENT, 2 * int(self.room.max()))
        require_within("floats that the next record may take up", self.need, least, max(least, 2 * length))

    def grown(self) -> Pool:
        """Return the pool itself if one more record of any arm is certain to fit, or else a larger copy.

        Examples
        --------
        >>> pool = init_pool(n_arms=1, horizon=None, width=1)
        >>> for reward in range(1000):
        ...     pool = pool.grown()
        ...     pool.records[append(pool, 0)] = reward
        >>> bool((pool.records[pool.start[0] :][:1000] == np.arange(1000)).all())
        True
        """
        if self.used.item() + self.need.item() <= len(self.records):  # quicker than NumPy's own integers
            return self
        n_arms = len(self.size)
        return self.carry(init_pool(n_arms, None, int(self.width[0])), np.arange(n_arms))

    def emptied(self) -> Pool:
        """Return an empty pool for the same records that starts small."""
        return init_pool(len(self.size), None, int(self.width[0]))


def init_pool(n_arms: int, horizon: int | None, width: int) -> Pool:
    """Return an empty pool for records of ``width`` floats, with room for ``horizon`` of them.

    Examples
    --------
    >>> pool = init_pool(n_arms=3, horizon=100, width=2)
    >>> at = append(pool, 1)
    >>> pool.records[at : at + 2] = 5.0, 7.0
    >>> pool.size.tolist()
    [0, 1, 0]
    """
    room = FIRST_SEGMENT * (256 if horizon is None else min(horizon, LARGEST_HORIZON))
    return Pool(
        records=np.zeros(width * room),
        start=np.zeros(n_arms, np.int64),
        room=np.zeros(n_arms, np.int64),
        size=np.zeros(n_arms, np.int64),
        width=np.array([width]),
        used=np.zeros(1, np.int64),
        need=np.array([FIRST_SEGMENT * width]),
    )


@compilable
def append(pool: Pool, arm: int) -> int:
    """Make room for one more record of the arm and return where to write it.

    Examples
    --------
    >>> pool = init_pool(n_arms=2, horizon=10, width=1)
    >>> for reward in (3.0, 1.0, 4.0):
    ...     pool.records[append(pool, 1)] = reward
    >>> pool.records[pool.start[1] :][: pool.size[1]].tolist()
    [3.0, 1.0, 4.0]
    """
    n = pool.size[arm]
    if n == pool.room[arm]:
        _move(pool, arm)
    pool.size[arm] = n + 1
    return pool.start[arm] + n * pool.width[0]  # type: ignore[no-any-return]


@compilable
def _move(pool: Pool, arm: int) -> None:
    """Give the arm a segment of twice the size, behind all others."""
    records, width = pool.records, pool.width[0]
    old, new = pool.start[arm], pool.used[0]
    room = 2 * pool.room[arm] if pool.room[arm] > 0 else FIRST_SEGMENT
    used = new + room * width
    if used > len(records):  # compiled code does not check indices
        raise IndexError("the pool is full: its horizon has passed, or `grown` was not called")
    for i in range(pool.size[arm] * width):
        records[new + i] = records[old + i]
    pool.start[arm], pool.room[arm], pool.used[0] = new, room, used
    if pool.need[0] < 2 * room * width:
        pool.need[0] = 2 * room * width
