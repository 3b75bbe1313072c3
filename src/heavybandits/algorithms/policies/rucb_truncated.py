"""Robust UCB with the truncated mean; see :mod:`.robust_ucb` and :mod:`.truncated_mean`."""

from __future__ import annotations

from ..estimators.truncated_mean import TruncatedMean
from .robust_ucb import FACTS as TEMPLATE
from .robust_ucb import RobustUCB

NAME = "rucb-truncated"
EXAMPLE = {"eps": 0.5, "u": 2.0}
FACTS = TEMPLATE._replace(memory="O(log n)", cost="O(log n), O(log K)")


def rucb_truncated(eps: float, u: float, exponent: float = 2.0) -> RobustUCB:
    """Make Robust UCB with the truncated mean; ``u`` bounds the raw moment of order 1 + ``eps``.

    Examples
    --------
    >>> rucb_truncated(eps=0.5, u=10)
    RobustUCB(estimator=TruncatedMean(eps=0.5, u=10.0), exponent=2.0)
    """
    return RobustUCB(TruncatedMean(eps, u), exponent)
