r"""Bounds of means that hold at all times, for weighted rewards of any size.

Let :math:`y_t \ge 0` have the same mean m given the past, and let the weights :math:`w_t` have mean 1 given the past
and lie between 0 and M.  Then for a fixed bet f and a fixed share s with :math:`f + f s (M - 1) \le 1`,

.. math:: W_{fs}(m) = \prod_t \bigl(1 + f\,(y_t/m - 1) - f s\,(w_t - 1)\bigr)

is a product of nonnegative factors with mean 1 given the past, and so is a mixture over fixed pairs (f, s).  By Ville's
inequality the mixture ever reaches :math:`1/\delta` with a probability of at most :math:`\delta`.  It falls in m: the
largest m at which it has reached :math:`1/\delta` is a lower bound of the mean.  Nothing is assumed about moments.  The
second term is a control variate: where large y come with large w, it takes out what the weights alone explain.  It
needs M; without one, s = 0.

If every y is 0 or one number c, the hypothesis that their mean is m says how often c comes: with the chance m/c.  Bets
are then multiples of it, f = g m/c with fixed g.  What they make depends on the number of coins alone, however rare
these are, so that fewer bets have to share the weight.  It falls in m as well, for :math:`s \le 1`; and a bet that is
too large at some m is left out there.

Rows are gathered on a grid of pairs (w, y) before bets are computed.  A pair between grid points is split among them so
that both means are kept; the logarithm of a factor is concave, so this lowers the wealth, and the bound stays valid.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..protocols import FloatArray

# Bets are 1/2, 1/4, ..., 2^-20; their weights favour what logs of 1,000 to 1,000,000 decisions with moderate weights
# call for: about sqrt(2 log(1/delta)/n) standard deviations of y/m.
HALVINGS = np.arange(1.0, 21.0)
PRIOR = 1.0 / (1.0 + ((HALVINGS - 8.0) / 3.0) ** 2)
# For n coins the best multiple is about sqrt(2 log(1/delta)/n).  Weights favour those for a few dozen coins: a
# small weight costs least where many coins make the bound narrow anyway.
COIN_HALVINGS = np.arange(-6.0, 17.0)
COIN_PRIOR = 1.0 / (1.0 + COIN_HALVINGS**2)
CONTROL_SHARES = {0.0: 0.4, 0.5: 0.15, 1.0: 0.45}  # of the control variate, with their weights
POINTS = 48, 400  # of the grids of weights and of rewards, unless there are fewer different values
BISECTED = 50


class Gathered(NamedTuple):
    """Pairs of a weight and a weighted reward, with how many rows each stands for."""

    weights: FloatArray
    rewards: FloatArray
    counts: FloatArray


def gather_pairs(weights: FloatArray, rewards: FloatArray) -> Gathered:
    """Gather rows at the points of a grid; means over all rows stay as they are.

    Examples
    --------
    >>> found = gather_pairs(np.array([0.0, 2.0, 2.0, 0.0]), np.array([0.0, 3.0, 1.0, 0.0]))
    >>> found.weights.tolist(), found.rewards.tolist(), found.counts.tolist()
    ([0.0, 2.0, 2.0], [0.0, 1.0, 3.0], [2.0, 1.0, 1.0])
    """
    across, along = (_grid(values, size) for values, size in zip((weights, rewards), POINTS, strict=True))
    i, upper_i = _place(weights, across)
    j, upper_j = _place(rewards, along)
    counts = np.zeros(len(across) * len(along))
    for step_i, part_i in ((0, 1.0 - upper_i), (1, upper_i)):
        for step_j, part_j in ((0, 1.0 - upper_j), (1, upper_j)):
            at = np.minimum(i + step_i, len(across) - 1) * len(along) + np.minimum(j + step_j, len(along) - 1)
            counts += np.bincount(at, part_i * part_j, len(counts))
    used = np.flatnonzero(counts)
    return Gathered(across[used // len(along)], along[used % len(along)], counts[used])


def _grid(values: FloatArray, size: int) -> FloatArray:
    """Return the different values if they are few, else 0 and points in a geometric progression over all of them."""
    top = float(values.max(initial=0.0))
    several = np.unique(values[: 4 * size])
    if len(several) <= size and np.isin(values, several).all():
        return several
    least = float(values[values > 0.0].min(initial=top))
    return np.concatenate([[0.0], np.geomspace(max(least, top * 1e-9), top, size - 1)])


def _place(values: FloatArray, grid: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """Return the grid point at or below each value, and which part of the value belongs to the next one."""
    at = np.clip(np.searchsorted(grid, values, "right") - 1, 0, len(grid) - 1)
    following = np.minimum(at + 1, len(grid) - 1)
    gap = np.where(following > at, grid[following] - grid[at], 1.0)
    return at, np.clip((values - grid[at]) / gap, 0.0, 1.0)


def least_mean(
    weights: FloatArray, rewards: FloatArray, most: float, delta: float, coin: float | None = None
) -> float:  # fmt: skip
    """Return a lower bound of the mean of nonnegative weighted rewards, wrong at any time with probability delta.

    ``weights`` have mean 1 and are never above ``most``, which may be infinite.  If weighted rewards can only be 0 or
    one number, ``coin`` is that number.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> drawn = np.where(rng.random(20_000) < 0.1, 10.0, 0.0)
    >>> round(least_mean(drawn, drawn * rng.exponential(size=20_000), 10.0, 0.05), 2)
    0.94
    >>> clicks = drawn * (rng.random(20_000) < 0.02)
    >>> [round(least_mean(drawn, clicks, 10.0, 0.05, coin), 4) for coin in (None, 10.0)]
    [0.0089, 0.0096]
    """
    total = float(rewards.sum())
    if not 0.0 < total < math.inf:
        return 0.0
    pairs = gather_pairs(weights, rewards)
    low, high = 0.0, total / max(min(len(rewards), float(weights.sum())), 1.0)  # by IPS or SNIPS
    for _ in range(BISECTED):
        m = 0.5 * (low + high) if low > 0.0 else high / 4.0
        if low == 0.0 and m < 1e-300:
            return 0.0
        bets, shares, logs = _bets(most, None if coin is None else m / coin)
        steady = 1.0 - bets - np.outer(pairs.weights - 1.0, bets * shares)
        with np.errstate(divide="ignore"):
            wealth = logs + pairs.counts @ np.log(np.maximum(steady + np.outer(pairs.rewards / m, bets), 0.0))
        if log_total(wealth) >= math.log(1.0 / delta):
            low = m
        else:
            high = m
        if low > 0.0 and high - low < 1e-4 * low:
            break
    return low


def _bets(most: float, chance: float | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the bets, the shares of the control variate, and the logarithms of their weights.

    ``chance`` is that of a coin, if rewards are coins.
    """
    halvings, prior = (HALVINGS, PRIOR) if chance is None else (COIN_HALVINGS, COIN_PRIOR)
    bets = np.repeat(0.5**halvings, len(CONTROL_SHARES)) * (1.0 if chance is None else chance)
    shares = np.tile(list(CONTROL_SHARES), len(halvings))
    weights = np.repeat(prior, len(CONTROL_SHARES)) * np.tile(list(CONTROL_SHARES.values()), len(halvings))
    reach = np.where(shares == 0.0, 1.0, 1.0 + shares * (min(most, 1e300) - 1.0))
    usable = bets * reach < 0.9  # no factor is below a tenth
    total = weights[usable].sum() if chance is None else weights.sum()  # the same for all chances: wealth falls in m
    return bets[usable], shares[usable], np.log(weights[usable] / total)


