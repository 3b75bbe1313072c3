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

import numpy as np

from ..._validate import require_same, required_horizon
from ...protocols import FloatArray, IntArray
from ...theory import confidence
from ..entries import register_policy
from ..parameters import Optimizer
from ..parts.choice.tournament import Tournament, choose, init_tournament, set_line


class FOUCBState(NamedTuple):
    """The optimiser's state, and the indices."""

    pulls: IntArray
    optimizer: Any
    tournament: Tournament
    initial: IntArray  # array of length one: initial pulls per arm
    in_a_row: IntArray  # array of length one: pulls in a row
    delta: FloatArray  # array of length one

    def check(self, fresh: FOUCBState, n_arms: int) -> None:
        """Refuse a state made for another horizon."""
        require_same(self, fresh, "delta")


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

    def init(self, n_arms: int, horizon: int | None) -> FOUCBState:
        """Return a fresh state; the optimiser's ``init_pulls`` and ``batch_size``, if any, set the pulls in a row."""
        optimizer, horizon = self.optimizer, required_horizon(type(self).__name__, horizon, "confidence level")
        size = optimizer.batch_size() if hasattr(optimizer, "batch_size") else 1
        initial = getattr(optimizer, "init_pulls", 0) or size
        return FOUCBState(
            pulls=np.zeros(n_arms, np.int64),
            optimizer=optimizer.init(n_arms, horizon),
            tournament=init_tournament(n_arms),
            initial=np.array([initial]),
            in_a_row=np.array([size]),
            delta=np.array([confidence(horizon)]),
        )

    def radius(self, rate: float) -> float:
        """Return the radius of the confidence interval: the rate bounds half its square."""
        return math.sqrt(2.0 * rate)

    def level(self, state: FOUCBState, t: int) -> float:
        """Return 1: the radii do not grow with time."""
        return 1.0

    def select(self, state: FOUCBState, t: int, rng: Any) -> int:
        """Return the arm to pull: first each arm for its initial pulls, then the one with the highest index."""
        return choose(self, state, t, state.initial[0], state.in_a_row[0])

    def update(self, state: FOUCBState, arm: int, reward: float) -> None:
        """Pass the reward on to the arm's optimiser, and update the arm's index once there is an estimate."""
        state.pulls[arm] += 1
        self.optimizer.observe(state.optimizer, arm, reward)
        rate = self.optimizer.bound(state.optimizer, arm, state.delta[0])
        if rate < math.inf:
            value = self.optimizer.value(state.optimizer, arm)
            set_line(state.tournament, arm, state.pulls[arm], value, self.radius(rate))
