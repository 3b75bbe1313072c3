r"""UCB1 with a scale (Auer, Cesa-Bianchi, Fischer 2002).

*Assumes* sub-Gaussian noise.  *Must be told* its scale.  *When that fails*: one reward of 1e6 distorts the arm's mean
for about 1e6 pulls, and with Cauchy noise a mean of n rewards is no better than one of them: regret is linear.

*Formula*: pull each arm once, then

.. math::  A_t = \arg\max_a\ \bar r_a + c\,\sqrt{2 \ln t/n_a}.

*Cost*: O(1) per reward and O(log K) per choice; 137 bytes per arm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...numerics import running_mean
from ...protocols import IntArray
from ..entries import register_policy
from ..parameters import NonNegative
from ..parts.choice.kinetic_tree import VALUE
from ..parts.choice.tournament import Tournament, choose, init_tournament, set_line


class UCBState(NamedTuple):
    """Pulls per arm; the tournament has the means."""

    pulls: IntArray
    tournament: Tournament


@register_policy(
    "ucb",
    needs="scale",
    memory="137 bytes",
    cost="O(log K)",
    regret="sum_a 8 ln T/Delta_a + O(1), for rewards in [0, 1] and c = 1",
    reference="Auer, Cesa-Bianchi, Fischer 2002",
    look="grey solid",
)
class UCB(NamedTuple):
    """UCB1.

    Parameters
    ----------
    c
        Scale of the bonus.  The guarantee holds with 1 for rewards in [0, 1], and with 2s for sub-Gaussian noise of
        scale s; in practice half of that does better.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.UCB(c=1.0), n_arms=2)
    >>> for reward in (0.3, 0.9):
    ...     agent.update(agent.select(), reward)
    >>> agent.select()
    1
    """

    c: NonNegative = 1.0

    def init(self, n_arms: int, horizon: int | None) -> UCBState:
        return UCBState(np.zeros(n_arms, np.int64), init_tournament(n_arms))

    def level(self, state: UCBState, t: int) -> float:
        """Return the common factor of the bonuses."""
        return math.sqrt(2.0 * math.log(t)) if t > 1 else 0.0

    def select(self, state: UCBState, t: int, rng: Any) -> int:
        """Return each arm once, then the one with the highest index."""
        return choose(self, state, t, 1, 1)

    def update(self, state: UCBState, arm: int, reward: float) -> None:
        """Update the arm's mean."""
        n = state.pulls[arm] + 1
        state.pulls[arm] = n
        before = state.tournament.base[arm, VALUE] if n > 1 else 0.0
        set_line(state.tournament, arm, n, running_mean(before, n, reward), self.c / math.sqrt(n))
