"""Boxes that divide the cube."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavybandits.algorithms.lipschitz._cells import cut, init_cells


@given(st.integers(1, 4), st.lists(st.integers(0, 10**6), max_size=40))
def test_boxes_fill_the_cube_without_overlap(dim: int, numbers: list[int]) -> None:
    cells = init_cells(dim, 9, 200)
    centres = [cells.centre[i].copy() for i in range(int(cells.size[0]))]
    for number in numbers:
        cell = number % int(cells.size[0])
        cut(cells, cell)
        centres += [cells.centre[i].copy() for i in range(len(centres), int(cells.size[0]))]
    size = int(cells.size[0])
    assert size == 9 + 2 * len(numbers)
    np.testing.assert_array_equal(cells.centre[:size], centres)  # no box moves
    assert cells.sides[:size].prod(axis=1).sum() == pytest.approx(1.0)
    points = np.random.default_rng(1).random((50, dim))
    inside = (np.abs(points[:, None] - cells.centre[:size]) < 0.5 * cells.sides[:size]).all(axis=2)
    assert (inside.sum(axis=1) == 1).all()


def test_the_longest_side_is_cut() -> None:
    cells = init_cells(2, 1, 10)
    cut(cells, 0)
    cut(cells, 0)
    np.testing.assert_allclose(cells.sides[0], [1 / 3, 1 / 3])
    np.testing.assert_allclose(cells.sides[1], [1 / 3, 1.0])
    np.testing.assert_allclose(cells.centre[3:5], [[0.5, 1 / 6], [0.5, 5 / 6]])


def test_damaged_boxes_are_refused() -> None:
    cells = init_cells(2, 9, 20)
    for broken in (
        cells._replace(size=np.array([21])),
        cells._replace(size=np.array([0])),
        cells._replace(centre=cells.centre + 1.0),
        cells._replace(sides=cells.sides * np.nan),
    ):
        with pytest.raises(ValueError, match="must be from"):
            broken.check(cells, 0)
    cells.check(cells, 0)
