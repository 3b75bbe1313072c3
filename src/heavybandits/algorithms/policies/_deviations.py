"""Means of the arms, and how far rewards deviate from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._validate import require_within
from ...numerics import LARGEST_FLOAT, running_mean, saturate
from ...protocols import BoolArray, FloatArray, IntArray, compilable
from ..parts.choice.late import Late, init_late


class Deviations(NamedTuple):
    """Means, and sums of squared deviations from them."""

    pulls: IntArray
    late: Late
    mean: FloatArray
    squares: FloatArray
    open: BoolArray
    propensity: FloatArray | None = None  # per arm: its probability in the last draw, if an agent asks for it

    def check(self, fresh: Deviations, n_arms: int) -> None:
        """Refuse negative squares."""
        require_within("squares", self.squares, 0.0, LARGEST_FLOAT)


def init_deviations(n_arms: int) -> Deviations:
    """Return a state without rewards."""
    return Deviations(
        pulls=np.zeros(n_arms, np.int64),
        late=init_late(n_arms),
        mean=np.zeros(n_arms),
        squares=np.zeros(n_arms),
        open=np.ones(n_arms, np.bool_),
    )


@compilable
def take_in(state: Deviations, arm: int, reward: float) -> None:
    """Update the mean and the squared deviations of an arm with a reward.

    Examples
    --------
    >>> state = init_deviations(n_arms=1)
    >>> for reward in (1.0, 2.0, 6.0):
    ...     take_in(state, 0, reward)
    >>> state.mean, state.squares
    (array([3.]), array([14.]))
    """
    state.pulls[arm] += 1
    before, x = state.mean[arm], saturate(reward)
    state.mean[arm] = running_mean(before, state.pulls[arm], x)
    growth = saturate(x - before) * saturate(x - state.mean[arm])
    state.squares[arm] = saturate(state.squares[arm] + saturate(growth))
