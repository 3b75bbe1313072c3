"""The level set of Cauchy's loss, found the slow way."""

import numpy as np

from heavybandits.protocols import FloatArray


def slow_set(rewards: FloatArray, scale: float, level: float) -> tuple[float, float]:
    """Return the minimiser and the upper end of the level set, on a fine grid."""
    grid = np.linspace(rewards.min() - 5 * scale, rewards.max() + 60 * scale, 100_001)
    total = np.zeros_like(grid)
    for reward in rewards:
        total += np.log1p(((reward - grid) / scale) ** 2)
    return float(grid[total.argmin()]), float(grid[total <= total.min() + level].max())
