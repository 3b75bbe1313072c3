r"""Mean UCB without prior knowledge: each arm's mean, variance and skewness set its bound.

*Assumes* that rewards have a mean; arms may differ in scale and shape.  *Needs* no prior knowledge.  *When that fails*:
if the tail index is below about 1.5, averages hardly settle, and ``auto``, which compares locations, is far better
where the arms share one law of noise.  A best arm that is much quieter than the others is found late, because loud arms
get the benefit of the doubt.

*Formula*: the highest mean that an exponential family with the arm's own first three moments does not rule out,

.. math::  A_t = \arg\max_a\ \sup\Bigl\{\theta : n_a \int_{m_a}^\theta \frac{x - m_a}{V_a(x)}\,dx \le \ell_a\Bigr\},
           \qquad \ell_a = \ln\Bigl(1 + \frac cK \Bigl(1 + \frac{t}{K n_a}\Bigr)\Bigr),

where the variance function :math:`V_a` has the arm's variance :math:`v_a` at its mean :math:`m_a` and the slope
:math:`\beta_a`, its third central moment divided by :math:`v_a`.  Because the variance is not known, :math:`\ell_a`
becomes :math:`\frac d2 (e^{2\ell_a/d} - 1)` with :math:`d = n_a + 1`.  Variance and slope are shrunk towards those of
all arms, which weigh as much as one and two rewards, respectively.  A slope below one standard deviation is trusted
only gradually, even if it is 0 because rewards are symmetric: it becomes

.. math::  \frac{n_a \beta_a + 20 \sqrt{v_a}}{n_a + 20} \qquad\text{if}\quad \beta_a < \sqrt{v_a}.

Each of the 40 highest rewards of all arms counts as their average, and so does each of the 40 lowest; before the 400th
reward it is a tenth of all rewards on either side.  See :mod:`.moments`, :mod:`.mean_sets` and ``docs/means.md``.

*Cost*: O(1) amortised per reward and O(log K) per choice; 201 bytes per arm.

*Reference*: this library.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..entries import register_policy
from ..level_sets.mean_sets import MeanSets, init_mean_sets, renew_means
from ..level_sets.moments import MEAN, add_reward, in_rewards, remove_reward
from ..parameters import Positive
from ..parts.choice.estimates import standing
from ..parts.choice.tournament import choose, set_unknown


@register_policy(
    "auto-mean",
    needs="nothing",
    memory="201 bytes",
    cost="O(1) amortised, O(log K)",
    regret="none; measured in docs/means-measured.md",
    reference="this library",
    look="hero dashed",
)
class AutoMean(NamedTuple):
    r"""Mean UCB without prior knowledge.

    Parameters
    ----------
    c
        How much to explore.

    Examples
    --------
    >>> import heavybandits as hb
    >>> coins = hb.Agent(hb.make("auto-mean"), arms=["red", "green"])
    >>> coins.update_many(["red"] * 100, [1.0] * 2 + [0.0] * 98)
    >>> coins.update_many(["green"] * 100, [1.0] * 20 + [0.0] * 80)
    >>> coins.select()
    'green'
    """

    c: Positive = 8.0

    def init(self, n_arms: int, horizon: int | None) -> MeanSets:
        return init_mean_sets(n_arms)

    def level(self, state: MeanSets, t: int) -> float:
        """Return zero: between refreshes, indices do not depend on t."""
        return 0.0

    def select(self, state: MeanSets, t: int, rng: Any) -> int:
        """Return each arm once, then the one with the highest index."""
        return choose(self, state, t, 1, 1)

    def update(self, state: MeanSets, arm: int, reward: float) -> None:
        """Learn from the reward, and bring the arm's index up to date."""
        pulls, moments, pooled = state.pulls, state.moments, state.pooled
        pulls[arm] += 1
        pooled.clock[0] += 1
        add_reward(moments, pulls, arm, reward, pooled.clock[0])
        renew_means(pulls, moments, pooled, state.tournament, arm, self.c)

    def forget(self, state: MeanSets, arm: int, reward: float) -> None:
        """Unlearn a reward."""
        remove_reward(state.moments, state.pulls, arm, reward)
        state.pulls[arm] -= 1
        state.pooled.clock[0] -= 1
        if state.pulls[arm] == 0:
            set_unknown(state.tournament, arm)
        else:
            renew_means(state.pulls, state.moments, state.pooled, state.tournament, arm, self.c)

    def value(self, state: MeanSets, arm: int) -> float:
        """Return the arm's mean, in which the extreme rewards of all arms count as their average."""
        return float(in_rewards(state.moments, state.moments.whole[arm, MEAN])) if state.pulls[arm] > 0 else math.nan

    def index_of(self, state: MeanSets, arm: int, t: int) -> float:
        """Return the highest mean that is not ruled out, as of the latest refresh."""
        if state.pulls[arm] == 0:
            return math.inf
        return float(in_rewards(state.moments, standing(state.tournament, arm, 0.0)))
