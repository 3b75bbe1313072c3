r"""Discounted UCB: UCB with fading rewards, for arms that change (Kocsis, Szepesvári 2006; Garivier, Moulines 2011).

*Assumes* rewards in a range of width B, and locations that stay put for a while.  *Must be told* B and the discount,
which should be :math:`1 - \sqrt{\Upsilon/T}/(4B)` for :math:`\Upsilon` changes.  *When that fails*: with a discount
near 1 it remembers what no longer holds; with a smaller one it forgets what still does, so that regret is linear even
if nothing changes.  With heavy tails a discounted mean is as fragile as :class:`.UCB`.

*Formula*: a reward followed by j others, from any arms, has the weight :math:`\gamma^j`.  Let :math:`N_a` be the sum of
the weights of arm a, :math:`\bar r_a` its weighted mean and N the sum of all weights.  Pull each arm once, then

.. math::  A_t = \arg\max_a\ \bar r_a + 2B\,\sqrt{\frac{\xi \ln N}{N_a}}.

The paper proves its bound for :math:`\xi > 1/2`, and uses 0.6 in its experiments.

*Cost*: O(K) per reward and per choice; 49 bytes per arm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...numerics import saturate
from ...protocols import BoolArray, FloatArray, IntArray
from ..entries import register_policy
from ..parameters import Fraction, NonNegative, Positive
from ..parts.choice.late import Late, init_late
from ._scan import due, scan


class DiscountedUCBState(NamedTuple):
    """Weighted means and their weights."""

    pulls: IntArray
    late: Late
    mean: FloatArray
    weight: FloatArray
    total: FloatArray  # N; rewards of arms that were removed stay in it
    open: BoolArray


@register_policy(
    "discounted-ucb",
    needs="discount, width of the range",
    memory="49 bytes",
    cost="O(K)",
    regret="O(sqrt(T Y) ln T), for rewards in the range, Y changes and the right discount",
    reference="Garivier, Moulines 2011",
    example={"discount": 0.99},
    zoo={"discount": 0.999},
    look="grey long",
)
class DiscountedUCB(NamedTuple):
    r"""Discounted UCB.

    Parameters
    ----------
    discount
        :math:`\gamma`, the factor by which every new reward, from any arm, reduces the weight of those before it.
    width
        B, the difference between the largest and the smallest possible reward.
    xi
        :math:`\xi`, how much to explore.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(DiscountedUCB(discount=0.5), n_arms=2)
    >>> agent.update_many([0, 0, 0, 1], [0.0, 0.0, 8.0, 1.0])
    >>> print(agent)
    discounted-ucb, 4 rewards
    arm  pulls  estimate  index
    0        3     4.571  5.885
    1        1         1  2.228
    """

    discount: Fraction
    width: Positive = 1.0
    xi: NonNegative = 0.6

    def init(self, n_arms: int, horizon: int | None) -> DiscountedUCBState:
        return DiscountedUCBState(
            pulls=np.zeros(n_arms, np.int64),
            late=init_late(n_arms),
            mean=np.zeros(n_arms),
            weight=np.zeros(n_arms),
            total=np.zeros(1),
            open=np.ones(n_arms, np.bool_),
        )

    def select(self, state: DiscountedUCBState, t: int, rng: Any) -> int:
        """Return each arm once, then the one with the highest index."""
        arm = due(state, 1)
        return arm if arm >= 0 else scan(self, state, t)

    def update(self, state: DiscountedUCBState, arm: int, reward: float) -> None:
        """Discount all weights, and add the reward."""
        for other in range(len(state.pulls)):
            state.weight[other] *= self.discount
        state.total[0] = self.discount * state.total[0] + 1.0
        state.pulls[arm] += 1
        state.weight[arm] += 1.0
        share = 1.0 / state.weight[arm]
        state.mean[arm] = saturate((1.0 - share) * state.mean[arm] + share * saturate(reward))

    def value(self, state: DiscountedUCBState, arm: int) -> float:
        """Return the weighted mean; NaN before the first reward."""
        return float(state.mean[arm]) if state.pulls[arm] > 0 else math.nan

    def index_of(self, state: DiscountedUCBState, arm: int, t: int) -> float:
        """Return mean plus bonus; infinite for an arm whose weight has vanished."""
        if state.weight[arm] < 1e-300:
            return math.inf
        log = math.log(max(1.0, state.total[0]))
        return float(state.mean[arm] + 2.0 * self.width * math.sqrt(self.xi * log / state.weight[arm]))
