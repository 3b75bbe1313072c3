"""What is known about the arms, as a data frame and as text."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 20  # at most: rows of a table that is printed


@dataclass(frozen=True, slots=True)
class Row:
    """What is known about one arm; NaN where the policy has no estimate or no index."""

    arm: Any
    pulls: int
    pending: int
    estimate: float
    index: float


HEAD = tuple(field.name for field in fields(Row))


def as_frame(rows: list[Row]) -> pd.DataFrame:
    """Return the arms as a data frame, with each arm's share of all pulls."""
    import pandas as pd

    columns = {name: [getattr(row, name) for row in rows] for name in HEAD}
    labels = pd.Series(columns["arm"], dtype=None if _is_of_one_type(columns["arm"]) else object)
    frame = pd.DataFrame({**columns, "arm": labels})
    frame["share"] = frame["pulls"] / max(frame["pulls"].sum(), 1)
    return frame


def as_text(rows: list[Row]) -> list[list[str]]:
    """Return the cells of a table of the arms, with its head; pending decisions are left out if there are none."""
    numbers = [name for name in HEAD[1:] if name != "pending" or any(row.pending for row in rows)]
    return [["arm", *numbers], *([str(row.arm), *(_text(getattr(row, name)) for name in numbers)] for row in rows)]


def _text(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return "-" if math.isnan(value) else f"{value:.4g}"


def _is_of_one_type(labels: list[Any]) -> bool:
    return len({type(label) for label in labels}) == 1 and isinstance(labels[0], str | int | float)
