"""From plain Python methods to machine code.

A loop is compiled for each policy whose methods it calls, and kept on disk under a name that says which code it is made
of.  So a second process loads what the first compiled, and an edited policy never plays its old code.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from ..protocols import DECLARE, is_named_tuple
from ..tree import changed, walk
from . import backend
from .digest import digest
from .disk_cache import attach
from .register import register

# Compiled code by function, classes and argument types: finding it here does not wait for other threads to compile.
_ready: dict[Any, Callable[..., Any]] = {}
_types: dict[Any, Any] = {}  # numba's types of values, by their outlines


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
    return changed(parameters, lambda part: None if isinstance(part, str) else part)


def compiled(function: Callable[..., Any], policy: Any, state: Any, *arguments: Any) -> Callable[..., Any]:
    """Return ``function(policy, state, *arguments)`` compiled for arguments of exactly these types.

    Pass the policy :func:`without_text`.  If the code is called with a :class:`.located.Located`, pass the tuple of its
    parts, the state first.  Calls do not check the types of their arguments, which makes them cheap; callers must pass
    the right ones.  With ``NUMBA_DISABLE_JIT=1`` the function is not compiled.
    """
    _require_arrays(type(policy).__name__, state)
    importlib.import_module("numba")
    if is_disabled():
        return np.errstate(all="ignore")(function)  # as silent as compiled code
    if (ready := compiled_already(function, policy, state, *arguments)) is not None:
        return ready
    key = _, classes, signature = key_of(function, policy, state, *arguments)
    try:
        made = _machine_code(function, classes, signature)
    except Exception as error:
        raise TypeError(f"{type(policy).__name__} cannot be compiled by numba: {_reason(error)}") from error
    return _ready.setdefault(key, made)


def compiled_already(
    function: Callable[..., Any], policy: Any, state: Any, *arguments: Any
) -> Callable[..., Any] | None:  # fmt: skip
    """Return what :func:`compiled` returns if that takes no compiling, else None; import nothing for that."""
    return _ready.get(key_of(function, policy, state, *arguments)) if _ready else None


def is_disabled() -> bool:
    """Return whether functions stay as they are, because of ``NUMBA_DISABLE_JIT=1``.

    Examples
    --------
    >>> is_disabled()
    False
    """
    config = getattr(sys.modules.get("numba"), "config", None)  # missing until numba is imported completely
    return bool(int(os.environ.get("NUMBA_DISABLE_JIT") or 0) if config is None else config.DISABLE_JIT)


def key_of(function: Callable[..., Any], policy: Any, state: Any, *arguments: Any) -> tuple[Any, Any, Any]:
    """Return what decides which machine code :func:`compiled` returns for these arguments.

    Examples
    --------
    >>> import heavybandits as hb
    >>> short, long = (key_of(len, hb.UCB(), hb.UCB().init(n_arms, None)) for n_arms in (2, 3))
    >>> short == long
    True
    """
    typeof = importlib.import_module(f"{__package__}.located_type").typeof
    signature = tuple(_type_of(argument, typeof) for argument in (policy, state, *arguments))
    return function, tuple(dict.fromkeys((*classes_of(policy), *classes_of(state)))), signature


def _type_of(value: Any, typeof: Callable[[Any], Any]) -> Any:
    """Return numba's type of a value; to find it out anew takes longer than all else that a new agent needs."""
    outline = _outline(value, typeof)
    if outline not in _types:
        _types[outline] = typeof(value)
    return _types[outline]


def _outline(value: Any, typeof: Callable[[Any], Any]) -> Any:
    """Return what decides about numba's type of a value, quickly if that consists of arrays."""
    if isinstance(value, tuple):
        return type(value), *(_outline(part, typeof) for part in value)
    if isinstance(value, np.ndarray):
        return type(value), value.dtype, value.dtype.isalignedstruct, value.ndim, value.flags.num
    return typeof(value)


def _require_arrays(owner: str, state: Any) -> None:
    for path, part in walk(state[0] if type(state) is tuple else state):
        if not is_named_tuple(part) and not isinstance(part, np.ndarray | None):
            raise TypeError(f"{owner}: {path} must be a NumPy array, or a NamedTuple of them, got {part!r}")


def classes_of(parameters: Any) -> Iterator[type]:
    """Yield the classes of a policy or a state and of those nested in it, outermost first.

    Examples
    --------
    >>> import heavybandits as hb
    >>> [cls.__name__ for cls in classes_of(hb.Restarting(hb.UCB()))]
    ['Restarting', 'UCB']
    """
    return (type(part) for _, part in walk(parameters) if is_named_tuple(part))


def jit(function: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[..., Any] | None:
    """Return the function compiled for arguments of these types, with options of numba.

    Other functions that it calls must be compilable.  With ``NUMBA_DISABLE_JIT=1``, return None.

    Examples
    --------
    >>> def twice(x: float) -> float:
    ...     return 2.0 * x
    >>> jit(twice, 1.0)(3.0)
    6.0
    """
    numba: Any = importlib.import_module("numba")
    if is_disabled():
        return None
    return _machine_code(function, (), tuple(map(numba.typeof, arguments)), **options)


def _machine_code(
    function: Callable[..., Any], classes: tuple[type, ...], signature: tuple[Any, ...], **options: Any
) -> Callable[..., Any]:
    """Return the function, which calls methods of these classes, as machine code that releases the interpreter lock."""
    numba: Any = importlib.import_module("numba")
    refused = numba.NumbaError, numba.UnsupportedBytecodeError, RuntimeError, KeyError

    def make(path: ModuleType) -> Any:
        # Without reference counts a loop is much faster, but cannot allocate.  Ours do not; others may.
        with without_collecting_garbage():
            try:
                made = _dispatcher(path, function, classes, False, **options)
                made.compile(signature)
            except refused:
                made = _dispatcher(path, function, classes, True, **options)
                made.compile(signature)
        return made.get_overload(signature)

    return backend.on_best_path(make)  # type: ignore[no-any-return]


@functools.cache
def _dispatcher(path: ModuleType, function: Any, classes: tuple[type, ...], counted: bool, **options: Any) -> Any:
    """Return numba's dispatcher of the function, which calls methods of these classes.

    It keeps what it compiles on disk, if other processes can find the classes too, under a name that says which code it
    is made of.
    """
    numba: Any = importlib.import_module("numba")
    made = numba.njit(function, nogil=True, **path.kernel_options(), **({} if counted else {"_nrt": False}), **options)
    mode = [path.__name__.rpartition(".")[2], "counted" if counted else "bare", *map(str, options.values())]
    name = "_".join([function.__name__, *(cls.__name__ for cls in classes[:1]), *mode, digest(function, classes)])
    if not all(map(_importable, classes)) or not attach(made, name, lambda: register(path, classes)):
        register(path, classes)
    return made


@contextlib.contextmanager
def without_collecting_garbage() -> Iterator[None]:
    """Pause garbage collection: scanning numba's million objects, few of them garbage, costs a tenth of the time.

    Afterwards they count as old objects, or the next collection would scan them all and stop the process for a moment.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if gc.get_freeze_count() == 0:  # else somebody has frozen objects, which are not ours to thaw
                gc.freeze()  # takes them out of all generations
                gc.unfreeze()  # puts them into the oldest
            gc.enable()


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
    if "of type none" in reason:
        reason += f"; {DECLARE}"
    found = re.search(r'File "[^"]*", line \d+', str(error))
    where = f" ({found[0]})" if found else ""
    return f"{reason}{where}; hb.check_policy may say more"
