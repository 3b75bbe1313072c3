r"""ZO-UCB: any zero-order optimiser with a convergence rate becomes a policy (Dorn et al. 2024).

*Assumes* and *must be told* what the optimiser does.  *When that fails*, the bound does not cover and regret may be
linear.  *Formula*: for each arm the optimiser minimises :math:`f_a(x) = |x - \mu_a|`, so its rate g is itself a
confidence radius,

.. math::  A_t = \arg\max_a\ x_a + g(k_a, \delta), \qquad \delta = 1/T^2,

and :math:`R_T \le \sum_a \Delta_a (g^{-1}(\Delta_a/2, \delta) + 2)` (:func:`.zo_regret_bound`).
*Cost*: the optimiser's, and O(log K) for a choice.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..entries import Facts
from ..kit.tournament import VALUE, choose, height, set_line
from ..parameters import Optimizer, validated
from .fo_ucb import TemplateState, init_template

FACTS = Facts(
    needs="horizon, and what the optimiser needs",
    memory="97 bytes, and the optimiser's",
    cost="the optimiser's, O(log K)",
    regret="sum_a Delta_a (g^-1(Delta_a/2, 1/T^2) + 2), if g bounds the optimiser",
    reference="Dorn, Katrutsa, Latypov, Pudovikov 2024",
)


@validated
class ZOUCB(NamedTuple):
    """ZO-UCB.

    Parameters
    ----------
    optimizer
        An estimator with ``bound(state, arm, delta)``, see :class:`.BoundedEstimator`: for
        instance :class:`.TwoPoint`, or your own.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.ZOUCB(hb.TwoPoint(tau=1.0, init_pulls=3)), n_arms=2, horizon=1000)
    >>> [agent.select() for _ in range(6)]
    [0, 0, 0, 1, 1, 1]
    """

    optimizer: Optimizer

    def init(self, n_arms: int, horizon: int | None) -> TemplateState:
        """Fresh state."""
        return init_template("zo-ucb", self.optimizer, n_arms, horizon)

    def level(self, state: TemplateState, t: int) -> float:
        """The radii do not grow with time."""
        return 1.0

    def select(self, state: TemplateState, t: int, rng: Any) -> int:
        """One step of each arm's optimiser, then the highest index."""
        return choose(self, state, t, state.turns[0], state.turns[1])

    def update(self, state: TemplateState, arm: int, reward: float) -> None:
        """Pass the reward on to the arm's optimiser."""
        state.pulls[arm] += 1
        self.optimizer.observe(state.optimizer, arm, reward)
        rate = self.optimizer.bound(state.optimizer, arm, state.delta[0])
        if rate < math.inf:
            set_line(state.tournament, arm, self.optimizer.value(state.optimizer, arm), rate)

    def value(self, state: TemplateState, arm: int) -> float:
        """The optimiser's iterate; NaN before there is one."""
        return float(state.tournament.line[arm, VALUE])

    def index_of(self, state: TemplateState, arm: int, t: int) -> float:
        """Iterate plus radius."""
        return float(height(state.tournament.line, state.tournament.open, arm, self.level(state, t)))
