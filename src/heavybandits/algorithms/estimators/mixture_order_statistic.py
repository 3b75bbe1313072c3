r"""Order statistics as upper confidence bounds on a quantile that hold at all times at once.

*Assumes* nothing but that the arms are to be compared by their medians, or another quantile.  *Needs* no prior
knowledge.  *When that fails*: an arm with a higher mean but a lower median is given up.

*Formula*: of n rewards of a continuous law let S be above the quantile of level :math:`\tau`.  For every p,
:math:`p^S (1 - p)^{n - S}/((1 - \tau)^S \tau^{n - S})` is a martingale, and so is its average over p,

.. math::  M_n = \frac{1}{(n + 1)\binom nS (1 - \tau)^S \tau^{n - S}},

which by Ville's inequality ever reaches :math:`1/\delta` with probability at most :math:`\delta`.  So at
:math:`L = \ln(1/\delta)` the bound is :math:`X_{(k)}` with k = n - S for the largest :math:`S < n(1 - \tau)` with
:math:`\ln M_n \ge L`, and infinity if there is none.  It is below the quantile only if k rewards are, each with a
probability of at most :math:`\tau` for any law: where rewards tie with the quantile, the bound fails less often, never
more.  Compared with :class:`.OrderStatistic`, it is sharper for few rewards and wider for many, where it pays for
holding at all times at once.

*Cost*: that of :class:`.OrderStatistic`, and O(log n) logarithms.  *Reference*: this library; for mixtures see
H. Robbins (1970).
"""

from __future__ import annotations

import math

from ...numerics import log_factorial
from ..entries import register_estimator
from .order_statistic import OrderStatistic


@register_estimator("mixture-order-statistic")
class MixtureOrderStatistic(OrderStatistic):
    """Upper confidence bound on a quantile that holds at all times at once, for :class:`.RobustUCB`.

    Parameters
    ----------
    quantile
        Level of the quantile, below 1.

    Examples
    --------
    >>> bound = MixtureOrderStatistic()
    >>> state = bound.init(n_arms=1, horizon=10)
    >>> for reward in (5.0, 1.0, 4.0, 2.0, 3.0):
    ...     bound.observe(state, 0, reward)
    >>> bound.value(state, 0), bound.refresh(state, 0, 1.5), bound.refresh(state, 0, 3.0)
    (3.0, 5.0, inf)
    """

    def check(self) -> None:
        """Refuse level 1, the maximum, about which nothing is known."""
        if self.quantile == 1.0:
            raise ValueError("MixtureOrderStatistic: quantile must be below 1, got 1.0")

    def level_of(self, n: int, k: int) -> float:
        """Return the logarithm of the martingale if n - k rewards are above the quantile."""
        log_choices = log_factorial(n) - log_factorial(k) - log_factorial(n - k)
        odds = (n - k) * math.log(1.0 - self.quantile) + k * math.log(self.quantile)
        return -math.log(n + 1.0) - log_choices - odds

    def rank_of(self, n: int, log_term: float) -> int:
        """Return k, counted from 1, or n + 1 if there are too few rewards."""
        low, high = math.floor(n * self.quantile) + 1, n + 1
        while low < high:
            middle = (low + high) // 2
            if self.level_of(n, middle) >= log_term:
                high = middle
            else:
                low = middle + 1
        return low
