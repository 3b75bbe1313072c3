r"""Huber regression with a scale that is learned, as in textbooks: nothing must be told.

.. math::  \hat\theta = \arg\min_\theta \frac\lambda2 |\theta|^2 + \sum_s \rho_\tau(r_s - x_s'\theta), \qquad
           \tau = 1.345\,\hat\sigma, \qquad \hat\sigma = \frac{\mathrm{median}_s\,|r_s - x_s'\hat\theta_{s-1}|}{0.6745}.

The scale comes from errors of prediction, made before a reward is learned.  Residuals would be almost 0 as long as
there are fewer rewards than features.  While more than half of the errors are 0, nothing is clipped.

The fit, and with it the scale, is updated whenever the number of rewards has grown by 5%, by the steps of
:mod:`._adaptive_huber`; in between, each reward moves it by one step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import require_within
from ...numerics import clip
from ...protocols import FloatArray, compilable, rarely_called
from ..parts.means.median import median_in_place
from ..parts.state.pool import Pool, append, init_pool
from ._adaptive_huber import PRECISE, AdaptiveHuber, add_reward, fit_all, init_adaptive_huber, is_due
from ._cholesky import LARGEST_SOLUTION
from ._design import dot
from ._rows import LARGEST_REWARD, lift, tame

QUARTILE = 0.6745  # of the normal law: its median absolute deviation
LEVEL = 1.345  # 95% as precise as least squares if the noise is normal


class HuberLine(NamedTuple):
    """A Huber regression, and the scale of its errors."""

    huber: AdaptiveHuber
    errors: Pool  # absolute errors of prediction, in any order
    scale: FloatArray  # array of length one; 0 while it is not known

    def check(self, fresh: HuberLine, n_arms: int) -> None:
        """Refuse a scale that is negative or infinite."""
        require_within("scale", self.scale, 0.0, 4.0 * LARGEST_REWARD)


def init_huber_line(n_features: int, intercept: bool, ridge: float, horizon: int | None) -> HuberLine:
    """Return a fit to no rewards.

    Examples
    --------
    >>> line = init_huber_line(n_features=1, intercept=False, ridge=1e-6, horizon=None)
    >>> for reward in (1.0, 2.0, 3.0, 4.0, 1e9):
    ...     learn_huber_line(line, np.ones(1), reward)
    >>> float(line.scale[0].round(3)), line.huber.fit.theta.round(2).tolist()
    (2.224, [3.25])
    """
    return HuberLine(
        huber=init_adaptive_huber(n_features, intercept, ridge, horizon),
        errors=init_pool(1, horizon, 1),
        scale=np.zeros(1),
    )


@compilable
def learn_huber_line(line: HuberLine, x: FloatArray, reward: float) -> None:
    """Update the fit with the reward of a row."""
    huber, y = line.huber, tame(reward)
    lift(huber.fit.row, x)
    error = y - dot(huber.fit.theta, huber.fit.row)
    line.errors.records[append(line.errors, 0)] = abs(tame(error))
    add_reward(huber, y, 1.0, level_of(line.scale[0]), math.inf, False)
    if is_due(huber):
        refit(line)
    theta = huber.fit.theta
    for i in range(len(theta)):  # rounding beside huge features could make it infinite, and then NaN
        theta[i] = clip(theta[i], LARGEST_SOLUTION)


@compilable
def level_of(scale: float) -> float:
    """Return the level beyond which errors are clipped: that of all rewards if the scale is not known."""
    return LEVEL * scale if scale > 0.0 else LARGEST_REWARD


@rarely_called
def refit(line: HuberLine) -> None:
    """Learn the scale anew, and minimise the loss over all rewards."""
    huber, errors = line.huber, line.errors
    start, n = errors.start[0], errors.size[0]
    line.scale[0] = median_in_place(errors.records[start : start + n], n) / QUARTILE
    level = level_of(line.scale[0])
    width = huber.rewards.width[0]
    at = huber.rewards.start[0] + width - 1  # where the level of the first reward is
    for _ in range(n):
        huber.rewards.records[at] = level
        at += width
    fit_all(huber, math.inf, False, PRECISE * line.scale[0] * line.scale[0])
