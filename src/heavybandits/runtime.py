r"""How long a policy takes until its mean regret :math:`R_t / t` falls below a target, in pulls and in seconds.

The first fiftieth of the horizon does not count, where a lucky start may pass for success.  A replication that never
gets there has *failed*: it took infinitely long.
"""

from __future__ import annotations

import numpy as np

from .protocols import FloatArray
from .results import Result


def pulls_to_target(result: Result, target: float) -> FloatArray:
    """Pulls until the mean regret is below the target: (policy, replication), infinite if that does not happen.

    Regret is looked at where it was recorded, so record it at every round: ``simulate(..., checkpoints="all")``.

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
    rounds = result.regret["round"].to_numpy()
    counts = rounds > result.horizon / 50
    below = result.regret.to_numpy()[:, :, counts] < target * rounds[counts]
    pulls: FloatArray = np.where(below.any(axis=2), rounds[counts][below.argmax(axis=2)], np.inf)
    return pulls


def seconds_to_target(result: Result, target: float) -> FloatArray:
    """As :func:`pulls_to_target`, in seconds: pulls times what a pull cost in that replication, noise not included.

    Examples
    --------
    >>> import heavybandits as hb
    >>> instance = hb.Instance(means=[0, 1], noise=hb.Gaussian())
    >>> result = hb.simulate(instance, {"UCB": hb.UCB()}, horizon=1000, replications=3, checkpoints="all")
    >>> bool((seconds_to_target(result, 0.1) > 0).all())
    True
    """
    seconds: FloatArray = pulls_to_target(result, target) * result.wall_time.to_numpy() * 1e-9
    return seconds
