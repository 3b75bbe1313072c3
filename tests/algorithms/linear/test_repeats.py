"""Repeated rows: which row is played again, and what is learned, whether features stay the same or change."""

from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.algorithms.kit.repeats import collect, init_group, repeated_row


def test_the_row_is_found_wherever_it_is_listed() -> None:
    group, rows = init_group(2, 3), np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    assert repeated_row(group, rows) == -1
    collect(group, rows[2], 5.0)
    assert repeated_row(group, rows) == 2
    assert repeated_row(group, rows[::-1].copy()) == 0


def test_when_features_change_the_nearest_row_is_played_and_their_mean_is_learned() -> None:
    policy = hb.MedianOf(hb.LinUCB(ridge=1e-9), m=1)
    state = policy.init(1, None)
    policy.update(state, np.array([1.0]), 3.0)
    assert policy.select(state, np.array([[5.0], [1.4], [0.0]]), 1, None) == 1
    policy.update(state, np.array([1.4]), 99.0)
    assert policy.select(state, np.array([[0.0], [1.1]]), 2, None) == 1
    policy.update(state, np.array([0.6]), -7.0)
    np.testing.assert_allclose(policy.value(state, np.array([1.0])), 3.0, rtol=1e-6)  # median 3 at a mean of 1


def test_a_mean_of_equal_rows_is_that_row_to_the_last_bit() -> None:
    group, x = init_group(1, 7), np.array([0.1])
    for y in range(7):
        collect(group, x, float(y))
    assert group.mean[0] == 0.1


def test_medians_survive_what_means_do_not() -> None:
    instance = hb.LinearInstance(hb.Sphere(1, 3), hb.Frozen(hb.Sphere(6, 3)), hb.Cauchy())
    both: dict[str, Any] = {"plain": hb.LinUCB(beta=1.0), "medians": hb.MedianOf(hb.LinUCB(beta=1.0), m=2)}
    result = hb.simulate(instance, both, horizon=4000, replications=8, seed=1)
    plain, medians = result.regret.isel(round=-1).mean("replication").to_numpy()
    assert medians < 0.5 * plain
