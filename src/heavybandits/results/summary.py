"""The regrets of a simulation as a table: one row per policy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._format import number
from ..protocols import FloatArray

if TYPE_CHECKING:
    import pandas as pd


def summary_of(
    labels: tuple[str, ...], final: FloatArray, failed: Any, wall_time: FloatArray, limit: float
) -> pd.DataFrame:
    """Return the table that :meth:`.Result.summary` describes.

    Parameters
    ----------
    labels
        Names of the policies.
    final, failed, wall_time
        Regret at the horizon, whether the replication failed, and nanoseconds per pull: (policy, replication).
    limit
        The Lai-Robbins limit; NaN if it is not known.
    """
    import pandas as pd

    mean = final.mean(axis=1)
    std = final.std(axis=1, ddof=1) if final.shape[1] > 1 else np.full(len(final), math.nan)
    low, high = bootstrap_interval(final - final[mean.argmin()])
    columns = {
        "mean": mean,
        "se": std / math.sqrt(final.shape[1]),
        "std": std,
        "median": np.median(final, axis=1),
        "q10": np.quantile(final, 0.1, axis=1),
        "q90": np.quantile(final, 0.9, axis=1),
        "worst": final.max(axis=1),
        "failures": failed.mean(axis=1),
        "above best": mean - mean.min(),
        "above best low": low,
        "above best high": high,
        "ns per pull": np.median(wall_time, axis=1),
        "ratio to Lai-Robbins": mean / limit if limit > 0 else np.full(len(final), math.nan),
    }
    return pd.DataFrame(columns, index=pd.Index(labels, name="policy"))


def with_error(mean: float, error: float) -> str:
    """Format a mean with its standard error, if that is known.

    Examples
    --------
    >>> with_error(12.3456, 0.5), with_error(12.3456, math.nan)
    ('12.3 ± 0.500', '12.3')
    """
    return number(mean) if math.isnan(error) else f"{number(mean)} ± {number(error)}"


def bootstrap_interval(values: FloatArray, resamples: int = 1000) -> FloatArray:
    """Return the ends of 95% intervals for the means of the rows; all rows share the resamples.

    The seed is fixed, so that a stored result always gives the same table.
    """
    n = values.shape[1]
    if n < 2:
        return np.full((2, len(values)), math.nan)
    rng, means = np.random.default_rng(0), []
    block = max(1, 1_000_000 // n)  # resamples at once, so that memory stays small
    for first in range(0, resamples, block):
        size = min(block, resamples - first)
        drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)  # how often each was drawn
        means.append(times @ values.T / n)
    ends: FloatArray = np.quantile(np.concatenate(means), (0.025, 0.975), axis=0)
    return ends
