"""linear-auto: rows and rewards of all kinds and sizes, late ones included."""

import math
from typing import Any

import numpy as np
import pytest
from linear_auto import AUTO, MEAN, finite, played, problem, regret
from numpy.testing import assert_allclose, assert_array_equal

import heavybandits as hb
from heavybandits.algorithms.linear._level_set.robust_line import approach
from heavybandits.algorithms.parts.state.tree import with_rows
from heavybandits.protocols import FloatArray


def robust_inputs() -> dict[str, tuple[FloatArray, FloatArray, FloatArray]]:
    """Return contexts, means and noise of many kinds, each for 150 rounds."""
    rng = np.random.default_rng(5)
    rows, theta, noise = rng.normal(size=(1, 6, 3)), rng.normal(size=3), rng.standard_cauchy(150)
    fresh = rng.normal(size=(150, 6, 3))
    means = rows @ theta
    wild = noise.copy()
    wild[[3, 20, 77]] = math.inf, -math.inf, 1e308
    scales = np.array([1e-3, 1.0, 1e3])
    near = 1.0 + 1e-9 * rows
    late = rows.repeat(150, axis=0)
    late[:75, :, 2] = 0.0
    wide = rng.normal(size=(1, 4, 200))
    cases = {
        "identical": np.ones((1, 6, 3)),
        "nearly identical": near,
        "zero": np.zeros((1, 6, 3)),
        "a constant feature": np.where([True, False, False], 1.0, rows),
        "a zero feature": np.where([True, False, False], 0.0, rows),
        "a feature that is zero at first": late,
        "scales": rows * scales,
        "large": rows * 1e100,
        "small": rows * 1e-100,
        "one row": rows[:, :1],
        "one feature": rows[:, :, :1],
        "a copied row": rows[:, [0] * 6],
        "fewer rows than features": wide,
        "disjoint": hb.blocks(rng.normal(size=(150, 2)), 4),
        "fresh": fresh,
    }
    found = {name: (x, x @ np.resize(theta, x.shape[2]) * 0.0 + x.sum(axis=2), noise) for name, x in cases.items()}
    zeros = np.zeros(150)
    return found | {
        "infinite rewards": (rows, means, wild),
        "equal rewards": (rows, 0.0 * means + 7.0, zeros),
        "no noise": (rows, means, zeros),
        "tiny rewards": (rows, 1e-120 * means, 1e-120 * noise),
        "huge rewards": (rows, 1e100 * means, 1e100 * noise),
        "far rewards": (rows, means + 1e10, noise),
        "integers": (rows, np.round(means), np.round(3.0 * rng.normal(size=150))),
        "coins": (rows, 0.0 * means, (rng.random(150) < 0.5).astype(float)),
    }


@pytest.mark.parametrize("policy", [AUTO, MEAN], ids=["auto", "mean"])
@pytest.mark.parametrize("name", robust_inputs())
def test_no_input_makes_nan(name: str, policy: Any) -> None:
    contexts, means, noise = robust_inputs()[name]
    rows, state = played(policy, contexts, means, noise)
    assert ((rows >= 0) & (rows < contexts.shape[1])).all()
    assert finite(state)
    x = np.ascontiguousarray(contexts[-1, 0])
    assert not math.isnan(policy.index_of(state, x, 150))
    assert state.numbers[0].clock == 150


def test_without_noise_the_best_row_is_found() -> None:
    contexts, means = problem(6, 1)
    rows, _ = played(AUTO, contexts, means, np.zeros(300))
    assert (rows[100:] == means[0].argmax()).all()


def test_any_rewards_at_any_time() -> None:
    rng, state = np.random.default_rng(7), AUTO.init(3, None)
    for t in range(60):  # rewards of rows that were not selected, and a number of rows that changes
        AUTO.update(state, rng.normal(size=3), rng.standard_cauchy())
        assert 0 <= AUTO.select(state, rng.normal(size=(1 + t % 5, 3)), t, None) < 1 + t % 5
    assert finite(state)


def test_pending_decisions_spread_and_leave_no_trace() -> None:
    rng, features = np.random.default_rng(8), np.random.default_rng(8).normal(size=(6, 3))
    state, untouched = AUTO.init(3, None), AUTO.init(3, None)
    for t in range(40):
        for each in (state, untouched):
            row = AUTO.select(each, features, t, None)
        reward = features[row].sum() + rng.standard_cauchy()
        for each in (state, untouched):
            AUTO.update(each, features[row], reward)
    x = features[AUTO.select(state, features, 40, None)]
    before = AUTO.index_of(state, x, 40)
    for _ in range(30):
        state.model.ask(x)
    assert AUTO.index_of(state, x, 40) < before
    assert AUTO.value(state, x) == AUTO.value(untouched, x)
    for _ in range(30):
        state.model.settle(x)
    assert AUTO.index_of(state, x, 40) == before
    for t in range(40, 60):
        rows = [AUTO.select(each, features, t, None) for each in (state, untouched)]
        assert rows[0] == rows[1]
        reward = features[rows[0]].sum() + rng.standard_cauchy()
        for each in (state, untouched):
            AUTO.update(each, features[rows[0]], reward)


