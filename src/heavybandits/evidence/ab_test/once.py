r"""Intervals for those who look once, at the planned end: narrower than those that hold at all times.

Rewards are clipped as everywhere, at limits that the first rewards decide.  With a column u from before the experiment,
rows are split in two folds, and of each clipped reward :math:`\theta\,(u - \bar u)` is taken off, where :math:`\theta`
is the slope in the other fold, with the arms taken together.  What is left is compared by Welch's interval, in which
each arm has one more reward at either limit.  These two keep the promise where few rewards differ from zero, as Agresti
and Caffo (2000) found for coins; with many rewards they hardly matter.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...protocols import FloatArray, IntArray

_SUMS = 6  # of 1, y, u, y^2, u^2 and y u


class OnceDifference(NamedTuple):
    """An arm's mean minus the control's, with its interval, counting rewards from one limit to the other."""

    arm: str
    difference: float
    low: float
    high: float
    limits: tuple[float, float]


class FoldSums:
    """Sums over clipped rewards and a clipped column, for each fold and arm; those of replicas add up.

    Examples
    --------
    >>> kept = FoldSums(2, (0.0, 10.0), (0.0, 5.0))
    >>> rng = np.random.default_rng(0)
    >>> u, arms = rng.exponential(1.0, 2000), rng.integers(2, size=2000)
    >>> kept.add(arms, u + 0.3 * arms + rng.exponential(1.0, 2000), u)
    >>> (found,) = kept.differences(("blue", "green"), 0, 0.05)
    >>> found.low < 0.3 < found.high, round(found.high - found.low, 2)
    (True, 0.19)
    """

    def __init__(self, n_arms: int, limits: tuple[float, float], before: tuple[float, float] = (0.0, 0.0)) -> None:
        self.limits, self.before = limits, before
        self.sums = np.zeros((2, n_arms, _SUMS))
        self._seen = np.zeros(n_arms, np.int64)

    def add(self, arms: IntArray, rewards: FloatArray, column: FloatArray | None = None) -> None:
        """Take in rows; the folds of each arm alternate."""
        y = np.clip(rewards, *self.limits) - self.limits[0]
        u = np.zeros(len(y)) if column is None else np.clip(column, *self.before) - self.before[0]
        n_arms = self.sums.shape[1]
        cells = np.array(arms, np.int64)
        for arm in range(n_arms):
            mine = np.flatnonzero(arms == arm)
            cells[mine] += (self._seen[arm] + np.arange(len(mine))) % 2 * n_arms
            self._seen[arm] += len(mine)
        for k, values in enumerate((np.ones(len(y)), y, u, y * y, u * u, y * u)):
            self.sums[:, :, k] += np.bincount(cells, values, 2 * n_arms).reshape(2, n_arms)

    def differences(self, arms: tuple[str, ...], control: int, alpha: float) -> list[OnceDifference]:
        """Return the differences to the control; each interval misses with a probability of about ``alpha``."""
        from scipy.special import stdtrit

        n, y, u, yy, uu, yu = np.moveaxis(self.sums, -1, 0)
        if (n < 2).any():
            nan, limits = math.nan, self.limits
            return [OnceDifference(arm, nan, nan, nan, limits) for k, arm in enumerate(arms) if k != control]
        var_y, var_u, cov = yy - y * y / n, uu - u * u / n, yu - y * u / n  # sums of squares, within fold and arm
        spread = var_u.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = np.where(spread > 0.0, cov.sum(axis=1) / spread, 0.0)[::-1, None]  # from the other fold
        centre = u.sum() / n.sum()
        size = n.sum(axis=0)
        means = (y - slope * (u - n * centre)).sum(axis=0) / size
        variances = (np.maximum(var_y - 2.0 * slope * cov + slope**2 * var_u, 0.0) * n / (n - 1.0)).sum(axis=0)
        wide, size = self.limits[1] - self.limits[0], size + 2.0  # one more reward at either limit
        middles = (means * (size - 2.0) + wide) / size
        variances += (size - 2.0) * (means - middles) ** 2 + middles**2 + (wide - middles) ** 2
        squares = variances / size**2  # of standard errors
        found = []
        for k, arm in enumerate(arms):
            if k != control:
                error = squares[k] + squares[control]
                df = error**2 / sum(squares[j] ** 2 / (size[j] - 1.0) for j in (k, control))
                half = float(stdtrit(df, 1.0 - alpha / 2.0) * math.sqrt(error))
                middle = float(middles[k] - middles[control])
                difference = float(means[k] - means[control])
                found.append(OnceDifference(arm, difference, middle - half, middle + half, self.limits))
        return found
