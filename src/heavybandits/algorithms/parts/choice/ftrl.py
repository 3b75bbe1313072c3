r"""Randomised choices: probabilities from estimated losses, draws, and the weight of what is then observed.

Policies for rewards that an adversary may set keep a sum of estimated losses :math:`L_a` for each arm.  For a choice
they turn the sums into probabilities and draw an arm.  What they then observe counts :math:`1/p` times, where p was the
probability of the draw.  If a reward comes late, p is that of the arm's last draw.  If it comes without a draw, p is
the arm's probability at the last choice, as if it had been drawn.  If only some arms are open, the draw is among them,
with probabilities in the same proportions; arms that are silent, see :mod:`.late`, are left out in the same way.  Their
losses are raised to the least of the others, or the probabilities of the others would become more and more alike.

*The probabilities* of most of these policies minimise
:math:`\eta \langle L, x\rangle - \alpha \sum_a x_a^{1/\alpha}`, where the regulariser is the Tsallis entropy.  With
:math:`q = \alpha/(\alpha - 1)` they are

.. math::  x_a = (\eta\,(L_a - \min L) + \nu)^{-q}, \qquad \nu \text{ such that } \sum_a x_a = 1.

The logarithmic barrier, :math:`-\sum_a \ln x_a`, leads to the same with q = 1.  Here :math:`\nu` is at least 1, and
:math:`G(\nu) = (\sum_a x_a)^{-1/q}`, a power mean, is increasing and concave.  So a Newton step for :math:`G(\nu) = 1`
never passes the root from below, and lands below it from above.  From below, a Halley step, up to four times as long,
gets there sooner.  A few passes over the arms are enough from any start, at most eight for a thousand arms.

Most of the time goes into powers, and two shortcuts save passes.  Near the root, the sum of powers and each power are
replaced by their Taylor polynomials of third degree.  And mostly only one loss has changed since the last choice, and
the rate a little, so the new root is known in advance up to terms of second order.  One pass is then mostly enough.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...._validate import require_within
from ....numerics import LARGEST_FLOAT, power, saturate
from ....protocols import BoolArray, FloatArray, IntArray, compilable
from .late import Late, answered, init_late, is_silent, least_asked


class Root(NamedTuple):
    """The root at the last choice and what it was found for; each field is an array of length one."""

    nu: FloatArray
    low: FloatArray  # lowest loss
    rate: FloatArray
    slope: FloatArray  # how fast the sum of probabilities fell with nu
    q: FloatArray  # 0 before the first choice


class Draws(NamedTuple):
    """The part of a policy's state that the functions below work on."""

    loss: FloatArray  # per arm: sum of estimated losses
    chance: FloatArray  # per arm: probability at the last choice, were all arms open
    awaited: FloatArray  # per arm: probability of the draw whose reward has not come, or 0
    drawn: FloatArray  # per arm: probability in the last draw; 0 if it was not open, or silent
    late: Late
    open: BoolArray  # per arm: whether it may be drawn now
    rate: FloatArray  # learning rate
    root: Root

    def check(self, fresh: Draws, n_arms: int) -> None:
        """Refuse values that are not probabilities, and a negative rate."""
        require_within("chance", self.chance, 0.0, 1.0 + 1e-6)
        require_within("awaited", self.awaited, 0.0, 1.0 + 1e-6)
        require_within("drawn", self.drawn, 0.0, 1.0 + 1e-6)
        require_within("rate", self.rate, 0.0, LARGEST_FLOAT)

    def carry(self, fresh: Draws, rows: IntArray) -> Draws:
        """Copy the arms ``rows`` to the first rows of ``fresh``; new arms start with the least loss of these."""
        for name in ("loss", "chance", "awaited", "drawn", "open"):
            getattr(fresh, name)[: len(rows)] = getattr(self, name)[rows]
        for new, old in zip(fresh.late, self.late, strict=True):
            new[: len(rows)] = old[rows]
        fresh.loss[len(rows) :] = self.loss[rows].min()
        return fresh._replace(rate=self.rate, root=self.root)


def init_draws(n_arms: int, rate: float) -> Draws:
    """Return a state in which nothing is known and all arms are equally likely."""
    return Draws(
        loss=np.zeros(n_arms),
        chance=np.full(n_arms, 1.0 / n_arms),
        awaited=np.zeros(n_arms),
        drawn=np.full(n_arms, 1.0 / n_arms),
        late=init_late(n_arms),
        open=np.ones(n_arms, np.bool_),
        rate=np.array([rate]),
        root=Root(nu=np.ones(1), low=np.zeros(1), rate=np.ones(1), slope=np.ones(1), q=np.zeros(1)),
    )


@compilable
def lowest(values: FloatArray) -> float:
    """Return the smallest of the values.

    Examples
    --------
    >>> lowest(np.array([3.0, 1.0, 2.0]))
    1.0
    """
    low = math.inf
    for value in values:
        low = min(low, value)
    return float(low)


