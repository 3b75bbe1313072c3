"""The ridge of features that are products of others."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import heavybandits as hb
from heavybandits.algorithms.linear._level_set.learning import prepare_rows
from heavybandits.algorithms.linear._level_set.product_ridge import (
    count_products,
    evidence,
    own_ridge,
    product_parameters,
)
from heavybandits.algorithms.linear._level_set.sets import unexplored_row
from heavybandits.algorithms.linear._widening import widened
from heavybandits.protocols import FloatArray

OWNERS = np.array([0, 1, 2, 0, 0, 1, 1, 2, 2])
PRODUCTS = np.arange(3, 9)


def taught(effects: FloatArray, n: int, name: str = "linear-auto-mean", seed: int = 0) -> Any:
    """Return a state after n rewards of rows with three features and two products of each."""
    policy, rng = hb.make(name), np.random.default_rng(seed)
    state = policy.init(len(OWNERS), None)
    state.model.owner[:] = OWNERS
    for _ in range(n):
        x = rng.normal(size=len(OWNERS))
        policy.update(state, x, x @ effects + rng.standard_t(3))
    return state


LEVELS, ARMS = 8, 5
N_LEVELS_FEATURES = ARMS + LEVELS * (1 + ARMS)


def visited_by_levels(policy: Any) -> Any:
    """Return a fresh state for arms, visitors of one level each, and products of both."""
    state = policy.init(N_LEVELS_FEATURES, None)
    state.model.owner[:ARMS] = range(ARMS)
    state.model.owner[ARMS + LEVELS :] = np.tile(range(ARMS), LEVELS)
    return state


def row_of(arm: int, level: int) -> FloatArray:
    x = np.zeros(N_LEVELS_FEATURES)
    x[[arm, ARMS + level, ARMS + LEVELS + ARMS * level + arm]] = 1.0
    return x


def shares(state: Any) -> FloatArray:
    return np.asarray(state.model.ridge / state.model.square)


def test_evidence_is_the_likelihood_of_normal_rewards() -> None:
    state = taught(np.arange(9.0) / 10, 40)
    x, y = state.rows.x[:40] - state.rows.x[:40].mean(axis=0), state.rows.y[:40] - state.rows.y[:40].mean()
    state.shrinkage.gram[:] = x.T @ x + np.diag(state.model.ridge)
    state.rows.image[:] = x.T @ y
    variance = state.numbers[0].scale ** 2
    found, expected = [], []
    for share in (1.0, 4.0, 1.0 / 64.0, 1e6):
        ridge = state.model.ridge.copy()
        ridge[PRODUCTS] = min(share, 8.0 * (1.0 + (40.0 / 12.0) ** 2)) * state.model.square[PRODUCTS]
        covariance = variance * (np.eye(40) + x / ridge @ x.T)
        expected.append(stats.multivariate_normal.logpdf(y, cov=covariance))
        found.append(evidence(state, share))
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
    policy, rng = hb.make("linear-auto-mean"), np.random.default_rng(0)
    state, played = visited_by_levels(policy), np.zeros(N_LEVELS_FEATURES)
    for _ in range(400):
        level = int(rng.integers(LEVELS))
        x = row_of(int(rng.integers(ARMS)), level)
        policy.update(state, x, float(level) + rng.normal())
        played += x
    assert 1.0 < (played / state.model.ridge)[ARMS + LEVELS :].sum() < 10.0


def test_the_ridge_of_products_grows_with_the_rewards_of_their_arm() -> None:
    model = hb.make("linear-auto").init(len(OWNERS), None).model
    model.owner[:], model.square[:], model.played[:3] = OWNERS, 2.0, (0.0, 12.0, 120.0)
    assert [own_ridge(model, product, 500.0) for product in (3, 5, 7)] == [16.0, 32.0, 1000.0]


def test_a_ridge_that_is_held_back_does_not_let_that_of_others_grow() -> None:
    state = hb.make("linear-auto").init(len(OWNERS), None)
    model, gram = state.model, state.shrinkage.gram
    model.owner[:], model.square[:], model.product_ridge[:] = OWNERS, 2.0, 500.0
    model.ridge[PRODUCTS] = [own_ridge(model, product, 500.0) for product in PRODUCTS.tolist()]
    gram[PRODUCTS, PRODUCTS] = model.ridge[PRODUCTS] + 100.0
    assert product_parameters(state) == pytest.approx(6 * 100.0 / (500.0 * 2.0))


def test_what_some_arms_tell_does_not_shrink_the_products_of_another() -> None:
    policy, rng = hb.make("linear-auto"), np.random.default_rng(0)
    state = visited_by_levels(policy)
    for t in range(800):
        level = int(rng.integers(LEVELS))
        arm = ARMS - 1 if t < 3 else rng.integers(ARMS - 1)
        policy.update(state, row_of(int(arm), level), float(level) + rng.standard_t(3))
    products = shares(state)[ARMS + LEVELS :].reshape(LEVELS, ARMS)
    assert products[:, :-1].min() > 100.0
    np.testing.assert_allclose(products[:, -1], 8.0 * (1.0 + 3.0**2 / 12.0**2))


@pytest.mark.parametrize("size", [1.0, -0.5])  # the second may be a number by which arms are known
@pytest.mark.parametrize("is_late", [False, True])
def test_an_arm_that_may_suit_some_visitors_gets_an_eighth_of_its_turns(is_late: bool, size: float) -> None:
    policy = hb.make("linear-auto")
    state, rows = visited_by_levels(policy), np.array([row_of(arm, 0) for arm in range(ARMS)])
    rows[:, :ARMS] *= size
    prepare_rows(state, rows)
    policy.update(state, rows[0], 0.0)
    chosen = []
    for _ in range(200):
        chosen.append(unexplored_row(state, rows))
        if is_late:
            state.model.ask(rows[chosen[-1]] if chosen[-1] >= 0 else rows[0])
        else:
            policy.update(state, rows[chosen[-1]] if chosen[-1] >= 0 else rows[0], 0.0)
            state.numbers[0].clock = 1  # the line stays young
    for arm in range(1, ARMS):
        turns = [t + 1 for t, row in enumerate(chosen) if row == arm]
        np.testing.assert_allclose(turns, ARMS * np.array([3, 11, 19, 27, 35]), atol=ARMS)
    assert 0 not in chosen


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
    owners = {**dict(zip(PRODUCTS.tolist(), OWNERS[PRODUCTS].tolist(), strict=True)), 10: 2, 11: 9}
    wide = widened(state, policy.init(12, None), 9, owners)
    assert wide.model.owner.tolist() == [*OWNERS, 9, 2, 9]
    assert shares(wide)[10] == shares(wide)[8] > 8.0 == shares(wide)[11]  # the last arm has no reward
    assert shares(wide)[9] == shares(wide)[:3].max()


def test_without_products_there_is_no_ridge_for_them() -> None:
    policy = hb.make("linear-auto")
    state, rng = policy.init(3, None), np.random.default_rng(0)
    for _ in range(60):
        x = rng.normal(size=3)
        policy.update(state, x, x.sum() + rng.normal())
    assert count_products(state.model) == 0
    assert shares(state).max() == pytest.approx(state.model.product_ridge[0])


def test_rows_that_are_all_zero_tell_nothing_about_products() -> None:
    agent = hb.LinearAgent(hb.make("linear-auto"))
    agent.compile()
    visitor, arms = dict.fromkeys("abcde", False), {"x": {"new": False, "large": False}}
    for t in range(60):
        agent.update(agent.select(visitor, arms=arms), float(t % 7), context=visitor, arms=arms)
    assert agent.estimates(visitor, arms=arms).estimate[0] == pytest.approx(3.0, abs=0.5)


def test_equal_rewards_and_huge_ones_do_no_harm() -> None:
    policy, rng = hb.make("linear-auto"), np.random.default_rng(0)
    for size in (0.0, 1e-200, 1e200):
        state = policy.init(len(OWNERS), None)
        state.model.owner[:] = OWNERS
        for t in range(60):
            policy.update(state, rng.normal(size=len(OWNERS)), size * (t % 3))
        assert np.isfinite(shares(state)).all()
        assert np.isfinite(state.model.line.slope).all()
