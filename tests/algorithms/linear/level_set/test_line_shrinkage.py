"""Shrinkage of the line: against its formula, only where all directions grow, and with smaller errors of prediction."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heavybandits.algorithms.linear._level_set.kept_rows import Rows, init_rows
from heavybandits.algorithms.linear._level_set.line_shrinkage import (
    LEAST_FACTOR,
    Shrinkage,
    begin_shrinkage,
    init_shrinkage,
    renew_shrinkage,
)
from heavybandits.algorithms.linear._level_set.robust_line import Model, approach, follow, init_model, predict
from heavybandits.protocols import FloatArray

D, RIDGE, VARIANCE = 6, 0.5, 1.3
MEAN_ROW = np.linspace(1.0, 2.0, D)


class Line(NamedTuple):
    """A line by least squares, with all that shrinkage needs."""

    model: Model
    rows: Rows
    shrinkage: Shrinkage

    def learn(self, x: FloatArray, y: FloatArray) -> None:
        for row, reward in zip(x, y, strict=True):
            leverage = approach(self.model, row)
            follow(self.model, leverage, reward - predict(self.model.line, row), 1.0, 1.0)

    def begin(self) -> None:
        self.rows.middle[:] = MEAN_ROW
        self.shrinkage.gram[:] = np.linalg.inv(self.model.inverse)
        begin_shrinkage(self.shrinkage, self.rows, self.model, True)

    def renew(self) -> bool:
        return renew_shrinkage(self.shrinkage, self.rows, self.model, VARIANCE)


def new_line(d: int = D) -> Line:
    line = Line(init_model(d), init_rows(d, 10), init_shrinkage(d))
    line.model.ridge[:] = RIDGE
    line.model.square[:] = 1.0
    line.model.inverse[:] = np.eye(d) / RIDGE
    return line


def shrunk(x: FloatArray, y: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Return the factor, the shrunk line and its inverse, straight from the formulas."""
    centred = x - x.mean(axis=0)
    gram = centred.T @ centred + RIDGE * np.eye(D)
    inverse = np.linalg.inv(gram)
    theta = inverse @ centred.T @ y
    target = inverse @ MEAN_ROW * (MEAN_ROW @ theta) / (MEAN_ROW @ inverse @ MEAN_ROW)
    rest = theta - target
    factor = max(1.0 - (D - 3) * VARIANCE / (rest @ gram @ rest), LEAST_FACTOR)
    prior = (1.0 / factor - 1.0) * (gram - np.outer(MEAN_ROW, MEAN_ROW) / (MEAN_ROW @ inverse @ MEAN_ROW))
    return factor, factor * theta + (1.0 - factor) * target, np.linalg.inv(gram + prior)


def data(seed: int, slope: float) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, D)) + MEAN_ROW
    return x, slope * x[:, 0] + rng.normal(size=300)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_shrinkage_is_that_of_the_formula_however_often_it_is_renewed(slope: float) -> None:
    x, y = data(1, slope)
    line = new_line()
    line.learn(x[:100], y[:100])
    line.begin()
    for start, end in ((100, 150), (150, 220), (220, 300)):
        line.learn(x[start:end], y[start:end])
        assert line.renew()
        factor, slopes, inverse = shrunk(x[:end], y[:end])
        assert factor < 1.0
        assert_allclose(line.shrinkage.factor[0], factor, rtol=1e-9)
        assert_allclose(line.model.line.slope, slopes, rtol=1e-8, atol=1e-12)
        assert_allclose(line.model.inverse, inverse, rtol=1e-8, atol=1e-12)


def test_nothing_changes_where_one_direction_is_not_learned() -> None:
    x, y = data(2, 0.0)
    x[100:, 3] = x[:100, 3].mean()
    line = new_line()
    line.learn(x[:100], y[:100])
    line.begin()
    line.learn(x[100:], y[100:])
    slope, inverse = line.model.line.slope.copy(), line.model.inverse.copy()
    assert not line.renew()
    assert_array_equal(line.model.line.slope, slope)
    assert_array_equal(line.model.inverse, inverse)


def test_shrinkage_ends_when_learning_does() -> None:
    x, y = data(3, 0.0)
    x[200:] = x[200]
    line, plain = new_line(), new_line()
    plain.learn(x, y)
    line.learn(x[:100], y[:100])
    line.begin()
    line.learn(x[100:200], y[100:200])
    assert line.renew()
    line.learn(x[200:], y[200:])
    assert line.renew()
    assert line.shrinkage.factor[0] == 1.0
    assert_allclose(line.model.line.slope, plain.model.line.slope, rtol=1e-9)
    assert_allclose(line.model.inverse, plain.model.inverse, rtol=1e-9)
    assert not line.renew()


def test_a_feature_that_never_varies_does_not_prevent_shrinkage() -> None:
    x, y = data(4, 0.0)
    x[:, 2] = 7.0
    line = new_line()
    line.learn(x[:100], y[:100])
    line.begin()
    line.learn(x[100:], y[100:])
    assert line.renew()
    assert line.shrinkage.factor[0] < 0.9


def test_three_features_are_too_few() -> None:
    x, y = data(5, 0.0)
    line = new_line(3)
    line.learn(x[:100, :3], y[:100])
    line.rows.middle[:] = 100.0
    begin_shrinkage(line.shrinkage, line.rows, line.model, True)
    line.learn(x[100:, :3], y[100:])
    assert not line.renew()


@pytest.mark.parametrize("slope", [0.0, 0.1, 1.0])
def test_predictions_have_smaller_errors(slope: float) -> None:
    before, after = 0.0, 0.0
    for seed in range(30):
        x, y = data(100 + seed, slope)
        truth = np.array([slope] + [0.0] * (D - 1))
        line = new_line()
        line.learn(x[:40], y[:40])
        line.begin()
        line.learn(x[40:60], y[40:60])
        before += ((line.model.line.slope - truth) ** 2).sum()
        line.renew()
        after += ((line.model.line.slope - truth) ** 2).sum()
    assert after < before


def test_rows_without_a_common_part_are_left_alone() -> None:
    x, y = data(6, 0.0)
    line = new_line()
    line.learn(x[:100], y[:100])
    line.rows.middle[:] = 0.3 * MEAN_ROW
    begin_shrinkage(line.shrinkage, line.rows, line.model, True)
    line.learn(x[100:], y[100:])
    assert not line.renew()
