r"""Thompson sampling with a normal model whose variance is learned: a normal-gamma posterior for each arm.

*Assumes* normal noise, of any scale for each arm.  *Needs* no prior knowledge; it may be given a prior.  *When that
fails*: arms whose rewards are all equal, say zero, are believed to have no variance and are given up; with heavy tails
it is no more robust than a mean.

*Formula*: precision :math:`\tau` and mean :math:`\mu` have the prior density
:math:`\tau^{\alpha - 1/2} e^{-\beta\tau - \kappa\tau(\mu - m)^2/2}`.  After n rewards with mean :math:`\bar r` and
sum of squared deviations S,

.. math::  \mu \sim \frac{\kappa m + n\bar r}{\kappa + n} + \sqrt{\frac{2 B}{\nu\,(\kappa + n)}}\;t_\nu, \qquad
           \nu = 2\alpha + n, \qquad B = \beta + \frac S2 + \frac{\kappa n (\bar r - m)^2}{2(\kappa + n)}.

Draw one number for each arm and play the largest.  The default, :math:`\kappa = \beta = 0` and :math:`\alpha = -3/2`,
is the uniform prior of mean and variance, for which :math:`\nu = n - 3`.  Honda and Takemura prove that it is
asymptotically optimal, and that neither Jeffreys' prior (:math:`\alpha = 0`) nor the reference prior
(:math:`\alpha = -1/2`) is.  Each arm is first pulled until its posterior is proper: at least twice without a prior, and
until :math:`\nu \ge 2`.

*Cost*: O(1) per reward and K Student t numbers per choice; 49 bytes per arm.  *Reference*: J. Honda, A. Takemura,
Optimality of Thompson sampling for Gaussian bandits depends on priors, AISTATS 2014.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from ..._validate import in_range
from ...numerics import saturate
from ..entries import register_policy
from ..parameters import Finite, NonNegative
from ..parts.choice.late import bonus_factor
from ..parts.choice.propensity import draw_arm
from ._deviations import Deviations, init_deviations, take_in
from ._scan import unseen


def _shape(owner: str, name: str, value: Any) -> float:
    return in_range(owner, name, value, low=-10, high=1e6)


@register_policy(
    "thompson-normal-gamma",
    needs="nothing",
    memory="49 bytes",
    cost="O(K)",
    regret="sum_a 2 Delta_a ln T/ln(1 + Delta_a^2/sigma_a^2) asymptotically, for normal noise: optimal",
    reference="Honda, Takemura 2014",
    randomised=True,
    look="sky long",
)
class ThompsonNormalGamma(NamedTuple):
    r"""Thompson sampling with a normal-gamma posterior.

    Parameters
    ----------
    prior_mean
        m, the prior mean.
    prior_weight
        :math:`\kappa`, the number of rewards that the prior mean is worth.
    prior_shape, prior_rate
        :math:`\alpha` and :math:`\beta`, the parameters of the prior of the precision.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(ThompsonNormalGamma(), n_arms=2, seed=0)
    >>> agent.update_many([0] * 5 + [1] * 5, [0.1, 0.2, 0.0, 0.1, 0.2, 9.0, 9.1, 8.9, 9.2, 9.0])
    >>> agent.select()
    1
    """

    prior_mean: Finite = 0.0
    prior_weight: NonNegative = 0.0
    prior_shape: Annotated[float, _shape] = -1.5
    prior_rate: NonNegative = 0.0

    def init(self, n_arms: int, horizon: int | None) -> Deviations:
        """Return the prior."""
        return init_deviations(n_arms)

    def initial_pulls(self) -> int:
        """Return the number of rewards that make a posterior proper."""
        if self.prior_weight > 0.0 and self.prior_rate > 0.0 and self.prior_shape > 0.0:
            return 0
        return max(2, math.ceil(2.0 - 2.0 * self.prior_shape))

    def select(self, state: Deviations, t: int, rng: Any) -> int:
        """Return the arm with the largest draw; arms whose posterior is not proper come first."""
        arm = unseen(state, self.initial_pulls())
        return arm if arm >= 0 else draw_arm(self, state, state.propensity, 0, rng)

    def draw_of(self, state: Deviations, arm: int, rng: Any) -> float:
        """Draw from the posterior; NaN while rewards that it needs to be proper are pending."""
        n = state.pulls[arm]
        if n < self.initial_pulls():
            return math.nan
        freedom, weight = 2.0 * self.prior_shape + n, self.prior_weight + n
        spread = math.sqrt(2.0 / freedom) * math.sqrt(self.rate_of(state, arm) / weight)
        spread *= bonus_factor(state.late, arm, weight)
        return float(self.value(state, arm) + spread * rng.standard_t(freedom))

    def update(self, state: Deviations, arm: int, reward: float) -> None:
        """Update the mean and the squared deviations."""
        take_in(state, arm, reward)

    def rate_of(self, state: Deviations, arm: int) -> float:
        """Return the posterior rate B."""
        n, away = state.pulls[arm], saturate(state.mean[arm] - self.prior_mean)
        pulled = 0.0
        if self.prior_weight > 0.0:
            pulled = saturate(away * away) * (0.5 * self.prior_weight * n / (self.prior_weight + n))
        return float(saturate(self.prior_rate + 0.5 * state.squares[arm] + pulled))

    def value(self, state: Deviations, arm: int) -> float:
        """Return the posterior mean; NaN if nothing is known."""
        weight = self.prior_weight + state.pulls[arm]
        if weight == 0.0:
            return math.nan
        share = self.prior_weight / weight
        return float(share * self.prior_mean + (1.0 - share) * state.mean[arm])
