"""Order-statistic UCB: an order statistic of each arm's rewards as its index; see :mod:`.order_statistic`."""

from __future__ import annotations

from typing import Literal

from ..estimators.mixture_order_statistic import MixtureOrderStatistic
from ..estimators.order_statistic import OrderStatistic
from .robust_ucb import FACTS as TEMPLATE
from .robust_ucb import RobustUCB

NAME = "order-statistic-ucb"
EXAMPLE = {"c": 0.25}
FACTS = TEMPLATE._replace(
    needs="how much to explore",
    memory="32 n bytes",
    cost="O(n) moves, O(log K)",
    reference="Szörényi et al. 2015",
    regret="sum_a O(ln T/(F_a(m*) - 1/2)^2) Delta_a, for medians and c > 2, where m* is the highest median",
)


def order_statistic_ucb(
    c: float, quantile: float = 0.5, bound: Literal["hoeffding", "mixture"] = "hoeffding"
) -> RobustUCB:
    """Make a policy whose index is an order statistic of the arm's rewards.

    It is above the arm's quantile, by default the median, with probability 1 - t^-c, whatever the law.  The ``bound``
    is Hoeffding's, which holds for each number of rewards, or that of a mixture, which holds for all numbers at once.

    Examples
    --------
    >>> order_statistic_ucb(c=1)
    RobustUCB(estimator=OrderStatistic(quantile=0.5), exponent=1.0)
    >>> order_statistic_ucb(c=1, bound="mixture")
    RobustUCB(estimator=MixtureOrderStatistic(quantile=0.5), exponent=1.0)
    """
    kinds = {"hoeffding": OrderStatistic, "mixture": MixtureOrderStatistic}
    if bound not in kinds:
        raise ValueError(f"order-statistic-ucb: bound must be 'hoeffding' or 'mixture', got {bound!r}")
    return RobustUCB(kinds[bound](quantile), c)
