"""Repeated rows: which row is played again, and what is learned, whether features stay the same or change."""

from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.linear._repeats import collect, init_group, repeated_row
from heavybandits.algorithms.linear.lin_ucb import LinUCB
from heavybandits.algorithms.linear.linear_clipped_sgd_ucb import LinearClippedSGDUCB
from heavybandits.algorithms.linear.median_of import MedianOf
from heavybandits.algorithms.registry import examples


def test_the_row_is_found_wherever_it_is_listed() -> None:
    group, rows = init_group(2, 3), np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    assert repeated_row(group, rows) == -1
    collect(group, rows[2], 5.0)
    assert repeated_row(group, rows) == 2
    assert repeated_row(group, rows[::-1].copy()) == 0


def test_when_features_change_the_nearest_row_is_played_and_their_mean_is_learned() -> None:
    policy = MedianOf(LinUCB(ridge=1e-9), m=1)
    state = policy.init(1, None)
    policy.update(state, np.array([1.0]), 3.0)
    assert policy.select(state, np.array([[5.0], [1.4], [0.0]]), 1, None) == 1
    policy.update(state, np.array([1.4]), 99.0)
    assert policy.select(state, np.array([[0.0], [1.1]]), 2, None) == 1
    policy.update(state, np.array([0.6]), -7.0)
    np.testing.assert_allclose(policy.value(state, np.array([1.0])), 3.0, rtol=1e-6)  # median 3 at a mean of 1


def test_the_policy_inside_counts_medians() -> None:
    inner = LinearClippedSGDUCB(coeff=1.0, order="first")
    policy, x = MedianOf(inner, m=1), np.array([1.0])
    state, plain = policy.init(1, 92), inner.init(1, 30)
    for median in (2.0, 3.0, 2.5):
        for reward in (-1e9, median, 1e9):
            policy.update(state, x, reward)
        inner.update(plain, x, median)
    assert policy.index_of(state, x, 9) == inner.index_of(plain, x, 3)  # the same step, hence horizon, and clock
    assert policy.index_of(state, x, 9) != policy.value(state, x)


@pytest.mark.slow
@pytest.mark.parametrize("name", hb.policies("linear"))
def test_any_linear_policy_may_be_inside(name: str) -> None:
    policy = MedianOf(hb.make(name, **examples()[name]), m=1)
    state, rng = policy.init(4, 60), np.random.default_rng(0)
    features = hb.blocks(rng.standard_normal(2), 2)
    with np.errstate(all="ignore"):
        for t in range(60):
            row = policy.select(state, features, t, rng)
            policy.update(state, features[row], features[row].sum() + rng.standard_cauchy())
        assert np.isfinite([policy.value(state, x) for x in features]).all()
    assert hb.make("median-of", policy={"kind": name, **examples()[name]}, m=1) == policy


def test_a_mean_of_equal_rows_is_that_row_to_the_last_bit() -> None:
    group, x = init_group(1, 7), np.array([0.1])
    for y in range(7):
        collect(group, x, float(y))
    assert group.mean[0] == 0.1


def test_medians_survive_what_means_do_not() -> None:
    instance = hb.LinearInstance(hb.Sphere(1, 3), hb.Frozen(hb.Sphere(6, 3)), hb.Cauchy())
    both: dict[str, Any] = {"plain": LinUCB(beta=1.0), "medians": MedianOf(LinUCB(beta=1.0), m=2)}
    result = hb.simulate(instance, both, horizon=4000, replications=8, seed=1)
    plain, medians = result.regret.isel(round=-1).mean("replication").to_numpy()
    assert medians < 0.5 * plain
