"""How methods and the loop around them are compiled through numba's public interface alone.

numba optimises every function by itself, then again within those that call it, which takes long.  LLVM is told to
inline functions, because passing a state costs more than most of them do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
from numba import types
from numba.extending import overload_method

from ..protocols import COMPILABLE
from .backend import path_in_use

copy_bytes = None  # copying an array as bytes takes numba's internals

numba.njit((types.int64,))(lambda x: x)  # loads numba's own rules, so a field wins over a method of the same name


def kernel_options() -> dict[str, Any]:
    """Return the options for a function that Python calls."""
    return {}


def part_options(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the options for a function that only compiled code calls."""
    return {"forceinline": COMPILABLE.get(function, True)}


@functools.cache
def register_method(name: str) -> None:
    """Tell numba that NamedTuples may have a method of this name, which takes any number of arguments by position."""

    def resolve(self: Any, *arguments: Any) -> Any:
        method = getattr(self.instance_class, name, None)
        if path_in_use() != __name__ or not isinstance(method, FunctionType):
            return None

        def call(self: Any, *arguments: Any) -> Any:
            return method(self, *arguments)

        return call

    overload_method(types.BaseNamedTuple, name, jit_options={"forceinline": True})(resolve)  # type: ignore[call-arg]
