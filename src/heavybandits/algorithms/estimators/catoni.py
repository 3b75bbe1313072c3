r"""Catoni's M-estimator for rewards with a variance.

The estimate is the root m of :math:`\sum_s \psi(\alpha (X_s - m)) = 0`, where
:math:`\psi(z) = \mathrm{sign}(z) \ln(1 + |z| + C |z|^p)`.  With :math:`L = \ln(1/\delta)`, each side of its radius
holds with probability :math:`1 - \delta`.  See :mod:`._catoni` for what its two forms share.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..entries import register_estimator
from ..parameters import Positive
from ._catoni import CatoniState, init_catoni, keep, refresh, until


@register_estimator("catoni", example={"v": 2.0})
class Catoni(NamedTuple):
    r"""Catoni's M-estimator, a robust mean for :class:`.RobustUCB`.

    For :math:`n > 4L`: C = 1/2, p = 2, and

    .. math::  \alpha^2 = \frac{2L}{n\,(v + 2vL/(n - 2L))}, \qquad |\hat\mu - \mu| \le 2 \sqrt{vL/n}.

    Parameters
    ----------
    v
        Upper bound on the variance.

    Examples
    --------
    >>> mean = Catoni(v=4.0)
    >>> state = mean.init(n_arms=1, horizon=None)
    >>> for reward in [1, 2, 3, 4, 100, 6, 7, -50, 9, 10, 11, 12] + 8 * [5]:
    ...     mean.observe(state, 0, reward)
    >>> log_term = math.log(1 / 0.05)
    >>> round(mean.refresh(state, 0, log_term), 9)
    6.03541344
    >>> round(mean.width(20) * mean.factor(log_term), 9)
    1.548091024
    """

    v: Positive

    def init(self, n_arms: int, horizon: int | None) -> CatoniState:
        """Return a state without rewards."""
        return init_catoni(n_arms, horizon)

    def initial_pulls(self) -> int:
        """Return how many pulls each arm gets before its index counts."""
        return 1

    def observe(self, state: CatoniState, arm: int, reward: float) -> None:
        """Store a reward."""
        keep(state, arm, reward)

    def value(self, state: CatoniState, arm: int) -> float:
        """Return the last root."""
        return float(state.value[arm])

    def log_limit(self, n: int) -> float:
        """Return the L below which n rewards are enough."""
        return n / 4.0

    def alpha(self, n: int, log_term: float) -> float:
        r"""Return the scale :math:`\alpha`."""
        ratio = 2.0 * log_term / n
        return math.sqrt(ratio * (1.0 - ratio)) / math.sqrt(self.v)

    def refresh(self, state: CatoniState, arm: int, log_term: float) -> float:
        """Return the estimate at about L = ``log_term``; infinite if there are too few rewards."""
        return refresh(self, state, arm, log_term, 0.5, 2.0)

    def until(self, state: CatoniState, arm: int, log_term: float) -> float:
        """Return the L at which the estimate changes if no reward comes."""
        return until(self, state, arm, log_term)

    def width(self, n: int) -> float:
        """Return the radius after n rewards, in units of the factor."""
        return 2.0 * math.sqrt(self.v) / math.sqrt(n)

    def factor(self, log_term: float) -> float:
        """Return the common factor of the radii at L = ``log_term``."""
        return math.sqrt(log_term)
