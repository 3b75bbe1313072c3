r"""Epsilon-greedy ridge regression: play the row that looks best, and now and then any row.

*Assumes* rewards :math:`x'\theta` plus light-tailed noise, and rows so diverse that the best ones teach enough about
all.  *Must be told* how much to explore.  *When that fails*: a constant :math:`\varepsilon` costs regret that grows
linearly; with :math:`\varepsilon = 0` it may stay on a wrong row for ever, from the first reward on if rows do not
change.  A single huge reward ruins the estimate.

*Formula*: with :math:`V = \lambda I + \sum x x'` and :math:`\hat\theta = V^{-1} \sum x r`, play a row at random with
probability :math:`\varepsilon`, otherwise the one with the highest :math:`x'\hat\theta`; ties go to the first.

*Cost*: O(d²) for a reward, O(d) per row for a choice; 8 (4 d² + 4 d) bytes.

*Reference*: folklore; H. Bastani, M. Bayati, K. Khosravi, Mostly exploration-free algorithms for contextual bandits,
Management Science 2021, prove that greedy least squares is rate optimal for two arms if contexts are diverse enough,
and that it can be so otherwise, with a positive probability.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...protocols import FloatArray
from ..entries import register_policy, register_preset
from ..parameters import Flag, Positive, Share
from ._chances import best_or_other
from ._rows import Fit, init_fit, learn_fit, tame, value_at


class EpsilonGreedyRidgeState(NamedTuple):
    """The least-squares estimate."""

    fit: Fit
    propensity: FloatArray | None = None  # per row: its probability in the last draw, if an agent asks for it


@register_policy(
    "epsilon-greedy-ridge",
    needs="how much to explore",
    memory="8 (4 d² + 4 d) bytes in all",
    cost="O(d² + K d)",
    regret="linear, epsilon times the average gap; for epsilon = 0 that of greedy-ridge",
    reference="Bastani, Bayati, Khosravi 2021",
    kind="linear",
    randomised=True,
)
class EpsilonGreedyRidge(NamedTuple):
    r"""Epsilon-greedy ridge regression.

    Parameters
    ----------
    epsilon
        :math:`\varepsilon`, the probability of playing a row at random.
    ridge
        :math:`\lambda`, the ridge penalty.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> import numpy as np
    >>> policy, rng = EpsilonGreedyRidge(epsilon=0.5), np.random.default_rng(0)
    >>> state = policy.init(n_features=2, horizon=None)
    >>> policy.update(state, np.array([0.0, 1.0]), 0.5)
    >>> rows = [policy.select(state, np.eye(2), 1, rng) for _ in range(1000)]
    >>> 700 < rows.count(1) < 800
    True
    """

    epsilon: Share = 0.1
    ridge: Positive = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> EpsilonGreedyRidgeState:
        return EpsilonGreedyRidgeState(init_fit(n_features, self.intercept, self.ridge))

    def chance_of(self, gap: float, n_rows: int, t: int) -> float:
        """Return the probability of a row that is not the best, whatever its gap."""
        return self.epsilon / n_rows

    def select(self, state: EpsilonGreedyRidgeState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest estimate, or any row."""
        return best_or_other(self, state, features, t, rng)

    def update(self, state: EpsilonGreedyRidgeState, x: FloatArray, reward: float) -> None:
        """Update the least-squares estimate with a reward."""
        learn_fit(state.fit, x, tame(reward))

    def value(self, state: EpsilonGreedyRidgeState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.fit, x)

    def index_of(self, state: EpsilonGreedyRidgeState, x: FloatArray, t: int) -> float:
        """Return the estimated value: there is no bonus."""
        return self.value(state, x)


@register_preset(
    "greedy-ridge",
    EpsilonGreedyRidge,
    lambda policy: policy.epsilon == 0.0,
    needs="nothing",
    regret="rate optimal for two arms, light tails and diverse contexts; linear if rows do not change",
)
def greedy_ridge(ridge: float = 1.0, intercept: bool = False) -> EpsilonGreedyRidge:
    """Make ridge regression that never explores.

    Examples
    --------
    >>> greedy_ridge()
    EpsilonGreedyRidge(epsilon=0.0, ridge=1.0, intercept=False)
    """
    return EpsilonGreedyRidge(0.0, ridge, intercept)
