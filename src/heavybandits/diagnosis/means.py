"""What arms paid on average, and how much of that comes from rewards that are not zero."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..protocols import FloatArray
from .shape import level


class Level(NamedTuple):
    """What an arm paid."""

    mean: float
    zeros: float  # share of rewards that are zero
    others: float  # the mean of those that are not; 0 without any


def paid_by(rewards: FloatArray) -> Level:
    """Return what an arm paid.

    Examples
    --------
    >>> paid_by(np.array([0.0, 0.0, 0.0, 4.0, 8.0]))
    Level(mean=2.4, zeros=0.6, others=6.0)
    """
    others = rewards[rewards != 0]
    return Level(level(rewards, "mean"), float(np.mean(rewards == 0)), level(others, "mean") if len(others) else 0.0)
