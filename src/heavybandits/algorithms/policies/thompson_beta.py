r"""Thompson sampling for coins: a beta posterior for each arm.

*Assumes* rewards of 0 and 1, or in [low, high].  *Must be told* this range.  *When that fails*: rewards outside it are
clipped, so the policy compares means of clipped rewards.

*Formula*: with :math:`x = (r - \text{low})/(\text{high} - \text{low})` clipped to [0, 1], a reward moves the posterior
of its arm from Beta(a, b) to Beta(a + x, b + 1 - x).  Draw one number from each posterior and play the largest.  For
rewards of 0 and 1 this is Bayes' rule, and asymptotically optimal.  For others, Agrawal and Goyal toss a coin with
probability x instead; adding x itself has a smaller variance, but the proofs do not cover it.  While rewards of an arm
are late, its draws are moved towards the posterior mean, as described in :mod:`.late`.

*Cost*: O(1) per reward and 2K gamma numbers per choice; 49 bytes per arm.  *Reference*: W. R. Thompson (1933);
S. Agrawal, N. Goyal (2012); E. Kaufmann, N. Korda, R. Munos (2012).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._validate import LARGEST_COUNT, require_range, require_within
from ...numerics import share
from ...protocols import BoolArray, FloatArray, IntArray
from ..entries import register_policy
from ..parameters import Finite, Positive
from ..parts.choice.late import Late, bonus_factor, init_late
from ..parts.choice.propensity import draw_arm
from ._draws import draw_beta


class ThompsonBetaState(NamedTuple):
    """The posterior of each arm."""

    pulls: IntArray
    late: Late
    a: FloatArray
    b: FloatArray
    open: BoolArray
    propensity: FloatArray | None = None  # per arm: its probability in the last draw, if an agent asks for it

    def check(self, fresh: ThompsonBetaState, n_arms: int) -> None:
        """Refuse parameters that no rewards can lead to."""
        for name, prior, parameter in (("a", fresh.a, self.a), ("b", fresh.b, self.b)):
            require_within(name, parameter, float(prior.min()), 2.0 * LARGEST_COUNT + float(prior.max()))


@register_policy(
    "thompson-beta",
    needs="range",
    memory="49 bytes",
    cost="O(K)",
    regret="sum_a Delta_a ln T/d(mu_a, mu*) asymptotically, for rewards of 0 and 1: optimal",
    reference="Thompson 1933; Kaufmann, Korda, Munos 2012",
    randomised=True,
    example={"low": -2.0, "high": 3.0},
    zoo={"low": {"instance": "lowest"}, "high": {"instance": "highest"}},
    look="green long",
)
class ThompsonBeta(NamedTuple):
    """Thompson sampling with a beta posterior.

    Parameters
    ----------
    low, high
        Range of the rewards.
    prior_a, prior_b
        Parameters of the prior; 1 and 1 give the uniform prior, 1/2 and 1/2 Jeffreys'.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(ThompsonBeta(), n_arms=2, seed=0)
    >>> agent.update_many([0] * 50 + [1] * 50, [0.0] * 50 + [1.0] * 50)
    >>> agent.select()
    1
    """

    low: Finite = 0.0
    high: Finite = 1.0
    prior_a: Positive = 1.0
    prior_b: Positive = 1.0

    def check(self) -> None:
        """Refuse an empty range."""
        require_range("ThompsonBeta", self.low, self.high)

    def init(self, n_arms: int, horizon: int | None) -> ThompsonBetaState:
        """Return the prior."""
        return ThompsonBetaState(
            pulls=np.zeros(n_arms, np.int64),
            late=init_late(n_arms),
            a=np.full(n_arms, self.prior_a),
            b=np.full(n_arms, self.prior_b),
            open=np.ones(n_arms, np.bool_),
        )

    def select(self, state: ThompsonBetaState, t: int, rng: Any) -> int:
        """Return the arm with the largest draw."""
        return draw_arm(self, state, state.propensity, 0, rng)

    def draw_of(self, state: ThompsonBetaState, arm: int, rng: Any) -> float:
        """Draw from the posterior."""
        draw = draw_beta(rng, state.a[arm], state.b[arm])
        if state.late.pending[arm] == 0:
            return float(draw)
        weight = state.a[arm] + state.b[arm]
        mean = state.a[arm] / weight
        return float(mean + (draw - mean) * bonus_factor(state.late, arm, weight))

    def update(self, state: ThompsonBetaState, arm: int, reward: float) -> None:
        """Apply Bayes' rule."""
        x = share(reward, self.low, self.high)
        state.pulls[arm] += 1
        state.a[arm] += x
        state.b[arm] += 1.0 - x

    def forget(self, state: ThompsonBetaState, arm: int, reward: float) -> None:
        """Undo what a reward has changed."""
        x = share(reward, self.low, self.high)
        state.pulls[arm] -= 1
        state.a[arm] = max(state.a[arm] - x, self.prior_a)
        state.b[arm] = max(state.b[arm] - (1.0 - x), self.prior_b)

    def value(self, state: ThompsonBetaState, arm: int) -> float:
        """Return the posterior mean."""
        return float(self.low + (self.high - self.low) * (state.a[arm] / (state.a[arm] + state.b[arm])))
