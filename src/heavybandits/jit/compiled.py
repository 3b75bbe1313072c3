"""From plain Python methods to machine code.

A loop is compiled for each policy whose methods it calls, and kept on disk under a name that says which code it is made
of.  So a second process loads what the first compiled, and an edited policy never plays its old code.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from ..protocols import is_named_tuple
from . import door
from .digest import digest
from .jit import dispatcher, machine_code
from .teach import teach

# Compiled code by function, classes and argument types: finding it here does not wait for other threads to compile.
_ready: dict[Any, Callable[..., Any]] = {}


def without_text(parameters: Any) -> Any:
    """Return the NamedTuple with ``None`` for text, which only ``init`` reads: compiled code is faster without it.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Plan(NamedTuple):
    ...     step: float
    ...     kind: str
    >>> without_text(Plan(0.5, "slow"))
    Plan(step=0.5, kind=None)
    """
    if not is_named_tuple(parameters):
        return None if isinstance(parameters, str) else parameters
    return parameters._make(map(without_text, parameters))


def compiled(function: Callable[..., Any], policy: Any, state: Any, *arguments: Any) -> Callable[..., Any]:
    """Return ``function(policy, state, *arguments)`` compiled for arguments of exactly these types.

    Pass the policy :func:`without_text`.  Calls do not check the types of their arguments, which makes them cheap;
    callers must pass the right ones.  With ``NUMBA_DISABLE_JIT=1`` the function is not compiled.
    """
    numba: Any = importlib.import_module("numba")
    if (ready := compiled_already(function, policy, state, *arguments)) is not None:
        return ready
    key = _, classes, signature = key_of(function, policy, state, *arguments)

    def make(way: ModuleType) -> Any:
        # Without reference counts a loop is several times faster, but cannot allocate.  Ours do not; others may.
        try:
            return machine_code(_dispatcher(way, function, classes, False), signature)
        except (RuntimeError, numba.core.errors.NumbaError, numba.core.errors.UnsupportedBytecodeError):
            return machine_code(_dispatcher(way, function, classes, True), signature)

    try:
        made = door.through(make)
    except Exception as error:
        raise TypeError(f"{type(policy).__name__} cannot be compiled by numba: {_reason(error)}") from error
    return _ready.setdefault(key, made)


def compiled_already(
    function: Callable[..., Any], policy: Any, state: Any, *arguments: Any
) -> Callable[..., Any] | None:  # fmt: skip
    """Return what :func:`compiled` returns if that takes no compiling, else None."""
    numba: Any = importlib.import_module("numba")
    _require_arrays(type(policy).__name__, "state", state)
    if numba.config.DISABLE_JIT:
        return np.errstate(all="ignore")(function)  # as silent as compiled code
    return _ready.get(key_of(function, policy, state, *arguments))


def key_of(function: Callable[..., Any], policy: Any, state: Any, *arguments: Any) -> tuple[Any, Any, Any]:
    """Return what decides which machine code :func:`compiled` returns for these arguments.

    Examples
    --------
    >>> import heavybandits as hb
    >>> short, long = (key_of(len, hb.UCB(), hb.UCB().init(n_arms, None)) for n_arms in (2, 3))
    >>> short == long
    True
    """
    numba: Any = importlib.import_module("numba")
    signature = tuple(numba.typeof(argument) for argument in (policy, state, *arguments))
    return function, tuple(dict.fromkeys((*_classes(policy), *_classes(state)))), signature


def _require_arrays(owner: str, path: str, state: Any) -> None:
    if is_named_tuple(state):
        for name, field in zip(state._fields, state, strict=True):
            _require_arrays(owner, f"{path}.{name}", field)
    elif not isinstance(state, np.ndarray | None):
        raise TypeError(f"{owner}: {path} must be a NumPy array, or a NamedTuple of them, got {state!r}")


def _classes(value: Any) -> Iterator[type]:
    """Yield the class of the NamedTuple and of those nested in it, outermost first."""
    if is_named_tuple(value):
        yield type(value)
    if isinstance(value, tuple):
        for field in value:
            yield from _classes(field)


@functools.cache
def _dispatcher(way: ModuleType, function: Callable[..., Any], classes: tuple[type, ...], counted: bool) -> Any:
    name = None
    if all(map(_importable, classes)):
        mode = f"{way.NAME}_{'counted' if counted else 'bare'}"
        name = f"{function.__name__}_{classes[0].__name__}_{mode}_{digest(function, classes)}"
    options = way.WHOLE if counted else {**way.WHOLE, "_nrt": False}
    return dispatcher(function, name, lambda: teach(way, classes), **options)


def _importable(cls: type) -> bool:
    """Return whether another process can find the class, which the cache needs."""
    module = sys.modules.get(cls.__module__)
    return cls.__module__ != "__main__" and getattr(module, cls.__qualname__, None) is cls


def _reason(error: Exception) -> str:
    """Return the line of numba's long report that says what is wrong, and where in the code."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    telling = re.compile("Unknown attribute|Untyped global|not defined|annot |nvalid |nsupported|not supported|No impl")
    reason = next(filter(telling.search, reversed(lines)), lines[0])
    if "<class 'function'>" in reason:
        reason += "; mark the function with @hb.compilable"
    found = re.search(r'File "[^"]*", line \d+', str(error))
    where = f" ({found[0]})" if found else ""
    return f"{reason}{where}; hb.check_policy may say more"
