"""Zooming plays as its slow reference does."""

import math

import lipschitz_reference as reference
import pytest
from lipschitz_reference import pays, played

from heavybandits.algorithms.lipschitz.zooming import Zooming


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 2])
def test_zooming_plays_as_its_reference(dim: int) -> None:
    def radius(n: int, t: int) -> float:
        return float(0.05 * 2.0 * t ** (1 / 3) / math.sqrt(n))

    expected = reference.zoom(dim, pays, 120, lambda rewards: sum(rewards) / len(rewards), radius, 1)
    assert played(Zooming(nu=2, scale=0.05), dim, 120, 1000) == expected
