"""Sweeps: a list where a single value belongs stands for each of its values in turn."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

LISTS = ("means", "laws", "weights", "noises", "values", "theta", "contexts")  # keys whose value is a list by nature
MOST_COMBINATIONS = 1_000_000

Path = tuple[str, ...]


class Choice(NamedTuple):
    """One combination of a sweep."""

    label: str
    swept: dict[str, Any]  # the values taken from lists, by parameter
    values: dict[str, Any]  # the table with these values instead of the lists


def choices(label: str, table: dict[str, Any]) -> Iterator[Choice]:
    """Yield every combination of one value from each list in a table.

    Labels show as many digits as it takes to tell the values apart.

    Examples
    --------
    >>> for choice in choices("UCB", {"kind": "ucb", "c": [0.1, 1.0]}):
    ...     print(choice)
    Choice(label='UCB c=0.1', swept={'c': 0.1}, values={'kind': 'ucb', 'c': 0.1})
    Choice(label='UCB c=1', swept={'c': 1.0}, values={'kind': 'ucb', 'c': 1.0})
    >>> [choice.label for choice in choices("UCB", {"c": [0.12345671, 0.12345672]})]
    ['UCB c=0.12345671', 'UCB c=0.12345672']
    >>> next(choices("x", {"means": {"linspace": [0, 1, 3]}})).values
    {'means': [0.0, 0.5, 1.0]}
    """
    table = _spread(table)
    lists = dict(_lists(table))
    combinations = math.prod(map(len, lists.values()))
    if combinations > MOST_COMBINATIONS:
        raise ValueError(f"makes {combinations:,} combinations; a study may have at most {MOST_COMBINATIONS:,}")
    names = _names(list(lists))
    texts = {path: _texts(values) for path, values in lists.items()}
    for chosen in itertools.product(*(range(len(values)) for values in lists.values())):
        taken = {path: lists[path][index] for path, index in zip(lists, chosen, strict=True)}
        words = [f"{names[path]}={texts[path][index]}" for path, index in zip(lists, chosen, strict=True)]
        swept = {names[path]: value for path, value in taken.items()}
        yield Choice(f"{label} {', '.join(words)}".strip(), swept, _filled(table, taken))


def _spread(value: Any) -> Any:
    """Return a table with each ``linspace`` written out."""
    if not isinstance(value, dict):
        return value
    if set(value) == {"linspace"}:
        return _linspace(value["linspace"])
    return {key: _spread(part) for key, part in value.items()}


def _linspace(arguments: Any) -> list[float]:
    numbers = isinstance(arguments, list) and len(arguments) == 3 and all(isinstance(x, int | float) for x in arguments)
    if not numbers or not isinstance(arguments[2], int) or not 1 <= arguments[2] <= MOST_COMBINATIONS:
        raise ValueError(
            f"linspace must be [first, last, count] with a count from 1 to {MOST_COMBINATIONS:,}, got {arguments!r}"
        )
    return [float(f"{x:.12g}") for x in np.linspace(*arguments)]  # 0.12, not 0.12000000000000001


def _lists(value: Any, path: Path = ()) -> Iterator[tuple[Path, list[Any]]]:
    """Yield the lists to choose from, each with its path in the table."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key != "changes":  # its lists are means
                yield from _lists(part, (*path, key))
    elif isinstance(value, list) and path[-1] not in LISTS and path[-1] != "noise":
        if not value:
            raise ValueError(f"{path[-1]} must have at least one value, got []")
        for one in value:
            if not isinstance(one, str | int | float):
                raise ValueError(f"{path[-1]}: a sweep may have numbers and strings only, got {one!r}")
        yield path, value


def _names(paths: list[Path]) -> dict[Path, str]:
    """Return the last key of each path, or all keys with dots between if two paths end alike."""
    ends = Counter(path[-1] for path in paths)
    return {path: path[-1] if ends[path[-1]] == 1 else ".".join(path) for path in paths}


def _texts(values: list[Any]) -> list[str]:
    """Return the values with as many digits as it takes to tell them apart, at least six."""
    for digits in range(6, 18):
        texts = [f"{value:.{digits}g}" if isinstance(value, float) else str(value) for value in values]
        if len(set(texts)) == len(set(values)):
            break
    return texts


def _filled(value: Any, taken: dict[Path, Any], path: Path = ()) -> Any:
    """Return a table with the chosen values in place of the lists."""
    if path in taken:
        return taken[path]
    if isinstance(value, dict):
        return {key: _filled(part, taken, (*path, key)) for key, part in value.items()}
    return value
