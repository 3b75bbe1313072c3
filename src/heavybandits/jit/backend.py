"""Which path code is compiled on: the fast one, or the one through numba's public interface.

The :mod:`.fast_path` overrides numba's internals, which may change with any version.  So nothing depends on it: where
internals are not known or fail, the :mod:`.public_path` does the same work, and one warning says so.
"""

from __future__ import annotations

import functools
import importlib
import logging  # noqa: F401  # numba logs: its lock must be taken after ours in a fork, so registered before
import os
import re
import threading
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

Made = TypeVar("Made")

OLDEST_KNOWN, FIRST_UNKNOWN = (0, 61), (0, 69)  # versions of numba, by their internals

_FAST_PATH, _PUBLIC_PATH = f"{__package__}.fast_path", f"{__package__}.public_path"
_lock = threading.RLock()
_fast = True

if hasattr(os, "register_at_fork"):  # a child could never compile if another thread were doing so while it is forked
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def path_in_use() -> str:
    """Return the name of the module of the path in use.

    Examples
    --------
    >>> path_in_use()
    'heavybandits.jit.fast_path'
    """
    return _FAST_PATH if _fast else _PUBLIC_PATH


def on_best_path(make: Callable[[ModuleType], Made]) -> Made:
    """Make something on the fast path, or else on the public one; if both fail, raise the error of the latter.

    Examples
    --------
    >>> on_best_path(lambda path: path.__name__)
    'heavybandits.jit.fast_path'
    """
    global _fast
    with _lock:
        if not _fast:
            return make(_public_path())
        try:
            return make(_fast_path())
        except Exception as error:
            reason = error
        _fast = False
        try:
            made = make(_public_path())
        except Exception:
            _fast = True  # numba's public interface fails too, so the internals are not to blame
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
    return OLDEST_KNOWN <= tuple(map(int, re.findall(r"\d+", numba.__version__)[:2])) < FIRST_UNKNOWN


@functools.cache
def _fast_path() -> ModuleType:
    if not is_known():
        raise ImportError("this version has not been tested")
    return importlib.import_module(_FAST_PATH)


def _public_path() -> ModuleType:
    return importlib.import_module(_PUBLIC_PATH)


def _warn(reason: Exception) -> None:
    numba: Any = importlib.import_module("numba")
    lines = str(reason).strip().splitlines() or [""]
    again = "" if is_known() else ", and every process compiles again, because compiled code is not kept on disk"
    warnings.warn(
        f"heavybandits does not know the internals of numba {numba.__version__} ({type(reason).__name__}: {lines[0]}) "
        "and compiles through its public interface: results are the same, but compiling takes two to four times as "
        f"long and a pull up to a quarter longer{again}",
        RuntimeWarning,
        stacklevel=4,
    )
