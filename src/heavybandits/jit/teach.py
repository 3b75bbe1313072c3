"""What numba must be told before it compiles code that calls our functions and methods."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

from ..protocols import COMPILABLE, copy_into
from . import door


def teach(way: ModuleType, classes: Iterable[type]) -> None:
    """Tell numba about the methods of these classes and all compilable functions, to be compiled this way."""
    for function in COMPILABLE:
        _teach_function(way, function)
    _teach_copying(way)
    for cls in classes:
        for name in dir(cls):
            method = getattr(cls, name)
            if isinstance(method, FunctionType) and not name.startswith("_"):
                _teach_function(way, method)
                way.teach_method(name)


@functools.cache
def _teach_function(way: ModuleType, function: Callable[..., Any]) -> None:
    extending: Any = importlib.import_module("numba.extending")
    drafted = way.NAME == "draft"

    def resolve(*_: Any, **__: Any) -> Any:
        return function if door.is_open() == drafted else None

    extending.overload(function, jit_options=way.PART, strict=False)(resolve)


@functools.cache
def _teach_copying(way: ModuleType) -> None:
    """Tell numba how to copy a state: field by field, which takes different code for every type of state."""
    numba: Any = importlib.import_module("numba")
    drafted = way.NAME == "draft"

    def resolve(target: Any, source: Any) -> Any:
        if door.is_open() != drafted:
            return None
        if isinstance(target, numba.types.Array):
            alike = target.dtype == source.dtype and target.is_c_contig and source.is_c_contig
            return _by_bytes() if alike else _copy_array
        fields = range(len(target)) if isinstance(target, numba.types.BaseTuple) else ()
        lines = [f"    copy_into(target[{i}], source[{i}])" for i in fields] or ["    pass"]
        names: dict[str, Any] = {"copy_into": copy_into}
        exec("\n".join(["def copy_fields(target, source):", *lines]), names)
        return names["copy_fields"]

    numba.extending.overload(copy_into, jit_options=way.PART, strict=False)(resolve)


def _copy_array(target: Any, source: Any) -> None:
    for i in range(min(target.size, source.size)):
        target.flat[i] = source.flat[i]


@functools.cache
def _by_bytes() -> Any:
    """Return a function that copies an array as bytes: a state has many arrays, and loops would become much code."""
    numba: Any = importlib.import_module("numba")
    cgutils: Any = importlib.import_module("numba.core.cgutils")

    @numba.extending.intrinsic  # type: ignore[untyped-decorator]
    def move(_: Any, target: Any, source: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kinds = [context.make_array(kind) for kind in signature.args]
            one, other = (kind(context, builder, value) for kind, value in zip(kinds, values, strict=True))
            size = builder.select(builder.icmp_signed("<", one.nitems, other.nitems), one.nitems, other.nitems)
            cgutils.raw_memmove(builder, one.data, other.data, size, one.itemsize)
            return context.get_dummy_value()

        return numba.types.void(target, source), emit

    def copy_bytes(target: Any, source: Any) -> None:
        move(target, source)

    return copy_bytes
