r"""Thompson sampling with a normal model.

*Assumes* normal noise.  *Must be told* its scale s, and may be told a prior :math:`N(m_0, s_0^2)`.  *When that fails*,
it is no more robust than a mean: with heavy tails, regret is linear.

*Formula*: the prior counts as :math:`s^2/s_0^2` rewards, so with :math:`w_a = s^2/s_0^2 + n_a` the posterior is
:math:`N(m_a, s^2/w_a)`, where a reward updates :math:`m_a \leftarrow m_a + (r - m_a)/w_a`.  Draw one number from each
arm's posterior and play the largest.  With a flat prior every arm is first pulled once.

*Cost*: K normal draws per choice; 49 bytes per arm.  *Reference*: W. R. Thompson (1933); S. Agrawal, N. Goyal (2013).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_same
from ...numerics import saturate
from ...protocols import BoolArray, FloatArray, IntArray
from ..entries import register_policy
from ..parameters import Finite, Positive, PositiveOrInfinite
from ..parts.choice.late import Late, bonus_factor, init_late
from ..parts.choice.propensity import draw_arm
from ._scan import waiting


class ThompsonGaussianState(NamedTuple):
    """The posterior of each arm."""

    pulls: IntArray
    late: Late
    mean: FloatArray
    weight: FloatArray  # rewards seen, plus those that the prior is worth
    open: BoolArray
    propensity: FloatArray | None = None  # per arm: its probability in the last draw, if an agent asks for it

    def check(self, fresh: ThompsonGaussianState, n_arms: int) -> None:
        """Refuse weights that do not match the pulls and the prior."""
        require_same(self, fresh._replace(weight=fresh.weight + self.pulls), "weight")


@register_policy(
    "thompson-gaussian",
    needs="scale",
    memory="49 bytes",
    cost="O(K)",
    regret="sum_a O(ln T/Delta_a), for normal noise of that scale",
    reference="Thompson 1933; Agrawal, Goyal 2013",
    randomised=True,
    look="green solid",
)
class ThompsonGaussian(NamedTuple):
    """Gaussian Thompson sampling.

    Parameters
    ----------
    scale
        s, the standard deviation of the noise.
    prior_mean, prior_scale
        The prior's mean and standard deviation; an infinite standard deviation gives a flat prior.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.ThompsonGaussian(scale=1.0), n_arms=3, seed=0)
    >>> agent.update_many([0, 1, 2], [0.0, 50.0, 0.0])
    >>> agent.select()
    1
    """

    scale: Positive = 1.0
    prior_mean: Finite = 0.0
    prior_scale: PositiveOrInfinite = math.inf

    def init(self, n_arms: int, horizon: int | None) -> ThompsonGaussianState:
        """Return the prior."""
        return ThompsonGaussianState(
            pulls=np.zeros(n_arms, np.int64),
            late=init_late(n_arms),
            mean=np.full(n_arms, self.prior_mean),
            weight=np.full(n_arms, (self.scale / self.prior_scale) * (self.scale / self.prior_scale)),
            open=np.ones(n_arms, np.bool_),
        )

    def select(self, state: ThompsonGaussianState, t: int, rng: Any) -> int:
        """Return the arm with the largest draw; an arm without rewards comes first."""
        initial = self.initial_pulls()
        arm = waiting(state, initial)
        return arm if arm >= 0 else draw_arm(self, state, state.propensity, initial, rng)

    def initial_pulls(self) -> int:
        """Return the number of rewards that make a posterior proper."""
        return 0 if self.prior_scale < math.inf else 1

    def draw_of(self, state: ThompsonGaussianState, arm: int, rng: Any) -> float:
        """Draw from the posterior; NaN while the arm's first reward is pending, under a flat prior."""
        weight = state.weight[arm]
        if weight == 0.0:
            return math.nan
        spread = self.scale / math.sqrt(weight) * bonus_factor(state.late, arm, weight)
        return float(state.mean[arm] + spread * rng.standard_normal())

    def update(self, state: ThompsonGaussianState, arm: int, reward: float) -> None:
        """Apply Bayes' rule."""
        state.pulls[arm] += 1
        state.weight[arm] += 1.0
        share = 1.0 / state.weight[arm]
        state.mean[arm] = saturate((1.0 - share) * state.mean[arm] + share * saturate(reward))

    def value(self, state: ThompsonGaussianState, arm: int) -> float:
        """Return the posterior mean; NaN under a flat prior before the first reward."""
        return float(state.mean[arm]) if state.weight[arm] > 0.0 else math.nan
