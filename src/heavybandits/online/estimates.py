"""What an agent knows about arms, rows and points: estimates and indices, as numbers, as a data frame and as text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..algorithms.parts.choice.estimates import index_of, value_of
from ..protocols import FloatArray

if TYPE_CHECKING:
    import pandas as pd

MOST_PRINTED_ROWS = 20


class FrozenAgent(NamedTuple):
    """A policy with a copy of its state: any thread may ask what it knows, however long that takes."""

    policy: Any
    state: Any
    seen: int

    @np.errstate(all="ignore")  # as silent as compiled code
    def values(self, arms: Iterable[Any]) -> list[float]:
        """Return the estimates of arms by number, of rows or of cells; NaN where there is none."""
        return [value_of(self.policy, self.state, arm) for arm in arms]

    @np.errstate(all="ignore")
    def indices(self, arms: Iterable[Any]) -> list[float]:
        """Return their indices, which may take far longer than the estimates; NaN where there is none."""
        return [index_of(self.policy, self.state, arm, self.seen) for arm in arms]

    def bounds(self, arms: Iterable[Any]) -> dict[str, FloatArray]:
        """Return columns of estimates, their indices, and bounds that lie equally far below the estimates.

        Examples
        --------
        >>> import heavybandits as hb
        >>> policy = hb.make("lin-ucb", beta=1.0)
        >>> known = FrozenAgent(policy, policy.init(2, None), seen=0)
        >>> {name: column.tolist() for name, column in known.bounds(np.eye(2)).items()}
        {'estimate': [0.0, 0.0], 'low': [-1.0, -1.0], 'high': [1.0, 1.0]}
        """
        arms = list(arms)
        value, index = np.array(self.values(arms), dtype=float), np.array(self.indices(arms), dtype=float)
        with np.errstate(over="ignore", invalid="ignore"):
            return {"estimate": value, "low": 2.0 * value - index, "high": index}


@dataclass(frozen=True, slots=True)
class ArmEstimate:
    """What is known about one arm; NaN where the policy has no estimate or no index."""

    arm: Any
    pulls: int
    pending: int
    estimate: float
    index: float


COLUMNS_OF_ARMS = tuple(field.name for field in fields(ArmEstimate))


def as_frame(arms: list[ArmEstimate]) -> pd.DataFrame:
    """Return the arms as a data frame, with each arm's share of all pulls."""
    import pandas as pd

    columns = {name: [getattr(arm, name) for arm in arms] for name in COLUMNS_OF_ARMS}
    labels = pd.Series(columns["arm"], dtype=None if _is_of_one_type(columns["arm"]) else object)
    frame = pd.DataFrame({**columns, "arm": labels})
    frame["share"] = frame["pulls"] / max(frame["pulls"].sum(), 1)
    return frame


def as_text(arms: list[ArmEstimate]) -> list[list[str]]:
    """Return the cells of a table of the arms, with its head; pending decisions are left out if there are none."""
    numbers = [name for name in COLUMNS_OF_ARMS[1:] if name != "pending" or any(arm.pending for arm in arms)]
    return [["arm", *numbers], *([str(arm.arm), *(cell(getattr(arm, name)) for name in numbers)] for arm in arms)]


def cell(number: float) -> str:
    """Return a number as a cell of a table.

    Examples
    --------
    >>> cell(3), cell(1.23456), cell(math.nan)
    ('3', '1.235', '-')
    """
    if isinstance(number, int):
        return str(number)
    return "-" if math.isnan(number) else f"{number:.4g}"


def _is_of_one_type(labels: list[Any]) -> bool:
    return len({type(label) for label in labels}) == 1 and isinstance(labels[0], str | int | float)
