"""numba's decorator and its disk cache, which serves where it can and is never a reason to fail."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from typing import Any


def jit(function: Callable[..., Any], *, cached: bool = True, **options: Any) -> Any:
    """The function to be compiled by :func:`compile_for`, by code that does not hold the interpreter."""
    numba: Any = importlib.import_module("numba")
    if cached:
        # without a place to write, beside the package or in the user's cache directory, numba raises RuntimeError
        with contextlib.suppress(RuntimeError):
            return numba.njit(function, cache=True, nogil=True, **options)
    return numba.njit(function, nogil=True, **options)


def compile_for(dispatcher: Any, signature: tuple[Any, ...]) -> None:
    """Compile for arguments of these types, or load what was compiled before.

    Files of the cache may be damaged, or there may be no room for them: then what they hold is dropped, and this
    process compiles for itself.

    Examples
    --------
    >>> import numba
    >>> def twice(x: float) -> float:
    ...     return 2.0 * x
    >>> double = jit(twice, cached=False)
    >>> compile_for(double, (numba.float64,))
    >>> double(3.0)
    6.0
    """
    numba: Any = importlib.import_module("numba")
    try:
        dispatcher.compile(signature)
    except (RuntimeError, numba.core.errors.NumbaError, numba.core.errors.UnsupportedBytecodeError):
        raise
    except Exception:  # a damaged file can raise anything
        if signature in dispatcher.overloads:  # compiled, but not written
            return
        with contextlib.suppress(Exception):
            dispatcher._cache.flush()
        dispatcher._cache = numba.core.caching.NullCache()
        dispatcher.compile(signature)
