"""Contexts and arms as users give them, in mappings, lists and data frames; and keys for pending decisions."""

from __future__ import annotations

from collections.abc import Mapping
from reprlib import repr as brief
from typing import Any

import numpy as np

from .encoder import Values

Known = frozenset[Any]  # attributes with their values; unlike a tuple, it remembers its hash
DecisionKey = tuple[Any, Known, Known | None]

ARM_COLUMN = "arm"  # of a data frame of arms without an index
PLAIN_NAMES = (str, int)  # types of most names of arms; a tuple is quicker than a union


def is_table(given: Any) -> bool:
    """Return whether this is a data frame.

    Examples
    --------
    >>> import pandas as pd
    >>> is_table(pd.DataFrame({"age": [31]})), is_table({"age": 31})
    (True, False)
    """
    return hasattr(type(given), "columns")


def contexts_of(given: Any) -> list[Any]:
    """Return the rows of a data frame as mappings; a list stays as it is.

    Examples
    --------
    >>> import polars as pl
    >>> contexts_of(pl.DataFrame({"country": ["CA", "US"], "age": [31, None]}))
    [{'country': 'CA', 'age': 31}, {'country': 'US', 'age': None}]
    """
    if not is_table(given):
        return list(given)
    import narwhals as nw

    return list(nw.from_native(given, eager_only=True).iter_rows(named=True))


def arms_of(given: Any) -> dict[Any, Mapping[str, Any] | None]:
    """Return arms with their attributes, or with None where only names are given.

    Examples
    --------
    >>> import pandas as pd
    >>> arms_of(["red", "green"])
    {'red': None, 'green': None}
    >>> arms_of(pd.DataFrame({"price": [3.0, 4.0]}, index=["red", "green"]))
    {'red': {'price': 3.0}, 'green': {'price': 4.0}}
    """
    if is_table(given):
        rows = contexts_of(given)
        named = bool(rows) and ARM_COLUMN in rows[0]
        if not named and not hasattr(given, "index"):
            raise ValueError(f"LinearAgent: a table of arms must have their names in a column {ARM_COLUMN!r}")
        names = [row.pop(ARM_COLUMN) for row in rows] if named else list(given.index)
        arms: dict[Any, Any] = _different(names, rows)
    elif isinstance(given, Mapping):
        arms = _different(list(given), list(given.values()))
    elif isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise TypeError(f"LinearAgent: arms must be a list, a mapping or a data frame, got {brief(given)}")
    else:
        names = list(given)
        arms = _different(names, [None] * len(names))
    if not arms:
        raise ValueError("LinearAgent: arms must be one name or more, got none")
    return arms


def arm_name(arm: Any) -> Any:
    """Return the name of an arm, in a type of Python's own.

    Examples
    --------
    >>> arm_name(np.int64(3)), arm_name("red")
    (3, 'red')
    """
    if isinstance(arm, PLAIN_NAMES):  # the other checks take longer
        return arm
    try:
        hash(arm)
    except TypeError:
        raise TypeError(f"LinearAgent: names of arms must be hashable, got {brief(arm)}") from None
    return arm.item() if isinstance(arm, np.generic) else arm


def _different(names: list[Any], values: list[Any]) -> dict[Any, Any]:
    plain = [arm_name(name) for name in names]
    arms = dict(zip(plain, values, strict=True))
    if len(arms) < len(plain):
        raise ValueError(f"LinearAgent: arms must have different names, got {brief(plain)}")
    return arms


def decision_key(arm: Any, known: Known, offer: Values | None) -> DecisionKey:
    """Return what tells decisions apart: the arm, what is known of the visitor, and attributes that came with the arm.

    Examples
    --------
    >>> decision_key("red", frozenset({"b": 1.0}.items()), None)
    ('red', frozenset({('b', 1.0)}), None)
    """
    return arm, known, None if offer is None else frozenset(offer.items())


def saved_key(key: DecisionKey) -> list[Any]:
    """Return a key as JSON holds it.

    Examples
    --------
    >>> saved_key(("red", frozenset({("b", 1.0), ("a", "x")}), None))
    ['red', [('a', 'x'), ('b', 1.0)], None]
    """
    arm, known, offer = key
    return [arm, sorted(known), None if offer is None else sorted(offer)]


def loaded_key(stored: Any) -> DecisionKey:
    """Return a key from JSON, which has lists for tuples.

    Examples
    --------
    >>> loaded_key(["red", [["a", "x"]], None])
    ('red', frozenset({('a', 'x')}), None)
    """
    arm, known, offer = _as_tuples(stored)
    return arm, frozenset(known), None if offer is None else frozenset(offer)


def _as_tuples(stored: Any) -> Any:
    return tuple(map(_as_tuples, stored)) if isinstance(stored, list | tuple) else stored
