"""Compiling a function for arguments of given types, or loading what was compiled before."""

from __future__ import annotations

import contextlib
import gc
import importlib
from collections.abc import Callable, Iterator
from typing import Any

from .cache import attach
from .digest import digest


def jit(function: Callable[..., Any], signature: tuple[Any, ...], **options: Any) -> Any:
    """Return the function compiled for arguments of these types; it releases the interpreter lock.

    Examples
    --------
    >>> import numba
    >>> def twice(x: float) -> float:
    ...     return 2.0 * x
    >>> jit(twice, (numba.float64,))(3.0)
    6.0
    """
    made = dispatcher(function, f"{function.__name__}_{digest(function)}", lambda: None, **options)
    return machine_code(made, signature)


def dispatcher(function: Callable[..., Any], name: str | None, prepare: Callable[[], None], **options: Any) -> Any:
    """Return numba's dispatcher of the function.

    What it compiles is kept on disk under this name, if there is one.  It calls ``prepare`` before it compiles, but not
    if it finds what was compiled before.
    """
    numba: Any = importlib.import_module("numba")
    made = numba.njit(function, nogil=True, **options)
    if name is None or not attach(made, name, prepare):
        prepare()
    return made


def machine_code(made: Any, signature: tuple[Any, ...]) -> Any:
    """Return the dispatcher's machine code for arguments of these types; calls do not check the types again."""
    with _without_collecting_garbage():
        made.compile(signature)
    return made.get_overload(signature)


@contextlib.contextmanager
def _without_collecting_garbage() -> Iterator[None]:
    """Pause garbage collection: scanning numba's million objects, few of them garbage, costs a tenth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
