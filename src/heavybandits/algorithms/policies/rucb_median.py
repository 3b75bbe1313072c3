"""Robust UCB with the median of means; see :mod:`.robust_ucb` and :mod:`.median_of_means`."""

from __future__ import annotations

from ..estimators.median_of_means import MedianOfMeans
from .robust_ucb import FACTS as TEMPLATE
from .robust_ucb import RobustUCB

NAME = "rucb-median"
EXAMPLE = {"eps": 1.0, "v": 1.0}
FACTS = TEMPLATE._replace(memory="64 n bytes", cost="O(ln T log n) for one reward in two, O(log K)")


def rucb_median(eps: float, v: float, exponent: float = 2.0) -> RobustUCB:
    """Make Robust UCB with the median of means; ``v`` bounds the central moment of order 1 + ``eps``.

    Examples
    --------
    >>> rucb_median(eps=1, v=1)
    RobustUCB(estimator=MedianOfMeans(eps=1.0, v=1.0), exponent=2.0)
    """
    return RobustUCB(MedianOfMeans(eps, v), exponent)
