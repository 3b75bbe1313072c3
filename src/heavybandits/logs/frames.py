"""Where logs come from: tables of any library, and files, each as columns by name."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeAlias

import numpy as np

from .files import csv_columns, csv_header, ndjson_columns, parquet_columns, parquet_header

Source: TypeAlias = "str | os.PathLike[str] | TextIO | Sequence[Any] | Any"


class Frame(NamedTuple):
    """The columns of one table or file, which are read when they are taken.

    Attributes
    ----------
    source, unit
        What it is, and what its rows are called, line or row, for messages.
    names
        The names of its columns, in order; a name may be there twice.
    take
        From the numbers of columns, and of those among them that are text even if they look like numbers, to the
        columns, and how messages number their rows.
    """

    source: str
    unit: str
    names: tuple[str, ...]
    take: Callable[[Sequence[int], Sequence[int]], tuple[list[Any], Sequence[Any]]]


def frames_of(source: Source, owner: str) -> list[Frame]:
    r"""Return what a source is made of: one frame, or one for each of several sources.

    A source is a CSV, NDJSON or Parquet file by its path, ``"-"`` for CSV from standard input, an open text file, a
    table that narwhals knows (pandas, Polars, Arrow, DuckDB and others), a mapping from names to columns, or a list of
    sources.  Errors about the argument name the ``owner``.

    Examples
    --------
    >>> import io
    >>> frame, = frames_of(io.StringIO("arm,reward\nblue,1.5\n"), "compare")
    >>> frame.names, frame.take([1, 0], [0])
    (('arm', 'reward'), ([array([1.5]), array(['blue'], dtype=object)], [2]))
    """
    if isinstance(source, list | tuple):
        if not source:
            raise ValueError(f"{owner}: source must have at least one file or table, got {source!r}")
        return [frame for part in source for frame in frames_of(part, owner)]
    if isinstance(source, Mapping):
        return [_from_mapping(source)]
    if hasattr(type(source), "columns"):  # not of the source itself: a lazy table may have to compute them
        return [_from_table(source, owner)]
    if hasattr(source, "read"):
        return [_from_text(source.read(), "text", owner)]
    if source == "-":
        return [_from_text(sys.stdin.buffer.read(), "standard input", owner)]
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"{owner}: source must be a file, its path, or a table, got {source!r}")
    path = Path(source)
    if not path.exists():
        raise ValueError(f"{source}: there is no such file")
    if path.is_dir():
        raise ValueError(f"{source or path}: must be a file, not a folder")
    if path.suffix == ".parquet":
        return [Frame(str(path), "row", parquet_header(path), lambda wanted, _: parquet_columns(path, wanted))]
    if path.suffix in (".ndjson", ".jsonl"):
        return [_from_ndjson(path.read_bytes(), str(path))]
    return [_from_csv(path if path.is_file() else path.read_bytes(), str(path))]


def _from_text(text: str | bytes, source: str, owner: str) -> Frame:
    """Read CSV or, if the first line is a JSON object, NDJSON."""
    raw = text.encode(errors="replace") if isinstance(text, str) else text
    return _from_ndjson(raw, source) if raw.lstrip()[:1] == b"{" else _from_csv(raw, source)


def _from_csv(file: Path | bytes, source: str) -> Frame:
    names, separator = csv_header(file, source)
    return Frame(source, "line", names, lambda wanted, texts: csv_columns(file, source, separator, wanted, texts))


def _from_ndjson(raw: bytes, source: str) -> Frame:
    columns, places = ndjson_columns(raw, source)
    arrays = list(columns.values())
    return Frame(source, "line", tuple(columns), lambda wanted, _: ([arrays[i] for i in wanted], places))


def _from_mapping(columns: Mapping[Any, Any]) -> Frame:
    arrays = [np.asarray(values) for values in columns.values()]
    sizes = {str(name): array.shape for name, array in zip(columns, arrays, strict=True)}
    if len(set(sizes.values())) > 1 or any(array.ndim != 1 for array in arrays):
        raise ValueError(f"table: columns must be lists of one length, got {sizes}")
    rows = range(len(arrays[0]) if arrays else 0)
    return Frame("table", "row", tuple(str(name).strip() for name in columns),
                 lambda wanted, _: ([arrays[i] for i in wanted], rows))  # fmt: skip


def _from_table(table: Any, owner: str) -> Frame:
    import narwhals as nw

    native = table.to_native() if isinstance(table, nw.DataFrame | nw.LazyFrame) else table
    by_position: Callable[[list[int]], Any] | None = None  # where names may be repeated, which narwhals refuses
    if nw.dependencies.is_pandas_like_dataframe(native):
        names, by_position = list(native.columns), lambda wanted: native.iloc[:, wanted]
    elif nw.dependencies.is_pyarrow_table(native):
        names, by_position = native.column_names, native.select
    else:
        try:
            names = nw.from_native(native).collect_schema().names()
        except TypeError:
            raise TypeError(
                f"{owner}: source must be a file, its path, or a table, got {type(table).__name__}"
            ) from None

    def take(wanted: Sequence[int], texts: Sequence[int]) -> tuple[list[Any], Sequence[Any]]:
        chosen = native if by_position is None else by_position(list(wanted))
        frame = nw.from_native(chosen).select([names[i] for i in wanted])
        full = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        index = nw.maybe_get_index(full)
        return [full[names[i]] for i in wanted], range(len(full)) if index is None else index

    return Frame("table", "row", tuple(str(name).strip() for name in names), take)
