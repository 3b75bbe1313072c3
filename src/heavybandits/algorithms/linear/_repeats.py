r"""Rows that are played several times, for policies that take medians of their rewards.

The literature assumes that features stay the same between repeats, but they may change from round to round.  So while a
*group* of rewards is being collected, the row played is the one nearest to the mean of those already played for it.  If
features stay the same, this is the same row again, wherever it is listed.  When the group is full, that mean stands for
the features of all its rewards.  If rows change, their mean tends to the middle of what is offered, and so do the rows
played.  Where theta points there, as among positive rows, the result is good luck, not learning.

Rewards join the current group in the order in which they arrive, whether or not their rows were selected.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import require_within
from ...protocols import FloatArray, IntArray, compilable
from ._design import add_row, dot
from ._rows import Fit, lift, tame


class Group(NamedTuple):
    """Rewards of rows that count as one row."""

    mean: FloatArray  # mean of the features; exact if they are all the same
    rewards: FloatArray
    filled: IntArray  # number of rewards so far

    def check(self, fresh: Group, n_arms: int) -> None:
        """Refuse more rewards than there is room for."""
        require_within("filled", self.filled, 0, len(self.rewards) - 1)

    def ask(self, x: FloatArray) -> None:
        """Leave the choice as it is: pending rewards belong to the current group."""

    def settle(self, x: FloatArray) -> None:
        """Leave the choice as it is."""


def init_group(n_features: int, repeats: int) -> Group:
    """Return an empty group.

    Examples
    --------
    >>> group = init_group(n_features=2, repeats=3)
    >>> [collect(group, np.array([1.0, 0.0]), y) for y in (5.0, 4.0, 9.0)], repeated_row(group, np.eye(2))
    ([False, False, True], -1)
    """
    return Group(mean=np.zeros(n_features), rewards=np.zeros(repeats), filled=np.zeros(1, np.int64))


@compilable
def repeated_row(group: Group, features: FloatArray) -> int:
    """Return the row to play for the current group, the first if several tie; -1 if the group is empty."""
    if group.filled[0] == 0:
        return -1
    best, least = 0, math.inf
    for a in range(len(features)):
        distance = 0.0
        for i in range(len(group.mean)):
            difference = features[a, i] - group.mean[i]
            distance += difference * difference
        if distance < least:
            best, least = a, distance
    return best


@compilable
def collect(group: Group, x: FloatArray, reward: float) -> bool:
    """Add a reward to the group and return whether it is now full; if so, the next reward begins another."""
    n = group.filled[0]
    for i in range(len(group.mean)):
        group.mean[i] = x[i] if n == 0 else group.mean[i] + (x[i] - group.mean[i]) / (n + 1.0)
    group.rewards[n] = tame(reward)
    group.filled[0] = (n + 1) % len(group.rewards)
    return bool(n + 1 == len(group.rewards))


@compilable
def learn_each(fit: Fit, thetas: FloatArray, group: Group) -> None:
    """Update each estimate with one reward of a full group, by least squares on the design that they share.

    Examples
    --------
    >>> from heavybandits.algorithms.linear._rows import init_fit
    >>> group, fit, thetas = init_group(1, repeats=2), init_fit(1, False, ridge=1.0), np.zeros((2, 1))
    >>> [collect(group, np.array([1.0]), y) for y in (4.0, 6.0)]
    [False, True]
    >>> learn_each(fit, thetas, group)
    >>> thetas[:, 0]
    array([2., 3.])
    """
    row, product = fit.row, fit.design.product
    lift(row, group.mean)
    grown = 1.0 + add_row(fit.design, row, 1.0)
    for j in range(len(thetas)):
        length = (group.rewards[j] - dot(thetas[j], row)) / grown
        for i in range(len(row)):
            thetas[j, i] += length * product[i]
    fit.seen[0] += 1
