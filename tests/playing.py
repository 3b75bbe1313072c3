"""Rewards that are hard in different ways, and policies that play on them."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from heavybandits.algorithms.parts.state.tree import with_room
from heavybandits.protocols import FloatArray, IntArray

WILD = [0.0, 0.0, 1.0, 1e300, -1e300, math.inf, -math.inf]
seeds = st.integers(0, 2**32 - 1)


def play(policy: Any, table: FloatArray, seed: int = 0) -> IntArray:
    """Return the arms that the interpreted policy chooses; an arm's k-th pull pays the k-th number of its column."""
    horizon, n_arms = table.shape
    state, rng = policy.init(n_arms, horizon), np.random.default_rng(seed)
    arms, pulls = np.zeros(horizon, np.int64), np.zeros(n_arms, np.int64)
    for t in range(horizon):
        arm = arms[t] = policy.select(state, t, rng)
        policy.update(state, arm, table[pulls[arm], arm])
        pulls[arm] += 1
    return arms


def fed(policy: Any, columns: list[list[float]], horizon: int | None = None) -> Any:
    """Return the state after these rewards of each arm."""
    state = policy.init(len(columns), horizon)
    for arm, rewards in enumerate(columns):
        for reward in rewards:
            state = with_room(state)
            policy.update(state, arm, reward)
    return state


def rewards_table(kind: str, seed: int, horizon: int, n_arms: int) -> FloatArray:
    """Return rewards that are hard in different ways; means rise with the arm, except where ties matter."""
    rng = np.random.default_rng(seed)
    shape = (horizon, n_arms)
    if kind == "normal":
        return np.linspace(0.0, 1.0, n_arms) + 0.3 * rng.standard_normal(shape)
    if kind == "coins":
        return (rng.random(shape) < np.linspace(0.3, 0.7, n_arms)).astype(float)
    if kind == "constant":
        return np.ones(shape)
    table = rng.standard_cauchy(shape)
    if kind == "wild":
        table = np.where(rng.random(shape) < 0.3, rng.choice(WILD, shape), table)
    return table


KINDS = ["normal", "coins", "constant", "cauchy", "wild"]


class Means(NamedTuple):
    """Pulls and means."""

    pulls: IntArray
    mean: FloatArray


def best_arm(indices: list[float], pulls: Sequence[int]) -> int:
    """Return the arm with the highest index; ties go to the fewest pulls, then to the lowest number."""
    highest = max(indices)
    return min((pulls[arm], arm) for arm, index in enumerate(indices) if index == highest)[1]
