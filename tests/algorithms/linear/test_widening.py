"""States of linear policies with features that come later."""

import copy
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.linear._widening import widened
from heavybandits.algorithms.parts.state.tree import check_state, find_asking, fresh_state

GROWING = ["lin-ucb", "lin-ts", "oful", "linear-clipped-sgd-ucb", "linear-auto", "linear-auto-mean"]


def taught(name: str, n_features: int, n_rewards: int, sparse: bool = False) -> Any:
    rng = np.random.default_rng(1)
    policy = hb.make(name)
    state = fresh_state(policy, n_features, None)
    theta = np.arange(1.0, n_features + 1.0)
    for _ in range(n_rewards):
        x = rng.normal(size=n_features)
        if sparse:
            x[rng.permutation(n_features)[2:]] = 0.0
        policy.update(state, x, x @ theta + 0.1 * rng.normal())
    return policy, state


@pytest.mark.parametrize("name", GROWING)
@pytest.mark.parametrize("n_rewards", [0, 1, 40])
def test_predictions_stay_and_the_state_is_valid(name: str, n_rewards: int) -> None:
    policy, state = taught(name, 3, n_rewards)
    fresh = fresh_state(policy, 5, None)
    wide = widened(copy.deepcopy(state), fresh, 3)
    check_state(wide, fresh_state(policy, 5, None), 1)
    for x in np.eye(3):
        before, after = policy.value(state, x), policy.value(wide, np.append(x, [0.0, 0.0]))
        assert after == pytest.approx(before, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", ["lin-ucb", "linear-auto", "linear-auto-mean"])
@pytest.mark.parametrize("sparse", [False, True])
def test_new_features_are_learned(name: str, sparse: bool) -> None:
    policy, state = taught(name, 12, 60, sparse)
    state = widened(state, fresh_state(policy, 14, None), 12)
    rng = np.random.default_rng(2)
    theta = np.append(np.arange(1.0, 13.0), [-5.0, 20.0])
    for _ in range(200):
        x = np.where(rng.random(14) < (0.15 if sparse else 1.0), rng.normal(size=14), 0.0)
        policy.update(state, x, x @ theta + 0.1 * rng.normal())
    nothing = policy.value(state, np.zeros(14))
    effects = [policy.value(state, x) - nothing for x in np.eye(14)]
    np.testing.assert_allclose(effects, theta, atol=1.0)


@pytest.mark.parametrize("policy", [hb.make("greedy-huber"), hb.make("lin-ucb", intercept=True)])
def test_what_is_kept_beside_features_is_refused(policy: Any) -> None:
    with pytest.raises(ValueError, match="cannot get new features"):
        widened(fresh_state(policy, 2, None), fresh_state(policy, 3, None), 2)


def test_a_wide_state_fits_kept_rows_as_one_that_was_wide_from_the_start() -> None:
    rng = np.random.default_rng(3)
    policy = hb.make("linear-auto-mean")
    narrow, wide = fresh_state(policy, 9, None), fresh_state(policy, 17, None)
    for t in range(150):
        x = np.zeros(17)
        x[rng.permutation(9 if t < 50 else 17)[:2]] = rng.normal(size=2)
        reward = float(x.sum() + 0.1 * rng.normal())
        if t == 50:
            narrow = widened(narrow, fresh_state(policy, 17, None), 9)
        policy.update(narrow, x if t >= 50 else x[:9], reward)
        policy.update(wide, x, reward)
    assert narrow.rows.size[0] == wide.rows.size[0]
    np.testing.assert_array_equal(narrow.rows.y, wide.rows.y)
    for x in np.eye(17):
        assert policy.value(narrow, x) == pytest.approx(policy.value(wide, x), abs=0.05)


def test_late_features_do_not_make_it_forget_rewards_that_are_not_kept() -> None:
    rng = np.random.default_rng(4)
    policy = hb.make("linear-auto-mean")
    state = fresh_state(policy, 2, None)
    room = len(state.rows.y)
    for t in range(3 * room):  # what is kept says 1, all later rewards say 2
        policy.update(state, np.array([1.0, rng.normal()]), 1.0 if t < room else 2.0 + 0.1 * rng.normal())
    state = widened(state, fresh_state(policy, 40, None), 2)
    for _ in range(room):
        x = np.zeros(40)
        x[0], x[1] = 1.0, rng.normal()
        policy.update(state, x, 2.0 + 0.1 * rng.normal())
    assert policy.value(state, np.eye(40)[0]) > 1.6


@pytest.mark.parametrize("name", ["lin-ucb", "linear-auto"])
def test_pending_decisions_stay_pending(name: str) -> None:
    policy, state = taught(name, 2, 30)
    row, wide_row, unknown = np.array([1.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    calm = widened(copy.deepcopy(state), fresh_state(policy, 3, None), 2)
    for _ in range(2):
        find_asking(state).ask(row)
    wide = widened(state, fresh_state(policy, 3, None), 2)
    assert policy.index_of(wide, wide_row, 30) < policy.index_of(calm, wide_row, 30)
    assert policy.index_of(wide, unknown, 30) == pytest.approx(policy.index_of(calm, unknown, 30), rel=0.1)
    for _ in range(2):
        find_asking(wide).settle(wide_row)
    assert policy.index_of(wide, wide_row, 30) == pytest.approx(policy.index_of(calm, wide_row, 30))
