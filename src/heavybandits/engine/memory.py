"""The memory of a run, used by one replication after the other: filling arrays is quicker than making them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..algorithms.kit.state import pools, streams


class Memory:
    """A state that begins anew as often as asked, in the same arrays.

    Parameters
    ----------
    init
        Makes the state.

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
        unread = {id(pool.records) for pool in pools(self._state)}  # until they are written
        parts = list(_parts(self._state))
        # Parts of other kinds, which only users' policies have, may hide what a replication changes.
        self._known = all(isinstance(part, np.ndarray) and not part.dtype.hasobject for part in parts)
        changing = [part for part in parts if self._known and id(part) not in unread]
        self._zero = [array for array in changing if _is_zero(array)]
        self._other = [(array, array.copy()) for array in changing if not _is_zero(array)]

    def renewed(self) -> Any:
        """Return the state as it is before the first round; what it was given to before must be done with it."""
        if not self._known:
            self._state = self._init()
            self.streams = list(streams(self._state))
        for array in self._zero:
            array.fill(0)
        for array, blank in self._other:
            array[...] = blank
        return self._state


def _is_zero(array: np.ndarray[Any, Any]) -> bool:
    """Say whether all bits are zero, which a negative zero is not; memory that nobody has set yet may hold anything."""
    return not np.ascontiguousarray(array).view(np.uint8).any()


def _parts(state: Any) -> Iterator[Any]:
    """Yield what a nested state is made of and may change."""
    if isinstance(state, tuple):
        for field in state:
            yield from _parts(field)
    elif not (state is None or isinstance(state, int | float | np.generic)):
        yield state
