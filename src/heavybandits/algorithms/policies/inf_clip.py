r"""INF-clip: Tsallis-INF on clipped losses, for heavy tails of a known order.

*Assumes* that losses :math:`\ell = b - r` have :math:`E|\ell|^{1 + \varepsilon} \le \sigma^{1 + \varepsilon}`, whoever
sets their laws; the proof needs losses that are not negative.  *Must be told* :math:`\varepsilon`, :math:`\sigma`, b
and the horizon T.  *When that fails*: with :math:`\sigma` too small, the clipping level is below the size of the gaps,
and arms look alike; with :math:`\sigma` too large, it learns slowly.  At :math:`\varepsilon = 1` nothing is clipped,
and one infinite loss rules an arm out.

*Formula*: draw A from the probabilities of :mod:`.tsallis_inf` with the constant rate
:math:`\eta`, and add :math:`\mathrm{clip}(\ell, \lambda)/x_A` to :math:`L_A`, where

.. math::  \lambda = \sigma \Bigl(\frac{2\varepsilon}{1 - \varepsilon}\Bigr)^{2/(1 + \varepsilon)}
           \Bigl(\frac{T}{8K}\Bigr)^{1/(1 + \varepsilon)}, \qquad
           \eta = \sqrt{\frac{2}{T \lambda^{1 - \varepsilon} \sigma^{1 + \varepsilon}}}.

These minimise the regret bound :math:`2 \sqrt K/\eta + \eta T \sqrt K \sigma^{1 + \varepsilon} \lambda^{1 -
\varepsilon} + T \sigma^{1 + \varepsilon} \lambda^{-\varepsilon}`, which is
:math:`O(\sigma K^{\varepsilon/(1 + \varepsilon)} T^{1/(1 + \varepsilon)})`.  K is the number of arms at the start.

For rewards that come late or unasked, see :mod:`.ftrl`.

*Cost*: O(K); 57 bytes per arm.  *Reference*: Y. Dorn, N. Kornilov, N. Kutuzov, A. Nazin, E. Gorbunov, A. Gasnikov
(2024).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import required_horizon
from ...numerics import clip
from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import Finite, Fraction, Positive
from ..parts.choice.ftrl import Draws, charge, draw, init_draws, probability, tsallis


class INFClipState(NamedTuple):
    """Losses, and the level at which they are clipped."""

    draws: Draws
    level: FloatArray


@register_policy(
    "inf-clip",
    needs="horizon, moment order, moment bound",
    memory="57 bytes",
    cost="O(1), O(K)",
    regret="O(sigma K^(1-1/p) T^(1/p)), if E l^p <= sigma^p and l >= 0, where l = b - X",
    reference="Dorn, Kornilov, Kutuzov, Nazin, Gorbunov, Gasnikov 2024",
    randomised=True,
    example={"eps": 0.5, "scale": 2.0, "offset": 1.0},
    zoo={"eps": 0.5, "scale": 1.0, "offset": {"instance": "highest"}},
    look="green dash-dot-dot",
)
class INFClip(NamedTuple):
    r"""INF-clip.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: losses have a moment of order :math:`1 + \varepsilon`.
    scale
        :math:`\sigma`, a bound on :math:`(E|b - r|^{1 + \varepsilon})^{1/(1 + \varepsilon)}`.
    offset
        b, from which rewards are subtracted; ideally an upper bound on most of them.

    Examples
    --------
    >>> policy = INFClip(eps=0.5, scale=2.0, offset=0.0)
    >>> state = policy.init(n_arms=2, horizon=1000)
    >>> policy.update(state, 0, -1e300)  # clipped
    >>> state.draws.loss.round(6).tolist()
    [158.740105, 0.0]
    """

    eps: Fraction
    scale: Positive
    offset: Finite

    def init(self, n_arms: int, horizon: int | None) -> INFClipState:
        horizon, p = required_horizon("INFClip", horizon, "rate"), 1.0 + self.eps
        if self.eps == 1.0:
            level, bend = math.inf, 1.0
        else:
            level = (2.0 * self.eps / (1.0 - self.eps)) ** (2.0 / p) * (horizon / (8.0 * n_arms)) ** (1.0 / p)
            level = max(level, 1e-300)  # as eps goes to 0 so does this, and it is a divisor
            bend = level ** (1.0 - self.eps)
        rate = math.sqrt(2.0 / (horizon * bend)) / self.scale
        return INFClipState(init_draws(n_arms, rate), np.array([self.scale * level]))

    def select(self, state: INFClipState, t: int, rng: Any) -> int:
        """Draw an arm with the probabilities of this round."""
        tsallis(state.draws, 2.0)
        return draw(state.draws, rng)

    def update(self, state: INFClipState, arm: int, reward: float) -> None:
        """Add the clipped loss."""
        charge(state.draws, arm, clip(self.offset - reward, state.level[0]) / probability(state.draws, arm))
