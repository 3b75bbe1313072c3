"""numba's decorator, with its disk cache where there is a place for one."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from typing import Any


def jit(function: Callable[..., Any], *, cached: bool = True, **options: Any) -> Any:
    """The function to be compiled, for whatever types it is called with, by code that does not hold the interpreter.

    Examples
    --------
    >>> def twice(x: float) -> float:
    ...     return 2.0 * x
    >>> jit(twice, cached=False)(3.0)
    6.0
    """
    numba: Any = importlib.import_module("numba")
    if cached:
        # without a place to write, beside the package or in the user's cache directory, numba raises RuntimeError
        with contextlib.suppress(RuntimeError):
            return numba.njit(function, cache=True, nogil=True, **options)
    return numba.njit(function, nogil=True, **options)
