"""Choices of rows against brute force."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_auto import LAWS
from numpy.testing import assert_allclose

from heavybandits.algorithms.linear._level_set.half_widths import Width, half_width, width_for
from heavybandits.algorithms.linear._level_set.level_set import (
    LANES,
    RENEWAL,
    best_row,
    init_arms,
    score_sparse,
    update_kept,
)
from heavybandits.algorithms.linear._level_set.robust_line import (
    Model,
    Step,
    approach,
    begin,
    collect,
    follow,
    forget,
    init_model,
    predict,
)

seeds = st.integers(0, 2**32 - 1)


def played(rng: np.random.Generator, d: int, n: int) -> Model:
    model = init_model(d)
    rows = rng.normal(size=(n, d))
    for x in rows:
        collect(model, x, 1.0 / n)
    begin(model)
    for x in rows:
        step(model, x, rng.normal(), rng.uniform(0.2, 1.5))
    return model


def step(model: Model, x: np.ndarray, reward: float, weight: float) -> Step:
    return follow(model, approach(model, x), reward - predict(model.line, x), weight, weight)


def brute_force(model: Model, features: np.ndarray, width: Width) -> np.ndarray:
    leverages = [approach(model, x) for x in features]
    return np.array([predict(model.line, x) + half_width(width, h) for x, h in zip(features, leverages, strict=True)])


@pytest.mark.slow
@given(seeds, st.integers(1, 3 * LANES), st.integers(1, 9))
def test_the_best_row_is_that_of_brute_force(seed: int, n_rows: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    model, features = played(rng, d, 3 * d + 3), rng.normal(size=(n_rows, d))
    width = width_for(LAWS[rng.integers(len(LAWS))], rng.exponential(), 100, d + 1.0, 1.0, math.inf)
    row = best_row(model, init_arms(d, n_rows), features, width)
    indices = brute_force(model, features, width)
    if np.isinf(indices).any():
        leverages = [approach(model, x) for x in features]
        assert leverages[row] == pytest.approx(max(leverages))
    else:
        assert indices[row] == pytest.approx(indices.max(), rel=1e-9)


@pytest.mark.slow
@given(seeds)
def test_kept_rows_agree_with_those_that_are_scored_anew(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, n_rows = int(rng.integers(1, 6)), int(rng.integers(1, 2 * LANES))
    model, features, arms = played(rng, d, 20), rng.normal(size=(n_rows, d)), init_arms(d, n_rows)
    width = width_for(LAWS[0], 1.0, 100, d + 1.0, 1.0, math.inf)
    for _ in range(2):  # rows are kept when they are offered a second time
        best_row(model, arms, features, width)
    assert arms.kept[0] == n_rows
    for _ in range(40):
        row = best_row(model, arms, features, width)
        update_kept(arms, model, step(model, features[row], rng.standard_cauchy(), rng.uniform(0.1, 2.0)))
    assert arms.age[0] == 40
    leverages = [approach(model, x) for x in features]
    values = np.array([predict(model.line, x) for x in features])
    assert_allclose(arms.leverage[:n_rows], leverages, rtol=1e-7)
    assert_allclose(np.diff(arms.value[:n_rows]), np.diff(values), rtol=1e-7, atol=1e-8)


def test_rows_that_change_are_noticed() -> None:
    rng = np.random.default_rng(5)
    model, features, arms = played(rng, 3, 20), rng.normal(size=(6, 3)), init_arms(3)
    width = width_for(LAWS[0], 1.0, 100, 4.0, 1.0, math.inf)
    for _ in range(3):
        best_row(model, arms, features, width)
    assert arms.kept[0] == 6
    features[5] = model.line.centre + 1e3 * model.line.slope  # changed in place, and not in the first row
    assert best_row(model, arms, features, width) == 5
    assert best_row(model, arms, features[:5].copy(), width) < 5
    others = rng.normal(size=(6, 3))
    best_row(model, arms, others, width)
    assert arms.kept[0] == 0


def test_kept_rows_are_scored_anew_now_and_then() -> None:
    rng = np.random.default_rng(6)
    model, features, arms = played(rng, 3, 20), rng.normal(size=(6, 3)), init_arms(3)
    width = width_for(LAWS[0], 1.0, 100, 4.0, 1.0, math.inf)
    for _ in range(2):
        best_row(model, arms, features, width)
    arms.leverage[:] += 7.0  # stands for rounding errors
    for _ in range(RENEWAL):
        update_kept(arms, model, step(model, features[0], 0.0, 1.0))
    best_row(model, arms, features, width)
    assert_allclose(arms.leverage[:6], [approach(model, x) for x in features], rtol=1e-9)


def test_more_rows_than_there_is_room_for_are_scored_each_time() -> None:
    rng = np.random.default_rng(7)
    model, features, arms = played(rng, 2, 20), rng.normal(size=(5 * LANES + 3, 2)), init_arms(2)
    width = width_for(LAWS[0], 1.0, 100, 3.0, 1.0, math.inf)
    rows = [best_row(model, arms, features, width) for _ in range(3)]
    assert rows == [int(np.argmax(brute_force(model, features, width)))] * 3
    assert arms.kept[0] == 0
    assert len(arms.with_rows(500).rows) == 500
    assert arms.with_rows(3) is arms


def test_sparse_rows_are_chosen_as_brute_force_does_and_one_full_row_changes_nothing() -> None:
    rng = np.random.default_rng(6)
    features = np.where(rng.random((40, 16)) < 0.1, rng.normal(size=(40, 16)), 0.0)
    model = init_model(16)
    forget(model)
    for x in features:
        collect(model, x, 1.0 / 40)
    begin(model)
    for x in features:
        follow(model, approach(model, x), float(x.sum() + rng.normal()) - predict(model.line, x), 1.0, 1.0)
    width = width_for(LAWS[0], 1.0, 100, 17.0, 1.0, math.inf)
    for offered in (features, np.vstack([features, rng.normal(size=16)])):
        arms = init_arms(16, len(offered))
        row, indices = best_row(model, arms, offered, width), brute_force(model, offered, width)
        assert math.isinf(indices.max()) or indices[row] >= indices.max() - 1e-9
    arms = init_arms(16, 40)
    assert score_sparse(model, features[:32], arms.places, arms.leverage[:32], arms.value[:32])
    exact = [approach(model, x) for x in features[:32]]
    assert_allclose(arms.leverage[:32], exact, rtol=1e-6, atol=1e-9)
