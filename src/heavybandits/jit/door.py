"""The one door to numba's internals, and the way around it.

Behind it, :mod:`.draft` compiles faster than numba's public interface.  Internals may change with any version of numba,
so nothing depends on them: where they are missing or fail, :mod:`.plain` does the same work through the public
interface, and one warning says so.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import threading
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

Made = TypeVar("Made")

OLDEST, BEYOND = (0, 61), (0, 69)  # the versions of numba whose internals are known

_lock = threading.RLock()
_open = True

if hasattr(os, "register_at_fork"):  # a child could never compile if another thread were doing so while it is forked
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def is_open() -> bool:
    """Return whether numba's internals are in use."""
    return _open


def through(make: Callable[[ModuleType], Made]) -> Made:
    """Make something with :mod:`.draft`, or else with :mod:`.plain`; if both fail, raise the error of the latter.

    Examples
    --------
    >>> through(lambda way: way.__name__)
    'heavybandits.jit.draft'
    """
    global _open
    with _lock:
        if not _open:
            return make(_plain())
        try:
            return make(_draft())
        except Exception as error:
            reason = error
        _open = False
        try:
            made = make(_plain())
        except Exception:
            _open = True  # numba's public interface fails too, so the internals are not to blame
            raise
        _warn(reason)
        return made


def is_known() -> bool:
    """Return whether this version of numba has internals that are known.

    Examples
    --------
    >>> is_known()
    True
    """
    numba: Any = importlib.import_module("numba")
    return OLDEST <= tuple(map(int, re.findall(r"\d+", numba.__version__)[:2])) < BEYOND


@functools.cache
def _draft() -> ModuleType:
    if not is_known():
        raise ImportError("this version has not been tested")
    return importlib.import_module(f"{__package__}.draft")


def _plain() -> ModuleType:
    return importlib.import_module(f"{__package__}.plain")


def _warn(reason: Exception) -> None:
    numba: Any = importlib.import_module("numba")
    lines = str(reason).strip().splitlines() or [""]
    warnings.warn(
        f"heavybandits does not know the internals of numba {numba.__version__} ({type(reason).__name__}: {lines[0]}) "
        "and compiles through its public interface: results are the same, but compiling takes longer",
        RuntimeWarning,
        stacklevel=4,
    )
