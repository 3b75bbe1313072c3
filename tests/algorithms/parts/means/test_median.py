"""The median from a window around it is that of all numbers, whatever the numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heavybandits.algorithms.parts.means.median import (
    WINDOW,
    add_number,
    fill,
    init_middle,
    knows_median,
    median_in_place,
    median_of,
    partition,
)
from heavybandits.numerics import LARGEST_FLOAT


@pytest.mark.parametrize("start", [1, 2, WINDOW - 1, WINDOW, WINDOW + 1, 50])
@pytest.mark.parametrize("kind", ["random", "rising", "falling", "tied", "alternating"])
def test_the_median_is_that_of_all_numbers(start: int, kind: str) -> None:
    rng = np.random.default_rng(start)
    numbers = {
        "random": rng.standard_cauchy(400),
        "rising": np.arange(400.0),
        "falling": -np.arange(400.0),
        "tied": rng.integers(3, size=400).astype(float),
        "alternating": np.arange(400.0) * (-1.0) ** np.arange(400),
    }[kind]
    middle, known = init_middle(2), 0
    fill(middle, 1, numbers[:start].copy(), start)
    for n in range(start, 400):
        if knows_median(middle, 1):
            assert median_of(middle, 1) == np.median(numbers[:n])
            known += 1
        else:
            fill(middle, 1, numbers[:n].copy(), n)
            assert knows_median(middle, 1)
        add_number(middle, 1, numbers[n])
        assert middle.size[1] == n + 1
    assert known > 300 if kind in ("random", "tied", "alternating") else known > 200
    assert middle.size[0] == 0


def test_partition() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = rng.integers(10, size=rng.integers(1, 30)).astype(float)
        rank, ordered = int(rng.integers(len(values))), np.sort(values)
        partition(values, 0, len(values) - 1, rank)
        assert values[rank] == ordered[rank]
        assert values[:rank].max(initial=-1.0) <= values[rank] <= values[rank:].min()


@settings(derandomize=True)
@given(
    st.lists(st.one_of(st.floats(-LARGEST_FLOAT, LARGEST_FLOAT), st.sampled_from([0.0, 1.0])), min_size=1, max_size=60)
)
def test_median_by_selection(values: list[float]) -> None:
    ordered = sorted(values)
    expected = 0.5 * ordered[(len(values) - 1) // 2] + 0.5 * ordered[len(values) // 2]
    assert median_in_place(np.array([*values, math.nan]), len(values)) == expected
