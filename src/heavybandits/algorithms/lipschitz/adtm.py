r"""ADTM: zooming with truncated means (Lu, Wang, Hu, Zhang 2019).

*Assumes* that expected rewards differ by no more than the distance between their points, and a moment about 0,
:math:`E|y|^{1+\varepsilon} \le \nu`.  *Must be told* :math:`\varepsilon`, :math:`\nu` and the horizon T.  *When that
fails*: if :math:`\nu` is too small, means shrink towards 0.  With the theory's radius, one point covers the whole cube
for hundreds of rewards, so the authors multiply it by 0.1.

*Formula*: with :math:`L = \ln(T^2/\delta)` and :math:`p = 1 + \varepsilon`, the n-th reward y of a point counts as 0
unless :math:`|y| \le (\nu n/L)^{1/p}`, and the radius is

.. math::  r = 4\,s\,\bar\nu^{1/p} (L/n)^{\varepsilon/p}, \qquad
           \bar\nu = \max\bigl(\nu, (12\sqrt2)^{-p}\bigr).

If the balls of these radii do not cover the cube, an uncovered point becomes active and is played.  Otherwise the
active point with the highest mean + 2r is played.  Balls are cubes, and points are those of a net: see :mod:`._zoom`.

*Cost*: O(m) for a choice among m active points, and O(1024) for a reward; 32 kB.

*Reference*: S. Lu, G. Wang, Y. Hu, L. Zhang (2019), and the authors' code.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import required_horizon
from ...numerics import running_mean
from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import Fraction, Positive
from ._zoom import Zoom, index_at, init_zoom, look_around, point_of, selected


class ADTMState(NamedTuple):
    """Active points with their truncated means, and a constant that depends on the horizon."""

    zoom: Zoom
    log_term: FloatArray  # L


@register_policy(
    "adtm",
    needs="Lipschitz constant, moment order, moment bound, horizon",
    memory="32 kB",
    cost="O(1024), O(m) for m points",
    regret="O(T^((d eps + 1)/(d eps + eps + 1))) up to logarithms, d the zooming dimension, if E|y|^(1 + eps) <= nu",
    reference="Lu, Wang, Hu, Zhang 2019",
    kind="lipschitz",
    example={"eps": 1.0, "nu": 1.0, "scale": 0.1},
    pinned={"eps": 0.5, "nu": 1.0, "scale": 0.1},
    zoo={"eps": 1.0, "nu": 1.0, "scale": 0.01},
)
class ADTM(NamedTuple):
    r"""Zooming with truncated means.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: the moment of order :math:`1 + \varepsilon` is finite.
    nu
        Upper bound on that raw moment.
    scale
        s, the factor of the radius: 1 in the theory, 0.1 in the authors' experiments.
    delta
        :math:`\delta`, the failure probability of the bounds.

    Examples
    --------
    >>> policy = ADTM(eps=1.0, nu=1.0)
    >>> state = policy.init(dim=1, horizon=100)
    >>> for reward in (0.5, -0.1, 3.0, 0.2):  # 0.5 and 3 count as 0
    ...     policy.update(state, policy.select(state, 0, None), reward)
    >>> round(policy.value(state, 0), 6), round(float(state.zoom.radius[0]), 6)
    (0.025, 6.78614)
    """

    eps: Fraction
    nu: Positive
    scale: Positive = 1.0
    delta: Fraction = 0.1

    def init(self, dim: int, horizon: int | None) -> ADTMState:
        horizon = required_horizon("ADTM", horizon, "radius")
        log_term = math.log(float(horizon) ** 2 / self.delta)
        return ADTMState(zoom=init_zoom(dim), log_term=np.array([log_term]))

    def select(self, state: ADTMState, t: int, rng: Any) -> int:
        """Return an uncovered point, or the active one with the highest index."""
        return selected(state.zoom, 1.0, 1)

    def update(self, state: ADTMState, cell: int, reward: float) -> None:
        """Update the mean of a point, and shrink its ball."""
        zoom, p, log_term = state.zoom, 1.0 + self.eps, state.log_term[0]
        n = zoom.pulls[cell] + 1
        counts = abs(reward) <= (self.nu * n / log_term) ** (1.0 / p)
        zoom.pulls[cell] = n
        zoom.mean[cell] = running_mean(zoom.mean[cell], n, reward if counts else 0.0)
        bound = max(self.nu ** (1.0 / p), 1.0 / (12.0 * math.sqrt(2.0)))
        zoom.radius[cell] = self.scale * 4.0 * bound * (log_term / n) ** (self.eps / p)
        look_around(zoom, 1.0, cell)

    def point(self, state: ADTMState, cell: int) -> FloatArray:
        """Return the coordinates of an active point."""
        return point_of(state.zoom, cell)

    def n_cells(self, state: ADTMState) -> int:
        """Return how many points are active."""
        return int(state.zoom.size[0])

    def value(self, state: ADTMState, cell: int) -> float:
        """Return the truncated mean of a point, or NaN before its first reward."""
        return float(state.zoom.mean[cell]) if state.zoom.pulls[cell] > 0 else math.nan

    def index_of(self, state: ADTMState, cell: int, t: int) -> float:
        """Return the mean plus twice the radius."""
        return index_at(state.zoom, 1.0, cell)
