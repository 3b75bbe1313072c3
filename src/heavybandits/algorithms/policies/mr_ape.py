r"""MR-APE: MR-UCB with a random bonus (Lee, Lim 2022).

*Assumes* a raw moment of order :math:`p \in (1, 2]`.  *Must be told* p, the horizon T and a scale c, but no bound on
the moment.  *When that fails*: see :mod:`.mr_ucb`.

*Formula*: with the p-robust estimate :math:`Y_a` (:mod:`._p_robust`) and :math:`G_a` uniform on [-1, 1], drawn anew for
each arm in each round, pull each arm once, then

.. math::  A_t = \arg\max_a\ Y_a + \frac{c}{n_a^{1-1/p}} \max\Bigl(0, \ln\frac{T}{K n_a}\Bigr) G_a.

*Cost*: the estimator's per reward, about 20 logarithms amortised, and K random numbers per choice; all rewards are
stored.

*Reference*: K. Lee, S. Lim, Minimax optimal bandits for heavy tail rewards, IEEE Transactions on Neural Networks and
Learning Systems, 2022.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._validate import required_horizon
from ..entries import register_policy
from ..parameters import MomentOrder, Positive
from ._p_robust import observe_p_robust
from ._perturbed import PerturbedState, choose_perturbed, init_perturbed, perturbed
from .mr_ucb import minimax_width


@register_policy(
    "mr-ape",
    needs="horizon, moment order",
    memory="32 n bytes",
    cost="O(1) amortised, O(K)",
    regret="O(K^(1-1/p) T^(1/p)), minimax, if E|X|^p is finite",
    reference="Lee, Lim 2022",
    randomised=True,
    example={"p": 1.5},
    zoo={"p": 1.5},
    look="vermilion short",
)
class MRAPE(NamedTuple):
    """MR-APE.

    Parameters
    ----------
    p
        Order of a moment that exists.
    c
        Scale of the estimate and of the bonus; regret grows as it departs from the scale of the rewards.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(MRAPE(p=1.5), n_arms=2, horizon=100, seed=0)
    >>> agent.update_many([0] * 50 + [1] * 50, [0.0] * 50 + [3.0] * 50)
    >>> agent.select()
    1
    """

    p: MomentOrder
    c: Positive = 1.0

    def init(self, n_arms: int, horizon: int | None) -> PerturbedState:
        horizon = required_horizon("MRAPE", horizon, "bonus")
        return init_perturbed(n_arms, horizon, "uniform")

    def select(self, state: PerturbedState, t: int, rng: Any) -> int:
        """Return each arm once, then the one with the highest perturbed estimate."""
        return choose_perturbed(self, state, rng)

    def draw_of(self, state: PerturbedState, arm: int, rng: Any) -> float:
        """Return the arm's perturbed estimate."""
        return perturbed(state, arm, rng)

    def update(self, state: PerturbedState, arm: int, reward: float) -> None:
        """Update the arm's estimate, and shrink its bonus."""
        state.pulls[arm] += 1
        observe_p_robust(state.mean, arm, reward, self.p, self.c)
        share = state.horizon[0] / len(state.pulls)
        state.width[arm] = minimax_width(self.c, self.p, state.pulls[arm], share)

    def value(self, state: PerturbedState, arm: int) -> float:
        """Return the p-robust estimate."""
        return float(state.mean.value[arm])
