r"""MR-UCB: minimax optimal for heavy tails of unknown size (Lee, Lim 2022).

*Assumes* a raw moment of order :math:`p \in (1, 2]`.  *Must be told* p, the horizon T and a scale c, but no bound on
the moment.  *When that fails*: with p too large, the estimate trusts large rewards too much; with c too small, arms are
given up too early; with c too large, they are explored too long.

*Formula*: with the p-robust estimate :math:`Y_a` (:mod:`._p_robust`), pull each arm once, then

.. math::  A_t = \arg\max_a\ Y_a + \frac{c}{n_a^{1-1/p}} \max\Bigl(0, \ln\frac{T}{K n_a}\Bigr).

*Cost*: the estimator's per reward, about 20 logarithms amortised, and O(log K) per choice; all rewards are stored.

*Reference*: K. Lee, S. Lim, Minimax optimal bandits for heavy tail rewards, IEEE Transactions on Neural Networks and
Learning Systems, 2022.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_same, required_horizon
from ...protocols import FloatArray, IntArray, compilable
from ..entries import register_policy
from ..parameters import MomentOrder, Positive
from ..parts.choice.tournament import Tournament, choose, init_tournament, set_line
from ._p_robust import PRobustState, init_p_robust, observe_p_robust


@compilable
def minimax_width(c: float, p: float, n: int, share: float) -> float:
    """Return the bonus after n pulls, where each arm's ``share`` of the pulls is T/K.

    Examples
    --------
    >>> round(minimax_width(c=1.0, p=1.5, n=25, share=1000.0), 9)
    1.261579027
    """
    return c * max(0.0, math.log(share / n)) * math.pow(n, 1.0 / p - 1.0)


class MRUCBState(NamedTuple):
    """Estimates and indices."""

    pulls: IntArray
    mean: PRobustState
    tournament: Tournament
    horizon: FloatArray

    def check(self, fresh: MRUCBState, n_arms: int) -> None:
        """Refuse a state made for another horizon."""
        require_same(self, fresh, "horizon")


@register_policy(
    "mr-ucb",
    needs="horizon, moment order",
    memory="32 n bytes",
    cost="O(1) amortised, O(log K)",
    regret="O(K^(1-1/p) T^(1/p)), minimax, if E|X|^p is finite",
    reference="Lee, Lim 2022",
    example={"p": 1.5},
    zoo={"p": 1.5},
    look="vermilion solid",
)
class MRUCB(NamedTuple):
    """MR-UCB.

    Parameters
    ----------
    p
        Order of a moment that exists.
    c
        Scale of the estimate and of the bonus; regret grows as it departs from the scale of the rewards.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(MRUCB(p=1.5), n_arms=2, horizon=100)
    >>> agent.update_many([0, 0, 1, 1], [0.0, 1.0, 3.0, 2.0])
    >>> agent.select()
    1
    """

    p: MomentOrder
    c: Positive = 1.0

    def init(self, n_arms: int, horizon: int | None) -> MRUCBState:
        horizon = required_horizon("MRUCB", horizon, "bonus")
        return MRUCBState(
            pulls=np.zeros(n_arms, np.int64),
            mean=init_p_robust(n_arms, horizon),
            tournament=init_tournament(n_arms),
            horizon=np.array([float(horizon)]),
        )

    def level(self, state: MRUCBState, t: int) -> float:
        """Return 1: the bonuses do not grow with time."""
        return 1.0

    def select(self, state: MRUCBState, t: int, rng: Any) -> int:
        """Return each arm once, then the one with the highest index."""
        return choose(self, state, t, 1, 1)

    def update(self, state: MRUCBState, arm: int, reward: float) -> None:
        """Update the arm's estimate, and shrink its bonus."""
        state.pulls[arm] += 1
        estimate = observe_p_robust(state.mean, arm, reward, self.p, self.c)
        width = minimax_width(self.c, self.p, state.pulls[arm], state.horizon[0] / len(state.pulls))
        set_line(state.tournament, arm, state.pulls[arm], estimate, width)

    def value(self, state: MRUCBState, arm: int) -> float:
        """Return the p-robust estimate."""
        return float(state.mean.value[arm])
