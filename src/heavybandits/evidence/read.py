"""Rewards from a file: which arm, what it paid, and when."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from reprlib import repr as brief
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..protocols import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

Source: TypeAlias = "str | os.PathLike[str] | TextIO | pd.DataFrame | Any"
NAMED = 5  # bad rows that an error names one by one
NOUNS = ("reward", "cost")  # what a file calls a reward, and what it calls one that is minimised
MISSING = ("", "na", "n/a", "nan", "null", "none")  # how files write a missing value, in upper or lower case


class Rewards:
    """Logged rewards, in order of time.

    Attributes
    ----------
    source
        What they were read from, for messages.
    labels
        Names of the arms, in the order in which they first appear.
    arms, rewards
        The number of each row's arm, and its reward.
    timed
        Whether there was a column ``time``; otherwise rows are taken to be in order of time.
    dropped
        How many rows were left out because a value was missing.
    minimised
        Whether the file has costs; rewards are then negated costs.
    feature_names, features
        Names of the features, and the features of each row.

    Examples
    --------
    >>> import pandas as pd
    >>> log = read_rewards(pd.DataFrame({"arm": ["b", "a", "b"], "reward": [1, 2, 3], "time": [9, 8, 7]}))
    >>> log.labels, log.arms.tolist(), log.by_arm
    (('b', 'a'), [0, 1, 0], [array([3., 1.]), array([2.])])
    """

    def __init__(
        self, source: str, *, labels: tuple[str, ...], arms: IntArray, rewards: FloatArray, timed: bool,
        dropped: int = 0, minimised: bool = False, feature_names: tuple[str, ...] = (),
        features: FloatArray | None = None,
    ) -> None:  # fmt: skip
        self.source, self.labels, self.arms, self.rewards, self.timed = source, labels, arms, rewards, timed
        self.dropped, self.minimised = dropped, minimised
        self.feature_names = feature_names
        self.features = np.zeros((len(rewards), 0)) if features is None else features

    @property
    def noun(self) -> str:
        """What the file calls a reward: ``"cost"`` or ``"reward"``."""
        return NOUNS[self.minimised]

    @property
    def paid(self) -> str:
        """What a program reports to an agent, in words."""
        return "what the arm cost, negated" if self.minimised else "whatever the arm paid"

    @cached_property
    def rows(self) -> list[IntArray]:
        """The rows of each arm."""
        ends = np.cumsum(np.bincount(self.arms, minlength=len(self.labels)))
        return np.split(np.argsort(self.arms, kind="stable"), ends[:-1])

    @cached_property
    def by_arm(self) -> list[FloatArray]:
        """The rewards of each arm."""
        return [self.rewards[rows] for rows in self.rows]


class Reading(NamedTuple):
    """How to read a table: which columns to take, and whether rewards are costs."""

    arm: str = "arm"
    reward: str = "reward"
    minimise: bool = False
    features: tuple[str, ...] = ()

    def rewards(self, frame: pd.DataFrame, source: str, unit: str) -> Rewards:
        """Read a table; its index says which ``unit`` of the source, line or row, each row is."""
        import pandas as pd

        frame = frame.rename(columns=lambda name: str(name).strip())
        columns = list(frame.columns)
        needed = (self.arm, self.reward, *self.features)
        timed = "time" in columns and "time" not in (self.arm, self.reward)  # which may be a column of waiting times
        for name in (*needed, "time"):
            if (count := columns.count(name)) > 1:
                raise ValueError(f"{source}: there must be one column {name!r}, got {count} of that name")
        if not set(needed) <= set(columns):
            wanted = f"{', '.join(needed)} and optionally time"
            hint = (
                "feature_columns (--feature-column)"
                if self.features and {self.arm, self.reward} <= set(columns)
                else "arm_column and reward_column (--arm-column and --reward-column)"
            )
            raise ValueError(
                f"{source}: columns must be {wanted}, each once, got {', '.join(columns)}; name yours with {hint}"
            )
        names = frame[self.arm].astype("string").str.strip()
        rewards = _numbers(frame[self.reward])
        times = _times(frame["time"]) if timed else np.arange(len(frame), dtype=float)
        features = {name: _numbers(frame[name]) for name in self.features}
        usable = {self.arm: names.notna().to_numpy(bool), self.reward: ~np.isnan(rewards)}
        usable |= {"time": ~np.isnan(times)} if timed else {}
        usable |= {name: np.isfinite(values) for name, values in features.items()}
        missing = {name: _missing(frame[name]) for name in usable}
        kept = ~np.logical_or.reduce(list(missing.values()))
        bad = pd.DataFrame({name: kept & ~good for name, good in usable.items()}, index=frame.index)
        if bad.to_numpy().any():
            raise ValueError(f"{source}: {_complaint(frame, bad, unit)}")
        if not kept.any():
            raise ValueError(f"{source}: must have at least one reward, got none")
        order = np.flatnonzero(kept)[np.argsort(times[kept], kind="stable")]
        codes, labels = pd.factorize(names[kept])
        arms = np.empty(len(frame), np.int64)
        arms[kept] = codes
        return Rewards(
            source, labels=tuple(map(str, labels)), arms=arms[order],
            rewards=0.0 - rewards[order] if self.minimise else rewards[order] + 0.0,  # a zero has no sign
            timed=timed, dropped=int(np.count_nonzero(~kept)), minimised=self.minimise, feature_names=self.features,
            features=np.stack([values[order] for values in features.values()], axis=1) if features else None,
        )  # fmt: skip


def read_rewards(
    source: Source,
    *,
    arm_column: str = "arm",
    reward_column: str = "reward",
    minimise: bool = False,
    feature_columns: Sequence[str] = (),
    owner: str = "diagnose",
) -> Rewards:
    r"""Read a CSV file (``-`` for standard input), a Parquet file, an open text file, or a table.

    A table is a pandas data frame, or one with a method ``to_pandas``, as those of polars and Arrow.

    The columns are those of the arm, the reward and the features, and optionally ``time``, a number or an ISO 8601
    date; others are ignored.  Columns may be separated by semicolons; numbers may then have decimal commas.  Rows that
    lack a value are left out and counted.  A file is refused if a reward, a feature or a time is not a number; the
    error names the lines.  Infinite rewards are fine, infinite features are not.  Errors about
    arguments name the ``owner``.

    Examples
    --------
    >>> import io
    >>> read_rewards(io.StringIO("arm,reward\nblue,1.5\nred,-inf\n")).rewards
    array([ 1.5, -inf])
    >>> read_rewards(io.StringIO("ad;euros\nblue;1,5\nred;\n"), arm_column="ad", reward_column="euros").rewards
    array([1.5])
    >>> read_rewards(io.StringIO("arm,reward\nblue,1.5\nred,lots\n"))
    Traceback (most recent call last):
        ...
    ValueError: text: line 3 has no usable reward, got 'lots'
    """
    for name, column in (("arm_column", arm_column), ("reward_column", reward_column)):
        if not isinstance(column, str):
            raise TypeError(f"{owner}: {name} must be the name of a column, got {column!r}")
    if arm_column == reward_column:
        raise ValueError(f"{owner}: arm_column and reward_column must be different, got {arm_column!r} for both")
    reading = Reading(
        arm_column.strip(),
        reward_column.strip(),
        minimise,
        _features(owner, feature_columns, arm_column, reward_column),
    )
    if hasattr(source, "columns"):
        frame = source.to_pandas() if hasattr(source, "to_pandas") else source
        return reading.rewards(frame, "table", "row")
    if hasattr(source, "read"):
        text = source.read()  # whatever its encoding is
        return _from_csv(io.BytesIO(text.encode(errors="replace") if isinstance(text, str) else text), "text", reading)
    if source == "-":
        return _from_csv(io.BytesIO(sys.stdin.buffer.read()), "standard input", reading)
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"{owner}: source must be a file, its path, or a table, got {source!r}")
    path = Path(source)
    if not path.exists():
        raise ValueError(f"{source}: there is no such file")
    if path.is_dir():
        raise ValueError(f"{source or path}: must be a file, not a folder")
    if path.suffix == ".parquet":
        return _from_parquet(path, reading)
    return _from_csv(path if path.is_file() else io.BytesIO(path.read_bytes()), str(path), reading)


def _features(owner: str, given: Sequence[str], *others: str) -> tuple[str, ...]:
    """Return the names of the feature columns."""
    if isinstance(given, str) or not all(isinstance(name, str) for name in given):
        raise TypeError(f"{owner}: feature_columns must be a list of column names, got {given!r}")
    names = tuple(name.strip() for name in given)
    taken = {name.strip() for name in others} | {"time"}
    if len(set(names)) < len(names) or taken & set(names):
        raise ValueError(f"{owner}: feature_columns must be columns other than arm, reward and time, each once, "
                         f"got {list(given)!r}")  # fmt: skip
    return names


def _from_csv(file: Path | io.BytesIO, source: str, reading: Reading) -> Rewards:
    """Read a CSV file after its header, which tells what separates the columns, and whether names are repeated."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            header = _header(file, ",")
            semicolons = any(";" in name for name in header) and reading.reward not in map(str.strip, header)
            separator = ";" if semicolons else ","
            header = _header(file, separator)
            frame = pd.read_csv(
                file, sep=separator, dtype={name: str for name in header if name.strip() == reading.arm},
                keep_default_na=False, skip_blank_lines=False, skipinitialspace=True, index_col=False,
                low_memory=False, encoding="utf-8-sig",
            )  # fmt: skip
    except pd.errors.ParserWarning:
        raise ValueError(f"{source}: must be a CSV file, but its rows have more fields than its header") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{source}: must be a CSV file: {' '.join(str(error).split())}") from None
    frame.columns = pd.Index(map(str.strip, header))  # without the numbers that pandas adds to repeated names
    frame.index += 2  # lines of the file, whose first is the header
    if semicolons:
        frame = frame.apply(lambda column: column if column.name == reading.arm else _with_points(column))
    return reading.rewards(frame[~frame.isin(["", np.nan]).all(axis=1)], source, "line")


