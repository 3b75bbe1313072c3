"""What the checks of all kinds share: rewards to play with, and how to say what is wrong."""

from __future__ import annotations

import math
import random
from numbers import Number
from typing import Any

import numpy as np

from ..algorithms.kit.state import arrays
from ..engine.compile.randomness import uses_rng
from ..protocols import FloatArray, IntArray

WILD = (math.inf, -math.inf, 1e308, -1e308, 1e17, 0.0, 0.0, -1.0, 1.0, 1e-300)


def some_rewards(n: int) -> FloatArray:
    """Return rewards: zeros, so that all arms tie, then heavy tails, some of them wild."""
    rng = np.random.default_rng(7)
    rewards = rng.standard_cauchy(n)
    wild = rng.random(n) < 0.1
    rewards[wild] = rng.choice(WILD, int(wild.sum()))
    rewards[: n // 10] = 0.0
    return rewards


def rng_for(policy: Any) -> np.random.Generator | None:
    return np.random.default_rng(3) if uses_rng(policy) else None


def global_streams() -> tuple[object, ...]:
    state: Any = np.random.get_state()  # noqa: NPY002
    return random.getstate(), state[1].tobytes(), *state[2:]


def is_plain(value: object) -> bool:
    """Return whether the value cannot change."""
    return all(map(is_plain, value)) if isinstance(value, tuple) else value is None or isinstance(value, Number | str)


def same(one: FloatArray | IntArray, two: FloatArray | IntArray) -> bool:
    return bool(np.array_equal(one, two, equal_nan=True))


def require(holds: bool, message: str) -> None:
    """Raise an error with this message unless something holds."""
    if not holds:
        raise AssertionError(message)


def check_arrays(policy: Any, name: str, first: Any, second: Any) -> None:
    """Check that two fresh states are alike, of arrays of their own, and what ``init`` does without a horizon."""
    for (path, array), (_, other) in zip(arrays(first), arrays(second), strict=True):
        require(
            isinstance(array, np.ndarray), f"{name}: {path} must be an array (a number that changes: of one element)"
        )
        require(array.dtype.kind in "bif", f"{name}: {path} must hold numbers or truth values, not {array.dtype}")
        require(not np.shares_memory(array, other), f"{name}.init must make a fresh {path} each time")
        require(same(array, other), f"{name}.init must make the same {path} each time")
    try:
        policy.init(4, None)
    except ValueError as error:
        require(
            "horizon" in str(error), f"{name}.init without a horizon must work, or raise a ValueError that names it"
        )


def require_same_states(name: str, interpreted: Any, machine: Any) -> None:
    """Check that compiled code ends in the same state as interpreted code."""
    for (path, one), (_, two) in zip(arrays(interpreted), arrays(machine), strict=True):
        require(same(one, two), f"{name}: {path} must come out the same compiled as interpreted, to the last bit")
