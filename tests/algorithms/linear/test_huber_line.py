"""Huber regression with a learned scale has the least loss."""

import huber_references as huber
import numpy as np

from heavybandits.algorithms.linear.epsilon_greedy_huber import EpsilonGreedyHuber


def test_the_huber_regression_has_the_least_loss() -> None:
    policy, rng = EpsilonGreedyHuber(), np.random.default_rng(4)
    state, reference = policy.init(3, None), huber.GreedyHuber(policy, 3, 100)
    while reference.t != 87:  # when it has just been recomputed
        x = rng.standard_normal(3)
        y = float(x @ [1.0, -2.0, 0.5] + rng.standard_cauchy())
        policy.update(state, x, y)
        reference.learn(x, y)
    np.testing.assert_allclose(state.line.huber.fit.theta, reference.best(), atol=1e-4)