def least_average(rewards: FloatArray, delta: float) -> float:
    r"""Return a lower bound of the average of the means that nonnegative rewards had given the past.

    These may change, as when a policy learns: for a fixed l > 0, :math:`\prod_t (1 + l y_t)\,e^{-l m_t}` is a
    nonnegative supermartingale, because :math:`1 + l m_t \le e^{l m_t}`, and so is a mixture.  The first reward that is
    not 0 is the unit of l, and is left out.

    Examples
    --------
    >>> round(least_average(np.random.default_rng(0).exponential(size=10_000), 0.05), 2)
    0.94
    """
    paid = np.flatnonzero(rewards)
    if not len(paid):
        return 0.0
    later = rewards[paid[1:]] / rewards[paid[0]]
    levels = 2.0 ** np.arange(-20.0, 11.0)
    gained = np.array([float(np.log1p(level * later).sum()) for level in levels]) - math.log(len(levels))
    total = largest_total(gained, levels, 0.0, float(later.sum()), delta, BISECTED)
    return total * float(rewards[paid[0]]) / len(rewards)


def largest_total(gained: FloatArray, bets: FloatArray, low: float, high: float, level: float, halvings: int) -> float:
    """Return the largest total at which a mixture of wealths, exp(gained - bets * total), is 1/level; by bisection."""
    for _ in range(halvings):
        total = 0.5 * (low + high)
        if log_total(gained - bets * total) >= math.log(1.0 / level):
            low = total
        else:
            high = total
    return low


def log_total(logs: FloatArray) -> float:
    """Return the logarithm of a sum of wealths, given theirs."""
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))
