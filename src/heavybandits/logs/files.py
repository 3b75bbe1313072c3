"""Columns of CSV, NDJSON and Parquet files; CSV and NDJSON need the standard library alone."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS_PER_PART = 50_000  # read at a time, so that text that becomes numbers is soon forgotten


@contextmanager
def _csv_reader(file: Path | bytes, source: str, separator: str) -> Iterator[Any]:
    """Open a CSV file; what is wrong with it is an error of one line."""
    opened = io.BytesIO(file) if isinstance(file, bytes) else file.open("rb")
    with io.TextIOWrapper(opened, encoding="utf-8-sig", newline="") as text:
        try:
            yield csv.reader(text, delimiter=separator, skipinitialspace=True, strict=True)
        except UnicodeDecodeError:
            raise ValueError(f"{source}: must be a CSV file in UTF-8, but is in another encoding, or no text") from None
        except csv.Error as error:
            raise ValueError(f"{source}: must be a CSV file: {error}") from None


def csv_header(file: Path | bytes, source: str) -> tuple[tuple[str, ...], str]:
    """Return the names of the columns of a CSV file, and what separates them: of comma and semicolon what gives more.

    Examples
    --------
    >>> csv_header(b"arm;euros\\nblue;1,5", "text"), csv_header(b'arm,"a;b",euros\\n', "text")
    ((('arm', 'euros'), ';'), (('arm', 'a;b', 'euros'), ','))
    """
    found = []
    for separator in ",;":
        try:
            with _csv_reader(file, source, separator) as reader:
                found.append((tuple(name.strip() for name in next(reader, ())), separator))
        except ValueError:
            if separator == ",":
                raise
    names, separator = max(found, key=lambda header: len(header[0]))
    if not any(names):
        raise ValueError(f"{source}: must be a CSV file with the names of columns in its first line, got none there")
    return names, separator


def csv_columns(
    file: Path | bytes, source: str, separator: str, wanted: Sequence[int], texts: Sequence[int]
) -> tuple[list[NDArray[Any]], list[int]]:
    """Return columns of a CSV file by their numbers, and the lines of their rows; rows without any value are left out.

    Examples
    --------
    >>> csv_columns(b"arm;euros\\n7;1,5\\n\\n8;2", "text", ";", [0, 1], [0])
    ([array(['7', '8'], dtype=object), array([1.5, 2. ])], [2, 4])
    """
    parts: list[list[NDArray[Any]]] = [[] for _ in wanted]
    lines: list[int] = []
    known: dict[str, str] = {}  # one copy of each text
    with _csv_reader(file, source, separator) as reader:
        width = len(next(reader))
        while rows := [(reader.line_num, row) for row in itertools.islice(reader, ROWS_PER_PART)]:
            for line, row in rows:
                if len(row) != width:
                    if len(row) > width:
                        raise ValueError(f"{source}: must be a CSV file, but line {line} has {len(row)} fields, "
                                         f"and the header {width}")  # fmt: skip
                    row.extend([""] * (width - len(row)))
            filled = [(line, row) for line, row in rows if any(row)]
            lines += [line for line, _ in filled]
            for part, i in zip(parts, wanted, strict=True):
                values = [known.setdefault(row[i], row[i]) if i in texts else row[i] for _, row in filled]
                part.append(_parsed(values, i in texts, separator))
    return [np.concatenate(part) if part else np.empty(0, object) for part in parts], lines


def _parsed(values: list[str], is_text: bool, separator: str) -> NDArray[Any]:
    """Return numbers if all values are numbers, else text; with semicolons, numbers may have decimal commas."""
    if not is_text:
        if separator == ";":
            values = [value.replace(",", ".") for value in values]
        try:
            if "_" not in "".join(values):  # which Python allows in numbers
                return np.array(values, float)
        except ValueError:
            pass
    return np.array([*values, None], object)[:-1]  # None keeps NumPy from making fixed-width text


def ndjson_columns(raw: bytes, source: str) -> tuple[dict[str, NDArray[Any]], list[int]]:
    """Return the columns of lines of JSON objects, with None where a line has no value, and the lines of their rows.

    Examples
    --------
    >>> ndjson_columns(b'{"arm": "a", "p": 0.5}\\n\\n{"arm": "b"}\\n', "text")
    ({'arm': array(['a', 'b'], dtype=object), 'p': array([0.5, None], dtype=object)}, [1, 3])
    """
    lines, rows = [], []
    for line, text in enumerate(raw.split(b"\n"), 1):
        if text.strip():
            try:
                row = json.loads(text)
            except ValueError as error:
                raise ValueError(f"{source}: must have a JSON object in each line, but line {line}: {error}") from None
            if not isinstance(row, dict):
                raise ValueError(f"{source}: must have a JSON object in each line, got {row!r:.80} in line {line}")
            lines.append(line)
            rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {}
    for name in names:
        column = np.empty(len(rows), object)
        column[:] = [row.get(name) for row in rows]
        columns[name.strip()] = column
    return columns, lines


def parquet_header(path: Path) -> tuple[str, ...]:
    """Return the names of the columns of a Parquet file."""
    return tuple(name.strip() for name in _parquet(path).schema_arrow.names)


def parquet_columns(path: Path, wanted: Sequence[int]) -> tuple[list[Any], range]:
    """Return columns of a Parquet file by their numbers, and the numbers of their rows, from 1."""
    import narwhals as nw

    file = _parquet(path)
    names = file.schema_arrow.names
    table = file.read(columns=[names[i] for i in wanted])
    columns = [nw.from_native(table.column(names[i]), series_only=True) for i in wanted]
    return columns, range(1, table.num_rows + 1)


def _parquet(path: Path) -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ValueError(f"{path}: reading Parquet needs pyarrow: pip install 'heavybandits[parquet]'") from None
    try:
        return pq.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: must be a Parquet file: {' '.join(str(error).split())}") from None
