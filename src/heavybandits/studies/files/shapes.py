"""Laws for the study of arms that differ in shape: latencies, and noise that depends on the round before."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtri

from heavybandits.protocols import FloatArray
from heavybandits.world.noises import Empirical

N_QUANTILES = 2000


class Latencies(Empirical):
    """Minus log-normal latencies, as 2,000 quantiles.

    Parameters
    ----------
    median
        The median latency.
    sigma
        The standard deviation of its logarithm.
    """

    def __init__(self, median: float, sigma: float) -> None:
        super().__init__(-median * np.exp(sigma * ndtri((np.arange(N_QUANTILES) + 0.5) / N_QUANTILES)))


@dataclass(frozen=True)
class AutoRegressive:
    """Normal noise of variance 1, each draw correlated with the one before; a new block of rounds starts afresh.

    Parameters
    ----------
    correlation
        Of successive draws.
    """

    correlation: float

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return successive draws."""
        steps = math.sqrt(1.0 - self.correlation**2) * rng.standard_normal(size)
        steps[:1] /= math.sqrt(1.0 - self.correlation**2)
        return np.asarray(lfilter([1.0], [1.0, -self.correlation], steps))
