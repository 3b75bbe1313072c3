r"""MOSS: minimax optimal in the stochastic case (Audibert, Bubeck 2009), and its anytime form (Degenne, Perchet 2016).

*Assumes* sub-Gaussian noise.  *Must be told* its scale and, unless it is anytime, the horizon T.  *When that fails*: an
arm that has had its share of pulls, T/K, gets no bonus at all, so a best arm that started badly may be given up for
good.  With heavy tails it is as fragile as :class:`.UCB`.

*Formula*: pull each arm once, then

.. math::  A_t = \arg\max_a\ \bar r_a + c\,\sqrt{\frac{\ln^+(T/(K n_a))}{n_a}}, \qquad \ln^+ x = \max\{0, \ln x\}.

The anytime form has t, the number of rewards so far, in place of T.  Degenne and Perchet write :math:`(1 + \alpha)/2`
for :math:`c^2`, and find that :math:`\alpha = 1.35` does well.

*Cost*: O(1) per reward and O(K) per choice; 41 bytes per arm.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from ...numerics import running_mean
from ...protocols import BoolArray, FloatArray, IntArray
from ..entries import register_policy, register_preset
from ..parameters import NonNegative
from ..parts.choice.late import Late, init_late
from ._scan import due, scan


class MOSSState(NamedTuple):
    """Means, and the horizon."""

    pulls: IntArray
    late: Late
    mean: FloatArray
    open: BoolArray
    horizon: IntArray


@register_policy(
    "moss",
    needs="scale, horizon",
    memory="41 bytes",
    cost="O(K)",
    regret="O(sqrt(T K)), for rewards in [0, 1] and c = 1",
    reference="Audibert, Bubeck 2009",
    look="brown solid",
)
class MOSS(NamedTuple):
    """MOSS.

    Parameters
    ----------
    c
        Scale of the bonus: 1 for rewards in [0, 1], 2s for sub-Gaussian noise of scale s.
    anytime
        Whether to do without the horizon.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(MOSS(), n_arms=2, horizon=1000)
    >>> agent.update_many([0, 1, 1], [0.5, 0.8, 0.9])
    >>> agent.select()  # it has been pulled less often
    0
    """

    c: NonNegative = 1.0
    anytime: Literal[False, True] = False

    def init(self, n_arms: int, horizon: int | None) -> MOSSState:
        if horizon is None and not self.anytime:
            raise ValueError("MOSS: needs a horizon, or anytime=True")
        return MOSSState(
            pulls=np.zeros(n_arms, np.int64),
            late=init_late(n_arms),
            mean=np.zeros(n_arms),
            open=np.ones(n_arms, np.bool_),
            horizon=np.array([0 if self.anytime or horizon is None else horizon]),
        )

    def select(self, state: MOSSState, t: int, rng: Any) -> int:
        """Return each arm once, then the one with the highest index."""
        arm = due(state, 1)
        return arm if arm >= 0 else scan(self, state, t)

    def update(self, state: MOSSState, arm: int, reward: float) -> None:
        """Update the arm's mean."""
        state.pulls[arm] += 1
        state.mean[arm] = running_mean(state.mean[arm], state.pulls[arm], reward)

    def value(self, state: MOSSState, arm: int) -> float:
        """Return the mean reward; NaN before the first."""
        return float(state.mean[arm]) if state.pulls[arm] > 0 else math.nan

    def index_of(self, state: MOSSState, arm: int, t: int) -> float:
        """Return mean plus bonus; infinite before the first reward."""
        n = state.pulls[arm]
        if n == 0:
            return math.inf
        share = max(state.horizon[0], t) / (len(state.pulls) * n)  # beyond the horizon t takes its place
        return float(state.mean[arm] + self.c * math.sqrt(math.log(max(share, 1.0)) / n))


@register_preset(
    "moss-anytime",
    MOSS,
    lambda policy: policy.anytime,
    needs="scale",
    regret="O(sqrt(T K)), for rewards in [0, 1] and c > 1/sqrt(2)",
    reference="Degenne, Perchet 2016",
    look="brown dashed",
)
def moss_anytime(c: float = 1.0) -> MOSS:
    """Make MOSS without a horizon.

    Examples
    --------
    >>> moss_anytime()
    MOSS(c=1.0, anytime=True)
    """
    return MOSS(c, True)
