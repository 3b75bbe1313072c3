r"""Epsilon-greedy Huber regression: play the row that looks best by a robust fit, and now and then any row.

*Assumes* rewards :math:`x'\theta` plus noise of one scale that is symmetric about zero, whatever its tails, and rows so
diverse that the best ones teach enough about all.  *Must be told* how much to explore.  *When that fails*: a constant
:math:`\varepsilon` costs regret that grows linearly; with :math:`\varepsilon = 0` it may stay on a wrong row for ever,
from the first reward on if rows do not change.  Under skewed noise clipped errors do not average to
zero, so regret is linear unless ``intercept`` is set.  Clicks, and other rewards that are mostly zero, look like zeros.
If rows differ in size by a factor of 10,000, it learns slowly: errors of all rows are clipped at one scale, and the
largest rows bound each step of a fit.  Divide features by their spread, or use ``linear-auto``.

*Formula*: with :math:`\hat\theta` from Huber regression with a learned scale (:mod:`._huber_line`), play a row at
random with probability :math:`\varepsilon`, otherwise the one with the highest :math:`x'\hat\theta`; ties go to the
first.

*Cost*: O(d²) for a reward, plus 20 to 600 times O(d) as its share of the fits; O(d) per row for a choice; at most
32 (d + 4) bytes per reward.

*Reference*: folklore, with the regression of P. J. Huber, Robust regression: asymptotics, conjectures and Monte Carlo,
Annals of Statistics 1973.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...protocols import FloatArray
from ..entries import register_policy, register_preset
from ..parameters import Flag, Positive, Share
from ._chances import best_or_other
from ._huber_line import HuberLine, init_huber_line, learn_huber_line
from ._rows import value_at


class EpsilonGreedyHuberState(NamedTuple):
    """The regression."""

    line: HuberLine
    propensity: FloatArray | None = None  # per row: its probability in the last draw, if an agent asks for it


@register_policy(
    "epsilon-greedy-huber",
    needs="how much to explore",
    memory="32 (d + 4) n bytes in all",
    cost="O(d² + K d) amortised",
    regret="linear, epsilon times the average gap; none for epsilon = 0",
    reference="Huber 1973",
    kind="linear",
    randomised=True,
    zoo={"intercept": True},
)
class EpsilonGreedyHuber(NamedTuple):
    r"""Epsilon-greedy Huber regression.

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
    >>> policy = EpsilonGreedyHuber(ridge=0.001)
    >>> state = policy.init(n_features=2, horizon=None)
    >>> for reward in (1.0, 2.0, 3.0, 4.0, -1e9):
    ...     policy.update(state, np.array([0.0, 1.0]), reward)
    >>> 0.0 < policy.value(state, np.array([0.0, 1.0])) < 3.0
    True
    """

    epsilon: Share = 0.1
    ridge: Positive = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> EpsilonGreedyHuberState:
        return EpsilonGreedyHuberState(init_huber_line(n_features, self.intercept, self.ridge, horizon))

    def chance_of(self, gap: float, n_rows: int, t: int) -> float:
        """Return the probability of a row that is not the best, whatever its gap."""
        return self.epsilon / n_rows

    def select(self, state: EpsilonGreedyHuberState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest estimate, or any row."""
        return best_or_other(self, state, features, t, rng)

    def update(self, state: EpsilonGreedyHuberState, x: FloatArray, reward: float) -> None:
        """Update the regression with a reward."""
        learn_huber_line(state.line, x, reward)

    def value(self, state: EpsilonGreedyHuberState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.line.huber.fit, x)

    def index_of(self, state: EpsilonGreedyHuberState, x: FloatArray, t: int) -> float:
        """Return the estimated value: there is no bonus."""
        return self.value(state, x)


@register_preset(
    "greedy-huber",
    EpsilonGreedyHuber,
    lambda policy: policy.epsilon == 0.0,
    zoo={"intercept": True},
    needs="nothing",
    regret="none",
)
def greedy_huber(ridge: float = 1.0, intercept: bool = False) -> EpsilonGreedyHuber:
    """Make Huber regression that never explores.

    Examples
    --------
    >>> greedy_huber()
    EpsilonGreedyHuber(epsilon=0.0, ridge=1.0, intercept=False)
    """
    return EpsilonGreedyHuber(0.0, ridge, intercept)
