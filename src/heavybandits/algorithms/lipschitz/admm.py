r"""ADMM: zooming with medians of means (Lu, Wang, Hu, Zhang 2019).

*Assumes* that expected rewards differ by no more than the distance between their points, and a central moment
:math:`E|y - E y|^{1+\varepsilon} \le \sigma`.  *Must be told* :math:`\varepsilon`, :math:`\sigma` and the horizon T.
*When that fails*: if :math:`\sigma` is too small, good points may be abandoned.  Every new point takes several hundred
rewards before its first estimate, which dominates regret at horizons below 10^5.

*Formula*: with :math:`L = \ln(T^2/\delta)` and :math:`p = 1 + \varepsilon`, a new point is played until it has
:math:`n \ge 16L + 2` rewards.  Its estimate is the median of the means of :math:`\lfloor 8L + 1 \rfloor` groups of
equal length, in order of arrival, and its radius is

.. math::  r = s\,(12 \bar\sigma)^{1/p} \Bigl(\frac{16L + 2}{n}\Bigr)^{\varepsilon/p}, \qquad
           \bar\sigma = \max\Bigl(\sigma, \frac{1}{36\sqrt2}\Bigr).

Points are chosen as in :mod:`.adtm`.

*Cost*: O(m) for a choice among m active points; O(1024) for a reward, and O(L ln n) when groups grow.  64 bytes per
reward.

*Reference*: S. Lu, G. Wang, Y. Hu, L. Zhang (2019), and the authors' code.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import required_horizon
from ...protocols import FloatArray
from ..entries import register_policy
from ..estimators.median_of_means import keep, median_of_blocks
from ..parameters import Fraction, Positive
from ..parts.state.pool import Pool, init_pool
from ._zoom import NET, Zoom, index_at, init_zoom, look_around, point_of, selected


class ADMMState(NamedTuple):
    """Active points with their medians of means, and the sums of their rewards over ranges."""

    zoom: Zoom
    sums: Pool
    log_term: FloatArray  # L
    groups: FloatArray  # scratch: means of groups


@register_policy(
    "admm",
    needs="Lipschitz constant, moment order, moment bound, horizon",
    memory="64 T bytes",
    cost="O(1024), O(m) for m points",
    regret="O(T^((d eps + 1)/(d eps + eps + 1))) up to logarithms, d the zooming dimension, if the central moment is "
    "at most sigma",
    reference="Lu, Wang, Hu, Zhang 2019",
    kind="lipschitz",
    example={"eps": 1.0, "sigma": 1.0, "scale": 0.1},
    pinned={"eps": 1.0, "sigma": 1.0, "scale": 0.01, "delta": 1.0},
    zoo={"eps": 1.0, "sigma": 1.0, "scale": 0.1},
)
class ADMM(NamedTuple):
    r"""Zooming with medians of means.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: the moment of order :math:`1 + \varepsilon` is finite.
    sigma
        Upper bound on that central moment.
    scale
        s, the factor of the radius: 1 in the theory, 0.1 in the authors' experiments.
    delta
        :math:`\delta`, the failure probability of the bounds.

    Examples
    --------
    >>> policy = ADMM(eps=1.0, sigma=1.0, delta=1.0)
    >>> state = policy.init(dim=1, horizon=200)
    >>> for t in range(172):  # 16 ln(200^2) + 2 = 171.5
    ...     policy.update(state, policy.select(state, t, None), float(t % 2))
    >>> policy.value(state, 0)
    0.5
    """

    eps: Fraction
    sigma: Positive
    scale: Positive = 1.0
    delta: Fraction = 0.1

    def init(self, dim: int, horizon: int | None) -> ADMMState:
        horizon = required_horizon("ADMM", horizon, "radius")
        log_term = math.log(float(horizon) ** 2 / self.delta)
        return ADMMState(
            zoom=init_zoom(dim),
            sums=init_pool(NET, horizon, 2),
            log_term=np.array([log_term]),
            groups=np.zeros(math.floor(8.0 * log_term + 1.0)),
        )

    def select(self, state: ADMMState, t: int, rng: Any) -> int:
        """Return a point that lacks initial rewards, an uncovered one, or the active one with the highest index."""
        initial = 16.0 * state.log_term[0] + 2.0
        return selected(state.zoom, 1.0, initial)

    def update(self, state: ADMMState, cell: int, reward: float) -> None:
        """Keep the reward, update the estimate if groups have grown, and shrink the ball."""
        zoom, p, groups = state.zoom, 1.0 + self.eps, len(state.groups)
        n = zoom.pulls[cell] + 1
        zoom.pulls[cell] = n
        keep(state.sums, cell, reward)
        if n % groups == 0:
            zoom.mean[cell] = median_of_blocks(state.sums, cell, groups, state.groups)
        bound = max(self.sigma, 1.0 / (36.0 * math.sqrt(2.0)))
        share = (16.0 * state.log_term[0] + 2.0) / n
        zoom.radius[cell] = self.scale * (12.0 * bound) ** (1.0 / p) * share ** (self.eps / p)
        look_around(zoom, 1.0, cell)

    def point(self, state: ADMMState, cell: int) -> FloatArray:
        """Return the coordinates of an active point."""
        return point_of(state.zoom, cell)

    def n_cells(self, state: ADMMState) -> int:
        """Return how many points are active."""
        return int(state.zoom.size[0])

    def value(self, state: ADMMState, cell: int) -> float:
        """Return the median of means of a point, or NaN before there is one."""
        return float(state.zoom.mean[cell]) if state.zoom.pulls[cell] >= len(state.groups) else math.nan

    def index_of(self, state: ADMMState, cell: int, t: int) -> float:
        """Return the estimate plus twice the radius."""
        return index_at(state.zoom, 1.0, cell)
