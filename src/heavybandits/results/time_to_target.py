r"""How long a policy takes until its mean regret :math:`R_t / t` falls below a target, in pulls and in seconds.

The first fiftieth of the horizon does not count: there a lucky start may pass for success.  A replication that never
reaches the target has *failed*: it took infinitely long.
"""

from __future__ import annotations

import numpy as np

from ..protocols import FloatArray
from .result import Result


def pulls_to_target(result: Result, target: float) -> FloatArray:
    """Return the pulls until the mean regret is below the target: (policy, replication), infinite if it never is.

    Only checkpoints are examined, so record regret at every round: ``simulate(..., checkpoints="all")``.

    Examples
    --------
    >>> import heavybandits as hb
    >>> instance = hb.Instance(means=[0, 1], noise=hb.Gaussian())
    >>> result = hb.simulate(instance, {"UCB": hb.UCB()}, horizon=1000, replications=3, checkpoints="all")
    >>> pulls = pulls_to_target(result, 0.1)
    >>> pulls.shape, bool((pulls > 20).all())
    ((1, 3), True)
    >>> pulls_to_target(result, 0.0)
    array([[inf, inf, inf]])
    """
    rounds = result.rounds
    first = np.searchsorted(rounds, result.horizon / 50, side="right")
    rounds, regret = rounds[first:], result.arrays.regret[:, :, first:]
    below = regret < target * rounds
    pulls: FloatArray = np.where(below.any(axis=2), rounds[below.argmax(axis=2)], np.inf)
    return pulls


def seconds_to_target(result: Result, target: float) -> FloatArray:
    """Return :func:`pulls_to_target` in seconds: pulls times the cost of a pull, noise not included.

    That cost is the median over the replications, which is hardly affected by what else the machine was doing.

    Examples
    --------
    >>> import heavybandits as hb
    >>> instance = hb.Instance(means=[0, 1], noise=hb.Gaussian())
    >>> result = hb.simulate(instance, {"UCB": hb.UCB()}, horizon=1000, replications=3, checkpoints="all")
    >>> bool((seconds_to_target(result, 0.1) > 0).all())
    True
    """
    cost = np.median(result.arrays.wall_time, axis=1, keepdims=True) * 1e-9
    seconds: FloatArray = pulls_to_target(result, target) * cost
    return seconds


def late_quantile(times: FloatArray, level: float = 0.9) -> FloatArray:
    """Return a quantile of the times to a target over the replications that reached it; infinite if none did.

    The quantile is interpolated linearly between neighbouring times.

    Examples
    --------
    >>> late_quantile(np.array([[1.0, np.inf, 3.0, 2.0], [np.inf] * 4]))
    array([2.8, inf])
    """
    reached = np.isfinite(times).sum(axis=-1, keepdims=True)
    ordered = np.sort(np.where(np.isfinite(times), times, np.finfo(float).max), axis=-1)
    rank = level * np.maximum(reached - 1, 0)
    below = np.floor(rank).astype(int)
    low, high = (np.take_along_axis(ordered, index, axis=-1) for index in (below, np.ceil(rank).astype(int)))
    quantile: FloatArray = np.where(reached > 0, low + (rank - below) * (high - low), np.inf)[..., 0]
    return quantile
