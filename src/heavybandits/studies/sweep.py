"""Sweeps: a list where one value is meant stands for all its values in turn."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

LISTS = ("means", "laws", "weights", "noises", "values")  # keys whose value is a list by nature


def combinations(value: Any, name: str = "") -> list[tuple[dict[str, Any], Any]]:
    """All ways to take one value of each list in ``value``, each with what was taken.

    Examples
    --------
    >>> combinations({"kind": "ucb", "c": [0.1, 1.0]})
    [({'c': 0.1}, {'kind': 'ucb', 'c': 0.1}), ({'c': 1.0}, {'kind': 'ucb', 'c': 1.0})]
    >>> combinations({"means": {"linspace": [0, 1, 3]}})
    [({}, {'means': [0.0, 0.5, 1.0]})]
    """
    if isinstance(value, dict) and set(value) == {"linspace"}:
        value = _linspace(value["linspace"])
    if isinstance(value, dict):
        parts = [[(swept, key, one) for swept, one in combinations(part, key)] for key, part in value.items()]
        return [({k: v for swept, _, _ in chosen for k, v in swept.items()}, {key: one for _, key, one in chosen})
                for chosen in itertools.product(*parts)]  # fmt: skip
    natural = name in LISTS or (name == "noise" and isinstance(value, list))
    if not isinstance(value, list) or natural:
        return [({}, value)]
    if not value:
        raise ValueError(f"{name} must have at least one value, got []")
    return [({name: one}, one) for one in value]


def _linspace(arguments: Any) -> list[float]:
    numbers = isinstance(arguments, list) and len(arguments) == 3 and all(isinstance(x, int | float) for x in arguments)
    if not numbers or not isinstance(arguments[2], int) or arguments[2] < 1:
        raise ValueError(f"linspace must be [first, last, how many], got {arguments!r}")
    return [float(f"{x:.12g}") for x in np.linspace(*arguments)]  # 0.12, not 0.12000000000000001


def described(swept: dict[str, Any]) -> str:
    """What was taken, in a few letters.

    Examples
    --------
    >>> described({"c": 0.1, "m": 3})
    'c=0.1, m=3'
    """
    return ", ".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                     for name, value in swept.items())  # fmt: skip
