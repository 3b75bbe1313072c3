"""Checks of what an agent is given: a policy and rewards."""

import math
from reprlib import repr as brief
from typing import Any

import numpy as np


def policy_of(policy: Any) -> Any:
    """Return a policy, or refuse what is none."""
    methods = all(callable(getattr(policy, name, None)) for name in ("init", "select", "update"))
    if not (isinstance(policy, tuple) and methods):
        raise TypeError(f"Agent: policy must be a policy such as hb.make('sgd-ucb'), got {policy!r}")
    return policy


def reward_of(reward: Any) -> float:
    """Return a reward as a float, infinite ones included; refuse NaN, and what is no number."""
    if type(reward) is not float:
        lacks_one = not hasattr(reward, "__float__") or isinstance(reward, np.complexfloating)
        if lacks_one or getattr(reward, "ndim", 0) > 0:
            raise TypeError(f"Agent: reward must be a number, got {brief(reward)}")
        try:
            reward = float(reward)
        except OverflowError:  # a whole number beyond the floats
            reward = math.inf if reward > 0 else -math.inf
        except (TypeError, ValueError):
            raise TypeError(f"Agent: reward must be a number, got {brief(reward)}") from None
    if reward != reward:
        raise ValueError(f"Agent: reward must not be NaN (leave out what is missing), got {reward!r}")
    return reward  # type: ignore[no-any-return]
