r"""Rewards that are kept: a growing sequence of records for each arm, all in one pool.

A *record* is a fixed number of floats.  An arm's records lie side by side in a *segment* of the pool.  A full segment
moves to the end of the pool and doubles, so that appending costs O(1) amortised.  An arm has no segment before its
first record, then one of four records, eight, and so on.  With n > 4 records its segment holds less than 2n, and those
it has left behind hold less than that together; with n = 1, ..., 4 there is the one of four.  Either way an arm takes
at most 4n records of the pool, so *a pool of 4T records holds any T rewards*, however they are spread over the arms.
Without a horizon the pool starts small, and :meth:`Store.grown` makes it bigger between rewards, where memory may be
allocated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...protocols import FloatArray, IntArray, compilable

FIRST = 4  # records in an arm's first segment
LARGEST_HORIZON = 2**22  # rewards that a pool is made for at once: 128 MiB a float
_WIDTH, _USED, _NEED = range(3)  # places in Store.plan


class Store(NamedTuple):
    """The part of an estimator's state that :func:`append` works on.

    Arm a's records are the ``size[a]`` times ``plan[0]`` floats of ``pool`` from ``start[a]`` on.  Whoever only uses
    some of them may lower ``size[a]``.
    """

    pool: FloatArray
    start: IntArray  # per arm: where its segment begins
    room: IntArray  # per arm: records that fit into its segment
    size: IntArray  # per arm: records in it
    plan: IntArray  # floats in a record, floats of the pool that are taken, floats that the next record may take

    def carry(self, fresh: Store, rows: IntArray) -> Store:
        """Move the records of the arms ``rows`` to the first arms of ``fresh``, whose pool grows if it must.

        Examples
        --------
        >>> store = init_store(n_arms=2, horizon=10, width=1)
        >>> store.pool[append(store, 1)] = 5.0
        >>> store = store.carry(init_store(n_arms=3, horizon=10, width=1), np.array([1]))
        >>> store.size.tolist(), float(store.pool[store.start[0]])
        ([1, 0, 0], 5.0)
        """
        width, kept = int(self.plan[_WIDTH]), len(rows)
        fresh.room[:kept], fresh.size[:kept] = self.room[rows], self.size[rows]
        ends = width * np.cumsum(fresh.room)
        fresh.start[:] = ends - width * fresh.room
        used, need = int(ends[-1]), width * max(FIRST, 2 * int(fresh.room.max()))
        fresh.plan[:] = width, used, need
        pool = fresh.pool if used + need <= len(fresh.pool) else np.zeros(2 * (used + need))
        # One index for all floats at once: a loop over 1e5 arms would take a tenth of a second.
        floats = width * self.size[rows]
        inside = np.arange(floats.sum()) - np.repeat(np.cumsum(floats) - floats, floats)
        pool[np.repeat(fresh.start[:kept], floats) + inside] = self.pool[np.repeat(self.start[rows], floats) + inside]
        return fresh._replace(pool=pool)

    def grown(self) -> Store:
        """Return the store itself if a record certainly fits in for any arm, else a copy with a bigger pool.

        Examples
        --------
        >>> store = init_store(n_arms=1, horizon=None, width=1)
        >>> for reward in range(1000):
        ...     store = store.grown()
        ...     store.pool[append(store, 0)] = reward
        >>> bool((store.pool[store.start[0] :][:1000] == np.arange(1000)).all())
        True
        """
        if self.plan.item(_USED) + self.plan.item(_NEED) <= len(self.pool):  # quicker than NumPy's own integers
            return self
        n_arms = len(self.size)
        return self.carry(init_store(n_arms, None, int(self.plan[_WIDTH])), np.arange(n_arms))


def init_store(n_arms: int, horizon: int | None, width: int) -> Store:
    """Make an empty store for records of ``width`` floats, with room for ``horizon`` of them.

    Examples
    --------
    >>> store = init_store(n_arms=3, horizon=100, width=2)
    >>> at = append(store, 1)
    >>> store.pool[at : at + 2] = 5.0, 7.0
    >>> store.size.tolist()
    [0, 1, 0]
    """
    records = FIRST * (256 if horizon is None else min(horizon, LARGEST_HORIZON))
    start, room, size = (np.zeros(n_arms, np.int64) for _ in range(3))
    return Store(np.zeros(width * records), start, room, size, np.array([width, 0, FIRST * width]))


@compilable
def append(store: Store, arm: int) -> int:
    """Make room for one more record of the arm and return where in the pool it is to be written.

    Examples
    --------
    >>> store = init_store(n_arms=2, horizon=10, width=1)
    >>> for reward in (3.0, 1.0, 4.0):
    ...     store.pool[append(store, 1)] = reward
    >>> store.pool[store.start[1] :][: store.size[1]].tolist()
    [3.0, 1.0, 4.0]
    """
    plan, n = store.plan, store.size[arm]
    if n == store.room[arm]:
        _move(store, arm)
    store.size[arm] = n + 1
    return store.start[arm] + n * plan[_WIDTH]  # type: ignore[no-any-return]


@compilable
def _move(store: Store, arm: int) -> None:
    """Give the arm a segment of twice the size at the end of the pool."""
    pool, plan, width = store.pool, store.plan, store.plan[_WIDTH]
    old, new = store.start[arm], plan[_USED]
    room = 2 * store.room[arm] if store.room[arm] > 0 else FIRST
    used = new + room * width
    if used > len(pool):  # compiled code does not check indices
        raise IndexError("the store is full: its horizon has passed, or `grown` was not called")
    for i in range(store.size[arm] * width):
        pool[new + i] = pool[old + i]
    store.start[arm], store.room[arm], plan[_USED] = new, room, used
    if plan[_NEED] < 2 * room * width:
        plan[_NEED] = 2 * room * width