@compilable
def tsallis(draws: Draws, q: float) -> int:
    """Turn losses into probabilities at the current rate, and return how many passes over the arms that took.

    Examples
    --------
    >>> draws = init_draws(n_arms=3, rate=0.5)
    >>> draws.loss[:] = 0.0, 1.0, 2.0
    >>> tsallis(draws, q=2.0)
    3
    >>> draws.chance.round(6).tolist()
    [0.534814, 0.286762, 0.178424]
    """
    loss, chance, root = draws.loss, draws.chance, draws.root
    rate = saturate(max(draws.rate[0], 1e-308))  # differences of losses may be zero or infinite
    low, nu = lowest(loss), root.nu[0]
    if root.q[0] == q:
        nu += rate * (low - root.low[0]) - (rate / root.rate[0] - 1.0) * (q / root.slope[0] - nu)
    if not 1.0 <= nu <= len(loss):
        nu = 1.0
    step, near, passes = 0.0, False, 0
    while not near and passes < 50:  # the bound matters only if q is so large that rounding prevents convergence
        nu += step
        passes += 1
        total, first, second, third = 0.0, 0.0, 0.0, 0.0  # at nu + step it is total - first step + second step^2 - ...
        for arm in range(len(loss)):
            inverse = 1.0 / (rate * (loss[arm] - low) + nu)
            chance[arm] = power(inverse, q)
            total += chance[arm]
            term = q * inverse * chance[arm]
            first += term
            term *= (q + 1.0) / 2.0 * inverse
            second += term
            term *= (q + 2.0) / 3.0 * inverse
            third += term
        if first == 0.0:  # nu was so far off that all powers underflow
            step = 1.0 - nu
            continue
        step = (total - 1.0) / first
        if (q + 3.0) * abs(step) > 0.1 * nu:  # too far for the polynomial
            step = (power(total, 1.0 / q) - 1.0) * q * total / first
            if step > 0.0:
                step /= max(1.0 + step * ((0.5 + 0.5 / q) * first / total - second / first), 0.25)
            step = max(step, 1.0 - nu)
            continue
        for _ in range(2):
            excess = total - 1.0 - step * (first - step * (second - step * third))
            step += excess / (first - step * (2.0 * second - step * 3.0 * third))
        near = (q + 3.0) * abs(step) < 1e-3 * nu
    for arm in range(len(loss)):
        u = step / (rate * (loss[arm] - low) + nu)
        chance[arm] *= 1.0 - q * u * (1.0 - (q + 1.0) / 2.0 * u * (1.0 - (q + 2.0) / 3.0 * u))
    root.nu[0], root.low[0], root.rate[0], root.slope[0], root.q[0] = nu + step, low, rate, first, q
    return passes


@compilable
def draw(draws: Draws, rng: Any) -> int:
    """Draw an arm that is open and not silent by its probability; if all of them have none, return the first.

    Examples
    --------
    >>> draws = init_draws(n_arms=3, rate=1.0)
    >>> draws.late.asked[:], draws.late.pending[:] = (9, 2, 2), (9, 0, 1)
    >>> draw(draws, np.random.default_rng(0)), draws.drawn.tolist()
    (2, [0.0, 0.5, 0.5])
    """
    chance, drawn, least = draws.chance, draws.drawn, least_asked(draws.late, draws.open)
    total, low = 0.0, math.inf
    for arm in range(len(chance)):
        drawn[arm] = -1.0
        if draws.open[arm] and not is_silent(draws.late, arm, least):
            drawn[arm] = chance[arm]
            total += chance[arm]
            if answered(draws.late, arm) > 0:
                low = min(low, draws.loss[arm])
    left = total * rng.random()
    chosen = -1
    for arm in range(len(chance)):
        if not drawn[arm] < 0.0 and (chosen < 0 or drawn[arm] > 0.0):  # NaN from a file does no harm
            chosen = arm
            left -= drawn[arm]
            if left < 0.0:
                break
    if not total > 0.0:
        drawn[chosen] = total = 1.0
    for arm in range(len(chance)):
        if drawn[arm] < 0.0 and draws.open[arm] and draws.loss[arm] < low:
            charge(draws, arm, low - draws.loss[arm])
        drawn[arm] = max(drawn[arm], 0.0) / total
    draws.awaited[chosen] = drawn[chosen]
    return chosen


@compilable
def probability(draws: Draws, arm: int) -> float:
    """Return the probability of the draw that a reward belongs to; never quite zero.

    Examples
    --------
    >>> draws = init_draws(n_arms=4, rate=1.0)
    >>> draws.awaited[2] = 0.75
    >>> [probability(draws, 2) for _ in range(2)]  # the second reward has no draw
    [0.75, 0.25]
    """
    p = draws.awaited[arm] if draws.awaited[arm] > 0.0 else draws.chance[arm]
    draws.awaited[arm] = 0.0
    return max(float(p), 1e-300)


@compilable
def charge(draws: Draws, arm: int, loss: float) -> None:
    """Add an estimated loss, and move the root by the Newton step for this change alone."""
    chance, root, before = draws.chance[arm], draws.root, draws.loss[arm]
    after = saturate(before + saturate(loss))
    draws.loss[arm] = after
    q, low, nu, rate = root.q[0], root.low[0], root.nu[0], root.rate[0]
    old, new = rate * (before - low) + nu, rate * (after - low) + nu
    if q > 0.0 and old > 0.5 and new > 0.5:  # otherwise the arm is far below the lowest so far: no prediction
        moved = power(1.0 / new, q)
        slope = root.slope[0] + q * (moved / new - chance / old)
        if slope > 0.0:
            root.nu[0], root.slope[0] = root.nu[0] + (moved - chance) / slope, slope


@compilable
def charge_likely(draws: Draws, chance: float, loss: float) -> None:
    """Add a loss to each arm of at least this chance; these have nearly all the probability, so the root hardly moves.

    Examples
    --------
    >>> draws = init_draws(n_arms=3, rate=1.0)
    >>> draws.chance[:] = 0.5, 0.4, 0.1
    >>> charge_likely(draws, 0.2, 3.0)
    >>> draws.loss.tolist()
    [3.0, 3.0, 0.0]
    """
    for arm in range(len(draws.loss)):
        if draws.chance[arm] >= chance:
            draws.loss[arm] = saturate(draws.loss[arm] + loss)
    draws.root.low[0] += loss
