"""Checks of the arguments of agents: policies and rewards."""

import math
from reprlib import repr as brief
from typing import Any

import numpy as np

from ..protocols import kind_of, require_kind

EXAMPLES = {"arms": "auto", "linear": "linear-auto", "lipschitz": "lipschitz-auto"}
AGENTS = {"arms": "Agent", "linear": "LinearAgent", "lipschitz": "LipschitzAgent"}


def policy_of(owner: str, kind: str, policy: Any) -> Any:
    """Return a policy of this kind; refuse anything else."""
    methods = all(callable(getattr(policy, name, None)) for name in ("init", "select", "update"))
    if not (isinstance(policy, tuple) and methods):
        raise TypeError(f"{owner}: policy must be a policy such as hb.make({EXAMPLES[kind]!r}), got {policy!r}")
    try:
        require_kind(f"{owner}: policy", kind, policy)
    except TypeError as error:
        raise TypeError(f"{error}; use hb.{AGENTS[kind_of(policy)]} for it") from None
    return policy


def reward_of(reward: Any, owner: str = "Agent") -> float:
    """Return a reward, which may be infinite, as a float; refuse NaN and anything that is not a number."""
    if type(reward) is not float:
        lacks_one = not hasattr(reward, "__float__") or isinstance(reward, np.complexfloating)
        if lacks_one or getattr(reward, "ndim", 0) > 0:
            raise TypeError(f"{owner}: reward must be a number, got {brief(reward)}")
        try:
            reward = float(reward)
        except OverflowError:  # a whole number too large for a float
            reward = math.inf if reward > 0 else -math.inf
        except (TypeError, ValueError):
            raise TypeError(f"{owner}: reward must be a number, got {brief(reward)}") from None
    if reward != reward:
        raise ValueError(f"{owner}: reward must not be NaN (leave out missing rewards), got {reward!r}")
    return reward  # type: ignore[no-any-return]
