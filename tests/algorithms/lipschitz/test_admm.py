"""ADMM plays as its slow reference does."""

import math

import lipschitz_reference as reference
import pytest
from lipschitz_reference import pays

from heavybandits.algorithms.lipschitz.admm import ADMM


@pytest.mark.slow
def test_admm_plays_as_its_reference() -> None:
    log_term = math.log(3.0**2 / 1.0)

    def radius(n: int, t: int) -> float:
        return 0.05 * math.sqrt(12.0) * math.sqrt((16.0 * log_term + 2.0) / n)

    policy = ADMM(eps=1, sigma=1, scale=0.05, delta=1)
    initial = 16.0 * log_term + 2.0
    expected = reference.zoom(1, pays, 250, reference.median_of_means(log_term), radius, initial)
    state, points = policy.init(1, 3), []
    state = state._replace(sums=policy.init(1, 250).sums)  # room for more rewards than the horizon
    for t in range(250):
        cell = policy.select(state, t, None)
        points.append(tuple(policy.point(state, cell).tolist()))
        policy.update(state, cell, pays(points[-1], t))
    assert points == expected
    assert len(set(points)) > 3
