r"""APE²: adaptively perturbed exploration with a p-robust estimator (Lee, Yang, Lim, Oh 2020).

*Assumes* a raw moment of order :math:`p \in (1, 2]`.  *Must be told* p and a scale c, but no bound on the moment.
*When that fails*: with p too large, the estimate trusts large rewards too much; a c far from the scale of the rewards
costs regret, but not the guarantee.

*Formula*: with the p-robust estimate :math:`Y_a` (:mod:`._p_robust`), pull each arm once, then

.. math::  A_t = \arg\max_a\ Y_a + \frac{c}{n_a^{1-1/p}} G_a,

where the :math:`G_a` are drawn anew for each arm in each round, from the exponential law (Weibull or gamma with shape
1), the Gumbel law (extreme value with shape 0), the Pareto law or the Fréchet law.  The last two have shape
:math:`p^2/(p-1)` and scale 1; if ln K is larger than that shape, both shape and scale are ln K.

*Cost*: the estimator's per reward, about 20 logarithms amortised, and K random numbers per choice; all rewards are
stored.

*Reference*: K. Lee, H. Yang, S. Lim, S. Oh, Optimal algorithms for stochastic multi-armed bandits with heavy tailed
rewards, NeurIPS 2020.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from ..entries import register_policy
from ..parameters import MomentOrder, Positive
from ._p_robust import observe_p_robust
from ._perturbed import PerturbedState, choose_perturbed, init_perturbed, perturbed


@register_policy(
    "ape2",
    needs="moment order",
    memory="32 n bytes",
    cost="O(1) amortised, O(K)",
    regret="O(K^(1-1/p) T^(1/p) ln K), if E|X|^p is finite and the law of the perturbation is tuned",
    reference="Lee, Yang, Lim, Oh 2020",
    randomised=True,
    example={"p": 1.5},
    zoo={"p": 1.5},
    look="vermilion dash-dot",
)
class APE2(NamedTuple):
    """APE².

    Parameters
    ----------
    p
        Order of a moment that exists.
    c
        Scale of the estimate and of the perturbation.
    perturbation
        Law of the perturbation: ``"exponential"``, ``"gumbel"``, ``"pareto"`` or ``"frechet"``.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(APE2(p=1.5), n_arms=2, seed=0)
    >>> agent.update_many([0] * 50 + [1] * 50, [0.0] * 50 + [3.0] * 50)
    >>> agent.select()
    1
    """

    p: MomentOrder
    c: Positive = 1.0
    perturbation: Literal["exponential", "gumbel", "pareto", "frechet"] = "exponential"

    def init(self, n_arms: int, horizon: int | None) -> PerturbedState:
        shape, scale = self.p * self.p / (self.p - 1.0), 1.0
        if shape <= math.log(n_arms):
            shape = scale = math.log(n_arms)
        return init_perturbed(n_arms, horizon, self.perturbation, shape, scale)

    def select(self, state: PerturbedState, t: int, rng: Any) -> int:
        """Return each arm once, then the one with the highest perturbed estimate."""
        return choose_perturbed(self, state, rng)

    def draw_of(self, state: PerturbedState, arm: int, rng: Any) -> float:
        """Return the arm's perturbed estimate."""
        return perturbed(state, arm, rng)

    def update(self, state: PerturbedState, arm: int, reward: float) -> None:
        """Update the arm's estimate, and shrink its perturbation."""
        state.pulls[arm] += 1
        observe_p_robust(state.mean, arm, reward, self.p, self.c)
        state.width[arm] = self.c * float(state.pulls[arm]) ** (1.0 / self.p - 1.0)

    def value(self, state: PerturbedState, arm: int) -> float:
        """Return the p-robust estimate."""
        return float(state.mean.value[arm])
