r"""Epsilon-greedy: explore at random now and then, otherwise play the best mean (Auer, Cesa-Bianchi, Fischer 2002).

*Assumes* rewards whose means settle quickly: bounded or sub-Gaussian noise.  *Must be told* how much to explore.  *When
that fails*: a constant :math:`\varepsilon` costs regret that grows linearly, :math:`\varepsilon` times the average gap
per pull.  A decreasing one may stay with a wrong arm for good if c is too small, and explores longer than necessary if
c is too large.  With heavy tails the means are as unreliable as those of :class:`.UCB`.

*Formula*: pull each arm once; then, after t rewards, with probability

.. math::  \varepsilon_t = \max\{\varepsilon,\ \min\{1, cK/t\}\}

pull an arm at random, otherwise the arm with the highest mean.  The paper's :math:`\varepsilon_n`-greedy has
:math:`\varepsilon = 0`, and its c divided by :math:`d^2` is the c here, where d is at most the smallest gap.

*Cost*: O(1) per reward and O(K) per choice; 41 bytes per arm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...numerics import running_mean
from ...protocols import BoolArray, FloatArray, IntArray
from ..entries import register_policy
from ..parameters import NonNegative, Share
from ..parts.choice.late import Late, init_late
from ..parts.choice.propensity import write_chances
from ._scan import due, scan


class EpsilonGreedyState(NamedTuple):
    """The mean of each arm."""

    pulls: IntArray
    late: Late
    mean: FloatArray
    open: BoolArray
    propensity: FloatArray | None = None  # per arm: its probability in the last draw, if an agent asks for it


@register_policy(
    "epsilon-greedy",
    needs="how much to explore",
    memory="41 bytes",
    cost="O(K)",
    regret="O(ln T), for rewards in [0, 1], epsilon = 0 and c > 5/d^2, where 0 < d <= the smallest gap",
    reference="Auer, Cesa-Bianchi, Fischer 2002",
    randomised=True,
    example={"epsilon": 0.05, "c": 2.0},
    zoo={"epsilon": 0.0, "c": 5.0},
    look="brown short",
)
class EpsilonGreedy(NamedTuple):
    r"""Epsilon-greedy.

    Parameters
    ----------
    epsilon
        :math:`\varepsilon`, the lowest probability of exploring.
    c
        How slowly that probability falls from 1; 0 keeps it constant.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(EpsilonGreedy(epsilon=0.0), n_arms=2)
    >>> agent.update_many([0, 1, 1], [0.5, 0.4, 0.8])
    >>> agent.select()
    1
    """

    epsilon: Share = 0.1
    c: NonNegative = 0.0

    def init(self, n_arms: int, horizon: int | None) -> EpsilonGreedyState:
        return EpsilonGreedyState(
            pulls=np.zeros(n_arms, np.int64),
            late=init_late(n_arms),
            mean=np.zeros(n_arms),
            open=np.ones(n_arms, np.bool_),
        )

    def select(self, state: EpsilonGreedyState, t: int, rng: Any) -> int:
        """Return each arm once, then a random arm or the one with the highest mean."""
        arm = due(state, 1)
        if arm >= 0:
            return arm
        n_arms = len(state.pulls)
        explored = max(self.epsilon, min(1.0, self.c * n_arms / max(t, 1)))
        best = scan(self, state, t)
        write_chances(state.propensity, state.open, best, explored)
        if rng.random() >= explored:
            return best
        n_open = 0
        for arm in range(n_arms):
            n_open += state.open[arm]
        left = int(rng.random() * n_open)
        for arm in range(n_arms):
            if state.open[arm]:
                if left == 0:
                    return arm
                left -= 1
        return -1  # never reached: some arm is always open

    def update(self, state: EpsilonGreedyState, arm: int, reward: float) -> None:
        """Update the arm's mean."""
        state.pulls[arm] += 1
        state.mean[arm] = running_mean(state.mean[arm], state.pulls[arm], reward)

    def value(self, state: EpsilonGreedyState, arm: int) -> float:
        """Return the mean reward; NaN before the first."""
        return float(state.mean[arm]) if state.pulls[arm] > 0 else math.nan

    def index_of(self, state: EpsilonGreedyState, arm: int, t: int) -> float:
        """Return the mean reward; infinite before the first."""
        return float(state.mean[arm]) if state.pulls[arm] > 0 else math.inf
