r"""The p-robust estimator (Lee, Yang, Lim, Oh 2020), the basis of APE², MR-UCB and MR-APE.

*Assumes* a raw moment :math:`E|X|^p \le \nu`, :math:`p \in (1, 2]`, of known order and unknown size.  *Must be told* p
and any scale c.  *When that fails*: if c is far below the scale of the rewards, the estimate shrinks towards 0; if c is
far above it, the estimate is the mean, which one large reward can ruin.  It depends on the origin of the rewards.

*Formula*: with :math:`\psi(z) = \mathrm{sign}(z) \ln(1 + |z| + b_p |z|^p)` and the least :math:`b_p` for which
:math:`\psi(z) \le \ln(1 + z + b_p |z|^p)`,

.. math::  Y_n = \frac{c}{n^{1-1/p}} \sum_{s=1}^n \psi\Bigl(\frac{X_s}{c\,n^{1/p}}\Bigr), \qquad
           P\{Y_n - \mu > x\} \le \exp\Bigl(-\frac{n^{1-1/p}\,x}{c} + \frac{b_p \nu}{c^p}\Bigr),

and likewise below: the expectation of :math:`\exp \sum_s \psi` is at most
:math:`(1 + \mu/(c n^{1/p}) + b_p \nu/(c^p n))^n`, and Markov's inequality does the rest.

*Cost*: each reward changes the scale for all.  So the sum and its derivative in ln n are recomputed only when n has
grown by 5%.  In between, new rewards are added, and *the sum is moved along that derivative*; the error is of second
order, at most 3e-4 per reward in the sum.  About 20 logarithms and powers for a reward; at most 32 bytes per reward.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...numerics import saturate
from ...protocols import FloatArray, IntArray, compilable
from ..parts.means.influence import influence
from ..parts.state.pool import Pool, append, init_pool

REFIT_GROWTH = 1.05  # recompute the sum when n has grown by this factor


class PRobustState(NamedTuple):
    """All rewards, and the terms of each arm's estimate."""

    rewards: Pool
    anchor: IntArray  # n at which the sum was last recomputed
    total: FloatArray  # sum of psi(z), with z at the scale of that n
    slope: FloatArray  # sum of z psi'(z) at the same scale
    value: FloatArray  # NaN before the first reward


def init_p_robust(n_arms: int, horizon: int | None) -> PRobustState:
    """Return a state without rewards.

    Examples
    --------
    >>> init_p_robust(n_arms=2, horizon=None).value
    array([nan, nan])
    """
    return PRobustState(
        rewards=init_pool(n_arms, horizon, 1),
        anchor=np.zeros(n_arms, np.int64),
        total=np.zeros(n_arms),
        slope=np.zeros(n_arms),
        value=np.full(n_arms, math.nan),
    )


@compilable
def influence_constant(p: float) -> float:
    """Return b_p; for p between 1.5 and 2 it is close to 1/2.

    Examples
    --------
    >>> influence_constant(2.0), round(influence_constant(1.5), 9)
    (0.5, 0.438691338)
    """
    return float(((p - 1.0) / p) ** (0.5 * p) * ((2.0 - p) / (p - 1.0)) ** (1.0 - 0.5 * p))


@compilable
def observe_p_robust(state: PRobustState, arm: int, reward: float, p: float, c: float) -> float:
    """Add a reward and return the new estimate.

    Examples
    --------
    >>> state = init_p_robust(n_arms=1, horizon=None)
    >>> for reward in (1.0, -2.0, 50.0, 3.0):
    ...     estimate = observe_p_robust(state, 0, reward, p=1.5, c=1.0)
    >>> round(estimate, 9)
    3.004501585
    """
    rewards = state.rewards
    rewards.records[append(rewards, arm)] = saturate(float(reward))
    n, b = rewards.size[arm], influence_constant(p)
    first, last = rewards.start[arm] + n - 1, rewards.start[arm] + n
    total, slope = float(state.total[arm]), float(state.slope[arm])
    if n >= REFIT_GROWTH * state.anchor[arm]:
        state.anchor[arm] = n
        first, total, slope = rewards.start[arm], 0.0, 0.0
    scale = c * float(state.anchor[arm]) ** (1.0 / p)
    for i in range(first, last):
        z = saturate(float(rewards.records[i]) / scale)
        psi, derivative = influence(z, b, p)
        total += psi
        slope += z * derivative
    state.total[arm], state.slope[arm] = total, slope
    total -= math.log(n / state.anchor[arm]) / p * slope
    state.value[arm] = saturate(c * float(n) ** (1.0 / p - 1.0) * total)
    return float(state.value[arm])
