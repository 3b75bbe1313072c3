"""Columns as numbers, times and labels: what is missing is left out and counted, and what is unusable is named."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from importlib.util import find_spec
from reprlib import repr as brief
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..protocols import BoolArray, FloatArray, IntArray
from .frames import Frame

Kind: TypeAlias = Literal["label", "number", "finite", "present", "optional", "time"]
NAMED = 5  # bad rows that an error names one by one
MISSING = ("", "na", "n/a", "nan", "null", "none", "<na>", "nat")  # how a missing value is written, in any case


class Columns(NamedTuple):
    """Columns of one or several frames, without the rows that lack a value.

    Attributes
    ----------
    source
        What they were read from, for messages.
    values
        The columns by name; of labels, their numbers.
    labels
        The labels of each column of labels, in the order in which they first appear.
    rows
        Which rows of all frames, one after the other, these are.
    dropped
        How many rows were left out because a value was missing.
    """

    source: str
    values: dict[str, NDArray[Any]]
    labels: dict[str, tuple[str, ...]]
    rows: IntArray
    dropped: int


def pick(frames: Sequence[Frame], wanted: Mapping[str, Kind]) -> Columns:
    """Take columns, which must be there, by name, and leave out the rows in which one of them lacks a value.

    Infinite values are numbers, but not ``"finite"`` ones.  A number that must be ``"present"`` is unusable if it is
    missing; one that is ``"optional"`` is then NaN.  Times are numbers or ISO 8601 dates.

    Examples
    --------
    >>> from .frames import frames_of
    >>> log = {"ad": ["b", "a", None, "b"], "euros": [1.0, 2.0, 3.0, 4.0]}
    >>> found = pick(frames_of(log, "compare"), {"ad": "label", "euros": "number"})
    >>> found.values, found.labels, found.dropped
    ({'ad': array([0, 1, 0]), 'euros': array([1., 2., 4.])}, {'ad': ('b', 'a')}, 1)
    """
    parts = [_usable(frame, wanted) for frame in frames]
    source = ", ".join(dict.fromkeys(frame.source for frame in frames))
    kept = np.concatenate([kept for _, kept in parts])
    values, labels = {}, {}
    for name, kind in wanted.items():
        columns = [columns[name] for columns, _ in parts]
        if kind == "label":
            values[name], labels[name] = _joined(columns, kept)
        else:
            values[name] = np.concatenate(columns)[kept]
    return Columns(source, values, labels, np.flatnonzero(kept), int(np.count_nonzero(~kept)))


def _usable(frame: Frame, wanted: Mapping[str, Kind]) -> tuple[dict[str, Any], BoolArray]:
    """Return the columns of a frame, and which rows lack no value; refuse rows with values that are unusable."""
    for name in wanted:
        if (count := frame.names.count(name)) > 1:
            raise ValueError(f"{frame.source}: there must be one column {name!r}, got {count} of that name")
    positions = [frame.names.index(name) for name in wanted]
    texts = [position for position, kind in zip(positions, wanted.values(), strict=True) if kind == "label"]
    raw, places = frame.take(positions, texts)
    columns: dict[str, Any] = {}
    kept, bad = np.ones(len(places), np.bool_), {}
    for (name, kind), column in zip(wanted.items(), raw, strict=True):
        if kind == "label":
            columns[name] = as_labels(column)
            kept &= columns[name][0] >= 0
            continue
        array = as_array(column)
        numbers, missing = as_times(array) if kind == "time" else as_numbers(array)
        columns[name] = numbers
        if kind not in ("present", "optional"):
            kept &= ~missing
        unusable = ~np.isfinite(numbers) if kind == "finite" else np.isnan(numbers)
        bad[name] = (array, unusable & ~missing if kind == "optional" else unusable)
    refused = kept & np.logical_or.reduce([np.zeros_like(kept), *(rows for _, rows in bad.values())])
    if refused.any():
        raise ValueError(f"{frame.source}: {_complaint(np.flatnonzero(refused), bad, frame.unit, places)}")
    return columns, kept


def _complaint(
    rows: IntArray, bad: Mapping[str, tuple[NDArray[Any], BoolArray]], unit: str, places: Sequence[Any]
) -> str:
    """Name the first bad rows and what is wrong with them, and count the others."""
    said = []
    for row in rows[:NAMED].tolist():
        name, array = next((name, array) for name, (array, is_bad) in bad.items() if is_bad[row])
        said.append(f"{unit} {places[row]} has no usable {name}, got {brief(array[row : row + 1].tolist()[0])}")
    more = f"; and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    return "; ".join(said) + more


def as_array(column: Any) -> NDArray[Any]:
    """Return a column as a NumPy array."""
    return column if isinstance(column, np.ndarray) else np.asarray(column.to_numpy())


def as_numbers(array: NDArray[Any]) -> tuple[FloatArray, BoolArray]:
    """Return a column as numbers, NaN where there is none, and which values are missing.

    Examples
    --------
    >>> as_numbers(np.array(["1.5", " NA", "1e999", "lots", None], object))
    (array([1.5, nan, inf, nan, nan]), array([False,  True, False, False,  True]))
    """
    if array.dtype.kind in "biuf":
        numbers = array.astype(float)
        return numbers, np.isnan(numbers)
    return _each(array, _number)


def as_times(array: NDArray[Any]) -> tuple[FloatArray, BoolArray]:
    """Return times as numbers, dates in seconds, NaN where that fails, and which values are missing.

    Examples
    --------
    >>> as_times(np.array(["1970-01-01", "1970-01-01T01:00:00+01:00", "1970-01-01T00:01Z", "soon", ""]))
    (array([ 0.,  0., 60., nan, nan]), array([False, False, False, False,  True]))
    """
    if array.dtype.kind == "M":
        missing = np.isnat(array)
        return np.where(missing, np.nan, array.astype("datetime64[ns]").astype(np.int64) / 1e9), missing
    numbers, missing = as_numbers(array)
    return _each(array, _seconds) if np.isnan(numbers).all() else (numbers, missing)


def _each(array: NDArray[Any], parse: Callable[[Any], float]) -> tuple[FloatArray, BoolArray]:
    """Parse values one by one; of those that are NaN, say which are missing."""
    values = array.tolist() if array.dtype.kind != "M" else list(array)
    numbers = np.fromiter(map(parse, values), float, len(values))
    missing = np.zeros(len(values), np.bool_)
    for row in np.flatnonzero(np.isnan(numbers)).tolist():
        missing[row] = _is_missing(values[row])
    return numbers, missing


def _is_missing(value: Any) -> bool:
    return str(value).strip().lower() in MISSING


def _number(value: Any) -> float:
    """Return a number, infinite if it is too large for a float, or NaN if there is none."""
    try:
        return math.nan if isinstance(value, str) and "_" in value else float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def _seconds(value: Any) -> float:
    """Return a date in seconds since 1970, or NaN if there is none."""
    try:
        if isinstance(value, date):
            value = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        else:
            value = datetime.fromisoformat(value.strip())
        return float((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    except (AttributeError, OverflowError, ValueError):
        return math.nan


def as_labels(column: Any) -> tuple[IntArray, tuple[str, ...]]:
    """Return the number of each value among the labels, -1 if it is missing, and the labels.

    Examples
    --------
    >>> as_labels(np.array(["b", " a", None, "b "], object))
    (array([ 0,  1, -1,  0]), ('b', 'a'))
    """
    codes, values = _coded(column)
    labels: dict[str, int] = {}
    numbers = [-1 if _is_missing(value) else labels.setdefault(str(value).strip(), len(labels)) for value in values]
    return np.array([*numbers, -1])[codes], tuple(labels)


def _coded(column: Any) -> tuple[IntArray, Iterable[Any]]:
    """Return the number of each value among the different values, and these."""
    if not isinstance(column, np.ndarray):
        if find_spec("pyarrow"):
            import pyarrow as pa

            found = column.to_arrow()
            encoded = (found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found).dictionary_encode()
            return encoded.indices.fill_null(-1).to_numpy(), encoded.dictionary.to_pylist()
        column = as_array(column)
    if column.dtype.kind in "biufM":
        values, codes = np.unique(column, return_inverse=True)
        return codes, values.tolist()
    known: dict[Any, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in column.tolist()], np.int64), known


def _joined(parts: Sequence[tuple[IntArray, tuple[str, ...]]], kept: BoolArray) -> tuple[IntArray, tuple[str, ...]]:
    """Join the labels of several frames, in the order in which they first appear in rows that are kept."""
    labels: dict[str, int] = {}
    joined = []
    for codes, names in parts:
        joined.append(np.array([labels.setdefault(name, len(labels)) for name in names] + [-1])[codes])
    codes = np.concatenate(joined)[kept]
    first = np.full(len(labels), len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
    ranks = np.empty(len(labels), np.int64)
    ranks[order] = np.arange(len(order))
    names = tuple(labels)
    return ranks[codes], tuple(names[i] for i in order)
