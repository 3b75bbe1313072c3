"""Rows that are drawn at random are drawn by the chances that follow from their values."""

from typing import Any

import numpy as np
import pytest

from heavybandits.algorithms.linear.epsilon_greedy_huber import EpsilonGreedyHuber
from heavybandits.algorithms.linear.epsilon_greedy_ridge import EpsilonGreedyRidge
from heavybandits.algorithms.linear.square_cb import SquareCB


@pytest.mark.parametrize(
    "policy", [SquareCB(gamma=3.0, exponent=0.7), EpsilonGreedyRidge(0.3), EpsilonGreedyHuber(0.3)]
)
def test_rows_are_drawn_by_chances_that_follow_from_the_values(policy: Any) -> None:
    rng, rows = np.random.default_rng(2), np.random.default_rng(3).standard_normal((4, 3))
    state = policy.init(3, 100)
    for x in rows:
        policy.update(state, x, rng.standard_normal())
    values = np.array([policy.value(state, x) for x in rows])
    if isinstance(policy, SquareCB):
        expected = 1.0 / (4 + 3.0 * 20**0.7 * (values.max() - values))
    else:
        expected = np.full(4, 0.3 / 4)
    expected[values.argmax()] += 1.0 - expected.sum()
    asked = state._replace(propensity=np.array([-1.0, 0.0, 0.0, 0.0]))
    policy.select(asked, rows, 20, rng)
    np.testing.assert_allclose(asked.propensity, expected, rtol=1e-12)
    counts = np.bincount([policy.select(state, rows, 20, rng) for _ in range(4000)], minlength=4)
    np.testing.assert_allclose(counts / 4000, expected, atol=0.03)
