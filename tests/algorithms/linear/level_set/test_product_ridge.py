"""The ridge of features that are products of others."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import heavybandits as hb
from heavybandits.algorithms.linear._level_set.product_ridge import count_products, evidence
from heavybandits.algorithms.linear._widening import widened
from heavybandits.protocols import FloatArray

PRODUCTS = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1])


def taught(effects: FloatArray, n: int, name: str = "linear-auto-mean", seed: int = 0) -> Any:
    """Return a state after n rewards of rows with three features and six products."""
    policy, rng = hb.make(name), np.random.default_rng(seed)
    state = policy.init(len(PRODUCTS), None)
    state.model.product[:] = PRODUCTS
    for _ in range(n):
        x = rng.normal(size=len(PRODUCTS))
        policy.update(state, x, x @ effects + rng.standard_t(3))
    return state


def shares(state: Any) -> FloatArray:
    return np.asarray(state.model.ridge / state.model.square)


def test_evidence_is_the_likelihood_of_normal_rewards() -> None:
    state = taught(np.arange(9.0) / 10, 40)
    x, y = state.rows.x[:40] - state.rows.x[:40].mean(axis=0), state.rows.y[:40] - state.rows.y[:40].mean()
    state.shrinkage.gram[:] = x.T @ x + np.diag(state.model.ridge)
    state.rows.image[:] = x.T @ y
    variance = state.numbers[0].scale ** 2
    found, expected = [], []
    for ratio in (1.0, 4.0, 1.0 / 64.0):
        ridge = state.model.ridge * np.where(PRODUCTS > 0, ratio, 1.0)
        covariance = variance * (np.eye(40) + x / ridge @ x.T)
        expected.append(stats.multivariate_normal.logpdf(y, cov=covariance))
        found.append(evidence(state, ratio, count_products(state)))
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-6)


@pytest.mark.parametrize("name", ["linear-auto", "linear-auto-mean"])
@pytest.mark.parametrize("n", [150, 700])  # 700: also after the last fit
def test_products_without_effect_are_shrunk_more(name: str, n: int) -> None:
    useless = shares(taught(np.array([2.0, -1.0, 1.0, *[0.0] * 6]), n, name))
    useful = shares(taught(np.array([2.0, -1.0, 1.0, *[1.0, -1.0] * 3]), n, name))
    assert useless[3:].min() > 50.0 * useless[:3].max()
    assert useful[3:].max() < 5.0
    assert np.ptp(useful[3:]) < 1e-9 * useful[3]


def test_useless_products_that_are_mostly_zero_still_count_as_a_parameter() -> None:
    policy, rng, levels, arms = hb.make("linear-auto-mean"), np.random.default_rng(0), 8, 5
    state = policy.init(levels * (1 + arms), None)
    state.model.product[levels:] = 1
    played = np.zeros(levels * (1 + arms))
    for _ in range(400):
        level, x = rng.integers(levels), np.zeros(levels * (1 + arms))
        x[[level, level + levels * (1 + rng.integers(arms))]] = 1.0
        policy.update(state, x, float(level) + rng.normal())
        played += x
    assert 1.0 < (played / state.model.ridge)[levels:].sum() < 10.0


def test_the_line_is_that_of_its_ridge() -> None:
    state = taught(np.array([2.0, -1.0, 1.0, *[0.3, -0.3] * 3]), 150)
    model, rows = state.model, state.rows
    last = int(rows.size[0])
    x, y = rows.x[:last], rows.y[:last]
    centred = x - x.mean(axis=0)
    expected = np.linalg.solve(centred.T @ centred + np.diag(model.ridge), centred.T @ y)
    np.testing.assert_allclose(model.line.slope, expected, atol=0.02)


def test_new_products_have_the_ridge_of_products() -> None:
    policy = hb.make("linear-auto")
    state = taught(np.array([2.0, -1.0, 1.0, *[0.0] * 6]), 150, "linear-auto")
    products = [*np.flatnonzero(PRODUCTS), 10]
    wide = shares(widened(state, policy.init(11, None), 9, products))
    assert wide[10] == wide[8] > wide[9] == wide[:3].max()


def test_without_products_there_is_no_ridge_for_them() -> None:
    policy = hb.make("linear-auto")
    state, rng = policy.init(3, None), np.random.default_rng(0)
    for _ in range(60):
        x = rng.normal(size=3)
        policy.update(state, x, x.sum() + rng.normal())
    assert count_products(state) == 0
    assert shares(state).max() == pytest.approx(state.model.product_ridge[0])


def test_equal_rewards_and_huge_ones_do_no_harm() -> None:
    policy, rng = hb.make("linear-auto"), np.random.default_rng(0)
    for size in (0.0, 1e-200, 1e200):
        state = policy.init(len(PRODUCTS), None)
        state.model.product[:] = PRODUCTS
        for t in range(60):
            policy.update(state, rng.normal(size=len(PRODUCTS)), size * (t % 3))
        assert np.isfinite(shares(state)).all()
        assert np.isfinite(state.model.line.slope).all()
