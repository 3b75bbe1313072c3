"""Linear Thompson sampling draws from its posterior, and plays the best row of the draw."""

import linear_references as slow
import numpy as np
import pytest

from heavybandits.algorithms.linear.lin_ts import LinTS


@pytest.mark.slow
def test_linear_thompson_sampling_draws_from_the_posterior() -> None:
    policy, rng = LinTS(scale=0.7, ridge=0.5, intercept=True), np.random.default_rng(0)
    state, reference = policy.init(2, None), slow.LinUCB(policy, 3, 100)
    for _ in range(10):
        x, y = rng.standard_normal(2), rng.standard_normal()
        policy.update(state, x, y)
        reference.learn(np.append(x, 1.0), y)
    np.testing.assert_allclose(state.theta, reference.theta(), rtol=1e-9)
    draws = np.array([(policy.select(state, np.eye(2), 10, rng), *state.drawn)[1:] for _ in range(20_000)])
    np.testing.assert_allclose(draws.mean(axis=0), state.theta, atol=0.03)
    np.testing.assert_allclose(np.cov(draws.T), 0.49 * np.linalg.inv(reference.gram()), atol=0.02)


def test_linear_thompson_sampling_plays_the_best_row_of_its_draw() -> None:
    policy, rng = LinTS(), np.random.default_rng(1)
    state = policy.init(3, None)
    for _ in range(30):
        features = rng.standard_normal((4, 3))
        row = policy.select(state, features, 0, rng)
        assert row == np.argmax(features @ state.drawn)
        policy.update(state, features[row], rng.standard_normal())
