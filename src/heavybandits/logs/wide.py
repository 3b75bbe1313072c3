"""Wide logs: a column for each arm, and in each row what the arms paid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..protocols import FloatArray, IntArray
from .columns import Kind, as_array, as_numbers, pick
from .frames import Frame


def arms_in_columns(frame: Frame) -> tuple[str, ...]:
    """Return the columns of a frame that are arms: all but ``time`` and those without a name, if all have numbers.

    Examples
    --------
    >>> from .frames import frames_of
    >>> wide, long = {"time": [1], "blue": [0.5], "green": [2]}, {"ad": ["blue"], "euros": [0.5]}
    >>> [arms_in_columns(frame) for frame in frames_of([wide, long], "compare")]
    [('blue', 'green'), ()]
    """
    positions = [at for at, name in enumerate(frame.names) if name not in ("", "time")]
    columns, _ = frame.take(positions, [])
    for column in columns:
        numbers, missing = as_numbers(as_array(column))
        if np.isnan(numbers).all() and not missing.all():
            return ()
    return tuple(frame.names[at] for at in positions) if len(positions) > 1 else ()


def read_wide(frames: Sequence[Frame], arms: tuple[str, ...], timed: bool) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the numbers of arms, rewards and times, row by row; a cell without a value is no reward.

    Examples
    --------
    >>> from .frames import frames_of
    >>> read_wide(frames_of({"blue": [0.5, 3], "green": [2, None]}, "compare"), ("blue", "green"), False)[:2]
    (array([0, 1, 0]), array([0.5, 2. , 3. ]))
    """
    wanted: dict[str, Kind] = dict.fromkeys(arms, "optional")
    found = pick(frames, {**wanted, "time": "time"} if timed else wanted)
    table = np.stack([found.values[arm] for arm in arms], axis=1)
    rows, numbers = np.nonzero(~np.isnan(table))
    times = found.values["time"] if timed else np.arange(float(len(table)))
    return numbers, table[rows, numbers], times[rows]
