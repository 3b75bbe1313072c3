"""Estimates of what a target earns per decision, from weights (target's chance / p) and rewards."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..protocols import BoolArray, FloatArray, IntArray

BLOCKS = 8.0  # median of means: blocks per nat of confidence


def ips(weights: FloatArray, rewards: FloatArray) -> float:
    """Return the mean of weighted rewards: unbiased, and wild where weights are large.

    Examples
    --------
    >>> ips(np.array([2.0, 0.0]), np.array([3.0, 9.0]))
    3.0
    """
    return float(np.mean(weights * rewards))


def snips(weights: FloatArray, rewards: FloatArray) -> float:
    """Return the mean of weighted rewards over the mean of the weights: shifting all rewards shifts it.

    Examples
    --------
    >>> snips(np.array([2.0, 0.0, 1.0]), np.array([3.0, 9.0, 6.0]))
    4.0
    """
    total = float(weights.sum())
    return float((weights * rewards).sum()) / total if total > 0.0 else math.nan


def clipped_weights(weights: FloatArray, rewards: FloatArray) -> float:
    r"""Return the IPS estimate with weights of at most the square root of n: biased downwards for rewards above 0.

    Examples
    --------
    >>> clipped_weights(np.array([9.0, 0.0, 0.0, 0.0]), np.ones(4))
    0.5
    """
    return ips(np.minimum(weights, math.sqrt(len(weights))), rewards)


def shrunk_weights(weights: FloatArray, rewards: FloatArray) -> float:
    r"""Return the IPS estimate with weights :math:`l w/(w^2 + l)`, l = n (Su, Dimakopoulou et al. 2020).

    Examples
    --------
    >>> shrunk_weights(np.array([2.0, 0.0, 0.0, 0.0]), np.ones(4))
    0.25
    """
    level = float(len(weights))
    return ips(level * weights / (weights**2 + level), rewards)


def log_smoothed(weights: FloatArray, rewards: FloatArray) -> float:
    r"""Return :math:`\frac1{nl}\sum \ln(1 + l y_i)`, l = 1/(s sqrt n) with s = sqrt(mean y^2): never above IPS.

    For rewards of at least 0 (Sakhi, Aouali, Alquier and Chopin 2024).

    Examples
    --------
    >>> round(log_smoothed(np.ones(4), np.ones(4)), 3)
    0.811
    """
    y = weights * rewards
    if (y < 0.0).any():
        raise ValueError("evaluate: method 'log-smoothing' needs rewards of at least 0; state the least with cap")
    size = math.sqrt(float(np.mean(y**2)))
    if size == 0.0:
        return 0.0
    level = 1.0 / (size * math.sqrt(len(y)))
    return float(np.mean(np.log1p(level * y))) / level


def median_of_means(weights: FloatArray, rewards: FloatArray, delta: float = 0.05) -> float:
    """Return the median of the IPS estimates of ceil(8 ln(1/delta)) random blocks.

    Examples
    --------
    >>> median_of_means(np.ones(100), np.r_[np.ones(99), 1e9])
    1.0
    """
    order = np.random.default_rng(0).permutation(len(weights))
    blocks = np.array_split((weights * rewards)[order], min(math.ceil(BLOCKS * math.log(1.0 / delta)), len(weights)))
    return float(np.median([block.mean() for block in blocks]))


def doubly_robust(weights: FloatArray, rewards: FloatArray, expected: FloatArray, of_target: FloatArray) -> float:
    """Return the doubly robust estimate.

    ``expected`` is a prediction of the reward of the logged arm, and ``of_target`` of what the target would earn.

    Examples
    --------
    >>> doubly_robust(np.array([2.0, 0.0]), np.array([3.0, 9.0]), np.array([2.5, 8.0]), np.array([2.5, 2.5]))
    3.0
    """
    return float(np.mean(of_target + weights * (rewards - expected)))


def past_mean(mine: BoolArray, rewards: FloatArray) -> FloatArray:
    """Return the mean of all earlier rewards of an arm, before each decision; 0 before the first one.

    Examples
    --------
    >>> past_mean(np.array([True, False, True]), np.array([2.0, 5.0, 4.0]))
    array([0., 2., 2.])
    """
    sums, counts = np.cumsum(np.where(mine, rewards, 0.0)), np.cumsum(mine)
    return np.concatenate([[0.0], (sums / np.maximum(counts, 1))[:-1]])


def doubly_robust_by_arms(
    weights: FloatArray, rewards: FloatArray, arms: IntArray, plan: tuple[IntArray, IntArray, FloatArray]
) -> float:
    """Return the doubly robust estimate whose predictions are the means of the arms' earlier rewards.

    ``plan`` has rows, arms and probabilities of what the target chooses.

    Examples
    --------
    >>> plan = np.arange(3), np.zeros(3, int), np.ones(3)
    >>> doubly_robust_by_arms(np.array([2.0, 0.0, 2.0]), np.array([2.0, 5.0, 4.0]), np.array([0, 1, 0]), plan)
    4.0
    """
    expected, of_target = np.zeros(len(rewards)), np.zeros(len(rewards))
    rows, chosen, chances = plan
    for arm in np.unique(np.concatenate([arms, chosen])).tolist():
        past, mine, his = past_mean(arms == arm, rewards), arms == arm, chosen == arm
        expected[mine] = past[mine]
        of_target += np.bincount(rows[his], chances[his] * past[rows[his]], len(rewards))
    return doubly_robust(weights, rewards, expected, of_target)


METHODS: dict[str, Callable[[FloatArray, FloatArray], float]] = {
    "snips": snips,
    "ips": ips,
    "clipped": clipped_weights,
    "shrunk": shrunk_weights,
    "log-smoothing": log_smoothed,
    "median-of-means": median_of_means,
}
