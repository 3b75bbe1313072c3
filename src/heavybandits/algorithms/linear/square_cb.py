r"""SquareCB: probabilities by the inverse of the gap, on ridge regression (Foster, Rakhlin 2020).

*Assumes* rewards :math:`x'\theta` plus light-tailed noise.  *Must be told* the learning rate :math:`\gamma`, in units
of one over the rewards.  *When that fails*: if :math:`\gamma` is too small, it explores for long; if it is too large,
it is greedy.  A single huge reward ruins the estimate.

*Formula*: with the estimates :math:`\hat y` of ridge regression, K rows, the best row b and :math:`\gamma_t = \gamma\,
t^\rho` after t rewards, play row :math:`a \ne b` with probability

.. math::  p_a = \frac1{K + \gamma_t\,(\hat y_b - \hat y_a)},

otherwise b.  The defaults are those of Vowpal Wabbit, where rewards are between 0 and 1.

*Cost*: O(d²) for a reward, O(d) per row for a choice; 8 (4 d² + 4 d) bytes.

*Reference*: D. J. Foster, A. Rakhlin, Beyond UCB: optimal and efficient contextual bandits with regression oracles,
ICML 2020.  Their regression is any that works online, and their :math:`\gamma` is constant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...numerics import power
from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import Flag, Positive, Share
from ._chances import best_or_other
from ._rows import Fit, init_fit, learn_fit, tame, value_at


class SquareCBState(NamedTuple):
    """The least-squares estimate."""

    fit: Fit
    propensity: FloatArray | None = None  # per row: its probability in the last draw, if an agent asks for it


@register_policy(
    "square-cb",
    needs="scale of the rewards",
    memory="8 (4 d² + 4 d) bytes in all",
    cost="O(d² + K d)",
    regret="O(sqrt(K T R)), for rewards in [0, 1] and constant gamma = sqrt(K T/R), if the regression has regret R",
    reference="Foster, Rakhlin 2020",
    kind="linear",
    randomised=True,
)
class SquareCB(NamedTuple):
    r"""SquareCB on ridge regression.

    Parameters
    ----------
    gamma
        :math:`\gamma`, the learning rate after the first reward.
    exponent
        :math:`\rho`: how the learning rate grows.
    ridge
        :math:`\lambda`, the ridge penalty.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> import numpy as np
    >>> policy = SquareCB(gamma=10.0)
    >>> policy.chance_of(0.8, 2, 100)  # 1/(2 + 10 sqrt(100) 0.8)
    0.012195121951219513
    >>> state = policy.init(n_features=2, horizon=None)
    >>> policy.update(state, np.array([0.0, 1.0]), 1.0)
    >>> policy.select(state, np.eye(2), 1, np.random.default_rng(0))
    1
    """

    gamma: Positive = 10.0
    exponent: Share = 0.5
    ridge: Positive = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> SquareCBState:
        return SquareCBState(init_fit(n_features, self.intercept, self.ridge))

    def chance_of(self, gap: float, n_rows: int, t: int) -> float:
        """Return the probability of a row whose estimate is lower than the best by ``gap``."""
        return 1.0 / (n_rows + self.gamma * power(max(t, 1.0), self.exponent) * gap)

    def select(self, state: SquareCBState, features: FloatArray, t: int, rng: Any) -> int:
        """Return a row drawn by the inverses of the gaps."""
        return best_or_other(self, state, features, t, rng)

    def update(self, state: SquareCBState, x: FloatArray, reward: float) -> None:
        """Update the least-squares estimate with a reward."""
        learn_fit(state.fit, x, tame(reward))

    def value(self, state: SquareCBState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.fit, x)

    def index_of(self, state: SquareCBState, x: FloatArray, t: int) -> float:
        """Return the estimated value: there is no bonus."""
        return self.value(state, x)
