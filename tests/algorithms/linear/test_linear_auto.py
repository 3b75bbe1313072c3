"""linear-auto: compiled and interpreted play are the same, and so are the choices for other units and axes."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_auto import AUTO, MEAN, play, played, problem
from numpy.testing import assert_allclose, assert_array_equal

from heavybandits.algorithms.linear.linear_level_set_ucb import LinearLevelSetUCB
from heavybandits.algorithms.parts.state.tree import arrays, with_rows
from heavybandits.protocols import FloatArray

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [AUTO, MEAN], ids=["auto", "mean"])
@pytest.mark.parametrize(("n_rounds", "d"), [(1, 3), (70, 3), (70, 14)])
def test_compiled_and_interpreted_agree_to_the_last_bit(policy: Any, n_rounds: int, d: int) -> None:
    contexts, means = problem(1, n_rounds, d=d)
    noise = np.random.default_rng(2).standard_cauchy(70)
    rows, state = played(policy, contexts, means, noise)
    mine, again = with_rows(policy.init(d, 70), 6), np.zeros(70, np.int64)
    with np.errstate(all="ignore"):
        play(policy, mine, None, contexts, means, noise, again)
    assert_array_equal(rows, again)
    for (path, one), (_, other) in zip(arrays(state), arrays(mine), strict=True):
        assert_array_equal(one, other, err_msg=path)


@pytest.mark.slow
@given(seeds, st.integers(-30, 30), st.booleans(), st.sampled_from([1, 300]))
@settings(max_examples=20)
def test_powers_of_two_change_nothing(seed: int, exponent: int, by_means: bool, n_rounds: int) -> None:
    contexts, means = problem(seed, n_rounds)
    noise, factor, policy = np.random.default_rng(seed).standard_t(2, 300), 2.0**exponent, MEAN if by_means else AUTO
    rows, state = played(policy, contexts, means, noise)
    others, other = played(policy, contexts, factor * means, factor * noise)
    assert_array_equal(rows, others)
    assert_array_equal(other.model.line.slope, factor * state.model.line.slope)
    assert_array_equal(rows, played(policy, contexts * factor, means, noise)[0])


def positive_problem(seed: int, n_rounds: int) -> tuple[FloatArray, FloatArray]:
    """Return rows with a large part in common, for which the line is shrunk, and their mean rewards."""
    contexts = np.random.default_rng(seed).uniform(1.0, 2.0, size=(n_rounds, 6, 5))
    return contexts, contexts.sum(axis=2) * 0.1


@pytest.mark.slow
def test_compiled_and_interpreted_agree_where_lines_are_shrunk() -> None:
    contexts, means = positive_problem(1, 500)
    noise = np.random.default_rng(2).standard_cauchy(500)
    rows, state = played(AUTO, contexts, means, noise)
    assert state.shrinkage.factor[0] < 1.0
    mine, again = with_rows(AUTO.init(5, 500), 6), np.zeros(500, np.int64)
    with np.errstate(all="ignore"):
        play(AUTO, mine, None, contexts, means, noise, again)
    assert_array_equal(rows, again)
    for (path, one), (_, other) in zip(arrays(state), arrays(mine), strict=True):
        assert_array_equal(one, other, err_msg=path)


def test_compiled_and_interpreted_agree_on_sparse_rows() -> None:
    rng = np.random.default_rng(24)
    contexts = np.zeros((90, 4, 12))
    np.put_along_axis(contexts, rng.integers(0, 6, (90, 4, 2)) + 6 * np.arange(2), 1.0, axis=2)
    means, noise = contexts @ rng.normal(size=12), rng.standard_t(3, 90)
    rows, state = played(AUTO, contexts, means, noise)
    slow, chosen = with_rows(AUTO.init(12, 90), 4), np.zeros(90, np.int64)
    play(AUTO, slow, None, contexts, means, noise, chosen)
    assert state.rows.filled[0] == 2
    assert_array_equal(rows, chosen)
    for (name, one), (_, other) in zip(arrays(state), arrays(slow), strict=True):
        assert_array_equal(one, other, err_msg=name)


@given(seeds, st.integers(-30, 30), st.booleans())
@settings(max_examples=10)
def test_powers_of_two_change_nothing_where_lines_are_shrunk(seed: int, exponent: int, by_means: bool) -> None:
    contexts, means = positive_problem(seed, 500)
    noise, factor, policy = np.random.default_rng(seed).standard_t(3, 500), 2.0**exponent, MEAN if by_means else AUTO
    rows, state = played(policy, contexts, means, noise)
    others, other = played(policy, contexts, factor * means, factor * noise)
    assert_array_equal(rows, others)
    assert_array_equal(other.model.line.slope, factor * state.model.line.slope)
    assert_array_equal(rows, played(policy, contexts * factor, means, noise)[0])


@given(seeds, st.sampled_from([-1e4, 0.37, 100.0, 1e6]), st.sampled_from([1, 200]))
@settings(max_examples=20)
def test_a_constant_changes_nothing_but_rounding(seed: int, constant: float, n_rounds: int) -> None:
    contexts, means = problem(seed, n_rounds)
    noise = np.random.default_rng(seed).standard_cauchy(200)
    rows, state = played(AUTO, contexts, means, noise)
    others, other = played(AUTO, contexts, means + constant, noise)
    assert_array_equal(rows, others)
    assert_allclose(other.model.line.slope, state.model.line.slope, rtol=1e-4, atol=1e-4)


@given(seeds, st.booleans())
@settings(max_examples=10)
def test_estimates_turn_with_the_axes(seed: int, by_means: bool) -> None:
    rng, policy = np.random.default_rng(seed), MEAN if by_means else AUTO
    rows, theta, noise = rng.normal(size=(60, 3)), rng.normal(size=3), 0.01 * rng.standard_t(3, 60)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    state, other = policy.init(3, None), policy.init(3, None)
    for x, error in zip(rows, noise, strict=True):
        policy.update(state, x, x @ theta + error)
        policy.update(other, turn @ x, x @ theta + error)
    values, turned = ([policy.value(each, q @ x) for x in rows] for each, q in ((state, np.eye(3)), (other, turn)))
    assert_allclose(turned, values, atol=1e-3)  # the ridge depends on the axes, but it is small where noise is


@given(seeds, st.sampled_from([1, 200]))
@settings(max_examples=20)
def test_the_order_of_rows_changes_nothing(seed: int, n_rounds: int) -> None:
    contexts, means = problem(seed, n_rounds)
    noise = np.random.default_rng(seed).standard_t(2, 200)
    order = np.random.default_rng(seed + 1).permutation(6)
    rows, _ = played(AUTO, contexts, means, noise)
    permuted, _ = played(AUTO, contexts[:, order], means[:, order], noise)
    assert_array_equal(order[permuted], rows)


@given(seeds)
@settings(max_examples=10)
def test_rows_that_stay_the_same_are_played_as_if_they_did_not(seed: int) -> None:
    contexts, means = problem(seed, 1)
    noise = np.random.default_rng(seed).standard_cauchy(300)
    rows, state = played(AUTO, contexts, means, noise)
    assert state.arms.kept[0] == 6
    # If the last bit of the first row differs from round to round, rows are not recognised as the same.
    again = np.repeat(contexts, 300, axis=0)
    again[::2, 0, 0] = np.nextafter(again[0, 0, 0], math.inf)
    others, _ = played(AUTO, again, np.repeat(means, 300, axis=0), noise)
    assert np.mean(rows == others) > 0.95


def test_one_hot_rows_have_the_leverage_of_arms() -> None:
    policy, state, rng = AUTO, AUTO.init(4, None), np.random.default_rng(3)
    for arm, pulls in enumerate((10, 20, 30, 40)):
        for _ in range(pulls):
            policy.update(state, np.eye(4)[arm], arm + rng.normal())
    state.model.ridge[:] = 1e-9
    heights = [policy.index_of(state, x, 100) - policy.value(state, x) for x in np.eye(4)]
    assert heights == sorted(heights, reverse=True)
    assert [policy.value(state, x) for x in np.eye(4)] == pytest.approx([0.0, 1.0, 2.0, 3.0], abs=0.8)


def test_the_first_rows_span_what_is_offered() -> None:
    contexts, means = problem(4, 1, n_rows=12, d=5)
    rows, state = played(AUTO, contexts, means, np.random.default_rng(4).normal(size=6))
    assert np.linalg.matrix_rank(np.column_stack([contexts[0, rows], np.ones(6)])) == 6
    assert not state.numbers[0].fitted
    assert AUTO.index_of(state, contexts[0, 0], 6) == math.inf
    assert math.isnan(AUTO.value(AUTO.init(5, None), contexts[0, 0]))


def test_parameters_are_checked() -> None:
    with pytest.raises(ValueError, match="LinearLevelSetUCB: c must be a positive finite number, got 0"):
        LinearLevelSetUCB(c=0)
    with pytest.raises(ValueError, match="compares"):
        LinearLevelSetUCB(compares="medians")  # type: ignore[arg-type]


def test_fits_have_rewards_enough_to_tell_the_law_however_few_the_features() -> None:
    rooms = {d: len(AUTO.init(d, None).rows.y) for d in (1, 10, 15, 30, 100)}
    assert rooms == {1: 300, 10: 300, 15: 450, 30: 600, 100: 1000}
    assert len(AUTO.init(2, 50).rows.y) == 50
