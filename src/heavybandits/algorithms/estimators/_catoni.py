r"""Catoni's M-estimator (Catoni 2012), and its form for infinite variance (Bhatt, Fang, Li, Samorodnitsky 2022).

*Assumes* a mean :math:`\mu` and a central moment :math:`E|X - \mu|^p \le v`, :math:`p = 1 + \varepsilon \in (1, 2]`;
the classical form has :math:`\varepsilon = 1`, where v bounds the variance.  *Must be told* :math:`\varepsilon` and v.
*When that fails*: with v too small, the radius is too small and a good arm may be given up; without a mean, the
estimate wanders, though not far, because a reward of 1e300 weighs no more than its logarithm.

*Formula*: with :math:`L = \ln(1/\delta)` the estimate is the root m of

.. math::  \sum_{s=1}^n \psi(\alpha (X_s - m)) = 0, \qquad \psi(z) = \mathrm{sign}(z) \ln(1 + |z| + C |z|^p).

Each side of the radius holds with probability :math:`1 - \delta` once n is large enough.  Until then the arm's index is
infinite, and its value is the root for half the L for which its rewards would be enough.  The two classes give C,
:math:`\alpha`, the radius and the smallest n.

*Cost*: O(n) for each of the 2 or 3 Newton steps from the last root.  So the equation is solved anew only when n or L
has grown by 1% since the last time (up to 100 rewards: after each), and *in between the last root stands*: on Student t
rewards it was off by 0.6% of the radius on average and by 7.2% at worst.  At most 32 bytes per reward.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...numerics import saturate
from ...protocols import FloatArray, IntArray, compilable
from ..parts.means.influence import influence
from ..parts.state.pool import Pool, append, init_pool

SOLVE_GROWTH = 1.01  # of n or L, until the equation is solved anew


class CatoniState(NamedTuple):
    """All rewards, and the last root per arm."""

    rewards: Pool
    least: FloatArray
    most: FloatArray
    value: FloatArray  # last root, NaN before the first
    solved: IntArray  # n of that root
    log_term: FloatArray  # L of that root


def init_catoni(n_arms: int, horizon: int | None) -> CatoniState:
    """Return a state without rewards."""
    return CatoniState(
        rewards=init_pool(n_arms, horizon, 1),
        least=np.full(n_arms, math.inf),
        most=np.full(n_arms, -math.inf),
        value=np.full(n_arms, math.nan),
        solved=np.zeros(n_arms, np.int64),
        log_term=np.zeros(n_arms),
    )


@compilable
def keep(state: CatoniState, arm: int, reward: float) -> None:
    """Store a reward."""
    x = saturate(float(reward))
    state.rewards.records[append(state.rewards, arm)] = x
    state.least[arm] = min(state.least[arm], x)
    state.most[arm] = max(state.most[arm], x)


@compilable
def refresh(mean: Any, state: CatoniState, arm: int, log_term: float, c: float, p: float) -> float:
    """Return the estimate at about L = ``log_term``; infinite if there are too few rewards."""
    n = state.rewards.size[arm]
    if n == 0:
        return math.inf
    limit = mean.log_limit(n)
    enough = log_term < limit
    if not enough:  # show something, although nothing is proved about it
        log_term = 0.5 * limit
    if n >= SOLVE_GROWTH * state.solved[arm] or log_term >= SOLVE_GROWTH * state.log_term[arm]:
        solve(state, arm, mean.alpha(n, log_term), c, p)
        state.solved[arm], state.log_term[arm] = n, log_term
    return float(state.value[arm]) if enough else math.inf


@compilable
def until(mean: Any, state: CatoniState, arm: int, log_term: float) -> float:
    """Return the L at which the estimate changes if no reward comes."""
    limit = mean.log_limit(state.rewards.size[arm])
    return float(min(limit, SOLVE_GROWTH * state.log_term[arm])) if log_term < limit else math.inf


@compilable
def solve(state: CatoniState, arm: int, alpha: float, c: float, p: float) -> None:
    """Find the root by Newton's method from the last one, inside a bracket that bisection shrinks if needed."""
    records, start, n = state.rewards.records, state.rewards.start[arm], state.rewards.size[arm]
    alpha = min(max(alpha, 1e-300), 1e300)
    low, high = float(state.least[arm]), float(state.most[arm])
    root = float(state.value[arm])
    if not low <= root <= high:
        root = _middle(low, high, alpha)
    for tries in range(100):
        total, slope = 0.0, 0.0
        for i in range(start, start + n):
            psi, derivative = influence(saturate(alpha * saturate(float(records[i]) - root)), c, p)
            total += psi
            slope += derivative
        step = total / slope / alpha if slope > 0.0 else math.inf
        if abs(step) <= 1e-8 / alpha + 1e-12 * abs(root):  # the error after this step is of the order of its square
            root = min(max(root + step, low), high)  # 1e308 plus a step may be infinite
            break
        if total > 0.0:
            low = root
        else:
            high = root
        root += step
        # Newton's method leaves the bracket or converges fast; if rewards of 1e300 make it do neither, bisection helps.
        if tries >= 30 or not low < root < high:
            root = _middle(low, high, alpha)
            if not low < root < high:  # no number lies between them
                break
    state.value[arm] = root


@compilable
def _middle(low: float, high: float, alpha: float) -> float:
    """Return the middle of a bracket; of a wide one, the middle of the ends' orders of magnitude."""
    left, right = saturate(alpha * low), saturate(alpha * high)
    if right - left <= 1e3:
        return 0.5 * low + 0.5 * high
    middle = math.sinh(0.5 * math.asinh(left) + 0.5 * math.asinh(right)) / alpha
    return min(max(middle, low), high)
