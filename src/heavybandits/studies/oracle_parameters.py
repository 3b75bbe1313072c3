"""Oracle parameters: what a policy is told of the instance it plays, ``{ instance = "largest-mean" }`` in a study."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._validate import unknown

NOISE_DRAWS = 200_000  # of each arm's noise, from which its spread is estimated
GAUSSIAN_SPREAD = 1.3489795003921634  # the distance between the quartiles of a standard Gaussian


def _draws(instance: Any) -> list[Any]:
    """Return draws of each arm's noise."""
    rng = np.random.default_rng(0)
    return [noise.sample(rng, NOISE_DRAWS) for noise in instance.begin().noises]


@functools.lru_cache(maxsize=64)
def _deviation(instance: Any) -> float:
    """Return the largest standard deviation of an arm's draws, which is finite even if the law's variance is not."""
    return max(float(np.std(drawn)) for drawn in _draws(instance))


@functools.lru_cache(maxsize=64)
def _noise_scale(instance: Any) -> float:
    """Return the largest scale of an arm's noise: that of a Gaussian with the same quartiles."""
    return max(float(np.subtract(*np.quantile(drawn, (0.75, 0.25)))) for drawn in _draws(instance)) / GAUSSIAN_SPREAD


def _theta_norm(instance: Any) -> float:
    if not hasattr(instance, "theta_norm"):
        raise ValueError(f"only linear instances have a theta-norm, got {instance!r}")
    return float(instance.theta_norm)


# The paper gives its policies the largest location in this way.
ORACLE_PARAMETERS: dict[str, Callable[[Any], Any]] = {
    "largest-mean": lambda instance: float(np.abs(instance.means).max()) or 1.0,  # in absolute value; 1 if all are 0
    "lowest": lambda instance: float(instance.means.min()),
    "highest": lambda instance: float(instance.means.max()),
    "deviation": _deviation,
    "noise-scale": _noise_scale,
    "noise": lambda instance: instance.noises[0],  # the first arm's, if they differ
    "theta-norm": _theta_norm,
}


def with_oracle_parameters(value: Any, instance: Any) -> Any:
    """Return the values of a policy's table with what the instance provides filled in.

    Examples
    --------
    >>> import heavybandits as hb
    >>> table = {"kind": "ucb", "c": {"instance": "highest", "times": 2}}
    >>> with_oracle_parameters(table, hb.Instance([0, 3], hb.Cauchy()))
    {'kind': 'ucb', 'c': 6.0}
    """
    if not isinstance(value, dict):
        return value
    if not {"instance"} <= set(value) <= {"instance", "times"}:
        return {key: with_oracle_parameters(part, instance) for key, part in value.items()}
    if not isinstance(value["instance"], str) or value["instance"] not in ORACLE_PARAMETERS:
        raise ValueError(unknown("property of an instance", value["instance"], ORACLE_PARAMETERS))
    provided = ORACLE_PARAMETERS[value["instance"]](instance)
    if "times" not in value:
        return provided
    if not isinstance(provided, float) or not isinstance(value["times"], int | float):
        raise ValueError(f"times must be a number, and so must {value['instance']}, got {value['times']!r}")
    return value["times"] * provided
