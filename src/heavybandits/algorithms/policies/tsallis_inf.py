r"""Tsallis-INF: optimal up to constants both for rewards of a fixed law and for those that an adversary sets.

*Assumes* rewards in [low, high], and nothing else.  *Must be told* this range, but neither the horizon nor which of the
two worlds it is in.  *When that fails*: rewards outside the range are clipped, and the guarantee is for the clipped
rewards.

*Formula*: with losses :math:`\ell = (\text{high} - r)/(\text{high} - \text{low})`, in round t = 1, 2, ... draw from

.. math::  x = \arg\min_x\ \langle L, x\rangle - \frac{2}{\eta} \sum_a \sqrt{x_a}, \qquad \eta = \frac{1}{\sqrt t},

and add to L the importance-weighted loss of the arm drawn, :math:`\ell/x_a`.  The reduced-variance estimator takes
:math:`\eta = 2/\sqrt t` instead; with :math:`B_a = 1/2` where :math:`x_a \ge 16/t` and 0 elsewhere, it adds
:math:`(\ell - B_a)/x_a + B_a` for the arm drawn and :math:`B_a` for all others.  The expected regret is at most
:math:`4\sqrt{KT} + 1` against any adversary, and :math:`\sum_a 4 \ln T/\Delta_a` to leading order under a fixed law
with one best arm (first estimator, in units of the range); the second has smaller constants.

For rewards that come late or unasked, see :mod:`.ftrl`.

*Cost*: O(K); 57 bytes per arm.  *Reference*: J. Zimmert, Y. Seldin (2021).
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from ..._validate import require_range
from ...numerics import share
from ...protocols import BoolArray
from ..entries import register_policy
from ..parameters import Finite
from ..parts.choice.ftrl import Draws, charge, charge_likely, draw, init_draws, probability, tsallis


class TsallisINFState(NamedTuple):
    """Losses in units of the range."""

    draws: Draws
    reduced: BoolArray  # whether the estimator is the one with reduced variance


@register_policy(
    "tsallis-inf",
    needs="range",
    memory="57 bytes",
    cost="O(1), O(K)",
    regret="4 sqrt(K T) + 1, whatever the rewards in the range; for a fixed law sum_a 4 ln T/Delta_a to leading order",
    reference="Zimmert, Seldin 2021",
    randomised=True,
    example={"estimator": "reduced-variance"},
    zoo={
        "low": {"instance": "lowest"},
        "high": {"instance": "highest"},
        "estimator": ["importance-weighted", "reduced-variance"],
    },
    look="sky solid",
)
class TsallisINF(NamedTuple):
    """Tsallis-INF.

    Parameters
    ----------
    low, high
        Range of the rewards.
    estimator
        ``"importance-weighted"`` or ``"reduced-variance"``.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.TsallisINF(low=0.0, high=10.0), n_arms=2, seed=0)
    >>> for _ in range(1000):
    ...     arm = agent.select()
    ...     agent.update(arm, 9.0 if arm == 1 else 2.0)
    >>> agent.pulls[1] > 900
    True
    """

    low: Finite = 0.0
    high: Finite = 1.0
    estimator: Literal["importance-weighted", "reduced-variance"] = "importance-weighted"

    def check(self) -> None:
        """Refuse an empty range."""
        require_range("TsallisINF", self.low, self.high)

    def init(self, n_arms: int, horizon: int | None) -> TsallisINFState:
        reduced = self.estimator == "reduced-variance"
        return TsallisINFState(init_draws(n_arms, 2.0 if reduced else 1.0), np.array([reduced]))

    def select(self, state: TsallisINFState, t: int, rng: Any) -> int:
        """Draw an arm with the probabilities of this round."""
        state.draws.rate[0] = (2.0 if state.reduced[0] else 1.0) / math.sqrt(t + 1)
        tsallis(state.draws, 2.0)
        return draw(state.draws, rng)

    def update(self, state: TsallisINFState, arm: int, reward: float) -> None:
        """Add the estimated losses of this round."""
        draws = state.draws
        loss, baseline = 1.0 - share(reward, self.low, self.high), 0.0
        if state.reduced[0]:
            likely = 4.0 * draws.rate[0] * draws.rate[0]
            baseline = 0.5 if draws.chance[arm] >= likely else 0.0
            charge_likely(draws, likely, 0.5)
        charge(draws, arm, (loss - baseline) / probability(draws, arm))
