r"""Rows that are played several times in a row, for policies that take medians of their rewards.

The literature holds the features still meanwhile, which no world does whose features change from round to round.  So
while the rewards of a *group* come in, the row is played that is nearest to the mean of those already played in it:
with features that stay the same this is the same row again, wherever it is listed.  When the group is full, that mean
stands for the features of all its rewards.  The mean of rows that change tends to the middle of what is offered, and
with it what is played: where theta points there, as among positive rows, that is good luck and not learning.

Rewards join the group under way in the order in which they come, asked for or not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import require_within
from ...protocols import FloatArray, IntArray, compilable
from .design import dot, learn
from .linear import Fit, lift, tame


class Group(NamedTuple):
    """Rewards of rows that count as one."""

    mean: FloatArray  # of the features; exact if all are the same
    rewards: FloatArray
    filled: IntArray  # how many rewards have come

    def check(self, fresh: Group, n_arms: int) -> None:
        """Refuse more rewards than there is room for."""
        require_within("filled", self.filled, 0, len(self.rewards) - 1)

    def ask(self, x: FloatArray) -> None:
        """Leave the choice as it is: whatever is pending belongs to the group under way."""

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
    return Group(np.zeros(n_features), np.zeros(repeats), np.zeros(1, np.int64))


@compilable
def repeated_row(group: Group, features: FloatArray) -> int:
    """Return the row to play for the group under way, of several the first; -1 if none is."""
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
    """Add a reward to the group and return whether it is full now; then the next reward begins another."""
    n = group.filled[0]
    for i in range(len(group.mean)):
        group.mean[i] = x[i] if n == 0 else group.mean[i] + (x[i] - group.mean[i]) / (n + 1.0)
    group.rewards[n] = tame(reward)
    group.filled[0] = (n + 1) % len(group.rewards)
    return bool(n + 1 == len(group.rewards))


@compilable
def learn_each(fit: Fit, thetas: FloatArray, group: Group) -> None:
    """Take a full group in: each estimate gets one of its rewards, by least squares on the design that they share.

    Examples
    --------
    >>> from heavybandits.algorithms.kit.linear import init_fit
    >>> group, fit, thetas = init_group(1, repeats=2), init_fit(1, False, ridge=1.0), np.zeros((2, 1))
    >>> [collect(group, np.array([1.0]), y) for y in (4.0, 6.0)]
    [False, True]
    >>> learn_each(fit, thetas, group)
    >>> thetas[:, 0]
    array([2., 3.])
    """
    row, product = fit.row, fit.design.product
    lift(row, group.mean)
    grown = 1.0 + learn(fit.design, row, 1.0)
    for j in range(len(thetas)):
        length = (group.rewards[j] - dot(thetas[j], row)) / grown
        for i in range(len(row)):
            thetas[j, i] += length * product[i]
    fit.seen[0] += 1
