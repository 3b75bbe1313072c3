r"""Upper confidence bounds on means, from the mean, the variance and the skewness of each arm.

In a natural exponential family with variance function V, the divergence of the mean m from the mean θ is

.. math::  D(m, \theta) = \int_m^\theta \frac{x - m}{V(x)}\,dx, \qquad
           U = \sup\{\theta : n\,D(m, \theta) \le \ell\}.

Take the family that has the arm's own variance v and third central moment :math:`\mu_3`.  With the *jump*
:math:`\beta = \mu_3/v`, it has :math:`V(m + y) = v + \beta y` if rewards are skewed to the right, like a Poisson law
with jumps of size β, and :math:`v e^{\beta y/v}` if they are skewed to the left.  For a coin this is nearly its own
divergence, for Gaussian noise it tends to UCB with the arm's own variance, and for rare large rewards it is a bound for
a compound Poisson law.  With :math:`\lambda = v/\beta^2` and :math:`y = \ell/(n\lambda)`,

.. math::  U = m + \beta\lambda g,\quad g - \ln(1 + g) = y \qquad\text{or}\qquad
           U = m + |\beta|\lambda w,\quad e^w(w - 1) + 1 = y.

Arms with few rewards borrow from the others: variances and jumps are shrunk towards those of all arms.  Few rewards
hardly ever show the rare large ones, so a jump below one standard deviation, be it negative, zero or small, is pulled
up to it: :math:`\beta` becomes :math:`(n\beta + 20\sqrt v)/(n + 20)`.

Indices are stored.  That of an arm is updated when the arm gets a reward, and all of them are when t has grown by a
tenth and by K.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import require_within
from ...numerics import LARGEST_FLOAT, saturate
from ...protocols import FloatArray, IntArray, compilable, rarely_called
from ..parts.choice.tournament import Tournament, init_tournament, set_bound
from .moments import FARTHEST_REWARD, MEAN, SECOND, THIRD, Moments, init_moments, update_whole

VARIANCE_WEIGHT = 1.0  # rewards that the pooled variance counts as in that of an arm
JUMP_WEIGHT = 2.0  # rewards that the pooled jump counts as in that of an arm
REWARDS_PER_DEVIATION = 20.0  # that it counts as in a smaller jump: rare large rewards come late
LEAST_JUMP = 1e-3  # standard deviations: with smaller jumps the law is practically Gaussian
REFRESH_GROWTH = 1.1  # factor by which t grows between two refreshes of all indices
FEWEST_DEGREES = 5  # with fewer degrees of freedom, the variance within arms is not trusted
DIGITS = 32  # binary digits of an index below the standard deviation: arms with the same rewards, in any order, tie


class Pooled(NamedTuple):
    """What the arms share; each field is an array of length one."""

    variance: FloatArray  # 0 as long as all rewards are equal
    jump: FloatArray
    coarse: FloatArray  # a number so large that adding and subtracting it rounds an index
    clock: IntArray  # number of rewards
    due: FloatArray  # clock at the next refresh

    def check(self, fresh: Pooled, n_arms: int) -> None:
        """Refuse negative variances, and values that no rewards lead to."""
        require_within("variance", self.variance, 0.0, FARTHEST_REWARD * FARTHEST_REWARD * FARTHEST_REWARD)
        require_within("jump", self.jump, -10.0 * FARTHEST_REWARD, 10.0 * FARTHEST_REWARD)
        require_within("coarse", self.coarse, 0.0, LARGEST_FLOAT)


class MeanSets(NamedTuple):
    """What is known about each arm, and what all share."""

    pulls: IntArray
    moments: Moments
    pooled: Pooled
    tournament: Tournament


def init_pooled(n_arms: int) -> Pooled:
    """Return what is shared before the first reward."""
    return Pooled(
        variance=np.zeros(1),
        jump=np.zeros(1),
        coarse=np.zeros(1),
        clock=np.zeros(1, np.int64),
        due=np.array([float(n_arms)]),
    )


def init_mean_sets(n_arms: int) -> MeanSets:
    """Return a state without rewards."""
    return MeanSets(
        pulls=np.zeros(n_arms, np.int64),
        moments=init_moments(n_arms),
        pooled=init_pooled(n_arms),
        tournament=init_tournament(n_arms),
    )


@rarely_called
def right_root(y: float) -> float:
    """Return the positive g with g - ln(1 + g) = y > 0, by a series in sqrt(2y) or two steps of Halley's method.

    Examples
    --------
    >>> g = right_root(0.5)
    >>> round(g - math.log(1 + g), 12)
    0.5
    """
    s = math.sqrt(2.0 * y)
    if s < 0.3:
        high = 1 / 4320 + s * (1 / 17010 + s * (-139 / 5443200 + s / 204120))
        return s * (1.0 + s * (1 / 3 + s * (1 / 36 + s * (-1 / 270 + s * high))))
    g = s + s * s / 3.0 + s * s * s / 36.0 if y < 1.0 else y + math.log1p(y + math.log1p(y))
    for _ in range(2):
        error = g - math.log1p(g) - y
        g -= 2.0 * error * g * (1.0 + g) / (2.0 * g * g - error)
    return g


@rarely_called
def left_root(y: float) -> float:
    """Return the positive w with exp(w)(w - 1) + 1 = y > 0, by a series in sqrt(2y) or Halley's method.

    Each step of that method about cubes the relative error, so four are always enough, and two or three usually are.

    Examples
    --------
    >>> w = left_root(0.5)
    >>> round(math.exp(w) * (w - 1) + 1, 12)
    0.5
    """
    s = math.sqrt(2.0 * y)
    if s < 0.1:
        high = 769 / 17280 + s * (-221 / 8505 + s * (680863 / 43545600 - s * (1963 / 204120)))
        return s * (1.0 + s * (-1 / 3 + s * (11 / 72 + s * (-43 / 540 + s * high))))
    w = s - s * s / 3.0 + s * s * s * (11 / 72) if y < 0.5 else math.log1p(y)
    for _ in range(4):
        error = w - 1.0 + (1.0 - y) * math.exp(-w)
        step = 2.0 * error * w / (2.0 * w * w - error * (1.0 + w))
        w -= step
        if abs(step) < 1e-6 * w:
            break
    return w


@compilable
def renew_means(pulls: IntArray, moments: Moments, pooled: Pooled, tournament: Tournament, arm: int, c: float) -> None:
    """Update indices after a reward of an arm: its own, or all of them."""
    first_difference = pooled.variance[0] == 0.0 and moments.unit[0] > 0.0 and pooled.clock[0] >= len(pulls)
    if first_difference or pooled.clock[0] >= pooled.due[0]:
        refresh_means(pulls, moments, pooled, tournament, c)
    else:
        update_whole(moments, pulls, arm)
        renew_mean(pulls, moments, pooled, tournament, arm, c)


@rarely_called
def refresh_means(pulls: IntArray, moments: Moments, pooled: Pooled, tournament: Tournament, c: float) -> None:
    """Pool variances and jumps, and update all indices."""
    n_arms, whole = len(pulls), moments.whole
    pooled.due[0] = max(REFRESH_GROWTH * pooled.clock[0], pooled.clock[0] + n_arms)
    second, third, centre = 0.0, 0.0, 0.0
    freedom, seen = 0, 0
    for arm in range(n_arms):
        if pulls[arm] > 0:
            update_whole(moments, pulls, arm)
            second += pulls[arm] * whole[arm, SECOND]
            third += pulls[arm] * whole[arm, THIRD]
            freedom += pulls[arm] - 1
            seen += 1
            centre += (whole[arm, MEAN] - centre) / seen
    if freedom < FEWEST_DEGREES or second == 0.0:  # differences between arms stand in
        if freedom >= FEWEST_DEGREES:  # all repeat one value, which says nothing about what they pay rarely
            freedom = 0
        for arm in range(n_arms):
            if pulls[arm] > 0:
                difference = whole[arm, MEAN] - centre
                second += difference * difference
                third += difference * difference * difference
        freedom += max(seen - 1, 1)
    pooled.variance[0] = second / freedom
    pooled.jump[0] = third / second if second > 0.0 else 0.0
    pooled.coarse[0] = math.ldexp(1.5, math.frexp(math.sqrt(pooled.variance[0]))[1] + 52 - DIGITS)
    for arm in range(n_arms):
        if pulls[arm] > 0:
            renew_mean(pulls, moments, pooled, tournament, arm, c)


@compilable
def renew_mean(
    pulls: IntArray, moments: Moments, pooled: Pooled, tournament: Tournament, arm: int, c: float
) -> None:  # fmt: skip
    """Update the arm's index."""
    n, n_arms, whole = float(pulls[arm]), len(pulls), moments.whole
    if pooled.variance[0] == 0.0:  # all rewards so far are equal: take turns
        set_bound(tournament, arm, pulls[arm], -n, -n)
        return
    level = math.log(1.0 + c / n_arms * (1.0 + pooled.clock[0] / (n_arms * n)))
    upper = upper_mean(
        whole[arm, MEAN], whole[arm, SECOND], whole[arm, THIRD], n, pooled.variance[0], pooled.jump[0], level
    )
    set_bound(tournament, arm, pulls[arm], upper + pooled.coarse[0] - pooled.coarse[0], whole[arm, MEAN])


