"""Thompson sampling around a Huber regression draws around its estimate."""

import huber_references as huber
import numpy as np
import pytest

from heavybandits.algorithms.linear.lin_ts_huber import LinTSHuber


@pytest.mark.slow
def test_thompson_sampling_draws_around_the_huber_regression() -> None:
    policy, rng = LinTSHuber(scale=0.7, ridge=0.5, intercept=True), np.random.default_rng(0)
    state, reference = policy.init(2, None), huber.GreedyHuber(policy, 3, 100)
    for _ in range(12):
        x, y = rng.standard_normal(2), rng.standard_t(1.5)
        policy.update(state, x, y)
        reference.learn(np.append(x, 1.0), y)
    theta, spread = state.line.huber.fit.theta, (0.7 * reference.scale) ** 2 * np.linalg.inv(reference.gram())
    np.testing.assert_allclose(theta, reference.theta(), atol=1e-5)
    draws = np.array([(policy.select(state, np.eye(2), 12, rng), *state.drawn)[1:] for _ in range(20_000)])
    np.testing.assert_allclose(draws.mean(axis=0), theta, atol=0.03 * np.sqrt(spread.max()))
    np.testing.assert_allclose(np.cov(draws.T), spread, atol=0.03 * spread.max())
