"""Robust UCB with Catoni's estimator; see :mod:`.robust_ucb`, :mod:`.catoni`, :mod:`.catoni_infinite_variance`."""

from __future__ import annotations

from ..estimators.catoni import Catoni
from ..estimators.catoni_infinite_variance import CatoniInfiniteVariance
from .robust_ucb import FACTS as TEMPLATE
from .robust_ucb import RobustUCB

NAME = "rucb-catoni"
EXAMPLE = {"v": 1.0}
FACTS = TEMPLATE._replace(
    memory="32 n bytes", cost="O(1) amortised, O(log K)", reference="Bubeck et al. 2013; Bhatt et al. 2022"
)


def rucb_catoni(v: float, eps: float = 1.0, exponent: float = 2.0) -> RobustUCB:
    """Make Robust UCB with Catoni's estimator; ``v`` bounds the variance, or the central moment of order 1 + ``eps``.

    Examples
    --------
    >>> rucb_catoni(v=1)
    RobustUCB(estimator=Catoni(v=1.0), exponent=2.0)
    >>> rucb_catoni(v=1, eps=0.5).estimator
    CatoniInfiniteVariance(eps=0.5, v=1.0, h=0.5, tau=1.0)
    """
    return RobustUCB(Catoni(v) if eps == 1.0 else CatoniInfiniteVariance(eps, v), exponent)
