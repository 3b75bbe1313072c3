"""What numba must be told before it compiles code that calls our functions and methods."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

from ...protocols import COMPILABLE
from . import door


def teach(way: ModuleType, classes: Iterable[type]) -> None:
    """Tell numba of the methods of these classes and of all compilable functions, to be compiled this way."""
    for function in COMPILABLE:
        _teach_function(way, function)
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
