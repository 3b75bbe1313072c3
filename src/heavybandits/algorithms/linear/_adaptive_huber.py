r"""Adaptive Huber regression, the basis of Heavy-OFUL and AdaOFUL, and of all with a learned scale.

Each reward has its own scale :math:`\sigma_s` and level :math:`\tau_s`.  They depend on the width
:math:`|x_s|_{H^{-1}}` of its row and are fixed when the reward arrives:

.. math::  \hat\theta = \arg\min_{|\theta| \le S} \frac\lambda2 |\theta|^2
           + \sum_s \rho_{\tau_s}\Bigl(\frac{r_s - x_s'\theta}{\sigma_s}\Bigr), \qquad
           H = \lambda I + \sum_s \frac{x_s x_s'}{\sigma_s^2},

where :math:`\rho` is Huber's loss, with derivative :math:`\mathrm{clip}(z, \tau)`, or its soft version, with derivative
:math:`\tau z/\sqrt{\tau^2 + z^2}`.  The second derivatives of both are at most 1, so H bounds the curvature.  Steps by
:math:`H^{-1}` times the gradient, each projected onto the ball in the norm of H, therefore never increase the loss.

The fit is updated from its current value whenever the number of rewards has grown by 5%.  In between, each reward moves
it by one step for its own term of the sum.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import require_same
from ...numerics import clip
from ...protocols import FloatArray, IntArray, compilable, rarely_called
from ..parts.state.pool import Pool, append, init_pool
from ._ball import into_ball
from ._design import dot, known_leverage
from ._rows import Fit, init_fit, lift, step

REFIT_GROWTH = 1.05  # refit when the number of rewards has grown by this factor
MOST_STEPS = 30
PRECISE = 1e-12  # stop when a step gains less than this: it was shorter than a millionth of a width
LEAST = 1e-150  # least width, so that a row of zeros causes no division by zero


class AdaptiveHuber(NamedTuple):
    """All rewards with their rows, scales and levels, and the fit to them."""

    fit: Fit
    rewards: Pool  # records of a row, its reward, scale and level
    due: IntArray  # number of rewards at which to refit
    gradient: FloatArray  # scratch
    lower: FloatArray  # scratch for the projection
    scratch: FloatArray
    ridge: FloatArray


class Scales(NamedTuple):
    """Lower bounds on the scale of a reward; each field is an array of length one."""

    smallest: FloatArray
    per_width: FloatArray
    per_root: FloatArray  # per square root of the width

    def check(self, fresh: Scales, n_arms: int) -> None:
        """Refuse scales made for another horizon."""
        require_same(self, fresh, *self._fields)


def init_scales(smallest: float, per_width: float, per_root: float) -> Scales:
    """Return scales with these bounds."""
    return Scales(smallest=np.array([smallest]), per_width=np.array([per_width]), per_root=np.array([per_root]))


def init_adaptive_huber(n_features: int, intercept: bool, ridge: float, horizon: int | None) -> AdaptiveHuber:
    """Return a fit to no rewards."""
    size = n_features + int(intercept)
    return AdaptiveHuber(
        fit=init_fit(n_features, intercept, ridge),
        rewards=init_pool(1, horizon, size + 3),
        due=np.ones(1, np.int64),
        gradient=np.zeros(size),
        lower=np.zeros((size, size)),
        scratch=np.zeros((3, size)),
        ridge=np.array([ridge]),
    )


@compilable
def width_of(huber: AdaptiveHuber, x: FloatArray) -> float:
    """Copy a row to ``fit.row`` and return its width, the norm under the inverse of H."""
    lift(huber.fit.row, x)
    return max(math.sqrt(known_leverage(huber.fit.design, huber.fit.row)), LEAST)


@compilable
def scale_of(scales: Scales, nu: float, width: float) -> float:
    """Return the scale, at least ``nu``, of a reward whose row has this width.

    Examples
    --------
    >>> scale_of(init_scales(smallest=0.1, per_width=2.0, per_root=3.0), nu=1.0, width=4.0)
    8.0
    """
    return float(max(nu, scales.smallest[0], scales.per_width[0] * width, scales.per_root[0] * math.sqrt(width)))


@compilable
def level_of(tau: float, w: float) -> float:
    """Return the level for a row of width ``w`` in units of the scale; it approaches ``tau`` for wide rows."""
    return tau * math.sqrt(1.0 + w * w) / w


@compilable
def influence(z: float, level: float, soft: bool) -> float:
    """Return the derivative of the loss."""
    return level * (z / math.sqrt(level * level + z * z)) if soft else clip(z, level)


@compilable
def take_in(huber: AdaptiveHuber, y: float, scale: float, level: float, bound: float, soft: bool) -> None:
    """Update the fit with the reward of ``fit.row``."""
    add_reward(huber, y, scale, level, bound, soft)
    if is_due(huber):
        fit_all(huber, bound, soft, PRECISE)


@compilable
def add_reward(huber: AdaptiveHuber, y: float, scale: float, level: float, bound: float, soft: bool) -> None:
    """Keep the reward of ``fit.row``, and move the fit by one step."""
    fit, records, size = huber.fit, huber.rewards.records, len(huber.gradient)
    at = append(huber.rewards, 0)
    for i in range(size):
        records[at + i] = fit.row[i]
    records[at + size], records[at + size + 1], records[at + size + 2] = y, scale, level
    error = influence((y - dot(fit.theta, fit.row)) / scale, level, soft) / scale
    step(fit, error, 1.0 / (scale * scale))
    into_ball(fit.theta, fit.design.inverse, bound, huber.lower, huber.scratch)


@compilable
def is_due(huber: AdaptiveHuber) -> bool:
    """Return whether to refit now; if so, note when to do so next."""
    n = huber.fit.seen[0]
    if n < huber.due[0]:
        return False
    huber.due[0] = math.ceil(REFIT_GROWTH * n)
    return True


@rarely_called
def fit_all(huber: AdaptiveHuber, bound: float, soft: bool, precise: float) -> None:
    """Minimise the loss over all rewards, until a step gains at most ``precise``."""
    fit, gradient, before = huber.fit, huber.gradient, huber.fit.design.product
    theta, inverse = fit.theta, fit.design.inverse
    for _ in range(MOST_STEPS):
        slope(huber, soft)
        for i in range(len(theta)):
            before[i] = theta[i]
        for i in range(len(theta)):
            theta[i] += dot(inverse[i], gradient)
        into_ball(theta, inverse, bound, huber.lower, huber.scratch)
        gain = 0.0
        for i in range(len(theta)):
            gain += (theta[i] - before[i]) * gradient[i]
        if gain <= precise:
            break


@rarely_called
def slope(huber: AdaptiveHuber, soft: bool) -> None:
    """Compute the negative gradient of the loss over all rewards."""
    theta, gradient, records = huber.fit.theta, huber.gradient, huber.rewards.records
    size, at = len(gradient), huber.rewards.start[0]
    for i in range(size):
        gradient[i] = -huber.ridge[0] * theta[i]
    for _ in range(huber.rewards.size[0]):
        row, scale = records[at : at + size], records[at + size + 1]
        z = (records[at + size] - dot(theta, row)) / scale
        force = influence(z, records[at + size + 2], soft) / scale
        for i in range(size):
            gradient[i] += force * row[i]
        at += size + 3
