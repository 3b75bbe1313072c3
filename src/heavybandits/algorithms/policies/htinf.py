r"""HTINF: for heavy tails in both worlds, where rewards follow fixed laws or an adversary sets their laws.

*Assumes* that losses :math:`\ell = b - r` have :math:`E|\ell|^\alpha \le \sigma^\alpha`, where
:math:`\alpha = 1 + \varepsilon` is in (1, 2], and that the best arm's large losses outweigh its large gains:
:math:`E[\ell\,1(|\ell| > M)] \ge 0` for every M.  For symmetric noise this holds if and only if b is at least the best
arm's location.  *Must be told* :math:`\varepsilon`, :math:`\sigma` and b.  *When that fails*: with b too small, the
large gains that make the best arm best are skipped; with b too large, :math:`\sigma` must grow with it, and regret
grows in proportion; with :math:`\sigma` too small, many losses are skipped, and since a skipped loss counts as none,
bad arms look good.  As :math:`\varepsilon \to 0`, all losses are skipped.

*Formula*: in round t = 1, 2, ..., with :math:`\eta = t^{-1/\alpha}/\sigma`, draw A from

.. math::  x = \arg\min_x\ \langle L, x\rangle - \frac{\alpha}{\eta} \sum_a x_a^{1/\alpha},

and add :math:`\ell/x_A` to :math:`L_A` unless :math:`|\ell| > \Theta\,x_A^{1/\alpha}/\eta`, where
:math:`\Theta = 1 - 2^{-(\alpha - 1)/(2\alpha - 1)}`.  The regret is :math:`O(\sigma K^{1 - 1/\alpha} T^{1/\alpha})`
against any adversary and :math:`O(\sum_a (\sigma^\alpha/\Delta_a)^{1/(\alpha - 1)} \ln T)` under fixed laws with one
best arm.

For rewards that come late or unasked, see :mod:`.ftrl`; a late loss is compared with the threshold of the last choice.

*Cost*: O(K), and twice as much if :math:`1/\varepsilon` is not a whole number; 57 bytes per arm.  *Reference*:
J. Huang, Y. Dai, L. Huang (2022).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...numerics import power
from ...protocols import FloatArray
from ..entries import register_policy, register_preset
from ..parameters import Finite, Fraction, Positive
from ..parts.choice.ftrl import Draws, charge, draw, init_draws, probability, tsallis

LARGEST_Q = 1e12  # beyond this all losses are skipped, and probabilities are lost in rounding


def skipping_factor(eps: float) -> float:
    r"""Return the factor :math:`\Theta` of the threshold.

    The paper takes the smaller of this and :math:`(2 - 2/\alpha)^{1/(2 - \alpha)}`, but the latter is always larger.

    Examples
    --------
    >>> round(skipping_factor(0.5), 9), round(skipping_factor(1.0), 9)
    (0.159103585, 0.206299474)
    """
    return 1.0 - float(2.0 ** (-eps / (1.0 + 2.0 * eps)))


class HTINFState(NamedTuple):
    """Losses, and the factor of the threshold."""

    draws: Draws
    factor: FloatArray


@register_policy(
    "htinf",
    needs="moment order, moment bound, bound on the best location",
    memory="57 bytes",
    cost="O(1), O(K)",
    regret="O(sigma K^(1-1/p) T^(1/p)), if E|l|^p <= sigma^p and E[l 1(|l| > M)] >= 0 for the best arm, where l "
    "= b - X; for fixed laws O(sum_a (sigma^p/Delta_a)^(1/(p-1)) ln T)",
    reference="Huang, Dai, Huang 2022",
    randomised=True,
    example={"eps": 0.3, "scale": 2.0, "offset": 1.0},
    zoo={"eps": 0.5, "scale": 1.0, "offset": {"instance": "highest"}},
    look="sky dash-dot",
)
class HTINF(NamedTuple):
    r"""HTINF.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: losses have a moment of order :math:`\alpha = 1 + \varepsilon`.
    scale
        :math:`\sigma`, a bound on :math:`(E|b - r|^\alpha)^{1/\alpha}`.
    offset
        b, an upper bound on the location of the best arm.

    Examples
    --------
    >>> policy = HTINF(eps=0.5, scale=1.0, offset=1.0)
    >>> state = policy.init(n_arms=2, horizon=None)
    >>> policy.update(state, 0, -1e300)  # skipped
    >>> policy.update(state, 0, 0.95)
    >>> state.draws.loss.round(9).tolist()
    [0.1, 0.0]
    """

    eps: Fraction
    scale: Positive
    offset: Finite

    def init(self, n_arms: int, horizon: int | None) -> HTINFState:
        return HTINFState(init_draws(n_arms, 1.0 / self.scale), np.array([skipping_factor(self.eps)]))

    def select(self, state: HTINFState, t: int, rng: Any) -> int:
        """Draw an arm with the probabilities of this round."""
        state.draws.rate[0] = 1.0 / (self.scale * power(t + 1.0, 1.0 / (1.0 + self.eps)))
        tsallis(state.draws, min(1.0 + 1.0 / self.eps, LARGEST_Q))
        return draw(state.draws, rng)

    def update(self, state: HTINFState, arm: int, reward: float) -> None:
        """Add the loss unless it is above the current threshold."""
        draws, loss = state.draws, self.offset - reward
        p = probability(draws, arm)
        if abs(loss) * draws.rate[0] <= state.factor[0] * power(p, 1.0 / (1.0 + self.eps)):
            charge(draws, arm, loss / p)


@register_preset(
    "opt-tinf",
    HTINF,
    lambda policy: (policy.eps, policy.scale) == (1.0, 1.0),
    needs="bound on the best location",
    regret="as htinf, but O(sigma^p K^((p-1)/2) T^((3-p)/2) + sqrt(K T)) and O(sum_a "
    "(sigma^(2p)/Delta_a^(3-p))^(1/(p-1)) ln T) for every p and sigma",
    reference="Huang, Dai, Huang 2022",
    example={"offset": 1.0},
    zoo={"offset": {"instance": "highest"}},
    look="sky short",
)
def opt_tinf(offset: float) -> HTINF:
    r"""Make OptTINF: HTINF without knowledge of the tails, run as if :math:`\alpha = 2` and :math:`\sigma = 1`.

    *Assumes* that losses :math:`\ell = b - r` have a moment of some order :math:`\alpha \in (1, 2]`, and the sign
    condition of :mod:`.htinf`.  *Must be told* b, an upper bound on the location of the best arm, but neither
    :math:`\alpha` nor :math:`\sigma` nor the horizon.  *When that fails*: see :mod:`.htinf`.  Even so, losses should
    be of the order of 1: the bounds grow faster with :math:`\sigma` than HTINF's, and larger losses are skipped at
    first, which makes bad arms look good.

    *Formula*: HTINF's at :math:`\alpha = 2`, :math:`\sigma = 1`.  The regret is
    :math:`O(\sigma^\alpha K^{(\alpha - 1)/2} T^{(3 - \alpha)/2} + \sqrt{KT})` against any adversary and
    :math:`O(\sum_a (\sigma^{2\alpha}/\Delta_a^{3 - \alpha})^{1/(\alpha - 1)} \ln T)` under fixed laws with one best
    arm.  *Cost*: HTINF's.  *Reference*: J. Huang, Y. Dai, L. Huang (2022).

    Examples
    --------
    >>> opt_tinf(offset=3)
    HTINF(eps=1.0, scale=1.0, offset=3.0)
    """
    return HTINF(eps=1.0, scale=1.0, offset=offset)
