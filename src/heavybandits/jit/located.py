"""Located states: compiled code finds their arrays in memory, instead of taking the states apart at each call.

A state has many arrays.  To take these apart costs numba more than many policies need for a decision, and an agent
passes the same arrays again and again.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, Self


class Located(int):
    """Parts of a state, as the address of what compiled code knows of them; they must keep their arrays meanwhile.

    Plain Python sees the tuple of the parts.

    Examples
    --------
    >>> import numpy as np
    >>> counts, nothing = Located((np.zeros(2), None))
    >>> counts, nothing
    (array([0., 0.]), None)
    """

    parts: tuple[Any, ...]
    words: array[int]

    def __new__(cls, parts: tuple[Any, ...]) -> Self:
        """Look up where the arrays lie."""
        words = array("q", words_of(parts))
        located = super().__new__(cls, words.buffer_info()[0])
        located.parts, located.words = parts, words
        return located

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the parts."""
        return iter(self.parts)


def words_of(part: Any) -> list[int]:
    """Return the numbers by which compiled code knows a part of a state; those of an array are numba's.

    Examples
    --------
    >>> import numpy as np
    >>> words_of((None, np.zeros((2, 3))[:0]))[:5]
    [0, 0, 0, 0, 8]
    """
    if isinstance(part, tuple):
        return [word for inner in part for word in words_of(inner)]
    if part is None:
        return [0]
    memory_info = parent = 0  # nobody in compiled code owns the array
    return [memory_info, parent, part.size, part.itemsize, part.ctypes.data, *part.shape, *part.strides]
