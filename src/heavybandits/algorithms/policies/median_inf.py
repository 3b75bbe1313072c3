r"""Median-INF: Tsallis-INF on medians of a few losses, for symmetric noise that may have no mean.

*Assumes* noise that is symmetric, or the same for all arms, and locations that change slowly if at all.  *Must be told*
the horizon T, a number m with :math:`(m + 1)\beta > 2` if densities fall like :math:`|x|^{-1 - \beta}` (for Cauchy
noise :math:`\beta = 1`, so m = 2), the size :math:`\sigma` of medians, and an offset b.  *When that fails*: with m too
small, medians are heavy-tailed and only clipping tames them; with :math:`\sigma` too small, arms look alike; with
:math:`\sigma` too large, it learns slowly.  An adversary who changes rewards from pull to pull can fool it.

*Formula*: draw A from the probabilities of :mod:`.tsallis_inf` with the constant rate :math:`\eta`, play it
:math:`2m + 1` times, and add :math:`\mathrm{clip}(\ell, \lambda)/x_A` to :math:`L_A`, where :math:`\ell` is b minus the
median reward.  With :math:`N = T/(2m + 1)` draws and :math:`E\ell^2 \le \sigma^2`,

.. math::  \eta = \sqrt{2/N}/\sigma, \qquad \lambda = \sigma \sqrt N.

If :math:`\ell \ge 0`, the regret of the draws is at most :math:`\sqrt{8KN}\,\sigma + \sqrt N\,\sigma`, where the second
term is the cost of clipping; in pulls it is :math:`2m + 1` times that.  The published method instead draws A
:math:`2m + 1` times independently and takes each arm's median of :math:`\ell/x_A`, with zeros where the arm was not
drawn.  That is zero for every arm drawn fewer than m + 1 times, so it learns next to nothing about unlikely arms.

For rewards that come late or unasked, see :mod:`.ftrl`; the losses of an arm wait until there are :math:`2m + 1`.

*Cost*: O(K) per draw and O(m²) per median; 16m + 81 bytes per arm.  *Reference*: after N. Kornilov, Y. Dorn,
A. Lobanov, N. Kutuzov, I. Shibaev, E. Gorbunov, A. Gasnikov, A. Nazin (2024).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import required_horizon
from ...numerics import clip, small_median
from ...protocols import FloatArray, IntArray
from ..entries import register_policy
from ..parameters import Finite, Positive, Whole
from ..parts.choice.ftrl import Draws, charge, draw, init_draws, probability, tsallis
from ..parts.means.smom import Waiting, collect, init_waiting


class MedianINFState(NamedTuple):
    """Losses, and rewards that wait for their median."""

    draws: Draws
    waiting: Waiting
    left: IntArray  # per arm: selections until its batch is complete
    last: IntArray  # the arm drawn last
    level: FloatArray


@register_policy(
    "median-inf",
    needs="horizon, tail exponent, scale, symmetry",
    memory="16 m + 81 bytes",
    cost="O(m), O(K) per batch",
    regret="(1 + sqrt(8 K)) sigma sqrt((2m + 1) T), if E l^2 <= sigma^2 for medians l >= 0 of 2m + 1 losses",
    reference="after Kornilov, Dorn, Lobanov, Kutuzov, Shibaev, Gorbunov, Gasnikov, Nazin 2024",
    randomised=True,
    example={"m": 1, "scale": 1.0, "offset": 1.0},
    zoo={"m": 1, "scale": 1.0, "offset": {"instance": "highest"}},
    look="purple dash-dot",
)
class MedianINF(NamedTuple):
    r"""Median-INF.

    Parameters
    ----------
    m
        Medians are taken over :math:`2m + 1` rewards.
    scale
        :math:`\sigma`, a bound on the root mean square of b minus such a median.
    offset
        b, from which rewards are subtracted; ideally an upper bound on the locations.

    Examples
    --------
    >>> policy = MedianINF(m=1, scale=1.0, offset=2.0)
    >>> state = policy.init(n_arms=2, horizon=300)
    >>> for reward in (1.5, 1e300, 0.5):
    ...     policy.update(state, 0, reward)
    >>> state.draws.loss.tolist()  # twice 2.0 - 1.5
    [1.0, 0.0]
    """

    m: Whole
    scale: Positive
    offset: Finite

    def init(self, n_arms: int, horizon: int | None) -> MedianINFState:
        n_draws = required_horizon("MedianINF", horizon, "rate") / (2 * self.m + 1)
        return MedianINFState(
            draws=init_draws(n_arms, math.sqrt(2.0 / n_draws) / self.scale),
            waiting=init_waiting(n_arms, 2 * self.m + 1),
            left=np.zeros(n_arms, np.int64),
            last=np.zeros(1, np.int64),
            level=np.array([self.scale * math.sqrt(n_draws)]),
        )

    def select(self, state: MedianINFState, t: int, rng: Any) -> int:
        """Return the arm drawn last until its batch is complete, then a new draw."""
        arm = min(state.last[0], len(state.left) - 1)
        if state.left[arm] > 0 and state.draws.open[arm]:
            state.left[arm] -= 1
            return int(arm)
        tsallis(state.draws, 2.0)
        arm = draw(state.draws, rng)
        state.last[0], state.left[arm] = arm, 2 * self.m
        return int(arm)

    def update(self, state: MedianINFState, arm: int, reward: float) -> None:
        """Store the reward, and add the median loss once a batch is complete."""
        if collect(state.waiting, arm, reward, 2 * self.m + 1):
            loss = clip(self.offset - small_median(state.waiting.rewards[arm], 2 * self.m + 1), state.level[0])
            charge(state.draws, arm, loss / probability(state.draws, arm))
