"""A line updated reward by reward, against weighted least squares from scratch."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from heavybandits.algorithms.linear._design import add_far_row
from heavybandits.algorithms.linear._level_set.pending_line import renew_pending
from heavybandits.algorithms.linear._level_set.robust_line import (
    Model,
    approach,
    begin,
    collect,
    dimension,
    follow,
    forget,
    init_model,
    leverage_with_pending,
    predict,
    renew_offset,
)

seeds = st.integers(0, 2**32 - 1)


def begun(rows: np.ndarray) -> Model:
    """Return a model that has begun with these rows."""
    model = init_model(rows.shape[1])
    forget(model)
    for x in rows:
        collect(model, x, 1.0 / len(rows))
    begin(model)
    return model


def play(model: Model, rows: np.ndarray, rewards: np.ndarray, weights: np.ndarray) -> None:
    for x, reward, weight in zip(rows, rewards, weights, strict=True):
        follow(model, approach(model, x), reward - predict(model.line, x), weight, weight)


def gram(rows: np.ndarray, weights: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    centred = rows - weights @ rows / weights.sum()
    return np.asarray((centred * weights[:, None]).T @ centred + np.diag(ridge))


@given(seeds)
def test_following_rewards_is_weighted_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 30)), int(rng.integers(1, 6))
    rows, rewards, weights = rng.normal(size=(n, d)), rng.normal(size=n), rng.uniform(0.1, 2.0, n)
    model = begun(rows)
    model.ridge[:] = 0.5
    model.inverse[:] = np.eye(d) / 0.5
    play(model, rows, rewards, weights)
    line, mean = model.line, weights @ rows / weights.sum()
    slope = np.linalg.solve(gram(rows, weights, model.ridge), ((rows - mean).T * weights) @ rewards)
    assert_allclose(line.slope, slope, atol=1e-9)
    assert_allclose(line.centre, mean, atol=1e-12)
    assert line.level[0] == pytest.approx(weights @ rewards / weights.sum(), abs=1e-10)
    assert line.mass[0] == pytest.approx(weights.sum())
    assert_allclose(model.inverse, np.linalg.inv(gram(rows, weights, model.ridge)), atol=1e-10)


@given(seeds)
def test_sparse_rows_move_the_model_as_the_same_rows_in_full_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = 40, 12
    rows, rewards, weights = rng.normal(size=(n, d)), rng.normal(size=n), rng.uniform(0.1, 2.0, n)
    rows[rng.random((n, d)) < 0.9] = 0.0
    rows[:, 0] = 2000.0 + rng.integers(0, 30, n)
    sparse, full = begun(rows), begun(rows)
    assert_allclose(sparse.origin, np.append(rows[:, 0].mean(), np.zeros(d - 1)))
    full.origin[:] = np.pi  # which every feature differs from
    renew_offset(full)
    for model in (sparse, full):
        play(model, rows, rewards, weights)
    for one, other in ((sparse.inverse, full.inverse), (sparse.line.slope, full.line.slope)):
        assert_allclose(one, other, rtol=1e-6, atol=1e-6 * np.abs(other).max())
    before = sparse.offset.copy()
    renew_offset(sparse)
    assert_allclose(before, sparse.offset, atol=1e-6 * np.abs(before).max())


@given(seeds)
def test_the_leverage_with_the_intercept_is_that_of_the_extended_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, weights = rng.normal(size=(20, 3)), rng.uniform(0.1, 2.0, 20)
    model = begun(rows)
    play(model, rows, np.zeros(20), weights)
    x = rng.normal(size=3)
    extended = np.column_stack([rows, np.ones(20)])
    full = np.linalg.inv((extended.T * weights) @ extended + np.diag([*model.ridge, 0.0]))
    both = approach(model, x) + 1.0 / model.line.mass[0]
    assert both == pytest.approx(np.append(x, 1.0) @ full @ np.append(x, 1.0), rel=1e-6)


def test_the_dimension_counts_directions_and_the_intercept() -> None:
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    model = begun(rows)
    assert dimension(model) == 1.0
    for k, x in enumerate([rows[0], rows[1], rows[1], rows[0], rows[2]]):
        play(model, x[None], np.zeros(1), np.ones(1))
        assert dimension(model) == pytest.approx([1.0, 2.0, 2.0, 2.0, 3.0][k], abs=1e-4)


def test_a_feature_that_was_always_zero_can_come_to_life() -> None:
    model = begun(np.array([[1.0, 0.0], [2.0, 0.0]]))
    assert np.isfinite(model.inverse).all()
    assert approach(model, np.array([1.5, 1.0])) > 1e5
    play(model, np.array([[1.0, 0.0], [2.0, 1.0], [1.0, 1.0]]), np.zeros(3), np.ones(3))
    assert approach(model, np.array([1.5, 1.0])) < 2.0


def joint_inverse(model: Model, pending: np.ndarray) -> np.ndarray:
    """Return what ``asked`` must be, by the definition: the mean row is that of known and pending rows."""
    weights = np.concatenate([model.line.mass, np.ones(len(pending))])
    rows = np.vstack([model.line.centre, pending])
    away = rows - weights @ rows / weights.sum()
    return np.asarray(np.linalg.inv(np.linalg.inv(model.inverse) + away.T @ (weights[:, None] * away)))


@given(seeds, st.integers(1, 12))
def test_pending_rows_count_as_rows_of_weight_one(seed: int, n_pending: int) -> None:
    rng = np.random.default_rng(seed)
    rows, asked = rng.normal(size=(30, 3)), rng.normal(size=(n_pending, 3))
    model = begun(rows)
    play(model, rows, rng.normal(size=30), np.ones(30))
    before = model.inverse.copy()
    for x in asked:
        model.ask(x)
    assert_array_equal(model.inverse, before)
    leverage_with_pending(model, rows[0])  # makes the second inverse, which a single row need not have
    assert_allclose(model.asked, joint_inverse(model, asked), rtol=1e-6, atol=1e-9)
    play(model, asked[:1], np.zeros(1), np.full(1, 0.7))  # the first reward arrives
    model.settle(asked[0])
    if n_pending > 1:
        assert_allclose(model.asked, joint_inverse(model, asked[1:]), rtol=1e-5, atol=1e-9)
        mean = (model.line.mass * model.line.centre + asked[1:].sum(axis=0)) / (model.line.mass + n_pending - 1)
        expected = (rows[0] - mean) @ model.asked @ (rows[0] - mean)
        assert leverage_with_pending(model, rows[0]) == pytest.approx(expected)
        renew_pending(model)
        assert_allclose(model.asked, joint_inverse(model, asked[1:]), rtol=1e-5, atol=1e-9)
    for x in asked[1:]:
        model.settle(x)
    assert model.pending[0] == 0


def test_of_two_rows_the_one_that_fewer_decisions_wait_for_is_known_less() -> None:
    """Around the mean of all rows on offer, both would always be known equally well."""
    model = begun(np.eye(2))
    for x in np.eye(2)[[0, 1, 0]]:
        model.ask(x)
    assert leverage_with_pending(model, np.eye(2)[1]) > 3.9 * leverage_with_pending(model, np.eye(2)[0])


def test_a_pending_row_alone_in_its_direction_can_be_taken_out() -> None:
    model = begun(np.eye(3))
    for x in (np.eye(3)[0], np.eye(3)[1]):
        model.ask(x)
    model.settle(np.eye(3)[0])
    assert np.isfinite(model.asked).all()
    assert np.linalg.eigvalsh(model.asked).min() > 0.0
    assert leverage_with_pending(model, np.eye(3)[0]) > 100.0 * leverage_with_pending(model, np.eye(3)[1])


def test_what_nobody_asked_for_settles_nothing() -> None:
    model = begun(np.eye(2))
    model.settle(np.eye(2)[0])
    assert model.pending[0] == 0
    model = init_model(2)
    model.ask(np.ones(2))  # before the model has begun
    assert model.pending[0] == 0


@given(st.floats(1e6, 1e60), st.floats(-9.0, 9.0), st.floats(0.1, 10.0))
def test_a_far_row_leaves_the_inverse_precise(far: float, near: float, weight: float) -> None:
    row, inverse = np.array([far, near]), np.array([[2.0, 0.5], [0.5, 1.0]])
    v, w = [Fraction(far), Fraction(near)], Fraction(weight)
    a, b, c = w * v[0] * v[0] + Fraction(4, 7), w * v[0] * v[1] - Fraction(2, 7), w * v[1] * v[1] + Fraction(8, 7)
    product = inverse @ row
    add_far_row(inverse, row, product, weight, 1.0 / (1.0 + weight * (row @ product)))
    assert inverse[1, 1] == pytest.approx(float(a / (a * c - b * b)), rel=1e-9)
    assert_array_equal(inverse, inverse.T)
    assert inverse[0, 0] * inverse[1, 1] >= inverse[0, 1] ** 2 * (1.0 - 1e-12)
    exact = float(c / (a * c - b * b))  # precise only to the last bits of the former 2
    assert inverse[0, 0] == pytest.approx(exact, rel=1e-3, abs=1e-30)