@rarely_called
def upper_mean(
    mean: float, second: float, third: float, n: float, pooled_variance: float, pooled_jump: float, level: float
) -> float:
    """Return the highest mean that n rewards with these central moments do not rule out.

    Examples
    --------
    >>> round(upper_mean(0.0, 1.0, 0.0, 1e6, 1.0, 0.0, 2.0) / math.sqrt(2 * 2.0 / 1e6), 3)  # as for Gaussian noise
    1.0
    """
    variance = (n * second + VARIANCE_WEIGHT * pooled_variance) / (n + VARIANCE_WEIGHT)
    jump = (n * third + JUMP_WEIGHT * pooled_variance * pooled_jump) / (n * second + JUMP_WEIGHT * pooled_variance)
    deviation = math.sqrt(variance)
    if jump < deviation:
        jump = deviation + n / (n + REWARDS_PER_DEVIATION) * (jump - deviation)
    if abs(jump) < LEAST_JUMP * deviation:
        jump = LEAST_JUMP * deviation
    freedom = n + VARIANCE_WEIGHT
    level = 0.5 * freedom * math.expm1(min(2.0 * level / freedom, 300.0))  # the variance is not known either
    ratio = deviation / abs(jump)
    y = level / n / (ratio * ratio)
    return saturate(mean + deviation * ratio * (right_root(y) if jump > 0.0 else left_root(y)))
