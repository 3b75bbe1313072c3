"""Boxes that divide the unit cube, each played at its centre; any of them may be cut into three.

The middle third has the centre of the box it is cut from, so it keeps the number of that box and all that is known
about it.  Only the two outer thirds are new.  The longest side is cut, or the first of several.  There is room for a
fixed number of boxes, so that compiled code need not allocate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._validate import require_within
from ...protocols import FloatArray, IntArray, compilable


class Cells(NamedTuple):
    """Boxes; the first ``size[0]`` rows are in use."""

    centre: FloatArray  # (cell, dim)
    sides: FloatArray  # (cell, dim): lengths
    size: IntArray  # array of length one: number of boxes

    def check(self, fresh: Cells, n_arms: int) -> None:
        """Refuse no boxes, more boxes than there is room for, and boxes outside the cube."""
        require_within("size", self.size, 1, len(self.centre))
        for name, values in (("centre", self.centre), ("sides", self.sides)):
            if not ((values >= 0.0) & (values <= 1.0)).all():
                raise ValueError(f"{name} must be from 0 to 1")


def init_cells(dim: int, least: int, room: int) -> Cells:
    """Return the unit cube, cut along one side after another until there are at least ``least`` boxes.

    Examples
    --------
    >>> cells = init_cells(dim=2, least=3, room=100)
    >>> cells.centre[: cells.size[0]].round(3).tolist()
    [[0.5, 0.5], [0.167, 0.5], [0.833, 0.5]]
    """
    cells = Cells(centre=np.full((room, dim), 0.5), sides=np.ones((room, dim)), size=np.ones(1, np.int64))
    while cells.size[0] < least:
        for cell in range(int(cells.size[0])):
            cut(cells, cell)
    return cells


@compilable
def longest_side(cells: Cells, cell: int) -> int:
    """Return the axis along which a box is longest; ties go to the first."""
    longest = 0
    for axis in range(1, cells.sides.shape[1]):
        if cells.sides[cell, axis] > cells.sides[cell, longest]:
            longest = axis
    return longest


@compilable
def cut(cells: Cells, cell: int) -> None:
    """Cut a box into three; there must be room for two more.

    Examples
    --------
    >>> cells = init_cells(dim=1, least=1, room=3)
    >>> cut(cells, 0)
    >>> cells.centre[:, 0].round(3).tolist(), cells.sides[:, 0].round(3).tolist()
    ([0.5, 0.167, 0.833], [0.333, 0.333, 0.333])
    """
    axis, new = longest_side(cells, cell), cells.size[0]
    third = cells.sides[cell, axis] / 3.0
    cells.sides[cell, axis] = third
    for other in range(new, new + 2):
        for i in range(cells.sides.shape[1]):
            cells.centre[other, i] = cells.centre[cell, i]
            cells.sides[other, i] = cells.sides[cell, i]
    cells.centre[new, axis] -= third
    cells.centre[new + 1, axis] += third
    cells.size[0] = new + 2
