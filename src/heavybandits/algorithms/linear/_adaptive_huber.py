r"""Adaptive Huber regression, on which Heavy-OFUL and AdaOFUL stand.

Each reward has a scale :math:`\sigma_s` and a level :math:`\tau_s` of its own, fixed when it comes by the width
:math:`|x_s|_{H^{-1}}` of its row:

.. math::  \hat\theta = \arg\min_{|\theta| \le S} \frac\lambda2 |\theta|^2
           + \sum_s \rho_{\tau_s}\Bigl(\frac{r_s - x_s'\theta}{\sigma_s}\Bigr), \qquad
           H = \lambda I + \sum_s \frac{x_s x_s'}{\sigma_s^2},

with Huber's :math:`\rho`, whose derivative is :math:`\mathrm{clip}(z, \tau)`, or the soft one,
:math:`\tau z/\sqrt{\tau^2 + z^2}`.  Both have second derivatives of at most 1, so H bounds the curvature, and steps by
:math:`H^{-1}` times the gradient, each projected onto the ball in the norm of H, never increase the loss.

The fit is worked out, from where it is, when the number of rewards has grown by 5%; in between a reward moves it by one
such step of its own.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import require_same
from ...protocols import FloatArray, IntArray, compilable, rarely_called
from ..kit.ball import into_ball
from ..kit.design import dot, known_leverage
from ..kit.linear import Fit, init_fit, lift, step
from ..kit.numerics import clip
from ..kit.pool import Pool, append, init_pool

GROWTH = 1.05  # of the number of rewards, until the fit is worked out anew
MOST_STEPS = 30
PRECISE = 1e-12  # gain by the last step at which it ends: that step was a millionth of a width
LEAST = 1e-150  # of a width, which is 0 for a row of zeros


class AdaptiveHuber(NamedTuple):
    """All rewards with their rows, scales and levels, and the fit."""

    fit: Fit
    rewards: Pool  # records of a row, its reward, scale and level
    due: IntArray  # number of rewards at which the fit is worked out next
    gradient: FloatArray  # scratch
    lower: FloatArray  # scratch of the projection
    scratch: FloatArray
    ridge: FloatArray


class Scales(NamedTuple):
    """What bounds the scale of a reward from below; each field is an array of one."""

    smallest: FloatArray
    per_width: FloatArray
    per_root: FloatArray  # of the width

    def check(self, fresh: Scales, n_arms: int) -> None:
        """Refuse what does not fit the horizon."""
        require_same(self, fresh, *self._fields)


def init_scales(smallest: float, per_width: float, per_root: float) -> Scales:
    """Return scales with these numbers."""
    return Scales(smallest=np.array([smallest]), per_width=np.array([per_width]), per_root=np.array([per_root]))


def init_adaptive_huber(n_features: int, intercept: bool, ridge: float, horizon: int) -> AdaptiveHuber:
    """Return the fit to nothing."""
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
    """Return the length of a row in the norm of the inverse of H, and put the row at hand."""
    lift(huber.fit.row, x)
    return max(math.sqrt(known_leverage(huber.fit.design, huber.fit.row)), LEAST)


@compilable
def scale_of(scales: Scales, nu: float, width: float) -> float:
    """Return the scale of a reward of a row of this width, at least ``nu``.

    Examples
    --------
    >>> scale_of(init_scales(smallest=0.1, per_width=2.0, per_root=3.0), nu=1.0, width=4.0)
    8.0
    """
    return float(max(nu, scales.smallest[0], scales.per_width[0] * width, scales.per_root[0] * math.sqrt(width)))


@compilable
def level_of(tau: float, w: float) -> float:
    """Return the level of a reward whose row has this width in units of its scale; ``tau`` is that of a wide one."""
    return tau * math.sqrt(1.0 + w * w) / w


@compilable
def influence(z: float, level: float, soft: bool) -> float:
    """Return the derivative of the loss."""
    return level * (z / math.sqrt(level * level + z * z)) if soft else clip(z, level)


@compilable
def take_in(huber: AdaptiveHuber, y: float, scale: float, level: float, bound: float, soft: bool) -> None:
    """Take in the reward of the row at hand."""
    fit, records, size = huber.fit, huber.rewards.records, len(huber.gradient)
    at = append(huber.rewards, 0)
    for i in range(size):
        records[at + i] = fit.row[i]
    records[at + size], records[at + size + 1], records[at + size + 2] = y, scale, level
    error = influence((y - dot(fit.theta, fit.row)) / scale, level, soft) / scale
    step(fit, error, 1.0 / (scale * scale))
    into_ball(fit.theta, fit.design.inverse, bound, huber.lower, huber.scratch)
    if fit.seen[0] >= huber.due[0]:
        huber.due[0] = math.ceil(GROWTH * fit.seen[0])
        fit_all(huber, bound, soft)


@rarely_called
def fit_all(huber: AdaptiveHuber, bound: float, soft: bool) -> None:
    """Minimise the loss over all rewards."""
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
        if gain <= PRECISE:
            break


@rarely_called
def slope(huber: AdaptiveHuber, soft: bool) -> None:
    """Work out the negative gradient of the loss over all rewards."""
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
