r"""Two-point zero-order descent on :math:`|x - \mu|`.

Once a reward r is known, :math:`|x - r|` can be evaluated at any x.  With a smoothing radius :math:`\tau`, a step is

.. math::  x_{k+1} = x_k - \frac{c}{k + 1 + p}\,\frac{|x_k + \tau - r| - |x_k - \tau - r|}{2},

and since :math:`|u + \tau| - |u - \tau| = 2\,\mathrm{clip}(u, \tau)` for every u, this *is* clipped SGD with clipping
level :math:`\tau` and steps :math:`c/(k + 1 + p)`, where p counts the rewards that made :math:`x_0`.  For noise that is
symmetric about zero, with :math:`H = P(|\xi| \le \tau)` and :math:`V = E\,\mathrm{clip}(\xi, \tau)^2`, it is
asymptotically normal around :math:`\mu` if :math:`c > 1/(2H)`, with variance :math:`V/(H^2 k)` at the best
:math:`c = 1/H`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...numerics import saturate, small_median
from ...protocols import FloatArray, IntArray
from ..entries import register_estimator
from ..parameters import OddOrZero, Positive
from ..parts.means.smom import Waiting, collect, init_waiting


class TwoPointState(NamedTuple):
    """One iterate per arm."""

    x: FloatArray
    steps: IntArray  # -1 before the first estimate
    waiting: Waiting  # the initial rewards


@register_estimator("two-point")
class TwoPoint(NamedTuple):
    r"""Two-point zero-order optimiser for :class:`.ZOUCB`.

    Parameters
    ----------
    tau
        Smoothing radius; the noise's median absolute deviation is a good choice, for which H = 1/2.
    step
        c, best at 1/H.
    spread
        Upper bound on :math:`\sqrt V/H` (1.6 for Cauchy noise of scale 1 with the two values above).  The bound
        :math:`g(k, \delta) = \text{spread} \cdot \sqrt{2 \ln(2/\delta)/(k + p)}` on :math:`|x_k - \mu|` is that of the
        normal limit.  There is no proof for small k, and for very small :math:`\delta` the bound fails: an initial
        median that is far off is forgotten slowly.
    init_pulls
        p, an odd number of first rewards whose median is the first iterate; 0 to start at 0.

    Examples
    --------
    >>> zo = TwoPoint(tau=1.0, step=2.0, init_pulls=1)
    >>> state = zo.init(n_arms=1, horizon=None)
    >>> for reward in (3.0, 1e300, 3.5):
    ...     zo.observe(state, 0, reward)
    >>> round(zo.value(state, 0), 6)
    3.666667
    """

    tau: Positive = 1.0
    step: Positive = 2.0
    spread: Positive = 1.6
    init_pulls: OddOrZero = 15

    def init(self, n_arms: int, horizon: int | None) -> TwoPointState:
        """Return fresh iterates."""
        steps = np.full(n_arms, -1 if self.init_pulls else 0, np.int64)
        return TwoPointState(
            x=np.zeros(n_arms),
            steps=steps,
            waiting=init_waiting(n_arms, max(self.init_pulls, 1)),
        )

    def observe(self, state: TwoPointState, arm: int, reward: float) -> None:
        """Take a step with a reward, or keep it for the initial median."""
        k = state.steps[arm]
        if k < 0:
            if collect(state.waiting, arm, reward, self.init_pulls):
                state.x[arm] = small_median(state.waiting.rewards[arm], self.init_pulls)
                state.steps[arm] = 0
            return
        x, reward = state.x[arm], saturate(reward)
        # |x + tau - r| - |x - tau - r| loses tau to rounding when r is huge; the difference is then exactly 2 tau.
        if abs(x - reward) >= self.tau:
            difference = math.copysign(2.0 * self.tau, x - reward)
        else:
            difference = abs(x + self.tau - reward) - abs(x - self.tau - reward)
        state.x[arm] = x - self.step / (k + 1 + self.init_pulls) * 0.5 * difference
        state.steps[arm] = k + 1

    def value(self, state: TwoPointState, arm: int) -> float:
        """Return the current iterate."""
        return float(state.x[arm])

    def bound(self, state: TwoPointState, arm: int, delta: float) -> float:
        """Return g(k, delta) after the arm's k steps; infinite before the first estimate."""
        k = state.steps[arm]
        if k < 0 or k + self.init_pulls == 0:
            return math.inf
        return self.spread * math.sqrt(2.0 * math.log(2.0 / delta) / (k + self.init_pulls))
