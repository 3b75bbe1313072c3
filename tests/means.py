"""Robust means, and rewards that include ties, zeros, 1e17, 1e300 and infinities."""

import math
from typing import Any

import numpy as np

from heavybandits.algorithms.estimators.catoni import Catoni
from heavybandits.algorithms.estimators.catoni_infinite_variance import CatoniInfiniteVariance
from heavybandits.algorithms.estimators.median_of_means import MedianOfMeans
from heavybandits.algorithms.estimators.truncated_mean import TruncatedMean
from heavybandits.algorithms.policies._p_robust import (
    init_p_robust,
    observe_p_robust,
)
from heavybandits.protocols import FloatArray

WILD = np.array([0.0, 0.0, 1.0, 1.0, -1.0, 1e17, -1e17, 1e300, -1e300, math.inf, -math.inf])
TWELVE = [1.0, 2.0, 3.0, 4.0, 100.0, 6.0, 7.0, -50.0, 9.0, 10.0, 11.0, 12.0]
TWENTY = TWELVE + 8 * [5.0]
MEANS = [MedianOfMeans(0.5, 2.0), TruncatedMean(0.5, 2.0), Catoni(2.0), CatoniInfiniteVariance(0.5, 2.0)]


def stream(seed: int, n: int, wild: float = 0.1) -> FloatArray:
    """Return rewards, some of them wild."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < wild, rng.choice(WILD, n), rng.standard_t(2, n))


def fed(mean: Any, rewards: Any) -> Any:
    """Return the state after these rewards of the only arm."""
    state = mean.init(1, len(rewards))
    for reward in rewards:
        mean.observe(state, 0, reward)
    return state


def estimates(rewards: Any, p: float, c: float) -> list[float]:
    """Return the estimate after each reward."""
    state = init_p_robust(1, len(rewards))
    return [float(observe_p_robust(state, 0, float(reward), p, c)) for reward in rewards]
