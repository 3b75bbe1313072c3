r"""Points of which more become active where the active ones do not cover the cube (Kleinberg, Slivkins, Upfal 2008).

An active point with a radius covers what is no farther from it, where the distance is the largest difference of a
coordinate.  The cube is taken for covered if all points of a net are: the first 1024 of Halton's sequence.  If one is
not, the first of them becomes active.  Each point of the net knows who covers it, so a radius that shrinks concerns
only what its own point covered.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import require_within
from ...protocols import FloatArray, IntArray, compilable
from ...world.halton import halton

NET = 1024
NOBODY = -1


class Zoom(NamedTuple):
    """Active points, called arms, and what they cover."""

    net: FloatArray  # (NET, dim)
    where: IntArray  # per arm: its place in the net
    cover: IntArray  # per point of the net: an arm that covers it, or NOBODY
    size: IntArray  # array of one: arms
    bare: IntArray  # array of one: no point of the net before this one is uncovered

    def check(self, fresh: Zoom, n_arms: int) -> None:
        """Refuse arms and places that there are not, and another net."""
        require_within("size", self.size, 0, NET)
        require_within("where", self.where, 0, NET - 1)
        require_within("cover", self.cover, NOBODY, max(int(self.size[0]) - 1, NOBODY))
        require_within("bare", self.bare, 0, NET)
        if not np.array_equal(self.net, fresh.net):
            raise ValueError("net must be the first points of Halton's sequence")


def init_zoom(dim: int) -> Zoom:
    """Return the state before any point is active."""
    return Zoom(
        net=halton(NET, dim),
        where=np.zeros(NET, np.int64),
        cover=np.full(NET, NOBODY),
        size=np.zeros(1, np.int64),
        bare=np.zeros(1, np.int64),
    )


@compilable
def distance(zoom: Zoom, arm: int, place: int) -> float:
    """Return how far an arm is from a point of the net."""
    farthest, own = 0.0, zoom.where[arm]
    for axis in range(zoom.net.shape[1]):
        farthest = max(farthest, abs(zoom.net[own, axis] - zoom.net[place, axis]))
    return farthest


@compilable
def covering(zoom: Zoom, radius: FloatArray, factor: float, place: int) -> int:
    """Return the first arm that covers a point of the net, or NOBODY; radii are multiplied by the factor."""
    for arm in range(zoom.size[0]):
        if distance(zoom, arm, place) <= factor * radius[arm]:
            return arm
    return NOBODY


@compilable
def look_around(zoom: Zoom, radius: FloatArray, factor: float, arm: int) -> None:
    """Give up what an arm does not cover any more, now that its radius has changed; others may cover it."""
    for place in range(len(zoom.cover)):
        if zoom.cover[place] == arm and distance(zoom, arm, place) > factor * radius[arm]:
            zoom.cover[place] = NOBODY
            zoom.bare[0] = min(zoom.bare[0], place)


@compilable
def activated(zoom: Zoom, radius: FloatArray, factor: float) -> int:
    """Activate the first point that is not covered and return its arm, or NOBODY if all are.

    Examples
    --------
    >>> zoom, radius = init_zoom(dim=1), np.zeros(NET)
    >>> int(activated(zoom, radius, 1.0)), zoom.net[zoom.where[0]].tolist()
    (0, [0.5])
    >>> radius[0] = 0.5
    >>> activated(zoom, radius, 1.0)
    -1
    """
    while zoom.bare[0] < len(zoom.cover):
        place = zoom.bare[0]
        if zoom.cover[place] == NOBODY:
            zoom.cover[place] = covering(zoom, radius, factor, place)
        if zoom.cover[place] == NOBODY:
            arm: int = zoom.size[0]
            zoom.size[0] += 1
            zoom.where[arm], zoom.cover[place] = place, arm
            return arm
        zoom.bare[0] += 1
    return NOBODY


@compilable
def selected(zoom: Zoom, pulls: IntArray, mean: FloatArray, radius: FloatArray, factor: float, initial: float) -> int:
    """Return an arm that lacks one of its ``initial`` pulls, a new one, or the one with the highest mean + 2 radii."""
    size: int = zoom.size[0]
    if size > 0 and pulls[size - 1] < initial:  # the others had theirs before it became active
        return size - 1
    best, highest = activated(zoom, radius, factor), -math.inf
    if best == NOBODY:
        for arm in range(size):
            index = mean[arm] + 2.0 * factor * radius[arm] if pulls[arm] > 0 else math.inf
            if best == NOBODY or index > highest or (index == highest and pulls[arm] < pulls[best]):
                best, highest = arm, index
    return best
