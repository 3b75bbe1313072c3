"""Rewards for the randomised policies, their play, and their probabilities by a slow solver."""

import copy
import math
from typing import Any

import numpy as np
from scipy import optimize

from heavybandits.protocols import FloatArray

WILD = [0.0, 0.0, 1.0, -1.0, 1e300, -1e300, math.inf, -math.inf]


def rewards_table(kind: str, seed: int, horizon: int, n_arms: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    table = np.linspace(0.0, 1.0, n_arms) + rng.standard_t(1.5, (horizon, n_arms))
    if kind == "coins":
        return (rng.random(table.shape) < np.linspace(0.3, 0.7, n_arms)).astype(float)
    if kind == "constant":
        return np.ones(table.shape)
    if kind == "wild":
        return np.where(rng.random(table.shape) < 0.2, rng.choice(WILD, table.shape), table)
    return table


def play(policy: Any, table: FloatArray, seed: int = 0) -> tuple[list[int], Any]:
    """Return the arms that the interpreted policy draws, and its state; round t pays row t."""
    horizon, n_arms = table.shape
    state, rng, arms = policy.init(n_arms, horizon), np.random.default_rng(seed), []
    for t in range(horizon):
        arms.append(int(policy.select(state, t, rng)))
        policy.update(state, arms[-1], float(table[t, arms[-1]]))
    return arms, state


def choose(policy: Any, state: Any, t: int) -> FloatArray:
    """Return the probabilities of round t + 1; the draw is forgotten, so that any arm may get a reward."""
    policy.select(state, t, np.random.default_rng(0))
    state.draws.awaited[:] = 0.0
    return np.array(state.draws.chance)


def solved(loss: FloatArray, rate: float, q: float) -> FloatArray:
    """Return the same by a bracketing solver."""
    y = rate * (loss - loss.min())
    if len(y) == 1:
        return np.ones(1)

    def excess(nu: float) -> float:
        return math.fsum((y + nu) ** -q) - 1.0

    return np.asarray((y + optimize.brentq(excess, 1.0, 2.0 * len(y) ** (1 / q), xtol=1e-15, rtol=1e-15)) ** -q)


def takes_in(policy: Any, state: Any, arm: int, loss: float) -> bool:
    """Return whether a loss would count, for a policy with offset 0."""
    trial = copy.deepcopy(state)
    policy.update(trial, arm, -loss)
    return bool(trial.draws.loss[arm] != state.draws.loss[arm])


def assert_threshold(policy: Any, state: Any, arm: int, threshold: float) -> None:
    for sign in (1.0, -1.0):
        assert takes_in(policy, state, arm, sign * threshold * (1 - 1e-8))
        assert not takes_in(policy, state, arm, sign * threshold * (1 + 1e-8))
