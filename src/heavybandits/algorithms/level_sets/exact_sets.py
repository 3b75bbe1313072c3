r"""The level set of a few rewards, found exactly: its minimiser and its upper end.

With a loss :math:`\rho`, a scale s and sorted rewards :math:`r_1, \dots, r_n`, let

.. math::  F(\theta) = \sum_j \rho\Bigl(\frac{r_j - \theta}{s}\Bigr), \qquad
           U = \sup\{\theta : F(\theta) \le \min F + \ell\}.

F need not be convex, and the set may have gaps: every reward may have its own valley.
"""

from __future__ import annotations

import math

from ...protocols import FloatArray, rarely_called
from .loss_tables import at

STRIDE, STRIDES = 0.5, 8  # length of a step in the search for a valley, in units of the scale, and most steps
DEPTH = 1.5  # how much lower than at the start of the search F may be in a valley


@rarely_called
def total(rho: FloatArray, rewards: FloatArray, n: int, scale: float, theta: float) -> float:
    """Return F at theta."""
    loss, inverse = 0.0, 1.0 / scale  # dividing for each reward would take half as long again
    for i in range(n):
        loss += at(rho, (rewards[i] - theta) * inverse, 2.0)
    return loss


@rarely_called
def pull(score: FloatArray, rewards: FloatArray, n: int, scale: float, theta: float) -> float:
    """Return the negative slope of F at theta, in units of the scale: positive if F falls there."""
    slope, inverse = 0.0, 1.0 / scale
    for i in range(n):
        slope += at(score, (rewards[i] - theta) * inverse, 0.0)
    return slope


@rarely_called
def valley(score: FloatArray, mode: float, rewards: FloatArray, n: int, scale: float, i: int) -> float:
    """Return the minimum of F near where the i-th reward alone would put it, to a tenth of the scale.

    The search goes downhill, but neither far nor past the point where the next reward would put it: that is the next
    valley.
    """
    x = rewards[i] - scale * mode
    rises = pull(score, rewards, n, scale, x) > 0.0
    other = i + 1 if rises else i - 1
    end = rewards[other] - scale * mode if 0 <= other < n else (math.inf if rises else -math.inf)
    for _ in range(STRIDES):
        y = end if abs(end - x) <= STRIDE * scale else x + (STRIDE if rises else -STRIDE) * scale
        if (pull(score, rewards, n, scale, y) > 0.0) != rises:
            for _ in range(2):
                middle = 0.5 * x + 0.5 * y
                if (pull(score, rewards, n, scale, middle) > 0.0) == rises:
                    x = middle
                else:
                    y = middle
            return float(0.5 * x + 0.5 * y)
        if y == end:
            break
        x = y
    return float(x)


@rarely_called
def minimiser(
    rho: FloatArray, score: FloatArray, mode: float, rewards: FloatArray, n: int, scale: float, x: float
) -> float:
    """Return where F is least: the lowest of all valleys, of points halfway between rewards, and of a guess x."""
    best, least, far = x, total(rho, rewards, n, scale, x), STRIDE * STRIDES * scale
    before, loss, after = math.inf, total(rho, rewards, n, scale, rewards[0] - scale * mode), math.inf
    for i in range(n):
        gap = rewards[i + 1] - rewards[i] if i + 1 < n else math.inf
        after = total(rho, rewards, n, scale, rewards[i + 1] - scale * mode) if i + 1 < n else math.inf
        if loss <= least + DEPTH and loss <= before and (loss <= after or gap > scale):
            x = valley(score, mode, rewards, n, scale, i)
            deep = total(rho, rewards, n, scale, x)
            if deep < least:
                best, least = x, deep
        if far < gap < math.inf and min(loss, after) <= least + DEPTH:
            x = 0.5 * rewards[i] + 0.5 * rewards[i + 1] - scale * mode
            deep = total(rho, rewards, n, scale, x)
            if deep < least:
                best, least = x, deep
        before, loss = loss if gap <= scale else math.inf, after
    return float(best)


@rarely_called
def upper_end(
    rho: FloatArray, score: FloatArray, mode: float, rewards: FloatArray, n: int, scale: float, x: float, level: float
) -> float:
    """Return the supremum of the level set whose minimiser is x, to a few hundredths of the scale."""
    low, below = x, total(rho, rewards, n, scale, x)
    limit, high, above = below + level, math.inf, math.inf
    for i in range(n - 1, -1, -1):  # from the highest reward down, since the set may have gaps
        y = rewards[i] - scale * mode
        if y <= x:
            break
        loss = total(rho, rewards, n, scale, y)
        if limit < loss <= limit + DEPTH:
            y = valley(score, mode, rewards, n, scale, i)
            loss = total(rho, rewards, n, scale, y)
        if y > x and loss <= limit:
            low, below = y, loss
            break
        if y > x:
            high, above = y, loss
    step = scale
    for _ in range(64):  # steps double, since the next reward may be far
        if low + step >= high:
            break
        loss = total(rho, rewards, n, scale, low + step)
        if loss > limit:
            high, above = low + step, loss
            break
        low, below, step = low + step, loss, 2.0 * step
    if high == math.inf:  # next to rewards of 1e308, steps are lost in rounding
        return low
    for _ in range(64):
        if high - low <= 0.0625 * scale:
            break
        middle = 0.5 * low + 0.5 * high
        loss = total(rho, rewards, n, scale, middle)
        if loss > limit:
            high, above = middle, loss
        else:
            low, below = middle, loss
    return low + (limit - below) / (above - below) * (high - low) if above > below else low
