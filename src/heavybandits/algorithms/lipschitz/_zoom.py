r"""Active points, joined by more where they do not cover the cube (Kleinberg, Slivkins, Upfal 2008).

An active point covers all points within its radius, where the distance is the largest difference in any coordinate.
The cube counts as covered if all points of a net are: the first 1024 of Halton's sequence.  Otherwise the first
uncovered point of the net becomes active.  Each point of the net records an arm that covers it, so when a radius
shrinks, only the points that its arm covered need checking.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import LARGEST_COUNT, require_within
from ...protocols import FloatArray, IntArray, compilable
from ...world.halton import halton

NET = 1024
NOBODY = -1


class Zoom(NamedTuple):
    """Active points, called arms, what is known about them, and what they cover."""

    net: FloatArray  # (NET, dim)
    where: IntArray  # per arm: its number in the net
    pulls: IntArray  # per arm
    mean: FloatArray  # per arm: its estimated reward
    radius: FloatArray  # per arm
    cover: IntArray  # per point of the net: an arm that covers it, or NOBODY
    size: IntArray  # array of length one: number of arms
    bare: IntArray  # array of length one: all points of the net before this one are covered

    def check(self, fresh: Zoom, n_arms: int) -> None:
        """Refuse arms and points that do not exist, and another net."""
        require_within("size", self.size, 0, NET)
        require_within("where", self.where, 0, NET - 1)
        require_within("cover", self.cover, NOBODY, max(int(self.size[0]) - 1, NOBODY))
        require_within("bare", self.bare, 0, NET)
        require_within("pulls", self.pulls, 0, LARGEST_COUNT)
        if not np.array_equal(self.net, fresh.net):
            raise ValueError("net must be the first points of Halton's sequence")


def init_zoom(dim: int) -> Zoom:
    """Return the state before any point is active."""
    return Zoom(
        net=halton(NET, dim),
        where=np.zeros(NET, np.int64),
        pulls=np.zeros(NET, np.int64),
        mean=np.zeros(NET),
        radius=np.zeros(NET),
        cover=np.full(NET, NOBODY),
        size=np.zeros(1, np.int64),
        bare=np.zeros(1, np.int64),
    )


@compilable
def distance(zoom: Zoom, arm: int, point: int) -> float:
    """Return the distance between an arm and a point of the net."""
    farthest, own = 0.0, zoom.where[arm]
    for axis in range(zoom.net.shape[1]):
        farthest = max(farthest, abs(zoom.net[own, axis] - zoom.net[point, axis]))
    return farthest


@compilable
def covering(zoom: Zoom, factor: float, point: int) -> int:
    """Return the first arm that covers a point of the net, or NOBODY; radii are multiplied by the factor."""
    for arm in range(zoom.size[0]):
        if distance(zoom, arm, point) <= factor * zoom.radius[arm]:
            return arm
    return NOBODY


@compilable
def look_around(zoom: Zoom, factor: float, arm: int) -> None:
    """Release the points that an arm no longer covers, now that its radius has changed; others may cover them."""
    for point in range(len(zoom.cover)):
        if zoom.cover[point] == arm and distance(zoom, arm, point) > factor * zoom.radius[arm]:
            zoom.cover[point] = NOBODY
            zoom.bare[0] = min(zoom.bare[0], point)


@compilable
def activated(zoom: Zoom, factor: float) -> int:
    """Activate the first uncovered point and return its arm, or NOBODY if all points are covered.

    Examples
    --------
    >>> zoom = init_zoom(dim=1)
    >>> int(activated(zoom, 1.0)), point_of(zoom, 0).tolist()
    (0, [0.5])
    >>> zoom.radius[0] = 0.5
    >>> activated(zoom, 1.0)
    -1
    """
    while zoom.bare[0] < len(zoom.cover):
        point = zoom.bare[0]
        if zoom.cover[point] == NOBODY:
            zoom.cover[point] = covering(zoom, factor, point)
        if zoom.cover[point] == NOBODY:
            arm: int = zoom.size[0]
            zoom.size[0] += 1
            zoom.where[arm], zoom.cover[point] = point, arm
            return arm
        zoom.bare[0] += 1
    return NOBODY


@compilable
def index_at(zoom: Zoom, factor: float, arm: int) -> float:
    """Return the arm's mean plus two radii; infinite if it has no rewards."""
    return float(zoom.mean[arm] + 2.0 * factor * zoom.radius[arm]) if zoom.pulls[arm] > 0 else math.inf


@compilable
def selected(zoom: Zoom, factor: float, initial: float) -> int:
    """Return an arm with fewer than ``initial`` pulls, a new one, or the one with the highest index."""
    size: int = zoom.size[0]
    if size > 0 and zoom.pulls[size - 1] < initial:  # the others had enough before it became active
        return size - 1
    best, highest = activated(zoom, factor), -math.inf
    if best == NOBODY:
        for arm in range(size):
            index = index_at(zoom, factor, arm)
            if best == NOBODY or index > highest or (index == highest and zoom.pulls[arm] < zoom.pulls[best]):
                best, highest = arm, index
    return best


@compilable
def point_of(zoom: Zoom, arm: int) -> FloatArray:
    """Return the coordinates of an arm."""
    return zoom.net[zoom.where[arm]]  # type: ignore[no-any-return]
