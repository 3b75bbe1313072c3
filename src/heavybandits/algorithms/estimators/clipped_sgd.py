r"""Clipped stochastic gradient descent on a smoothed median-of-means gradient.

For each arm, minimise :math:`f(x) = (x - \mu)^2/2` using its own rewards: with the gradient estimate
:math:`\hat g = \mathrm{SMoM}_{m,n}(x_k - r; \theta)` over a batch of :math:`b = (2m + 1) n` rewards,

.. math::  x_{k+1} = x_k - \gamma\,\mathrm{clip}(\hat g, \lambda_k).

There are two schedules, both for a horizon T and a bound R on :math:`|x_0 - \mu|`:

* ``"practical"``, as in the published experiments: :math:`\gamma = 1/\ln(4(T+1)T^2)`, :math:`\lambda_k = R`.  A
  constant step never converges: the estimate keeps a standard deviation of :math:`\sqrt{\gamma V/((2 - \gamma) H)}`
  with :math:`V = E\,\mathrm{clip}(\xi, R)^2` and :math:`H = P(|\xi| \le R)`.
* ``"theory"``: :math:`\gamma` and :math:`\lambda_k` as in the theorem (:mod:`heavybandits.theory`).  At T = 10,000 it
  takes more than 10,000 steps per arm to reduce the error by a factor of e: sound, but of no practical use.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from ..._validate import required_horizon
from ...numerics import clip, saturate, small_median
from ...protocols import FloatArray, IntArray, compilable
from ...theory import (
    confidence,
    exponential_rate,
    first_clip,
    practical_step,
    printed_rate,
    printed_step,
    proven_step,
)
from ..entries import register_estimator
from ..parameters import Count, Finite, NonNegative, OddOrZero, Positive, Whole
from ..parts.means.smom import Waiting, collect, init_waiting, smoothed, smoothed_median
from ..parts.state.scalars import Scalars, init_scalars


class Iterates(NamedTuple):
    """One iterate per arm."""

    x: FloatArray
    steps: IntArray  # gradient steps made; -1 before the first estimate
    waiting: Waiting
    schedule: Scalars  # see init_schedule


def init_schedule(step: float, level: float, decay: float, **bound: float) -> Scalars:
    """Return a step, the first clipping level, its rate of decay, and what the bound needs; no step is infinite."""
    return init_scalars(step=saturate(step), level=saturate(level), decay=saturate(decay), **bound)


def init_iterates(
    n_arms: int, batch_size: int, initial: int, start: float, theta: float, schedule: Scalars
) -> Iterates:
    """Return fresh iterates: at ``start``, or to be put at the median of the first ``initial`` rewards."""
    return Iterates(
        x=np.full(n_arms, start),
        steps=np.full(n_arms, -1 if initial else 0, np.int64),
        waiting=init_waiting(n_arms, max(batch_size, initial), theta > 0.0),
        schedule=schedule,
    )


@compilable
def descend(state: Iterates, arm: int, reward: float, m: int, n: int, theta: float, initial: int) -> bool:
    """Add a reward to the arm's batch; return whether that completed it and moved the iterate."""
    k = state.steps[arm]
    if k >= 0 and m == 0 and n == 1:  # a batch of one has nothing to wait for
        centre = smoothed(state.waiting, reward, theta)
    elif not collect(state.waiting, arm, reward, initial if k < 0 else (2 * m + 1) * n):
        return False
    elif k < 0:
        state.x[arm] = small_median(state.waiting.rewards[arm], initial)
        state.steps[arm] = 0
        return True
    else:
        centre = smoothed_median(state.waiting, arm, m, n, theta)
    schedule = state.schedule[0]
    level = schedule.level
    if schedule.decay > 0.0:
        level *= math.exp(-schedule.decay * k)
    state.steps[arm] = k + 1
    # Written last, so that compiled code has it at hand for the index.
    state.x[arm] -= schedule.step * clip(state.x[arm] - centre, level)
    return True


@register_estimator("clipped-sgd", example={"m": 1, "init_pulls": 1})
class ClippedSGD(NamedTuple):
    r"""Clipped SGD as a g-bounded optimiser for :class:`.FOUCB`.

    Parameters
    ----------
    m, n
        :math:`2m + 1` blocks of n rewards make a gradient.
    clip
        R, a bound on the distance of ``start``, or of the initial median, from the arms' locations.
    theta
        Smoothing of the median of means; 0 if the noise has a smooth density.
    sigma
        Standard deviation of the gradient estimate.
    schedule
        ``"theory"`` or ``"practical"``; the bounds below are claimed only for the first.
    radius
        ``"printed"``: :math:`g = 5400 \sigma^2 A \ln^2((T+1)R^2)/(k+1)`; ``"exp"``: :math:`g = R^2 e^{-\gamma k}`,
        with the smaller step that the cited theorem needs.
    start
        First iterate.
    init_pulls
        Odd number of first rewards whose median replaces ``start``; 0 for none.

    Examples
    --------
    >>> sgd = ClippedSGD(clip=2.0)
    >>> state = sgd.init(n_arms=2, horizon=100)
    >>> sgd.observe(state, 1, 1e300)
    >>> round(sgd.value(state, 1), 8)
    0.00109546
    """

    m: Whole = 0
    n: Count = 1
    clip: Positive = 10.0
    theta: NonNegative = 0.0
    sigma: Positive = 1.0
    schedule: Literal["theory", "practical"] = "theory"
    radius: Literal["printed", "exp"] = "printed"
    start: Finite = 0.0
    init_pulls: OddOrZero = 0

    def init(self, n_arms: int, horizon: int | None) -> Iterates:
        """Return fresh iterates."""
        horizon = required_horizon("ClippedSGD", horizon, "step")
        delta, exponential = confidence(horizon), self.radius == "exp"
        if self.schedule == "practical":
            step, level, decay = practical_step(horizon), self.clip, 0.0
        else:
            step = (proven_step(horizon, self.clip, delta, self.sigma) if exponential
                    else printed_step(horizon, self.clip, delta))  # fmt: skip
            level, decay = first_clip(step, self.clip, horizon, delta), 0.5 * step
        schedule = init_schedule(step, level, decay, horizon=float(horizon), exponential=int(exponential))
        return init_iterates(n_arms, self.batch_size(), self.init_pulls, self.start, self.theta, schedule)

    def batch_size(self) -> int:
        """Return how many rewards make one step."""
        return (2 * self.m + 1) * self.n

    def observe(self, state: Iterates, arm: int, reward: float) -> None:
        """Add a reward to the arm's batch, and take a step once it is full."""
        descend(state, arm, reward, self.m, self.n, self.theta, self.init_pulls)

    def value(self, state: Iterates, arm: int) -> float:
        """Return the current iterate."""
        return float(state.x[arm])

    def bound(self, state: Iterates, arm: int, delta: float) -> float:
        """Return g(k, delta) after the arm's k steps; infinite before the first estimate."""
        k, schedule = state.steps[arm], state.schedule[0]
        if k < 0 or (k == 0 and self.init_pulls == 0):
            return math.inf
        if schedule.exponential:
            return exponential_rate(k, schedule.step, self.clip)
        return printed_rate(k, delta, schedule.horizon, self.clip, self.sigma)
