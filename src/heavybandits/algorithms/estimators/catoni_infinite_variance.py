r"""Catoni's M-estimator for rewards without a variance.

The estimate is the root m of :math:`\sum_s \psi(\alpha (X_s - m)) = 0`, where
:math:`\psi(z) = \mathrm{sign}(z) \ln(1 + |z| + C |z|^p)`.  With :math:`L = \ln(1/\delta)`, each side of its radius
holds with probability :math:`1 - \delta`.  See :mod:`._catoni` for what its two forms share.
"""

from __future__ import annotations

import functools
import math
from typing import Annotated, NamedTuple

from ..._validate import in_range
from ..entries import register_estimator
from ..parameters import Fraction, Positive
from ._catoni import CatoniState, init_catoni, keep, refresh, until


@register_estimator("catoni-infinite-variance", example={"eps": 0.5, "v": 2.0})
class CatoniInfiniteVariance(NamedTuple):
    r"""Catoni's M-estimator for infinite variance, a robust mean for :class:`.RobustUCB`.

    With the least C for which the method works, :math:`C = (\varepsilon/p)^{p/2} ((1 - \varepsilon)/\varepsilon)^{(1 -
    \varepsilon)/2}`, and :math:`0^0 = 1`,

    .. math::

       \alpha^p = \frac{h^\varepsilon L}{\varepsilon C v n}, \qquad
       |\hat\mu - \mu| \le (1 + \tau)\,p^{1/2} (1 - \varepsilon)^{1/p - 1/2} \Bigl(\frac{v}{h^\varepsilon}\Bigr)^{1/p}
       \Bigl(\frac Ln\Bigr)^{\varepsilon/p},

    .. math::  n > \frac{p}{(1 - h)\,\varepsilon} (1 + \tau)^{p/\varepsilon} (C/\tau)^{1/\varepsilon} L.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: the moment of order :math:`p = 1 + \varepsilon` is finite.
    v
        Upper bound on that central moment.
    h, tau
        Larger h and smaller :math:`\tau` give a smaller radius, but it takes more rewards before it holds.

    Notes
    -----
    The paper has L = ln(2/delta) for both sides together; here delta is for each side, as everywhere in Robust UCB.
    With the default h and tau the least n is 9.2 L at :math:`\varepsilon = 1/2` and 30 L at 1/4, but 1660 L at 1/10.

    Examples
    --------
    >>> mean = CatoniInfiniteVariance(eps=0.5, v=2.0)
    >>> state = mean.init(n_arms=1, horizon=None)
    >>> for reward in 2 * ([1, 2, 3, 4, 100, 6, 7, -50, 9, 10, 11, 12] + 8 * [5]):
    ...     mean.observe(state, 0, reward)
    >>> round(mean.refresh(state, 0, math.log(2 / 0.05)), 6)
    5.847677
    >>> mean.refresh(state, 0, math.log(1e9))  # too few rewards for so small a delta
    inf
    """

    eps: Fraction
    v: Positive
    h: Annotated[float, functools.partial(in_range, low=0, high=1, ends="()")] = 0.5
    tau: Positive = 1.0

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

    def constant(self) -> float:
        """Return C."""
        eps = self.eps
        return float((eps / (1.0 + eps)) ** (0.5 + 0.5 * eps) * ((1.0 - eps) / eps) ** (0.5 - 0.5 * eps))

    def log_limit(self, n: int) -> float:
        """Return the L below which n rewards are enough."""
        eps, tau = self.eps, self.tau
        log = ((1.0 + eps) * math.log1p(tau) + math.log(self.constant() / tau)) / eps
        return n * (1.0 - self.h) * eps / (1.0 + eps) * math.exp(-log)

    def alpha(self, n: int, log_term: float) -> float:
        r"""Return the scale :math:`\alpha`."""
        eps = self.eps
        ratio = self.h**eps * log_term / (eps * self.constant() * n)
        return float(ratio ** (1.0 / (1.0 + eps)) / self.v ** (1.0 / (1.0 + eps)))

    def refresh(self, state: CatoniState, arm: int, log_term: float) -> float:
        """Return the estimate at about L = ``log_term``; infinite if there are too few rewards."""
        return refresh(self, state, arm, log_term, self.constant(), 1.0 + self.eps)

    def until(self, state: CatoniState, arm: int, log_term: float) -> float:
        """Return the L at which the estimate changes if no reward comes."""
        return until(self, state, arm, log_term)

    def width(self, n: int) -> float:
        """Return the radius after n rewards, in units of the factor."""
        eps, p = self.eps, 1.0 + self.eps
        factor = (1.0 + self.tau) * math.sqrt(p) * (1.0 - eps) ** (1.0 / p - 0.5)
        return float(factor * self.h ** (-eps / p) * self.v ** (1.0 / p) * float(n) ** (-eps / p))

    def factor(self, log_term: float) -> float:
        """Return the common factor of the radii at L = ``log_term``."""
        return float(log_term ** (self.eps / (1.0 + self.eps)))
