r"""Zooming with plain means, as Lu, Wang, Hu and Zhang (2019) compare it with their own methods.

*Assumes* that expected rewards differ by no more than the distance between their points, and a third moment about 0,
:math:`E|y|^3 \le \nu`.  *Must be told* :math:`\nu`.  *When that fails*: means of rewards without a variance do not
settle.

*Formula*: after t rewards, a point with n of them has the radius

.. math::  r = s\,\nu\,t^{1/3}/\sqrt n.

Points are chosen as in :mod:`.adtm`.  Kleinberg, Slivkins and Upfal (2008), who assume rewards in [0, 1], use
:math:`\sqrt{8 \ln T/(2 + n)}` instead.

*Cost*: O(m) for a choice among m active points, and O(1024) for a reward; 32 kB.

*Reference*: R. Kleinberg, A. Slivkins, E. Upfal (2008); the radius is that of the code of Lu et al. (2019).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...numerics import running_mean
from ...protocols import FloatArray, IntArray
from ..entries import register_policy
from ..parameters import Positive
from ._zoom import Zoom, index_at, init_zoom, look_around, point_of, selected


class ZoomingState(NamedTuple):
    """Active points with their means, and their radii without the factor that grows with t."""

    zoom: Zoom
    clock: IntArray  # number of rewards


@register_policy(
    "zooming",
    needs="Lipschitz constant, moment bound",
    memory="32 kB",
    cost="O(1024), O(m) for m points",
    regret="O(T^((d + 1)/(d + 2))) up to logarithms, d the zooming dimension, for rewards in [0, 1] and another radius",
    reference="Kleinberg, Slivkins, Upfal 2008",
    kind="lipschitz",
    example={"nu": 1.0, "scale": 0.1},
    zoo={"nu": 1.0, "scale": 0.01},
)
class Zooming(NamedTuple):
    r"""Zooming.

    Parameters
    ----------
    nu
        Upper bound on the third raw moment.
    scale
        s, the factor of the radius: 0.01 in the experiments of Lu et al.

    Examples
    --------
    >>> policy = Zooming(nu=1.0)
    >>> state = policy.init(dim=1, horizon=None)
    >>> for t, reward in enumerate((1.0, 0.0, 0.0, 1.0)):
    ...     policy.update(state, policy.select(state, t, None), reward)
    >>> policy.value(state, 0), round(policy.index_of(state, 0, 8), 6)  # 1/2 + 2 * 2/2
    (0.5, 2.5)
    """

    nu: Positive
    scale: Positive = 1.0

    def init(self, dim: int, horizon: int | None) -> ZoomingState:
        return ZoomingState(zoom=init_zoom(dim), clock=np.zeros(1, np.int64))

    def factor(self, t: int) -> float:
        """Return the factor of all radii after t rewards."""
        return float(float(t) ** (1.0 / 3.0))

    def select(self, state: ZoomingState, t: int, rng: Any) -> int:
        """Return an uncovered point, or the active one with the highest index."""
        return selected(state.zoom, self.factor(t), 1)

    def update(self, state: ZoomingState, cell: int, reward: float) -> None:
        """Update the mean of a point, and shrink its ball."""
        zoom = state.zoom
        n = zoom.pulls[cell] + 1
        zoom.pulls[cell] = n
        state.clock[0] += 1
        zoom.mean[cell] = running_mean(zoom.mean[cell], n, reward)
        zoom.radius[cell] = self.scale * self.nu / math.sqrt(n)
        look_around(zoom, self.factor(state.clock[0]), cell)

    def point(self, state: ZoomingState, cell: int) -> FloatArray:
        """Return the coordinates of an active point."""
        return point_of(state.zoom, cell)

    def n_cells(self, state: ZoomingState) -> int:
        """Return how many points are active."""
        return int(state.zoom.size[0])

    def value(self, state: ZoomingState, cell: int) -> float:
        """Return the mean of a point's rewards, or NaN before the first."""
        return float(state.zoom.mean[cell]) if state.zoom.pulls[cell] > 0 else math.nan

    def index_of(self, state: ZoomingState, cell: int, t: int) -> float:
        """Return the mean plus twice the radius."""
        return index_at(state.zoom, self.factor(t), cell)
