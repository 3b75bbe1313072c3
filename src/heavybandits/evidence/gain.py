r"""How much more the arms have earned than a control would have in their place, with bounds that hold at all times.

The gain is :math:`\sum_t (\mu_{A_t} - \mu_c)` over the rewards that count: what arms are worth, not what luck paid,
so it is 0 if all arms are equal.  Means are those of clipped rewards, here in units of the clip.

*Two arms.*  The gain is :math:`n_b (\mu_b - \mu_c)`.  Bounds of the difference hold at all times, so they hold at the
time of any :math:`n_b`, however that came about.

*More arms.*  Let :math:`S` be the sum of the :math:`n` rewards of all arms but the control.  The gain is
:math:`S - D - n \mu_c` with :math:`D = \sum_t (X_t - \mu_{A_t})`.  For rewards between 0 and 1, any number
:math:`\hat x` between 0 and 1 that is known in advance, and :math:`0 \le \lambda < 1`,

.. math:: \exp\bigl(\lambda (X_t - \mu_{A_t}) - \psi(\lambda) (X_t - \hat x)^2\bigr),\qquad
          \psi(\lambda) = -\log(1 - \lambda) - \lambda,

has a conditional mean of at most 1, whatever rule chose the arm (Fan, Grama and Liu 2015; Howard, Ramdas, McAuliffe and
Sekhon 2021).  So a mixture of the products over several :math:`\lambda` is a supermartingale, and it ever reaches
:math:`1/\alpha` with a probability of at most :math:`\alpha`.  This bounds :math:`D` from above, and, with
:math:`1 - X_t`, from below; the means may differ and even drift.  The control's own interval bounds :math:`\mu_c`.
Each of the two gets half of :math:`\alpha`.  :math:`\hat x` is the mean of the first rewards, which are left out.
Rewards between two points of the grid are split, which keeps :math:`S` and can only raise the squares.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..protocols import FloatArray
from .measures import ClippedMean, bisected

LAMBDAS = 0.95 * 0.5 ** np.arange(12)  # of equal weight
PSI = -np.log1p(-LAMBDAS) - LAMBDAS
LUCK_BISECTIONS = 40


class Gain(NamedTuple):
    """How much better than a control the arms were, all together.

    Attributes
    ----------
    value
        What they earned more, or cost less, than the control would have; negative if it was better.
    low, high
        Bounds.
    n
        How many rewards of other arms it is about.
    """

    value: float
    low: float
    high: float
    n: int


def gain_over(measure: ClippedMean, control: int, alpha: float) -> Gain | None:
    """Return what all arms of a measure have gained over the control; None if the control has no rewards that count.

    The bounds are wrong at any time with a probability of at most ``alpha``, given the control and the number of arms.

    Examples
    --------
    >>> from heavybandits.evidence.measures import measures
    >>> from heavybandits.evidence.tally import add, new_tally
    >>> tally = new_tally(3, limits=(0.0, 1.0))
    >>> add(tally, np.tile([0, 1, 2], 400), np.tile([0.0, 1.0, 1.0, 1.0, 1.0, 0.0], 200))
    >>> found = gain_over(measures(tally)[0], control=0, alpha=0.05)
    >>> print(f"{found.value:.0f} ({found.low:.0f} to {found.high:.0f}) with {found.n} rewards")
    200 (73 to 327) with 800 rewards
    """
    rows = measure.tally.rows
    counts = rows.sum(axis=1)
    if counts[control] == 0.0:
        return None
    others = np.arange(len(rows)) != control
    n = round(float(counts[others].sum()))
    estimates = measure.estimates()
    value = float(counts[others] @ np.nan_to_num(estimates[others] - estimates[control]))
    if len(rows) == 2:
        (other,), need = np.flatnonzero(others).tolist(), math.log(2.0 / alpha)
        low, high = (
            n * measure.least_difference(other, control, need),
            -n * measure.least_difference(control, other, need),
        )
    else:
        low, high = _pooled(measure, rows[others].sum(axis=0), n, measure.interval(control, alpha / 2.0), alpha / 2.0)
    return Gain(value, low + 0.0, high + 0.0, n)


def _pooled(
    measure: ClippedMean, row: FloatArray, n: int, control: tuple[float, float], alpha: float
) -> tuple[float, float]:  # fmt: skip
    """Return bounds of the gain of several arms, from the sum of their rows and the control's interval."""
    low, high = measure.limits
    first, last, _ = measure.clip
    weights = row[first : last + 1].copy()
    weights[0] += row[:first].sum()
    weights[-1] += row[last + 1 :].sum()
    x = measure.clip.x
    squares = float(weights @ (x - measure.first_mean) ** 2)
    need = math.log(2.0 * len(LAMBDAS) / alpha)

    def is_possible(luck: float) -> bool:
        return float(np.logaddexp.reduce(LAMBDAS * luck - PSI * squares)) < need

    luck = float(n) if is_possible(n) else bisected(is_possible, 0.0, float(n), LUCK_BISECTIONS)
    luck += 2.0**-LUCK_BISECTIONS * n  # bisection ends just below what is possible
    total, wide = low * n + (high - low) * float(weights @ x), high - low
    return (
        max(total - wide * luck - n * control[1], -n * wide),
        min(total + wide * luck - n * control[0], n * wide),
    )
