"""Epsilon-greedy explores as often as it says, and open arms only."""

import numpy as np
import pytest
from playing import fed

from heavybandits.algorithms.policies.epsilon_greedy import EpsilonGreedy

pytestmark = pytest.mark.usefixtures("silent")


def test_epsilon_greedy_explores_as_often_as_it_says() -> None:
    """Greedy play takes the best of 4 arms; exploration takes each equally often."""
    for policy, t, chance in (
        (EpsilonGreedy(0.2), 10**6, 0.2),
        (EpsilonGreedy(0.0, c=5.0), 50, 0.4),
        (EpsilonGreedy(0.0, c=5.0), 10, 1.0),
        (EpsilonGreedy(0.3, c=5.0), 100, 0.3),
    ):
        state, rng = fed(policy, [[0.0], [3.0], [1.0], [2.0]]), np.random.default_rng(0)
        share = np.bincount([policy.select(state, t, rng) for _ in range(4000)], minlength=4) / 4000
        assert share == pytest.approx([chance / 4, 1 - 0.75 * chance, chance / 4, chance / 4], abs=0.03)


def test_epsilon_greedy_explores_open_arms_only() -> None:
    policy = EpsilonGreedy(1.0)
    state, rng = fed(policy, [[0.0]] * 5), np.random.default_rng(0)
    state.open[:] = [False, True, False, True, True]
    assert {policy.select(state, 9, rng) for _ in range(200)} == {1, 3, 4}
