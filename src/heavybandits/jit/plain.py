"""How methods and the loop around them are compiled through numba's public interface alone."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

import numba
from numba import types
from numba.extending import overload_method

NAME = "plain"
WHOLE: dict[str, Any] = {}  # options for functions that Python calls
PART: dict[str, Any] = {}  # options for functions that only compiled code calls

numba.njit((types.int64,))(lambda x: x)  # loads numba's own rules, so a field wins over a method of the same name


@functools.cache
def teach_method(name: str) -> None:
    """Tell numba that NamedTuples may have a method of this name, which takes any number of arguments by position."""

    def resolve(self: Any, *arguments: Any) -> Any:
        method = getattr(self.instance_class, name, None)
        if not isinstance(method, FunctionType):
            return None

        def call(self: Any, *arguments: Any) -> Any:
            return method(self, *arguments)

        return call

    overload_method(types.BaseNamedTuple, name)(resolve)
