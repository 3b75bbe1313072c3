"""Rewards from a file: which arm, what it paid, and when."""

from __future__ import annotations

import io
import os
import sys
import warnings
from functools import cached_property
from pathlib import Path
from reprlib import repr as brief
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeAlias

import numpy as np

from ..protocols import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

Source: TypeAlias = "str | os.PathLike[str] | TextIO | pd.DataFrame"
NAMED = 5  # bad rows that an error names one by one


class Rewards:
    """Logged rewards, in order of time.

    Attributes
    ----------
    source
        What they were read from, for messages.
    labels
        Names of the arms, in order of their first row.
    arms, rewards
        Of each row the number of its arm, and its reward.
    timed
        Whether there was a column ``time``; else the order of time is that of the rows.

    Examples
    --------
    >>> import pandas as pd
    >>> log = read_rewards(pd.DataFrame({"arm": ["b", "a", "b"], "reward": [1, 2, 3], "time": [9, 8, 7]}))
    >>> log.labels, log.arms.tolist(), log.by_arm
    (('b', 'a'), [0, 1, 0], [array([3., 1.]), array([2.])])
    """

    def __init__(self, source: str, labels: tuple[str, ...], arms: IntArray, rewards: FloatArray, timed: bool) -> None:
        self.source, self.labels, self.arms, self.rewards, self.timed = source, labels, arms, rewards, timed

    @cached_property
    def rows(self) -> list[IntArray]:
        """The rows of each arm."""
        ends = np.cumsum(np.bincount(self.arms, minlength=len(self.labels)))
        return np.split(np.argsort(self.arms, kind="stable"), ends[:-1])

    @cached_property
    def by_arm(self) -> list[FloatArray]:
        """The rewards of each arm."""
        return [self.rewards[rows] for rows in self.rows]

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, source: str, unit: str) -> Rewards:
        """Take a table; its index says which ``unit`` of the source each row is."""
        import pandas as pd

        frame = frame.rename(columns=lambda name: str(name).strip())
        columns = list(frame.columns)
        if any(columns.count(name) != 1 for name in ("arm", "reward")) or columns.count("time") > 1:
            got = ", ".join(columns)
            commas = "; separate columns by commas" if len(columns) == 1 else ""
            raise ValueError(f"{source}: columns must be arm, reward and perhaps time, got {got}{commas}")
        if frame.empty:
            raise ValueError(f"{source}: must have at least one reward, got none")
        names = frame["arm"].astype("string").str.strip()
        rewards = _numbers(frame["reward"])
        times = _times(frame["time"]) if "time" in columns else np.arange(len(frame), dtype=float)
        bad = pd.DataFrame(
            {
                "arm": (names.isna() | (names == "")).to_numpy(bool),
                "reward": np.isnan(rewards),
                "time": np.isnan(times),
            },
            index=frame.index,
        )
        if bad.to_numpy().any():
            raise ValueError(f"{source}: {_complaint(frame, bad, unit)}")
        order = np.argsort(times, kind="stable")
        codes, labels = pd.factorize(names)
        return cls(source, tuple(map(str, labels)), codes.astype(np.int64)[order], rewards[order], "time" in columns)


def read_rewards(source: Source) -> Rewards:
    r"""Read a CSV file (``-``: standard input), a Parquet file, an open text file, or a pandas table.

    The columns are ``arm``, ``reward`` and perhaps ``time``, a number or an ISO 8601 date; others are ignored.  A file
    is refused if a row lacks one of these, or has a reward that is not a number; the error names the lines.  Infinite
    rewards are fine.

    Examples
    --------
    >>> import io
    >>> read_rewards(io.StringIO("arm,reward\nblue,1.5\nred,-inf\n")).rewards
    array([ 1.5, -inf])
    >>> read_rewards(io.StringIO("arm,reward\nblue,1.5\nred,lots\n"))
    Traceback (most recent call last):
        ...
    ValueError: text: line 3 has no usable reward, got 'lots'
    """
    if hasattr(source, "columns"):
        return Rewards.from_frame(source, "table", "row")
    if hasattr(source, "read"):
        return _from_csv(io.StringIO(source.read()), "text")  # whatever its encoding is
    if source == "-":
        return _from_csv(sys.stdin.buffer, "standard input")
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"diagnose: source must be a file, its path, or a pandas table, got {source!r}")
    path = Path(source)
    if not path.exists():
        raise ValueError(f"{source}: there is no such file")
    if path.is_dir():
        raise ValueError(f"{source or path}: must be a file, not a folder")
    return _from_parquet(path) if path.suffix == ".parquet" else _from_csv(path, str(path))


def _from_csv(file: Path | TextIO | BinaryIO, source: str) -> Rewards:
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                file, dtype={"arm": str}, keep_default_na=False, skip_blank_lines=False, skipinitialspace=True,
                index_col=False, low_memory=False, encoding="utf-8-sig",
            )  # fmt: skip
    except pd.errors.ParserWarning:
        raise ValueError(f"{source}: must be a CSV file, but its rows have more fields than its header") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{source}: must be a CSV file: {' '.join(str(error).split())}") from None
    frame.index += 2  # lines of the file, whose first is the header
    return Rewards.from_frame(frame[~frame.isin(["", np.nan]).all(axis=1)], source, "line")


def _from_parquet(path: Path) -> Rewards:
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise ValueError(f"{path}: reading Parquet needs pyarrow: pip install 'heavybandits[parquet]'") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: must be a Parquet file: {' '.join(str(error).split())}") from None
    return Rewards.from_frame(frame.set_axis(range(1, len(frame) + 1)), str(path), "row")


def _numbers(column: pd.Series[Any]) -> FloatArray:
    """Numbers, NaN where there is none; what is too large for a float is infinite."""
    import pandas as pd

    try:
        numbers = pd.to_numeric(column, errors="coerce")
    except OverflowError:  # whole numbers of hundreds of digits, which a text may have and an int may not
        limited = column.map(lambda value: float(str(value)) if isinstance(value, int) else value)
        numbers = pd.to_numeric(limited, errors="coerce")
    return np.asarray(numbers.to_numpy(float, na_value=np.nan))


def _times(column: pd.Series[Any]) -> FloatArray:
    """Times as numbers, NaN where that fails: numbers as they are, dates in nanoseconds."""
    import pandas as pd

    if column.dtype.kind != "M":
        times = _numbers(column)
        if not np.isnan(times).all():
            return times
    dates = pd.to_datetime(column, errors="coerce", utc=True, format="ISO8601")
    nanoseconds = dates.astype("datetime64[ns, UTC]").astype("int64").to_numpy(float)
    return np.asarray(np.where(dates.isna(), np.nan, nanoseconds), float)


def _complaint(frame: pd.DataFrame, bad: pd.DataFrame, unit: str) -> str:
    """Name the first bad rows and what is wrong with them, and count the others."""
    rows = np.flatnonzero(bad.any(axis=1))
    said = []
    for row in rows[:NAMED]:
        name = bad.columns[bad.iloc[row]][0]
        got = frame[name].iloc[[row]].tolist()[0]  # not one of NumPy's numbers, which print their type
        said.append(f"{unit} {frame.index[row]} has no usable {name}, got {brief(got)}")
    more = f"; and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    return "; ".join(said) + more
