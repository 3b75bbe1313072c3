"""What numba must be told before it compiles code that calls our functions and methods."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

from ..protocols import COMPILABLE, COMPILED_AS, copy_into
from .backend import path_in_use
from .stopping import checkpoint


def register(path: ModuleType, classes: Iterable[type]) -> None:
    """Tell numba about the methods of these classes and all compilable functions, to be compiled on this path."""
    for function in COMPILABLE:
        _register_function(path, function)
    _register_copying(path)
    for cls in classes:
        for name in dir(cls):
            method = getattr(cls, name)
            if isinstance(method, FunctionType) and not name.startswith("_"):
                _register_function(path, method)
                path.register_method(name)


@functools.cache
def _register_function(path: ModuleType, function: Callable[..., Any]) -> None:
    extending: Any = importlib.import_module("numba.extending")

    def resolve(*_: Any, **__: Any) -> Any:
        checkpoint()
        return COMPILED_AS.get(function, function) if path_in_use() == path.__name__ else None

    extending.overload(function, jit_options=path.part_options(function), strict=False)(resolve)


@functools.cache
def _register_copying(path: ModuleType) -> None:
    """Tell numba how to copy a state: field by field, which takes different code for every type of state."""
    numba: Any = importlib.import_module("numba")

    def resolve(target: Any, source: Any) -> Any:
        if path_in_use() != path.__name__:
            return None
        if isinstance(target, numba.types.Array):
            alike = target.dtype == source.dtype and target.is_c_contig and source.is_c_contig
            return path.copy_bytes if alike and path.copy_bytes else _copy_array
        fields = range(len(target)) if isinstance(target, numba.types.BaseTuple) else ()
        lines = [f"    copy_into(target[{i}], source[{i}])" for i in fields] or ["    pass"]
        names: dict[str, Any] = {"copy_into": copy_into}
        exec("\n".join(["def copy_fields(target, source):", *lines]), names)
        return names["copy_fields"]

    numba.extending.overload(copy_into, jit_options=path.part_options(copy_into), strict=False)(resolve)


def _copy_array(target: Any, source: Any) -> None:
    for i in range(min(target.size, source.size)):
        target.flat[i] = source.flat[i]
