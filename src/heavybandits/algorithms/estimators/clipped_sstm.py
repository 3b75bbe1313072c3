r"""Clipped stochastic similar triangles method: accelerated clipped SGD (Gorbunov et al. 2020, Puchkin et al. 2024).

For :math:`f(x) = (x - \mu)^2/2` (smoothness L = 1), from :math:`A_0 = 0`, :math:`y = z = x_0`,

.. math::
   \alpha_{k+1} = \frac{k + 2}{2a}, \quad A_{k+1} = A_k + \alpha_{k+1}, \quad
   x_{k+1} = \frac{A_k y_k + \alpha_{k+1} z_k}{A_{k+1}},

   z_{k+1} = z_k - \alpha_{k+1}\,\mathrm{clip}(\hat g(x_{k+1}), \lambda_{k+1}), \quad
   y_{k+1} = \frac{A_k y_k + \alpha_{k+1} z_{k+1}}{A_{k+1}}.

The estimate is y.  In the scalar bandit problem noise dominates from the first steps, so there is nothing to gain
from acceleration; the method is here for completeness.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from ..._validate import required_horizon
from ...numerics import clip, saturate
from ...protocols import FloatArray, IntArray
from ...theory import confidence
from ..entries import register_estimator
from ..parameters import Count, Finite, NonNegative, Positive, Whole
from ..parts.means.smom import Waiting, collect, init_waiting, smoothed_median


class ClippedSSTMState(NamedTuple):
    """Two sequences per arm, and what the horizon decides."""

    y: FloatArray
    z: FloatArray
    steps: IntArray
    waiting: Waiting
    damping: FloatArray  # array of length one: a
    level: FloatArray  # array of length one: the clipping level
    divided: IntArray  # array of length one: 1 if alpha divides the level


@register_estimator("clipped-sstm")
class ClippedSSTM(NamedTuple):
    r"""Clipped SSTM as a g-bounded optimiser for :class:`.FOUCB`.

    Parameters
    ----------
    a
        Damping in the practical schedule: larger is slower.  The theoretical one is
        :math:`\max\{97200 \ln^2(4T/\delta),\ 1800\,\sigma (T+1) \sqrt{T \ln(4T/\delta)}/R\}`.
    clip
        R, a bound on :math:`|x_0 - \mu|`, and the practical clipping level.  The theoretical one is
        :math:`\lambda_{k+1} = R/(30\,\alpha_{k+1} \ln(4T/\delta))`.
    m, n, theta
        As in :class:`.ClippedSGD`.
    sigma
        Standard deviation of the gradient estimate.
    schedule
        ``"theory"``, for which :math:`g(k) = 6 a R^2/(k(k+3))` is claimed, or ``"practical"``.
    start
        :math:`x_0`.

    Examples
    --------
    >>> sstm = ClippedSSTM(a=2.0, clip=2.0, schedule="practical")
    >>> state = sstm.init(n_arms=1, horizon=100)
    >>> for reward in (1.0, 3.0, -20.0, 1.5):
    ...     sstm.observe(state, 0, reward)
    >>> round(sstm.value(state, 0), 9)
    0.946428571
    """

    a: Positive = 2.0
    clip: Positive = 10.0
    m: Whole = 0
    n: Count = 1
    theta: NonNegative = 0.0
    sigma: Positive = 1.0
    schedule: Literal["theory", "practical"] = "theory"
    start: Finite = 0.0

    def init(self, n_arms: int, horizon: int | None) -> ClippedSSTMState:
        """Return both sequences at ``start``."""
        a, level, divided = self.a, self.clip, 0
        if self.schedule == "theory":
            horizon = required_horizon("ClippedSSTM", horizon, "schedule")
            factor = math.log(4.0 * horizon / confidence(horizon))
            noise = 1800.0 * self.sigma * (horizon + 1) * math.sqrt(horizon * factor) / self.clip
            a, level, divided = max(97200.0 * factor**2, noise), self.clip / (30.0 * factor), 1
            if a > 1e150:
                raise ValueError(f"ClippedSSTM: clip must be larger for this sigma and horizon, got {self.clip}")
        start = np.full(n_arms, self.start)
        return ClippedSSTMState(
            y=start,
            z=start.copy(),
            steps=np.zeros(n_arms, np.int64),
            waiting=init_waiting(n_arms, self.batch_size(), self.theta > 0.0),
            damping=np.array([a]),
            level=np.array([level]),
            divided=np.array([divided]),
        )

    def batch_size(self) -> int:
        """Return how many rewards make one step."""
        return (2 * self.m + 1) * self.n

    def observe(self, state: ClippedSSTMState, arm: int, reward: float) -> None:
        """Add a reward to the arm's batch, and take a step once it is full."""
        if not collect(state.waiting, arm, reward, (2 * self.m + 1) * self.n):
            return
        k = state.steps[arm]
        a, level = state.damping[0], state.level[0]
        alpha = (k + 2) / (2.0 * a)
        total = (k + 1) * (k + 4) / (4.0 * a)
        share = alpha / total
        x = (1.0 - share) * state.y[arm] + share * state.z[arm]
        if state.divided[0]:
            level /= alpha
        centre = smoothed_median(state.waiting, arm, self.m, self.n, self.theta)
        state.z[arm] -= alpha * clip(saturate(x - centre), level)
        state.y[arm] = (1.0 - share) * state.y[arm] + share * state.z[arm]
        state.steps[arm] = k + 1

    def value(self, state: ClippedSSTMState, arm: int) -> float:
        """Return the current y."""
        return float(state.y[arm])

    def bound(self, state: ClippedSSTMState, arm: int, delta: float) -> float:
        """Return g(k) after the arm's k steps; the schedule has delta = 1/T^2 built in."""
        k = state.steps[arm]
        return 6.0 * state.damping[0] * self.clip * self.clip / (k * (k + 3.0)) if k > 0 else math.inf
