r"""FO-UCB: any first-order optimiser with a convergence rate becomes a policy (Dorn et al. 2024).

*Assumes* and *must be told* the same as the optimiser.  *When that fails*, the bound may not hold, and regret may be
linear.  *Formula*: for each arm the optimiser minimises :math:`f_a(x) = (x - \mu_a)^2/2`; if after k steps
:math:`f_a(x_a) - f_a^* \le g(k, \delta)` with probability :math:`1 - \delta`, then
:math:`|x_a - \mu_a| \le \sqrt{2 g}`, so

.. math::  A_t = \arg\max_a\ x_a + \sqrt{2 g(k_a, \delta)}, \qquad \delta = 1/T^2,

and :math:`R_T \le \sum_a \Delta_a (g^{-1}(\Delta_a^2/8, \delta) + 2)` (:func:`.fo_regret_bound`).  *Cost*: the
optimiser's, and O(log K) per choice.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..entries import register_policy
from ..parameters import Optimizer
from ._template import TemplateState, choose_by_template, init_template, learn_by_template


@register_policy(
    "fo-ucb",
    needs="horizon, and what the optimiser needs",
    memory="97 bytes, and the optimiser's",
    cost="the optimiser's, O(log K)",
    regret="sum_a Delta_a (g^-1(Delta_a^2/8, 1/T^2) + 2), if g bounds the optimiser",
    reference="Dorn, Katrutsa, Latypov, Pudovikov 2024",
    example={"optimizer": {"kind": "clipped-sgd", "m": 1, "init_pulls": 1}},
    zoo={"optimizer": {"kind": "clipped-sgd", "m": 0, "n": 1, "clip": {"instance": "largest-mean"}}},
    look="blue dash-dot",
)
class FOUCB(NamedTuple):
    """FO-UCB.

    Parameters
    ----------
    optimizer
        An estimator with a method ``bound`` (see :mod:`heavybandits.algorithms.estimators`), for instance
        :class:`.ClippedSGD` or your own.

    Examples
    --------
    >>> import heavybandits as hb
    >>> policy = FOUCB(hb.make("clipped-sgd", clip=2.0, radius="exp"))
    >>> result = hb.simulate(hb.Instance([0, 1], hb.Gaussian()), {"FO": policy}, horizon=100, replications=2, workers=1)
    >>> result.pulls.sum("arm").values.tolist()
    [[100, 100]]
    """

    optimizer: Optimizer

    def init(self, n_arms: int, horizon: int | None) -> TemplateState:
        return init_template("FOUCB", self.optimizer, n_arms, horizon)

    def radius(self, rate: float) -> float:
        """Return the radius of the confidence interval: the rate bounds half its square."""
        return math.sqrt(2.0 * rate)

    def level(self, state: TemplateState, t: int) -> float:
        """Return 1: the radii do not grow with time."""
        return 1.0

    def select(self, state: TemplateState, t: int, rng: Any) -> int:
        """Return the arm to pull."""
        return choose_by_template(self, state, t)

    def update(self, state: TemplateState, arm: int, reward: float) -> None:
        """Pass the reward on to the arm's optimiser."""
        learn_by_template(self, state, arm, reward)
