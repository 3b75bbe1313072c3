"""Fits of a line to rows, against scipy and NumPy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from heavybandits.algorithms.linear._cholesky import invert
from heavybandits.algorithms.linear._level_set.kept_rows import Rows, init_rows, keep, write_squares
from heavybandits.algorithms.linear._level_set.line_fit import (
    add_products,
    add_products_row_by_row,
    complete,
    loss_of,
    reweigh,
    subtract_line,
    subtract_line_row_by_row,
    weigh_row_by_row,
    weigh_rows,
    write_residuals,
)
from heavybandits.algorithms.linear._level_set.robust_line import Model, begin, collect, init_model, predict
from heavybandits.algorithms.linear._level_set.two_piece_laws import LEARNED, LEAST_SQUARES, WEIGHT, two_piece_table

seeds = st.integers(0, 2**32 - 1)


def kept(x: np.ndarray, y: np.ndarray) -> tuple[Rows, Model]:
    rows, model = init_rows(x.shape[1], len(y)), init_model(x.shape[1])
    for row, reward in zip(x, y, strict=True):
        assert keep(rows, row, reward)
        collect(model, row, 1.0 / len(y))
    begin(model)
    write_squares(rows, np.zeros(x.shape[1]))
    return rows, model


def some_rows(rng: np.random.Generator, n: int, d: int, sparse: bool) -> np.ndarray:
    """Return rows; sparse ones have a year, which is never zero, and otherwise mostly zeros."""
    x = rng.normal(size=(n, d))
    if sparse:
        x[rng.random((n, d)) < 0.9] = 0.0
        x[:, 0] = 2000.0 + rng.integers(0, 30, n)
    return x


def test_rows_beyond_the_room_are_not_kept() -> None:
    rows, _ = kept(np.ones((3, 2)), np.ones(3))
    assert not keep(rows, np.zeros(2), 5.0)
    assert rows.size[0] == 3
    assert 5.0 not in rows.y


@given(seeds)
def test_an_exact_step_of_least_squares_is_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(12, 3)) + 5.0, rng.normal(size=12) + 100.0
    rows, model = kept(x, y)
    gram = np.zeros((3, 3))
    complete(rows, model, model.line, two_piece_table([LEAST_SQUARES])[0], 1.0, gram)
    best = np.linalg.lstsq(np.column_stack([x, np.ones(12)]), y, rcond=None)[0]
    assert_allclose(model.line.slope, best[:3], atol=2e-4)  # except for the small ridge
    assert_allclose(predict(model.line, np.zeros(3)), best[3], atol=2e-3)
    invert(rows.gram, model.inverse)
    centred = x - x.mean(axis=0)
    assert_allclose(gram, centred.T @ centred + np.diag(model.ridge), rtol=1e-9, atol=1e-9)
    assert_allclose(model.inverse, np.linalg.inv(gram), rtol=1e-6)
    assert model.line.mass[0] == 12.0


@given(seeds, st.booleans())
def test_conjugate_gradients_lead_to_reweighted_least_squares(seed: int, sparse: bool) -> None:
    rng = np.random.default_rng(seed)
    n, d = 60, 12
    x, y = some_rows(rng, n, d, sparse), rng.standard_cauchy(n)
    law, (rows, model) = two_piece_table([(4.0, 4.0, 1.0)])[0], kept(x, y)
    model.ridge[:] = 0.5
    model.inverse[:] = np.linalg.inv(np.cov(x.T) * n + 0.5 * np.eye(d))
    slope, level = np.zeros(d), 0.0
    for _ in range(100):
        z = y - level - x @ slope
        weights = 5.0 / (4.0 + z * z) / law[WEIGHT]
        centred = x - np.average(x, axis=0, weights=weights)
        slope = np.linalg.solve((centred.T * weights) @ centred + 0.5 * np.eye(d), (centred.T * weights) @ y)
        level = np.average(y - x @ slope, weights=weights)
    reweigh(rows, model, model.line, law, 1.0, 100, False)
    here = predict(model.line, np.zeros(d)) + x @ model.line.slope
    losses = [5.0 / 2.0 * np.log1p((y - fit) ** 2 / 4.0).sum() for fit in (here, level + x @ slope)]
    ridges = [0.25 * law[WEIGHT] * float(theta @ theta) for theta in (model.line.slope, slope)]
    # both are minima of the same function, which may have several
    assert losses[0] + ridges[0] <= losses[1] + ridges[1] + 0.05 or losses[0] + ridges[0] < 1.2 * losses[1]


@given(seeds, st.integers(1, 20))
def test_sparse_rows_give_the_matrix_and_the_step_of_the_same_rows_in_full(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = some_rows(rng, 30, d, True), rng.normal(size=30)
    rows, model = kept(x, y)
    gram = np.zeros((d, d))
    complete(rows, model, model.line, two_piece_table([LEAST_SQUARES])[0], 1.0, gram)
    centred = x - x.mean(axis=0)
    assert_allclose(gram, centred.T @ centred + np.diag(model.ridge), rtol=1e-8, atol=1e-8)
    write_residuals(rows, model.line)
    assert_allclose(rows.residuals, [v - predict(model.line, row) for v, row in zip(y, x, strict=True)], atol=1e-8)


def test_the_fit_ignores_an_outlier() -> None:
    x = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, 0.6], [0.0, -1.0], [-1.0, 0.0]])
    y = np.array([1.0, 2.0, 30.0, 1.5, -1.0, 0.2])
    rows, model = kept(x, y)
    model.ridge[:] = 1e-6
    cauchy = two_piece_table([(1.0, 1.0, 1.0)])[0]
    reweigh(rows, model, model.line, cauchy, 1.0, 200, False)
    assert_allclose(model.line.slope, [0.343180085, 1.464528213], atol=2e-3)
    assert_allclose(predict(model.line, np.zeros(2)), 0.516900260, atol=2e-3)
    assert_allclose(loss_of(rows, model.line, cauchy, 1.0), 6.724906864, atol=1e-4)


def test_the_fit_finds_the_minimum_of_a_skewed_loss() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 2))
    y = x @ [1.0, -2.0] + rng.pareto(2.0, 60)
    rows, model = kept(x, y)
    law = two_piece_table([(30.0, 1.0, 3.0)])[0]
    reweigh(rows, model, model.line, law, 0.3, 300, False)

    def loss(p: np.ndarray) -> float:
        other = model.line._replace(slope=p[:2], mass=np.ones(1), level=p[2:], centre=np.zeros(2))
        return loss_of(rows, other, law, 0.3)

    here = np.array([*model.line.slope, predict(model.line, np.zeros(2))])
    assert loss_of(rows, model.line, law, 0.3) <= minimize(loss, here).fun + 1e-3


def test_saturated_rewards_leave_the_fit_finite() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    y[3], y[7] = 1e150, -1e150
    for absolute in (False, True):
        rows, model = kept(x, y)
        reweigh(rows, model, model.line, two_piece_table([(1.0, 1.0, 1.0)])[0], 1.0, 20, absolute)
        assert np.abs(model.line.slope).max() < 10.0
        write_residuals(rows, model.line)
        assert np.isfinite(rows.residuals).all()
        assert abs(model.line.level[0]) < 10.0


def test_a_scale_next_to_zero_leaves_the_fit_finite() -> None:
    """It is what equal rewards lead to; in its units, later residuals may be infinite."""
    rows, model = kept(np.random.default_rng(5).normal(size=(20, 2)), np.repeat([-1e150, 1e150], 10))
    for absolute in (True, False):
        with np.errstate(over="ignore"):
            reweigh(rows, model, model.line, two_piece_table([(1.0, 1.0, 1.0)])[0], 1e-300, 20, absolute)
        assert model.line.mass[0] > 0.0
        assert np.isfinite(model.line.slope).all()
        assert abs(model.line.level[0]) <= 1e150


@given(seeds, st.integers(1, 11), st.booleans(), st.booleans(), st.integers(0, len(LEARNED) - 1))
def test_passes_over_all_rows_at_once_are_the_same(seed: int, d: int, sparse: bool, absolute: bool, j: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    x, y, law = some_rows(rng, n, d, sparse), rng.standard_cauchy(n) ** 3, two_piece_table(LEARNED)[j]
    (one, _), (other, _) = kept(x, y), kept(x, y)
    slope, course = rng.normal(size=d), rng.normal(size=d)
    for rows in (one, other):
        rows.course[:] = course
        rows.total[:] = rows.right[:] = rows.image[:] = 0.0
    subtract_line(one, 0.3, slope)
    subtract_line_row_by_row(other, 0.3, slope)
    assert weigh_rows(one, law, 0.7, absolute) == weigh_row_by_row(other, law, 0.7, absolute)
    add_products(one)
    add_products_row_by_row(other)
    for name in ("residuals", "weights", "total", "right", "image"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
