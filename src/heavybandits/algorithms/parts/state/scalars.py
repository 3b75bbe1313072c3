"""Scalars: several numbers of a state in one array, each under its name.

A number that changes is an array of length one.  In code that runs at every pull, many such arrays cost time, because
each is passed to compiled code by itself.  Scalars are passed as one array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Scalars = np.recarray[Any, np.dtype[np.record]]  # of one record


def init_scalars(**numbers: float) -> Scalars:
    """Return these numbers, whole ones and others, as one array.

    Examples
    --------
    >>> turn = init_scalars(arm=2, left=5, level=0.5)
    >>> turn[0].left -= 1
    >>> turn[0].left, turn[0].level
    (np.int64(4), np.float64(0.5))
    """
    kinds = [(name, np.int64 if isinstance(number, int) else np.float64) for name, number in numbers.items()]
    return np.array([tuple(numbers.values())], kinds).view(np.recarray)


def are_scalars(value: object) -> bool:
    """Return whether the value was made by :func:`init_scalars`.

    Examples
    --------
    >>> are_scalars(init_scalars(left=5)), are_scalars(np.zeros(1))
    (True, False)
    """
    return isinstance(value, np.recarray)
