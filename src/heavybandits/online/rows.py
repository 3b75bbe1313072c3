"""Rows of features as users give them: an array, a mapping of names to vectors, or a data frame."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from reprlib import repr as brief
from typing import Any, NamedTuple

import numpy as np

from ..protocols import FloatArray
from .linear_decisions import LARGEST_FEATURE

OWNER = "LinearAgent"
ALLOWED = f"between {-LARGEST_FEATURE:g} and {LARGEST_FEATURE:g}"


class Rows(NamedTuple):
    """Rows of features with their names."""

    features: FloatArray  # (K, d), contiguous
    names: Sequence[Hashable]
    columns: Sequence[Hashable]


def rows_of(features: Any, n_features: int) -> Rows:
    """Return the rows of an array, a mapping of names to vectors or a data frame, without looking at their values.

    Examples
    --------
    >>> rows_of({"red": [1, 0], "green": [0, 1]}, n_features=2).names
    ['red', 'green']
    """
    columns: Sequence[Hashable] = range(n_features)
    names: Sequence[Hashable] | None = None
    values = features
    if type(features) is not np.ndarray:
        if isinstance(features, Mapping):
            names, values = list(features), list(features.values())
        elif hasattr(features, "columns"):
            names, columns, values = list(features.index), list(features.columns), features.to_numpy()
            if not features.index.is_unique:
                raise ValueError(f"{OWNER}: features must have an index without repeated names, got {brief(names)}")
    try:
        table = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{OWNER}: features must be rows of {n_features} numbers, got {brief(features)}") from None
    if table.ndim != 2 or table.shape[1] != n_features or not len(table):
        raise ValueError(
            f"{OWNER}: features must be at least one row of {n_features} numbers, got an array of shape {table.shape}"
        )
    return Rows(table, range(len(table)) if names is None else names, columns)


def row_of(x: Any, n_features: int) -> FloatArray:
    """Return one row as an array, finite or not; refuse anything else.

    Examples
    --------
    >>> row_of([1, 2], n_features=2)
    array([1., 2.])
    """
    try:
        row = np.ascontiguousarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{OWNER}: x must be a row of {n_features} numbers, got {brief(x)}") from None
    if row.shape != (n_features,):
        raise ValueError(f"{OWNER}: x must be a row of {n_features} numbers, got an array of shape {row.shape}")
    return row


def are_usable(features: FloatArray) -> bool:
    """Return whether all features are numbers, and none is too large."""
    return bool((np.abs(features) <= LARGEST_FEATURE).all())


def culprit_of(row: FloatArray) -> ValueError:
    """Return the error that names the first feature of a row that is refused."""
    at = int(np.argmin(np.abs(row) <= LARGEST_FEATURE))
    return ValueError(f"{OWNER}: x must be {ALLOWED}, got {row[at]} in feature {at}")


def culprit(rows: Rows) -> ValueError:
    """Return the error that names the first feature that is refused, and its row."""
    row, column = np.argwhere(~(np.abs(rows.features) <= LARGEST_FEATURE))[0]
    value, name, feature = rows.features[row, column], rows.names[row], rows.columns[column]
    return ValueError(f"{OWNER}: features must be {ALLOWED}, got {value} in row {name!r}, feature {feature!r}")
