r"""AdaTINF: for heavy-tailed losses that an adversary sets, with unknown tails.

*Assumes* that losses :math:`\ell = b - r` have a moment of some order :math:`\alpha \in (1, 2]`, and the sign condition
of :mod:`.htinf`.  *Must be told* b, an upper bound on the location of the best arm, and the horizon T, but neither
:math:`\alpha` nor its bound :math:`\sigma^\alpha`.  *When that fails*: a single loss of 1e300 raises the scale
:math:`\lambda` so far that nothing more is learned; a reward of 1e300 keeps it from ever rising.

*Formula*: start with the scale :math:`\lambda = 1` and the costs S = 0.  In round t, draw A as HTINF does for
:math:`\alpha = 2` and :math:`\sigma = \lambda`, that is, with :math:`\eta = 1/(\lambda \sqrt t)`.  If
:math:`|\ell| > \Theta \sqrt{x_A}/\eta`, where :math:`\Theta = 1 - 2^{-1/3}`, skip the loss, at a cost of
:math:`c = \ell`; otherwise add :math:`\ell/x_A` to :math:`L_A`, at a cost of :math:`c = 2\eta\ell^2/\sqrt{x_A}`.  Add c
to S.  When S exceeds :math:`\lambda \sqrt{K(T + 1)}`, set S to c, and

.. math::  \log_2 \lambda \leftarrow \max\bigl\{\log_2 \lambda, \lceil \log_2 (c/\sqrt{K(T + 1)}) \rceil\bigr\} + 1.

The regret is :math:`O(\sigma K^{1 - 1/\alpha} T^{1/\alpha} + \sqrt{KT})` for any laws; nothing better is proved for
fixed ones.  K is the number of arms at the start.  For rewards that come late or unasked, see :mod:`.ftrl`.

*Cost*: O(K); 57 bytes per arm.  *Reference*: J. Huang, Y. Dai, L. Huang (2022).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import required_horizon
from ...numerics import saturate
from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import Finite
from ..parts.choice.ftrl import Draws, charge, draw, init_draws, probability, tsallis
from .htinf import skipping_factor

SKIPPING_FACTOR = skipping_factor(1.0)
LARGEST_SCALE = 2.0**1000  # so that its products with times and losses stay finite


class AdaTINFState(NamedTuple):
    """Losses, the scale, and the costs that raise it."""

    draws: Draws
    scale: FloatArray
    costs: FloatArray  # since the scale last changed
    budget: FloatArray  # for costs, in units of the scale


@register_policy(
    "ada-tinf",
    needs="horizon, bound on the best location",
    memory="57 bytes",
    cost="O(1), O(K)",
    regret="as htinf, O(sigma K^(1-1/p) T^(1/p) + sqrt(K T)) for every p and sigma; nothing better for fixed laws",
    reference="Huang, Dai, Huang 2022",
    randomised=True,
    example={"offset": 1.0},
    zoo={"offset": {"instance": "highest"}},
    look="sky dash-dot-dot",
)
class AdaTINF(NamedTuple):
    """AdaTINF.

    Parameters
    ----------
    offset
        b, an upper bound on the location of the best arm.

    Examples
    --------
    >>> policy = AdaTINF(offset=0.0)
    >>> state = policy.init(n_arms=2, horizon=8)
    >>> for loss in (0.1, 3.0, 2.0, 40.0):  # the first is added, the others are skipped
    ...     policy.update(state, 0, -loss)
    >>> state.draws.loss.tolist(), state.scale.tolist()
    ([0.2, 0.0], [32.0])
    """

    offset: Finite

    def init(self, n_arms: int, horizon: int | None) -> AdaTINFState:
        budget = math.sqrt(n_arms * (required_horizon("AdaTINF", horizon, "scale") + 1))
        return AdaTINFState(
            draws=init_draws(n_arms, 1.0),
            scale=np.ones(1),
            costs=np.zeros(1),
            budget=np.array([budget]),
        )

    def select(self, state: AdaTINFState, t: int, rng: Any) -> int:
        """Draw an arm with the probabilities of this round."""
        state.draws.rate[0] = 1.0 / (state.scale[0] * math.sqrt(t + 1))
        tsallis(state.draws, 2.0)
        return draw(state.draws, rng)

    def update(self, state: AdaTINFState, arm: int, reward: float) -> None:
        """Add the loss or skip it, and raise the scale if the costs have become too high."""
        draws, scale, costs, budget = state.draws, state.scale, state.costs, state.budget[0]
        loss, rate, p = saturate(self.offset - reward), draws.rate[0], probability(draws, arm)
        cost = loss
        if abs(loss) <= SKIPPING_FACTOR / rate * math.sqrt(p):
            charge(draws, arm, loss / p)
            cost = 2.0 * rate * loss * (loss / math.sqrt(p))
        costs[0] = saturate(costs[0] + cost)
        if costs[0] > scale[0] * budget:
            costs[0] = cost
            mantissa, exponent = math.frexp(cost / budget)
            doubled = math.ldexp(1.0, exponent + 1 if mantissa > 0.5 else exponent)
            scale[0] = min(max(2.0 * scale[0], doubled), LARGEST_SCALE)
