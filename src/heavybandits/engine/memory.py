"""Memory that the replications of a run reuse, one after another: filling arrays is faster than making them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..algorithms.parts.state.tree import pools, streams
from ..tree import walk


class Memory:
    """A state that can be reset, in the same arrays, any number of times.

    Parameters
    ----------
    init
        A function that makes the state.

    Examples
    --------
    >>> import heavybandits as hb
    >>> policy = hb.UCB()
    >>> memory = Memory(lambda: policy.init(n_arms=2, horizon=None))
    >>> policy.update(memory.renewed(), 0, 1.0)
    >>> memory.renewed().pulls.tolist()
    [0, 0]
    """

    def __init__(self, init: Callable[[], Any]) -> None:
        self._init, self._state = init, init()
        self.streams = list(streams(self._state))
        unread = {id(pool.records) for pool in pools(self._state)}  # never read before they are written
        constant = int | float | np.generic | None
        parts = [part for _, part in walk(self._state) if not isinstance(part, tuple | constant)]
        # Parts of other kinds, which only users' policies have, may hide what a replication changes.
        self._known = all(isinstance(part, np.ndarray) and not part.dtype.hasobject for part in parts)
        changing = [part for part in parts if self._known and id(part) not in unread]
        self._zero = [array for array in changing if _is_zero(array)]
        self._other = [(array, array.copy()) for array in changing if not _is_zero(array)]

    def renewed(self) -> Any:
        """Return the state as it is before the first round; the previous replication must be finished with it."""
        if not self._known:
            self._state = self._init()
            self.streams = list(streams(self._state))
        for array in self._zero:
            array.fill(0)
        for array, blank in self._other:
            array[...] = blank
        return self._state


def _is_zero(array: np.ndarray[Any, Any]) -> bool:
    """Return whether all bits are zero: those of -0.0 are not, and memory that was never set may hold anything."""
    return not np.ascontiguousarray(array).view(np.uint8).any()
