r"""Exp3: exponential weights, for rewards that an adversary may set.

*Assumes* rewards in [low, high], and nothing else: they may follow any plan made in advance.  *Must be told* this range
and the horizon T.  *When that fails*: rewards outside the range are clipped, and the guarantee is for the clipped
rewards.  If rewards follow a fixed law, it explores far more than needed.

*Formula*: with rewards scaled to [0, 1] and :math:`\gamma = \min\{1, \sqrt{K \ln K/((e - 1)T)}\}`,

.. math::  p_a = (1 - \gamma)\,\frac{w_a}{\sum_b w_b} + \frac{\gamma}{K}, \qquad
           w_a \leftarrow w_a \exp\Bigl(\frac{\gamma}{K} \frac{r}{p_a}\Bigr) \text{ for the arm drawn}.

The expected regret against the best single arm is at most :math:`2 \sqrt{(e - 1) T K \ln K}` times the range.  K is the
number of arms at the start.  For rewards that come late or unasked, see :mod:`.ftrl`.

*Cost*: O(1) per reward and K exponentials per choice; 57 bytes per arm.  *Reference*: P. Auer, N. Cesa-Bianchi,
Y. Freund, R. E. Schapire (2002).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..._validate import require_range, required_horizon
from ...numerics import share
from ..entries import register_policy
from ..parameters import Finite
from ..parts.choice.ftrl import Draws, charge, draw, init_draws, lowest, probability


class Exp3State(NamedTuple):
    """Losses, which are sums of estimated rewards with the sign changed; the rate is gamma."""

    draws: Draws


@register_policy(
    "exp3",
    needs="horizon, range",
    memory="57 bytes",
    cost="O(1), O(K)",
    regret="2 sqrt((e - 1) K T ln K), whatever the rewards in the range",
    reference="Auer, Cesa-Bianchi, Freund, Schapire 2002",
    randomised=True,
    example={"low": -2.0, "high": 3.0},
    zoo={"low": {"instance": "lowest"}, "high": {"instance": "highest"}},
    look="green short",
)
class Exp3(NamedTuple):
    """Exp3.

    Parameters
    ----------
    low, high
        Range of the rewards.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(Exp3(low=0.0, high=10.0), n_arms=2, horizon=1000, seed=0)
    >>> for _ in range(1000):
    ...     arm = agent.select()
    ...     agent.update(arm, 9.0 if arm == 1 else 2.0)
    >>> agent.pulls[1] > 800
    True
    """

    low: Finite = 0.0
    high: Finite = 1.0

    def check(self) -> None:
        """Refuse an empty range."""
        require_range("Exp3", self.low, self.high)

    def init(self, n_arms: int, horizon: int | None) -> Exp3State:
        horizon = required_horizon("Exp3", horizon, "rate")
        k = max(n_arms, 2)  # arms may be added to a single one
        return Exp3State(init_draws(n_arms, min(1.0, math.sqrt(k * math.log(k) / ((math.e - 1.0) * horizon)))))

    def select(self, state: Exp3State, t: int, rng: Any) -> int:
        """Draw an arm from the mixture of the weights and the uniform law."""
        loss, chance, gamma = state.draws.loss, state.draws.chance, state.draws.rate[0]
        n_arms = len(loss)
        low, total = lowest(loss), 0.0
        for arm in range(n_arms):
            chance[arm] = math.exp(gamma / n_arms * (low - loss[arm]))
            total += chance[arm]
        for arm in range(n_arms):
            chance[arm] = (1.0 - gamma) * chance[arm] / total + gamma / n_arms
        return draw(state.draws, rng)

    def update(self, state: Exp3State, arm: int, reward: float) -> None:
        """Raise the weight of the arm."""
        charge(state.draws, arm, -share(reward, self.low, self.high) / probability(state.draws, arm))
