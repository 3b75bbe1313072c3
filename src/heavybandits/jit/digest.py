"""A digest of what machine code is made of.

It covers every function that compiled code may call, directly or not, and every constant that they read.  Comments,
docstrings, line numbers and code that is not called are not part of it.
"""

from __future__ import annotations

import dis
import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..protocols import COMPILABLE, COMPILED_AS, is_named_tuple

_EXTENDED, _STORE = dis.opmap["EXTENDED_ARG"], dis.opmap["STORE_NAME"]


def digest(function: Any, classes: Iterable[type] = ()) -> str:
    """Return a digest of a function and of all that it calls, methods of these classes included.

    Examples
    --------
    >>> def half(x):
    ...     return x / 2
    >>> def documented(x):
    ...     "Return the half."
    ...     return x / 2  # exactly
    >>> digest(half) == digest(documented)
    True
    """
    reader = _Reader()
    parts = [reader.described(thing) for thing in (function, *classes)]
    parts += reader.read()
    parts += [reader.code(_room(name)) for name in ("fast_path", "public_path", "register", "located_type")]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _room(name: str) -> CodeType:
    """Return the code of a module of this room: how functions are compiled matters too."""
    spec = importlib.util.find_spec(f"{__package__}.{name}")
    assert spec is not None
    loader: Any = spec.loader
    return loader.get_code(spec.name)  # type: ignore[no-any-return]


class _Reader:
    """A reader that follows names from function to function."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}  # functions and classes in the order they were met
        self.waiting: list[Any] = []
        self.names: set[str] = set()  # all that the code mentions

    def read(self) -> Iterator[object]:
        """Describe all functions that were met, and those they lead to."""
        while self.waiting:
            while self.waiting:
                yield self.contents(self.waiting.pop())
            for cls in [thing for thing in self.numbers if isinstance(thing, type)]:
                for name in sorted(self.names):
                    method = getattr(cls, name, None)
                    if isinstance(method, FunctionType) and method not in self.numbers:
                        yield name, self.numbers[cls], self.number(method)

    def number(self, thing: Any) -> int:
        if thing not in self.numbers:
            self.numbers[thing] = len(self.numbers)
            self.waiting.append(thing)
        return self.numbers[thing]

    def contents(self, thing: Any) -> object:
        if isinstance(thing, type):
            members = [(name, self.described(value)) for name, value in getattr(thing, "_field_defaults", {}).items()]
            members += [(name, repr(member.value)) for name, member in getattr(thing, "__members__", {}).items()]
            return thing.__module__, thing.__qualname__, getattr(thing, "_fields", ()), members
        thing = COMPILED_AS.get(thing, thing)
        cells = [self.described(cell.cell_contents) for cell in thing.__closure__ or ()]
        defaults = self.described((thing.__defaults__, thing.__kwdefaults__))
        code = thing.__code__
        read = list(self.globals(code, thing.__globals__, set()))
        return COMPILABLE.get(thing), self.code(code), cells, defaults, read

    def globals(self, code: CodeType, scope: Mapping[str, Any], seen: set[str]) -> Iterator[object]:
        """Describe what the names in the code mean, in a module and in the modules it mentions."""
        for inner in (code, *(constant for constant in code.co_consts if isinstance(constant, CodeType))):
            for name in inner.co_names:
                if name not in scope:
                    continue
                value = scope[name]
                yield name, self.described(value)
                if isinstance(value, ModuleType) and not _is_known(value.__name__) and value.__name__ not in seen:
                    seen.add(value.__name__)
                    yield from self.globals(code, vars(value), seen)

    def code(self, code: CodeType) -> object:
        """Describe the instructions, with constants in full: a docstring is a constant that no instruction reads."""
        self.names.update(code.co_names)
        steps: list[object] = []
        extended = 0
        for operation, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True):
            index = extended | argument
            extended = index << 8 if operation == _EXTENDED else 0
            if operation == _STORE and code.co_names[index] in ("__doc__", "__firstlineno__"):  # of a module or class
                steps.pop()
            elif operation in dis.hasconst:
                steps.append((operation, self.described(code.co_consts[index])))
            elif operation != _EXTENDED:
                steps.append((operation, index))
        return (
            steps, code.co_argcount, code.co_kwonlyargcount, code.co_flags & 15, code.co_exceptiontable,
            code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
        )  # fmt: skip

    def described(self, value: Any) -> object:
        if isinstance(value, CodeType):
            return self.code(value)
        if isinstance(value, FunctionType):
            return self.number(value) if value in COMPILABLE or not _is_known(value.__module__) else value.__qualname__
        if isinstance(value, type):
            return self.number(value) if not _is_known(value.__module__) else value.__qualname__
        if hasattr(value, "py_func"):  # compiled by numba
            return self.described(value.py_func), repr(value.targetoptions)
        if isinstance(value, tuple):
            return self.described(type(value)) if is_named_tuple(value) else "", tuple(map(self.described, value))
        if isinstance(value, np.ndarray):
            return value.dtype.str, value.shape, value.tobytes()
        if isinstance(value, ModuleType):
            return value.__name__
        text = repr(sorted(value, key=repr) if isinstance(value, set | frozenset) else value)
        return type(value).__qualname__, re.sub(" at 0x[0-9A-Fa-f]+", "", text)


def _is_known(module: str | None) -> bool:
    """Return whether a module's code changes only with new versions of Python, NumPy or numba."""
    root = (module or "").partition(".")[0]
    return root in ("numpy", "numba") or root in sys.stdlib_module_names
