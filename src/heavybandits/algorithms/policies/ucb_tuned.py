r"""UCB-Tuned: UCB with each arm's own variance (Auer, Cesa-Bianchi, Fischer 2002).

*Assumes* rewards in a bounded range.  *Must be told* how wide it is.  *When that fails*: with heavy tails the variances
are as unreliable as the means, and the bonus is never more than that of a coin with this range: regret is linear.

*Formula*: with :math:`v_a` the variance of the rewards of the arm, in units of the squared width w of the range, pull
each arm once and then

.. math::  A_t = \arg\max_a\ \bar r_a + w \sqrt{\frac{\ln t}{n_a} \min\Bigl\{\frac14,\ V_a\Bigr\}}, \qquad
           V_a = v_a + \sqrt{\frac{2 \ln t}{n_a}}.

*Cost*: O(1) per reward and O(K) per choice; 49 bytes per arm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..entries import register_policy
from ..parameters import Positive
from ._deviations import Deviations, init_deviations, take_in
from ._scan import due, scan


@register_policy(
    "ucb-tuned",
    needs="width of the range",
    memory="49 bytes",
    cost="O(K)",
    regret="none",
    reference="Auer, Cesa-Bianchi, Fischer 2002",
    look="grey dash-dot-dot",
)
class UCBTuned(NamedTuple):
    """UCB-Tuned.

    Parameters
    ----------
    width
        w, the difference between the largest and the smallest possible reward.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(UCBTuned(), n_arms=2)
    >>> agent.update_many([0, 0, 1, 1], [0.5, 0.5, 0.9, 0.0])  # arm 1 varies more
    >>> agent.select()
    0
    """

    width: Positive = 1.0

    def init(self, n_arms: int, horizon: int | None) -> Deviations:
        return init_deviations(n_arms)

    def select(self, state: Deviations, t: int, rng: Any) -> int:
        """Return each arm once, then the one with the highest index."""
        arm = due(state, 1)
        return arm if arm >= 0 else scan(self, state, t)

    def update(self, state: Deviations, arm: int, reward: float) -> None:
        """Update the arm's mean and variance."""
        take_in(state, arm, reward)

    def value(self, state: Deviations, arm: int) -> float:
        """Return the mean reward; NaN before the first."""
        return float(state.mean[arm]) if state.pulls[arm] > 0 else math.nan

    def index_of(self, state: Deviations, arm: int, t: int) -> float:
        """Return mean plus bonus; infinite before the first reward."""
        n = state.pulls[arm]
        if n == 0:
            return math.inf
        per_pull = math.log(max(t, 1)) / n
        variance = state.squares[arm] / n / self.width / self.width + math.sqrt(2.0 * per_pull)
        return float(state.mean[arm] + self.width * math.sqrt(per_pull * min(0.25, variance)))
