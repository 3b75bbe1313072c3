r"""Batches of rewards, and their smoothed median of means (Puchkin, Gorbunov, Kutuzov, Gasnikov 2024).

A batch of :math:`b = (2m + 1) n` values is divided into :math:`2m + 1` blocks; with independent standard normal
:math:`\eta_j`,

.. math::  \mathrm{SMoM}_{m,n}(z; \theta) = \mathrm{Med}_{j = 0, \dots, 2m}
           \bigl(\mathrm{Mean}(z_{jn+1}, \dots, z_{(j+1)n}) + \theta\,\eta_j\bigr).

Here the z are stochastic gradients :math:`x - r`.  Means and medians follow a shift and a change of sign, and
:math:`\eta` is symmetric, so the SMoM of the gradients is x minus that of the rewards, which is computed here.  Rewards
wait in a row per arm, so they may come late and in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...._validate import require_within
from ....numerics import saturate, small_median
from ....protocols import FloatArray, IntArray, compilable
from ..state.stream import Stream, init_stream, next_normal


class Waiting(NamedTuple):
    """Rewards collected towards one smoothed median of means, a row per arm."""

    rewards: FloatArray  # (arm, size)
    filled: IntArray  # per arm: how many are waiting
    stream: Stream | None  # generator of the smoothing noise, if there is any

    def check(self, fresh: Waiting, n_arms: int) -> None:
        """Refuse more rewards than there is room for."""
        require_within("filled", self.filled, 0, self.rewards.shape[1] - 1)


def init_waiting(n_arms: int, size: int, smooths: bool = False) -> Waiting:
    """Return a state without rewards, with room for ``size`` per arm, and with a generator if it ``smooths``."""
    return Waiting(
        rewards=np.zeros((n_arms, size)),
        filled=np.zeros(n_arms, np.int64),
        stream=init_stream() if smooths else None,
    )


@compilable
def collect(waiting: Waiting, arm: int, reward: float, size: int) -> bool:
    """Add a reward to the arm's row; return whether it now has ``size``, to be used before the next is added."""
    filled = waiting.filled[arm] + 1
    waiting.rewards[arm, filled - 1] = saturate(reward)
    waiting.filled[arm] = filled if filled < size else 0
    return bool(filled >= size)


@compilable
def smoothed(waiting: Waiting, mean: float, theta: float) -> float:
    """Return the mean of a block, plus its noise."""
    return saturate(saturate(mean) + smoothing(waiting.stream, theta))


@compilable
def smoothing(stream: Stream | None, theta: float) -> float:
    """Return smoothing noise of this scale, or 0 without a generator."""
    return 0.0 if stream is None else theta * next_normal(stream)


@compilable
def smoothed_median(waiting: Waiting, arm: int, m: int, n: int, theta: float) -> float:
    """Return the smoothed median of means of the arm's row.

    Examples
    --------
    >>> waiting = init_waiting(n_arms=1, size=6)
    >>> [collect(waiting, 0, reward, 6) for reward in (1, 3, 10, -2, 0, 4)][-1]
    True
    >>> smoothed_median(waiting, 0, m=1, n=2, theta=0.0)
    2.0
    """
    row, share = waiting.rewards[arm], 1.0 / n
    for j in range(2 * m + 1):
        mean = 0.0
        for i in range(j * n, (j + 1) * n):
            mean += share * row[i]
        row[j] = smoothed(waiting, mean, theta)  # the block's rewards have been read
    return small_median(row, 2 * m + 1)
