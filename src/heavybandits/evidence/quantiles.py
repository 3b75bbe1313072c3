r"""Evidence about quantiles, from counts of rewards above and below each number.

Who doubts that the quantile of b at the level :math:`\tau` exceeds that of a must hold that some :math:`\theta` lies
between them.  Then a reward of b is above :math:`\theta` with a chance of at most :math:`1 - \tau`, and one of a below
it with a chance of at most :math:`\tau`.  Against this one can bet as on two coins.  Rewards that cannot be told from
:math:`\theta` count as lost bets, so neither ties nor the grid ever help.
"""

from __future__ import annotations

import math

import numpy as np

from ..protocols import FloatArray, IntArray, compiled_as, rarely_called
from .bets import SAFE, Bets


def gains(bets: Bets, tau: float) -> FloatArray:
    """Return what each bet wins and loses, as logarithms: on b above (two rows), and on a below (two rows)."""
    bet = bets.steepest * 0.5 ** np.arange(len(bets.single)) / math.sqrt(tau * (1.0 - tau))
    above, below = np.minimum(bet, SAFE / (1.0 - tau)), np.minimum(bet, SAFE / tau)
    return np.log1p([above * tau, -above * (1.0 - tau), below * (1.0 - tau), -below * tau])


def shifted_slots(points: FloatArray, shift: float) -> IntArray:
    """Return, for each slot, the last one whose rewards cannot be told to lie above it, moved by ``shift`` <= 0.

    Examples
    --------
    >>> points = np.array([0.0, 1.0, 2.0])
    >>> shifted_slots(points, 0.0).tolist()
    [0, 1, 2, 3, 4, 5, 6]
    >>> shifted_slots(points, -1.0).tolist()
    [0, 0, 0, 1, 2, 3, 6]
    """
    if shift == 0.0:
        return np.arange(2 * len(points) + 1)
    moved = points + shift
    j = np.searchsorted(points, moved)
    at = 2 * j + (points[np.minimum(j, len(points) - 1)] == moved)  # the slot of each moved point
    found = np.full(2 * len(points) + 1, 2 * len(points))
    found[1::2] = at  # equal to a point
    found[0:-1:2] = np.where(at % 2 == 1, at - 1, at)  # below the point; a reward equal to it is above all of them
    return found


@rarely_called
def _log_mixture_bet_by_bet(
    bets: Bets, gain: FloatArray, won_b: float, lost_b: float, won_a: float, lost_a: float
) -> float:  # fmt: skip
    """Do the same as :func:`_log_mixture`."""
    top, total = -math.inf, 0.0
    size = len(bets.single)
    for k in range(size):
        for j in range(size):
            if bets.joint[k, j] > 0.0:
                g = won_b * gain[0, k] + lost_b * gain[1, k] + won_a * gain[2, j] + lost_a * gain[3, j]
                top = max(top, g)
    for k in range(size):
        for j in range(size):
            if bets.joint[k, j] > 0.0:
                g = won_b * gain[0, k] + lost_b * gain[1, k] + won_a * gain[2, j] + lost_a * gain[3, j]
                total += bets.joint[k, j] * math.exp(g - top)
    return top + math.log(total)


@compiled_as(_log_mixture_bet_by_bet)
def _log_mixture(bets: Bets, gain: FloatArray, won_b: float, lost_b: float, won_a: float, lost_a: float) -> float:
    """Return the logarithm of the mixed wealth after so many successes and failures of both arms."""
    known = bets.joint > 0.0
    g = (won_b * gain[0] + lost_b * gain[1])[:, None] + won_a * gain[2] + lost_a * gain[3]
    top = g[known].max()
    shares = bets.joint[known] * [math.exp(each) for each in (g[known] - top).tolist()]
    return float(top + math.log(np.cumsum(shares)[-1]))


def log_quantile_evidence(
    bets: Bets, gain: FloatArray, rows: FloatArray, last: IntArray, b: int, a: int, times: float
) -> float:  # fmt: skip
    """Return the logarithm of the evidence that the quantile of b exceeds that of a: never above the exact one.

    ``gain`` comes from :func:`gains`, ``last`` from :func:`shifted_slots`.
    """
    slots = rows.shape[1]
    n_b, n_a = 0.0, 0.0
    for j in range(slots):
        n_b += rows[b, j]
        n_a += rows[a, j]
    above, below, at = n_b, 0.0, -1
    least, seen_above, seen_below = math.inf, -1.0, -1.0
    for j in range(slots):
        while at < last[j]:
            at += 1
            above -= rows[b, at]
        if above != seen_above or below != seen_below:
            seen_above, seen_below = above, below
            won_b, lost_b, won_a, lost_a = times * above, times * (n_b - above), times * below, times * (n_a - below)
            if _may_be_least(bets, gain, won_b, lost_b, won_a, lost_a, least):
                least = min(least, _log_mixture(bets, gain, won_b, lost_b, won_a, lost_a))
        below += rows[a, j]
    return least


@rarely_called
def _may_be_least(
    bets: Bets, gain: FloatArray, won_b: float, lost_b: float, won_a: float, lost_a: float, least: float
) -> bool:
    """Return whether no pair of equal bets alone makes the mixture exceed ``least``."""
    for k in range(len(bets.single)):
        if bets.joint[k, k] > 0.0:
            g = won_b * gain[0, k] + lost_b * gain[1, k] + won_a * gain[2, k] + lost_a * gain[3, k]
            if g + math.log(bets.joint[k, k]) >= least:
                return False
    return True


def quantile_limits(bets: Bets, tau: float, row: FloatArray, need: float) -> tuple[int, int]:
    """Return the first and the last slot in which a quantile may lie: all below and above are refuted.

    Examples
    --------
    >>> from .bets import SIZED_UP
    >>> row = np.zeros(7)
    >>> row[[1, 3, 5]] = 10.0, 1000.0, 10.0
    >>> quantile_limits(SIZED_UP, 0.5, row, 3.0)
    (3, 3)
    """
    gain = gains(bets, tau)
    known = bets.single > 0.0
    prior = np.log(bets.single[known])
    n, upto = row.sum(), np.cumsum(row)
    above, below = n - upto, upto - row

    def refuted(successes: FloatArray, win: FloatArray, loss: FloatArray) -> FloatArray:
        logs = prior + np.outer(successes, win[known]) + np.outer(n - successes, loss[known])
        return np.asarray(np.logaddexp.reduce(logs, axis=1) >= need)

    too_low, too_high = refuted(above, gain[0], gain[1]), refuted(below, gain[2], gain[3])
    return int(np.argmin(too_low)), len(row) - 1 - int(np.argmin(too_high[::-1]))


def roundest(low: float, high: float) -> float:
    """Return the number with the fewest digits strictly between two others; rewards on a lattice are found again.

    Examples
    --------
    >>> roundest(2.97, 3.04), roundest(-0.1, 0.2), roundest(12.31, 12.38)
    (3.0, 0.0, 12.35)
    """
    if low < 0.0 < high:
        return 0.0
    unit = 10.0 ** math.ceil(math.log10(max(high - low, 1e-300)))
    for _ in range(3):
        for digit in (1.0, 0.5, 0.2):
            found = round(0.5 * (low + high) / (digit * unit)) * digit * unit
            if low < found < high:
                return float(f"{found:.12g}")  # without rounding errors
        unit /= 10.0
    return 0.5 * (low + high)
