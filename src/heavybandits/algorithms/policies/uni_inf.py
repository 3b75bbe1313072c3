r"""uniINF: for heavy tails in both worlds, with unknown tails.

*Assumes* that losses :math:`\ell = b - r` have a moment of some order :math:`\alpha \in (1, 2]`, and the sign condition
of :mod:`.htinf`.  *Must be told* b, an upper bound on the location of the best arm, and the horizon T, which enters
only through its logarithm, but neither the tails nor which of the two worlds it is in.  *When that fails*, the large
rewards that make an arm good may be skipped.  It starts out for losses of the order of 1 and adapts to larger ones
gradually; until then they are skipped, which makes bad arms look good.

*Formula*: with :math:`S_1 = 4`, in round t draw A from

.. math::  x = \arg\min_x\ \langle L, x\rangle - S_t \sum_a \ln x_a;

with :math:`C = S_t/(4(1 - x_A))` add :math:`\ell/x_A` to :math:`L_A` if :math:`|\ell| < C`, and let

.. math::  S_{t+1}^2 = S_t^2 + \frac{\mathrm{clip}(\ell, C)^2 (1 - x_A)^2}{K \ln T}.

The regret is :math:`\tilde O(\sigma K^{1 - 1/\alpha} T^{1/\alpha})` against any adversary and :math:`O(K
(\sigma^\alpha/\Delta)^{1/(\alpha - 1)} \ln T \ln(\sigma^\alpha/\Delta))`, with the smallest gap :math:`\Delta`, under
fixed laws with one best arm.  K is the number of arms at the start.

For rewards that come late or unasked, see :mod:`.ftrl`; :math:`\ell/x_A` uses the probability of the draw, and
:math:`1 - x_A` that of the last choice.

*Cost*: O(K); 57 bytes per arm.  *Reference*: Y. Chen, J. Huang, Y. Dai, L. Huang (2025).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import required_horizon
from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import Finite
from ..parts.choice.ftrl import Draws, charge, draw, init_draws, probability, tsallis

LARGEST_BARRIER = 1e150  # so that its square stays finite


class UniINFState(NamedTuple):
    """Losses, and the weight of the barrier."""

    draws: Draws
    barrier: FloatArray  # S
    growth: FloatArray  # K ln T


@register_policy(
    "uni-inf",
    needs="horizon, bound on the best location",
    memory="57 bytes",
    cost="O(1), O(K)",
    regret="as htinf up to logarithms, for every p and sigma; for fixed laws O(K (sigma^p/Delta)^(1/(p-1)) ln T "
    "ln(sigma^p/Delta)) with the smallest gap",
    reference="Chen, Huang, Dai, Huang 2025",
    randomised=True,
    example={"offset": 1.0},
    zoo={"offset": {"instance": "highest"}},
    look="purple dash-dot-dot",
)
class UniINF(NamedTuple):
    """UniINF.

    Parameters
    ----------
    offset
        b, an upper bound on the location of the best arm.

    Examples
    --------
    >>> policy = UniINF(offset=0.0)
    >>> state = policy.init(n_arms=2, horizon=100)
    >>> policy.update(state, 0, -1.0)
    >>> policy.update(state, 1, -5.0)  # skipped, but the barrier rises
    >>> state.draws.loss.tolist(), round(float(state.barrier[0]), 6)
    ([2.0, 0.0], 4.016952)
    """

    offset: Finite

    def init(self, n_arms: int, horizon: int | None) -> UniINFState:
        growth = n_arms * math.log(max(required_horizon("UniINF", horizon, "barrier"), 2))
        return UniINFState(
            draws=init_draws(n_arms, 0.25),
            barrier=np.array([4.0]),
            growth=np.array([growth]),
        )

    def select(self, state: UniINFState, t: int, rng: Any) -> int:
        """Draw an arm with the probabilities of this round."""
        state.draws.rate[0] = 1.0 / state.barrier[0]
        tsallis(state.draws, 1.0)
        return draw(state.draws, rng)

    def update(self, state: UniINFState, arm: int, reward: float) -> None:
        """Add the loss unless it is above the current threshold, and raise the barrier."""
        draws, barrier, loss = state.draws, state.barrier[0], self.offset - reward
        rest = max(1.0 - draws.chance[arm], 2.0**-53)  # not zero, or an infinite loss would be added
        limit = 0.25 * barrier / rest
        p = probability(draws, arm)
        if abs(loss) < limit:
            charge(draws, arm, loss / p)
        gain = min(abs(loss), limit) * rest
        state.barrier[0] = min(math.sqrt(barrier * barrier + gain * gain / state.growth[0]), LARGEST_BARRIER)
