"""Logs of every kind hold the same columns: tables of several libraries, files, and several of them at once."""

import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from heavybandits.logs.columns import pick
from heavybandits.logs.frames import frames_of
from heavybandits.logs.rewards import read_rewards

polars = pytest.importorskip("polars")
arrow = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")
COLUMNS: dict[str, list[Any]] = {
    "arm": ["b", "a", None, "b", "a"],
    "reward": [1.5, math.inf, 3.0, None, -2.0],
    "time": ["2024-01-05", "2024-01-01T12:00:00Z", "2024-01-01", "2024-01-01", "2024-01-01T14:00:00+03:00"],
}


def from_duckdb(columns: dict[str, list[Any]]) -> Any:
    return duckdb.connect().from_arrow(arrow.table(columns))


def from_ndjson(columns: dict[str, list[Any]]) -> io.StringIO:
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return io.StringIO("\n".join(json.dumps(row).replace("Infinity", '"inf"') for row in rows))


SOURCES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "mapping": dict,
    "pandas": pd.DataFrame,
    "pandas with another index": lambda columns: pd.DataFrame(columns, index=[9, 8, 7, 6, 5][: len(columns["arm"])]),
    "Polars": polars.DataFrame,
    "lazy Polars": polars.LazyFrame,
    "Arrow": arrow.table,
    "DuckDB": from_duckdb,
    "CSV": lambda columns: io.StringIO(pd.DataFrame(columns).to_csv(index=False)),
    "NDJSON": from_ndjson,
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_has_the_same_rewards(kind: str) -> None:
    log = read_rewards(SOURCES[kind](COLUMNS))
    assert (log.labels, log.arms.tolist(), log.dropped, log.timed) == (("b", "a"), [1, 1, 0], 2, True)
    assert log.rewards.tolist() == [-2.0, math.inf, 1.5]


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_names_the_bad_row(kind: str) -> None:
    bad = {"arm": ["a", "b", "a"], "reward": ["1", "2", "lots"]}
    row = {"CSV": "line 4", "NDJSON": "line 3", "pandas with another index": "row 7"}.get(kind, "row 2")
    with pytest.raises(ValueError, match=f": {row} has no usable reward, got 'lots'$"):
        read_rewards(SOURCES[kind](bad))


@pytest.mark.parametrize("kind", SOURCES)
def test_whole_numbers_are_arms_too(kind: str) -> None:
    log = read_rewards(SOURCES[kind]({"arm": [7, 3, 7], "reward": [1, 2, 3]}))
    assert (log.labels, log.arms.tolist(), log.rewards.tolist()) == (("7", "3"), [0, 1, 0], [1, 2, 3])


def test_tables_of_several_pieces_are_read() -> None:
    pieces = [pd.DataFrame({"arm": arms, "reward": [1.0, 2.0]}) for arms in (["b", "a"], ["a", None])]
    log = read_rewards(pd.concat(pieces))
    assert (log.labels, log.arms.tolist(), log.dropped) == (("b", "a"), [0, 1, 1], 1)


def test_several_files_are_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("arm,reward,time\nb,1,5\na,2,1\n")
    (tmp_path / "b.ndjson").write_text('{"arm": "c", "reward": 3, "time": 3}\n\n{"time": 4, "arm": "a", "reward": 4}\n')
    table = pd.DataFrame({"arm": ["b", None], "reward": [5, 6], "time": [2, 0]})
    log = read_rewards([tmp_path / "a.csv", tmp_path / "b.ndjson", table])
    assert [log.labels[arm] for arm in log.arms] == ["a", "b", "c", "a", "b"]
    assert (log.rewards.tolist(), log.dropped) == ([2, 5, 3, 4, 1], 1)
    assert log.source == f"{tmp_path / 'a.csv'}, {tmp_path / 'b.ndjson'}, table"
    (tmp_path / "b.ndjson").write_text('{"arm": "c", "reward": "x"}\n')
    with pytest.raises(ValueError, match=r"b\.ndjson: line 1 has no usable reward, got 'x'"):
        read_rewards([{"arm": ["a"], "reward": [1]}, tmp_path / "b.ndjson"])
    with pytest.raises(ValueError, match="table: columns must be arm, reward and time, as elsewhere, got arm, reward"):
        read_rewards([tmp_path / "a.csv", {"arm": ["a"], "reward": [1]}])
    with pytest.raises(ValueError, match=r"compare: source must have at least one file or table, got \[\]"):
        read_rewards([], owner="compare")


def test_bad_sources_are_refused() -> None:
    with pytest.raises(ValueError, match="must have a JSON object in each line, but line 2: Expecting"):
        read_rewards(io.StringIO('{"arm": "a"}\n{"arm"\n'))
    with pytest.raises(ValueError, match=r"must have a JSON object in each line, got \[1\] in line 2"):
        read_rewards(io.StringIO('{"arm": "a"}\n[1]\n'))
    with pytest.raises(ValueError, match=r"table: columns must be lists of one length, got \{'arm': \(1,\), 'reward'"):
        read_rewards({"arm": ["a"], "reward": [1, 2]})

    class Odd:
        columns = ("arm", "reward")

    with pytest.raises(TypeError, match="diagnose: source must be a file, its path, or a table, got Odd"):
        read_rewards(Odd())


@pytest.mark.parametrize("kind", ["pandas", "Polars", "Arrow"])
def test_dates_of_tables_are_times(kind: str) -> None:
    days = np.array(["2024-01-02T00", "NaT", "2024-01-01T06"], "datetime64[ns]")
    table = SOURCES[kind]({"arm": ["a", "b", "c"], "reward": [1, 2, 3], "time": days})  # type: ignore[dict-item]
    log = read_rewards(table)
    assert ([log.labels[arm] for arm in log.arms], log.dropped) == (["c", "a"], 1)


def test_tables_are_read_without_pandas_or_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heavybandits.logs.columns.find_spec", lambda name: None)
    for kind in ("pandas", "Polars"):
        log = read_rewards(SOURCES[kind](COLUMNS))
        assert (log.labels, log.arms.tolist()) == (("b", "a"), [1, 1, 0])


def test_long_files_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heavybandits.logs.files.ROWS_PER_PART", 3)
    text = "arm,x,reward\n" + "".join(f"{i % 2},{i if i < 7 else 'x'},{i}\n" for i in range(10))
    found = pick(frames_of(io.StringIO(text), "compare"), {"arm": "label", "reward": "number"})
    assert (found.labels["arm"], found.values["reward"].tolist()) == (("0", "1"), list(range(10)))
    with pytest.raises(ValueError, match=r"line 9 has no usable x, got 'x'; line 10 .*; line 11 "):
        pick(frames_of(io.StringIO(text), "compare"), {"x": "number"})
