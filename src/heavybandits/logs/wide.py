"""Wide logs: a column for each arm, and in each row what the arms paid."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..protocols import FloatArray, IntArray
from .columns import Kind, as_array, as_numbers, pick
from .frames import Frame

MOST_CODES, FEWER = 20, 3  # numbers in a column that may be labels, and how many times as many its rewards must have
TELLING_NAMES = (  # in the names of columns of arms, and of rewards
    {"ad", "arm", "bucket", "cohort", "group", "item", "treatment", "variant", "variation", "version"},
    {"amount", "click", "clicks", "conversion", "converted", "metric", "outcome", "revenue", "value", "y"},
)


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
    found = []
    for column in columns:
        numbers, missing = as_numbers(as_array(column))
        if np.isnan(numbers).all() and not missing.all():
            return ()
        found.append(numbers)
    names = tuple(frame.names[at] for at in positions)
    if len(names) == 2:
        _refuse_codes(frame.source, names, found)
    return names if len(names) > 1 else ()


def _refuse_codes(source: str, names: tuple[str, ...], columns: list[FloatArray]) -> None:
    """Refuse two columns that may be numbers of arms and their rewards, instead of the rewards of two arms.

    They may if one has few whole numbers in all rows, and the other one other numbers or many more, or names say so.
    """
    values = [np.unique(numbers[~np.isnan(numbers)]) for numbers in columns]
    whole = [bool((found == np.round(found)).all()) for found in values]
    for arm, reward in ((0, 1), (1, 0)):
        is_full, repeated = not np.isnan(columns[arm]).any(), min(MOST_CODES, len(columns[arm]) // 2)
        if not (whole[arm] and is_full and 2 <= len(values[arm]) <= repeated):
            continue
        differ = not whole[reward] or len(values[reward]) > FEWER * len(values[arm])
        parts = [set(re.split(r"\W|_", names[at].lower())) for at in (arm, reward)]
        if differ or TELLING_NAMES[0] & parts[0] or TELLING_NAMES[1] & parts[1]:
            raise ValueError(
                f"{source}: {names[arm]} may hold the numbers of arms and {names[reward]} their rewards, or each "
                f"column may be an arm; in the first case say arm_column={names[arm]!r} and "
                f"reward_column={names[reward]!r} (--arm-column and --reward-column), in the second give a table with "
                "columns arm and reward"
            )


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
