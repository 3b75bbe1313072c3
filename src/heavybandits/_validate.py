"""Argument checks: each returns the value in its canonical type, or raises an error with one clear sentence.

``TypeError`` means the wrong kind of object, ``ValueError`` the wrong value.  ``owner`` is the caller, so that the
sentence reads "Cauchy: scale must be a positive finite number, got -1".
"""

import difflib
import importlib.util
import math
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any

LARGEST_COUNT = 2**53
MOST_NAMED = 60  # known names in an error: all policies, but not thousands of arms


def finite(owner: str, name: str, value: object) -> float:
    """Return a finite number as a float; booleans and strings are not numbers."""
    return _real(owner, name, value, "a finite number", lambda x: True)


def positive(owner: str, name: str, value: object) -> float:
    """Return a finite number above zero as a float."""
    return _real(owner, name, value, "a positive finite number", lambda x: x > 0)


def non_negative(owner: str, name: str, value: object) -> float:
    """Return a finite number of at least zero as a float."""
    return _real(owner, name, value, "a non-negative finite number", lambda x: x >= 0)


def in_range(owner: str, name: str, value: object, low: float, high: float, ends: str = "[]") -> float:
    """Return a number from ``low`` to ``high`` as a float; ``ends``, such as "(]", says which ends are included."""

    def inside(x: float) -> bool:
        return low < x < high or (x == low and ends[0] == "[") or (x == high and ends[1] == "]")

    return _real(owner, name, value, f"a number in {ends[0]}{low:g}, {high:g}{ends[1]}", inside)


def fraction(owner: str, name: str, value: object) -> float:
    """Return a number in (0, 1] as a float."""
    return in_range(owner, name, value, 0, 1, "(]")


def count(owner: str, name: str, value: object) -> int:
    """Return one of 1, 2, 3, ... as an int, up to where floats can count; 3.0 is not one of them."""
    number = _integer(owner, name, value, "a positive whole number", lambda n: n > 0)
    if number > LARGEST_COUNT:
        raise ValueError(f"{owner}: {name} must be at most {LARGEST_COUNT}, got {value!r}")
    return number


def whole(owner: str, name: str, value: object) -> int:
    """Return one of 0, 1, 2, ... as an int."""
    return _integer(owner, name, value, "a non-negative whole number", lambda n: n >= 0)


def odd_or_zero(owner: str, name: str, value: object) -> int:
    """Return one of 0, 1, 3, 5, ... as an int."""
    rule = "zero or a positive odd number"
    return _integer(owner, name, value, rule, lambda n: n == 0 or (n > 0 and n % 2 == 1))


def required_horizon(owner: str, horizon: int | None, tuned: str) -> int:
    """Return the horizon; refuse ``None`` for a policy that has something ``tuned`` to it."""
    if horizon is None:
        raise ValueError(f"{owner}: its {tuned} is tuned to a horizon, so horizon must be given, got None")
    return horizon


def require_range(owner: str, low: float, high: float) -> None:
    """Refuse a range of rewards that is empty or infinitely wide."""
    if not 0.0 < high - low < math.inf:
        raise ValueError(f"{owner}: high must be above low by a finite amount, got low={low}, high={high}")


def require_within(name: str, values: Any, low: float, high: float) -> None:
    """Refuse an array with a number outside ``low``, ..., ``high``; missing values (NaN) pass."""
    for wrong in values[(values < low) | (values > high)].tolist():
        raise ValueError(f"{name} must be from {low} to {high}, got {wrong}")


def require_same(part: Any, fresh: Any, *fields: str) -> None:
    """Refuse a part of a state whose constant arrays differ from those of a fresh one by more than rounding."""
    for name in fields:
        for wrong, right in zip(
            getattr(part, name).ravel().tolist(), getattr(fresh, name).ravel().tolist(), strict=True
        ):
            if wrong != right and not abs(wrong - right) <= 1e-6 * abs(right) < math.inf:
                raise ValueError(f"{name} must be {right}, as it never changes, got {wrong}")


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """Return the message for an unknown name, with the closest known one.

    Examples
    --------
    >>> print(unknown("arm", "blu", ["blue", "green"]))
    unknown arm 'blu'; did you mean 'blue'? Known: blue, green
    """
    names = list(known)
    lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(str(name).lower(), lower, n=1)
    hint = f"did you mean {lower[near[0]]!r}? Known" if near else "known"
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f"unknown {what} {name!r}; {hint}: {', '.join(names[:MOST_NAMED]) or 'none'}{more}"


def visible(text: str) -> str:
    r"""Return the text with its control characters escaped, so that no name can move the cursor of a terminal.

    Examples
    --------
    >>> print(visible("red \x1b[31m"))
    red \x1b[31m
    """
    return "".join(character if character.isprintable() or character == "\n" else ascii(character)[1:-1]
                   for character in text)  # fmt: skip


def require_extra(extra: str, *packages: str) -> None:
    """Refuse to go on without the packages that an extra installs.

    Examples
    --------
    >>> require_extra("plot", "matplotlib_from_mars")
    Traceback (most recent call last):
        ...
    ModuleNotFoundError: this needs matplotlib_from_mars: pip install 'heavybandits[plot]'
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise ModuleNotFoundError(f"this needs {package}: pip install 'heavybandits[{extra}]'", name=package)


def _real(owner: str, name: str, value: object, rule: str, test: Callable[[float], bool]) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{owner}: {name} must be {rule}, got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # an int too large for a float
        number = math.inf
    if not (math.isfinite(number) and test(number)):
        raise ValueError(f"{owner}: {name} must be {rule}, got {value!r}")
    return number


def _integer(owner: str, name: str, value: object, rule: str, test: Callable[[int], bool]) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{owner}: {name} must be {rule}, got {value!r}")
    if not test(int(value)):
        raise ValueError(f"{owner}: {name} must be {rule}, got {value!r}")
    return int(value)
