r"""FO-UCB: any first-order optimiser with a convergence rate becomes a policy (Dorn et al. 2024).

*Assumes* and *must be told* what the optimiser does.  *When that fails*, the bound does not cover and regret may be
linear.  *Formula*: for each arm the optimiser minimises :math:`f_a(x) = (x - \mu_a)^2/2`; if after k steps
:math:`f_a(x_a) - f_a^* \le g(k, \delta)` with probability :math:`1 - \delta`, then :math:`|x_a - \mu_a| \le
\sqrt{2 g}`, so

.. math::  A_t = \arg\max_a\ x_a + \sqrt{2 g(k_a, \delta)}, \qquad \delta = 1/T^2,

and :math:`R_T \le \sum_a \Delta_a (g^{-1}(\Delta_a^2/8, \delta) + 2)` (:func:`.fo_regret_bound`).
*Cost*: the optimiser's, and O(log K) for a choice.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import required_horizon
from ...protocols import FloatArray, IntArray
from ...theory import confidence
from ..entries import Facts
from ..kit.tournament import VALUE, Tournament, choose, height, init_tournament, set_line
from ..parameters import Optimizer, validated

FACTS = Facts(
    needs="horizon, and what the optimiser needs",
    memory="97 bytes, and the optimiser's",
    cost="the optimiser's, O(log K)",
    regret="sum_a Delta_a (g^-1(Delta_a^2/8, 1/T^2) + 2), if g bounds the optimiser",
    reference="Dorn, Katrutsa, Latypov, Pudovikov 2024",
)


class TemplateState(NamedTuple):
    """State of both templates."""

    pulls: IntArray
    optimizer: Optimizer
    tournament: Tournament
    turns: IntArray  # initial pulls per arm, pulls in a row
    delta: FloatArray


def init_template(name: str, optimizer: Any, n_arms: int, horizon: int | None) -> TemplateState:
    """Fresh state; an optimiser may have ``init_pulls``, and with ``batch_size`` ask for that many pulls in a row."""
    horizon = required_horizon(name, horizon, "confidence level")
    size = optimizer.batch_size() if hasattr(optimizer, "batch_size") else 1
    initial = getattr(optimizer, "init_pulls", 0) or size
    return TemplateState(
        pulls=np.zeros(n_arms, np.int64),
        optimizer=optimizer.init(n_arms, horizon),
        tournament=init_tournament(n_arms),
        turns=np.array([initial, size]),
        delta=np.array([confidence(horizon)]),
    )


@validated
class FOUCB(NamedTuple):
    """FO-UCB.

    Parameters
    ----------
    optimizer
        An estimator with ``bound(state, arm, delta)``, see :class:`.BoundedEstimator`: for
        instance :class:`.ClippedSGD`, or your own.

    Examples
    --------
    >>> import heavybandits as hb
    >>> policy = hb.FOUCB(hb.ClippedSGD(clip=2.0, radius="exp"))
    >>> result = hb.simulate(hb.Instance([0, 1], hb.Gaussian()), {"FO": policy}, horizon=100, replications=2, workers=1)
    >>> result.pulls.sum("arm").values.tolist()
    [[100, 100]]
    """

    optimizer: Optimizer

    def init(self, n_arms: int, horizon: int | None) -> TemplateState:
        """Fresh state."""
        return init_template("fo-ucb", self.optimizer, n_arms, horizon)

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
            set_line(state.tournament, arm, self.optimizer.value(state.optimizer, arm), math.sqrt(2.0 * rate))

    def value(self, state: TemplateState, arm: int) -> float:
        """The optimiser's iterate; NaN before there is one."""
        return float(state.tournament.line[arm, VALUE])

    def index_of(self, state: TemplateState, arm: int, t: int) -> float:
        """Iterate plus radius."""
        return float(height(state.tournament.line, state.tournament.open, arm, self.level(state, t)))