def test_choices_among_pending_rows_leave_kept_leverages_alone() -> None:
    """Choices while rows are pending use other leverages, which must not be mistaken for the kept ones."""
    rng, features = np.random.default_rng(12), np.random.default_rng(12).normal(size=(40, 3))
    state = with_rows(AUTO.init(3, None), len(features))
    for t in range(150):
        row = AUTO.select(state, features, t, None)
        AUTO.update(state, features[row], features[row].sum() + rng.standard_cauchy())
    for _ in range(5):
        state.model.ask(features[AUTO.select(state, features, 150, None)])
    for x in features[:5]:
        AUTO.update(state, x, x.sum())
        state.model.settle(x)
    AUTO.select(state, features, 155, None)
    assert (state.model.pending[0], state.arms.kept[0]) == (0, len(features))
    exact = [approach(state.model, x) for x in features]
    assert_allclose(state.arms.leverage[: len(features)], exact, rtol=1e-9)


def test_delayed_rewards_are_learned_from() -> None:
    contexts, means = problem(9, 1)
    rng, state, waiting = np.random.default_rng(9), AUTO.init(3, None), []
    last = []
    for t in range(400):
        row = AUTO.select(state, contexts[0], t, None)
        state.model.ask(contexts[0, row])
        waiting.append(row)
        if len(waiting) > 20:
            due = waiting.pop(0)
            AUTO.update(state, contexts[0, due], means[0, due] + rng.standard_cauchy())
            state.model.settle(contexts[0, due])
        if t >= 300:
            last.append(row)
    assert np.mean(np.array(last) == means[0].argmax()) > 0.6
    assert state.model.pending[0] == 20


def huge_inputs(largest: float) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return contexts with one huge feature that does not matter, and the mean rewards, which the others decide."""
    rng = np.random.default_rng(7)
    rows, theta = rng.normal(size=(300, 6, 3)), np.array([0.0, 1.0, -1.0])
    sizes = {
        "always": largest * rows[:, :, 0],
        "of one sign": largest * rng.random((300, 6)),
        "constant": np.full((300, 6), largest),
        "once": np.where(np.arange(300)[:, None] == 100, largest, rows[:, :, 0]),
        "sometimes": largest * (rng.random((300, 6)) < 0.05),
    }
    return {name: (np.dstack([first, rows[:, :, 1:]]), rows @ theta) for name, first in sizes.items()}


@pytest.mark.parametrize("policy", [AUTO, MEAN], ids=["auto", "mean"])
@pytest.mark.parametrize("largest", [1e9, 1e12, 1e15, 1e100])
@pytest.mark.parametrize("name", huge_inputs(1.0))
def test_a_huge_feature_does_not_hide_the_others(name: str, largest: float, policy: Any) -> None:
    contexts, means = huge_inputs(largest)[name]
    rows, state = played(policy, contexts, means, 0.1 * np.random.default_rng(8).normal(size=300))
    assert finite(state)
    assert regret(rows[200:], means[200:]) < 0.1 * regret(np.zeros(100, np.int64), means[200:])


def test_features_of_all_scales_are_played_as_if_they_had_one() -> None:
    contexts, means = problem(9, 200, d=6)
    scales = 2.0 ** np.array([0, 10, 20, 30, 40, 50])
    noise = np.random.default_rng(9).standard_t(2, 200)
    assert_array_equal(played(AUTO, contexts * scales, means, noise)[0], played(AUTO, contexts, means, noise)[0])


@pytest.mark.parametrize("policy", [AUTO, MEAN], ids=["auto", "mean"])
@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6, 1e9, 1e11])
def test_a_feature_far_from_zero_is_learned(offset: float, policy: Any) -> None:
    rng = np.random.default_rng(10)
    contexts = rng.normal(size=(300, 6, 3))
    means = contexts @ [2.0, 1.0, -1.0]
    contexts[:, :, 0] += offset
    rows, state = played(policy, contexts, means, 0.1 * rng.normal(size=300))
    assert finite(state)
    assert regret(rows[100:], means[100:]) < 0.02 * regret(np.zeros(200, np.int64), means[100:])


@pytest.mark.slow
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("policy", [AUTO, MEAN])
def test_arms_of_their_own_are_all_played_although_the_first_are_equal(policy: Any, centred: bool) -> None:
    n_arms, n_numbers = 20, 5
    rng, best, chosen = np.random.default_rng(3), n_arms - 1, np.zeros(n_arms)
    agent = hb.LinearAgent(policy, n_features=n_arms + n_numbers + n_arms * n_numbers, seed=0)
    for t in range(300):
        numbers = np.zeros(n_numbers) if t < 7 else rng.uniform(-1.0 if centred else 0.0, 1.0, n_numbers)
        own = hb.blocks(np.append(1.0, numbers), n_arms=n_arms)
        features = np.hstack([own, np.tile(numbers, (n_arms, 1))])
        row = int(agent.select(features))
        chosen[row] += 1
        agent.update(features[row], 5.0 * (row == best) + rng.normal())
    assert chosen.min() >= 1
    assert chosen.argmax() == best
