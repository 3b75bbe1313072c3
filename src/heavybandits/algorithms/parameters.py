"""Parameters that check themselves: annotated types, and the decorator that enforces them."""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from .._validate import count, finite, fraction, in_range, non_negative, odd_or_zero, positive, whole

Class = TypeVar("Class", bound=type)
Check = Callable[[str, str, Any], Any]  # (owner, name, value) -> the checked value


def _positive_or_infinite(owner: str, name: str, value: object) -> float:
    return math.inf if value == math.inf else positive(owner, name, value)


def has_methods(*names: str) -> Check:
    """Return a check that a parameter is an estimator with the usual methods and these.

    Examples
    --------
    >>> has_methods("bound")("FOUCB", "optimizer", 3)
    Traceback (most recent call last):
        ...
    TypeError: FOUCB: optimizer must be an estimator with the methods init, observe, value, bound, got 3
    """
    needed = ("init", "observe", "value", *names)

    def check(owner: str, name: str, value: Any) -> Any:
        if isinstance(value, type) or not all(callable(getattr(value, method, None)) for method in needed):
            raise TypeError(f"{owner}: {name} must be an estimator with the methods {', '.join(needed)}, got {value!r}")
        return value

    return check


def _policy(owner: str, name: str, value: Any) -> Any:
    methods = ("init", "select", "update")
    if isinstance(value, type) or not all(callable(getattr(value, method, None)) for method in methods):
        raise TypeError(f"{owner}: {name} must be a policy with the methods {', '.join(methods)}, got {value!r}")
    return value


def _flag(owner: str, name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{owner}: {name} must be True or False, got {value!r}")
    return value


Finite = Annotated[float, finite]
Positive = Annotated[float, positive]
PositiveOrInfinite = Annotated[float, _positive_or_infinite]
NonNegative = Annotated[float, non_negative]
Fraction = Annotated[float, fraction]  # 0 < x <= 1
Share = Annotated[float, functools.partial(in_range, low=0, high=1, ends="[]")]  # 0 <= x <= 1
MomentOrder = Annotated[float, functools.partial(in_range, low=1, high=2, ends="(]")]
Count = Annotated[int, count]  # 1, 2, ...
Whole = Annotated[int, whole]  # 0, 1, 2, ...
OddOrZero = Annotated[int, odd_or_zero]
Optimizer = Annotated[Any, has_methods("bound")]
PolicyInside = Annotated[Any, _policy]
Flag = Annotated[bool, _flag]


def validated(cls: Class) -> Class:
    """Make a ``NamedTuple`` cast and check each field by its annotation when an instance is made.

    Checks across several fields go into a method ``check``.  Casting also saves time: ``c=1`` and ``c=1.0`` would
    otherwise be compiled separately.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> @validated
    ... class Step(NamedTuple):
    ...     size: Positive = 1.0
    >>> Step(2)
    Step(size=2.0)
    >>> Step(-1)
    Traceback (most recent call last):
        ...
    ValueError: Step: size must be a positive finite number, got -1
    """
    make = cls.__new__
    # The formulas are in the module's docstring; help() of the class should show them too.
    about = sys.modules[cls.__module__].__doc__
    cls.__doc__ = "\n\n".join(inspect.cleandoc(text) for text in (about, cls.__doc__) if text)

    @functools.wraps(make)
    def checked(kind: Any, /, *arguments: Any, **keywords: Any) -> Any:
        raw = make(kind, *arguments, **keywords)
        checks = _checks(kind)
        made = kind._make(checks[name](kind.__name__, name, value) for name, value in raw._asdict().items())
        if hasattr(made, "check"):
            made.check()
        return made

    cls.__new__ = checked  # type: ignore[method-assign]
    return cls


@functools.cache
def _checks(cls: type) -> dict[str, Check]:
    hints = get_type_hints(cls, include_extras=True)
    return {name: _check(hints[name]) for name in cls._fields}  # type: ignore[attr-defined]


def _check(hint: Any) -> Check:
    if get_origin(hint) is Annotated:
        return get_args(hint)[1]  # type: ignore[no-any-return]
    if get_origin(hint) is Literal:
        return functools.partial(_one_of, get_args(hint))
    return _anything


def _one_of(allowed: tuple[Any, ...], owner: str, name: str, value: Any) -> Any:
    if value not in allowed:
        raise ValueError(f"{owner}: {name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value


def _anything(owner: str, name: str, value: Any) -> Any:
    return value
