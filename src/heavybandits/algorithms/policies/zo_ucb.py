r"""ZO-UCB: any zero-order optimiser with a convergence rate becomes a policy (Dorn et al. 2024).

*Assumes* and *must be told* the same as the optimiser.  *When that fails*, the bound may not hold, and regret may be
linear.  *Formula*: for each arm the optimiser minimises :math:`f_a(x) = |x - \mu_a|`, so its rate g is itself a
confidence radius,

.. math::  A_t = \arg\max_a\ x_a + g(k_a, \delta), \qquad \delta = 1/T^2,

and :math:`R_T \le \sum_a \Delta_a (g^{-1}(\Delta_a/2, \delta) + 2)` (:func:`.zo_regret_bound`).  *Cost*: the
optimiser's, and O(log K) per choice.
"""

from __future__ import annotations

from ..entries import register_policy
from .fo_ucb import FOUCB


@register_policy(
    "zo-ucb",
    needs="horizon, and what the optimiser needs",
    memory="97 bytes, and the optimiser's",
    cost="the optimiser's, O(log K)",
    regret="sum_a Delta_a (g^-1(Delta_a/2, 1/T^2) + 2), if g bounds the optimiser",
    reference="Dorn, Katrutsa, Latypov, Pudovikov 2024",
    example={"optimizer": {"kind": "two-point"}},
    zoo={"optimizer": {"kind": "two-point"}},
    look="blue short",
)
class ZOUCB(FOUCB):
    """ZO-UCB: FO-UCB with another radius.

    Parameters
    ----------
    optimizer
        An estimator with a method ``bound`` (see :mod:`heavybandits.algorithms.estimators`), for instance
        :class:`.TwoPoint` or your own.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(ZOUCB(hb.make("two-point", tau=1.0, init_pulls=3)), n_arms=2, horizon=1000)
    >>> [agent.select() for _ in range(6)]
    [0, 0, 0, 1, 1, 1]
    """

    def radius(self, rate: float) -> float:
        """Return the radius of the confidence interval: the rate itself."""
        return rate