def _header(file: Path | io.BytesIO, separator: str) -> list[str]:
    """Return the names of the columns of a CSV file, and go back to its start."""
    import pandas as pd

    first = pd.read_csv(
        file, sep=separator, header=None, nrows=1, dtype=str, keep_default_na=False, skip_blank_lines=False,
        skipinitialspace=True, index_col=False, encoding="utf-8-sig",
    )  # fmt: skip
    if isinstance(file, io.BytesIO):
        file.seek(0)
    return [str(name) for name in first.iloc[0]]


def _with_points(column: pd.Series[Any]) -> pd.Series[Any]:
    """Change decimal commas to points, in a column with text."""
    if column.dtype.kind in "biuf":
        return column
    return column.map(lambda value: value.replace(",", ".") if isinstance(value, str) else value)


def _from_parquet(path: Path, reading: Reading) -> Rewards:
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise ValueError(f"{path}: reading Parquet needs pyarrow: pip install 'heavybandits[parquet]'") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: must be a Parquet file: {' '.join(str(error).split())}") from None
    return reading.rewards(frame.set_axis(range(1, len(frame) + 1)), str(path), "row")


def _missing(column: pd.Series[Any]) -> NDArray[np.bool_]:
    """Return which values are missing."""
    missing = column.isna()
    if column.dtype.kind not in "biufM":
        missing |= column.astype("string").str.strip().str.lower().isin(MISSING)
    return np.asarray(missing, bool)


def _numbers(column: pd.Series[Any]) -> FloatArray:
    """Return a column as numbers, NaN where there is none; values too large for a float become infinite."""
    import pandas as pd

    try:
        numbers = pd.to_numeric(column, errors="coerce")
    except OverflowError:  # integers of hundreds of digits, which can be converted as text only
        limited = column.map(lambda value: float(str(value)) if isinstance(value, int) else value)
        numbers = pd.to_numeric(limited, errors="coerce")
    return np.asarray(numbers.to_numpy(float, na_value=np.nan))


def _times(column: pd.Series[Any]) -> FloatArray:
    """Return times as numbers, NaN where that fails: numbers as they are, dates in nanoseconds."""
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
        got = frame[name].iloc[[row]].tolist()[0]  # a plain Python value: NumPy's numbers print their type
        said.append(f"{unit} {frame.index[row]} has no usable {name}, got {brief(got)}")
    more = f"; and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    return "; ".join(said) + more
