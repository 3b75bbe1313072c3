"""linear-auto: invariances, robustness, means where rewards repeat, and regret far below that of least squares."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import heavybandits as hb
from heavybandits.algorithms.kit.robust_line import approach
from heavybandits.algorithms.kit.state import arrays, with_rows
from heavybandits.algorithms.kit.two_piece_laws import GROSS
from heavybandits.algorithms.linear.linear_level_set_ucb import LinearLevelSetUCB
from heavybandits.engine.compile.compiled import compiled, without_text
from heavybandits.protocols import FloatArray, IntArray

AUTO, MEAN = hb.make("linear-auto"), hb.make("linear-auto-mean")
seeds = st.integers(0, 2**32 - 1)


def select(policy: Any, state: Any, features: FloatArray, t: int, rng: Any) -> int:
    return policy.select(state, features, t, rng)  # type: ignore[no-any-return]


def update(policy: Any, state: Any, x: FloatArray, reward: float) -> None:
    policy.update(state, x, reward)


def play(
    policy: Any, state: Any, rng: Any, contexts: FloatArray, means: FloatArray, noise: FloatArray, rows: IntArray
) -> None:
    for t in range(len(noise)):
        i = t % len(contexts)
        rows[t] = select(policy, state, contexts[i], t, rng)
        update(policy, state, contexts[i, rows[t]], means[i, rows[t]] + noise[t])


def played(policy: Any, contexts: FloatArray, means: FloatArray, noise: FloatArray) -> tuple[IntArray, Any]:
    """Return the rows that the compiled policy plays, and its state; contexts are one, or one for each round."""
    state = with_rows(policy.init(contexts.shape[2], len(noise)), contexts.shape[1])
    bare, rows = without_text(policy), np.zeros(len(noise), np.int64)
    arguments = (bare, state, None, np.ascontiguousarray(contexts), np.ascontiguousarray(means), noise, rows)
    compiled(play, *arguments)(*arguments)
    return rows, state


def regret(rows: IntArray, means: FloatArray) -> float:
    """Return the regret of the rows; means are those of one context, or of one for each round."""
    means = np.broadcast_to(means, (len(rows), means.shape[1]))
    return float((means.max(axis=1) - means[np.arange(len(rows)), rows]).sum())


def problem(seed: int, n_rounds: int, n_rows: int = 6, d: int = 3) -> tuple[FloatArray, FloatArray]:
    """Return contexts and the mean rewards of their rows; one round means rows that stay the same."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(n_rounds, n_rows, d))
    return contexts, contexts @ rng.normal(size=d)


def finite(state: Any) -> bool:
    """Return whether the line and its inverse are finite and the scale is not NaN."""
    model = state.model
    parts = (*model.line, model.inverse, model.ridge)
    return all(np.isfinite(part).all() for part in parts) and not np.isnan(state.numbers[0].scale)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [AUTO, MEAN], ids=["auto", "mean"])
@pytest.mark.parametrize("n_rounds", [1, 70])
def test_compiled_and_interpreted_agree_to_the_last_bit(policy: Any, n_rounds: int) -> None:
    contexts, means = problem(1, n_rounds)
    noise = np.random.default_rng(2).standard_cauchy(70)
    rows, state = played(policy, contexts, means, noise)
    mine, again = with_rows(policy.init(3, 70), 6), np.zeros(70, np.int64)
    with np.errstate(all="ignore"):
        play(policy, mine, None, contexts, means, noise, again)
    assert_array_equal(rows, again)
    for (path, one), (_, other) in zip(arrays(state), arrays(mine), strict=True):
        assert_array_equal(one, other, err_msg=path)


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
    exact = [approach(state.model, state.model.inverse, x) for x in features]
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


@pytest.mark.parametrize("kind", ["coins", "revenue"])
def test_rewards_that_repeat_are_compared_by_means(kind: str) -> None:
    rng = np.random.default_rng(10)
    contexts = rng.uniform(-1.0, 1.0, (1, 6, 3))
    chances = np.clip(0.5 + 0.4 * contexts[0] @ [0.8, -0.5, 0.3], 0.05, 0.95) * (1.0 if kind == "coins" else 0.3)
    state, rows = AUTO.init(3, None), np.zeros(800, np.int64)
    for t in range(800):
        rows[t] = AUTO.select(state, contexts[0], t, None)
        reward = float(rng.random() < chances[rows[t]])
        AUTO.update(state, contexts[0, rows[t]], reward if kind == "coins" else reward * rng.lognormal(1.0, 0.5))
    assert AUTO.goal(state) == "mean"
    assert (chances.max() - chances[rows]).sum() < 0.5 * 800 * (chances.max() - chances).mean()


def test_continuous_rewards_are_compared_by_locations() -> None:
    contexts, means = problem(11, 1)
    _, state = played(AUTO, contexts, means, np.random.default_rng(11).standard_cauchy(200))
    assert AUTO.goal(state) == "location"
    _, state = played(MEAN, contexts, means, np.random.default_rng(11).standard_cauchy(200))
    assert MEAN.goal(state) == "mean"


def test_rounded_heavy_tails_are_no_coins() -> None:
    contexts, means = problem(12, 1)
    noise = np.random.default_rng(12).standard_cauchy(300)
    _, state = played(AUTO, contexts, np.round(means), np.round(noise))
    assert AUTO.goal(state) == "location"


def test_counts_with_long_tails_are_recognised_after_the_last_fit() -> None:
    rng, state = np.random.default_rng(1), AUTO.init(2, None)
    goals = {}
    for t in range(3000):
        x = rng.uniform(-1.0, 1.0, 2)
        AUTO.update(state, x, float(rng.negative_binomial(0.5, 0.25 + 0.1 * x[0])))
        goals[t + 1] = AUTO.goal(state)
    assert (goals[300], goals[3000]) == ("location", "mean")
    assert AUTO.value(state, np.array([-1.0, 0.0])) > AUTO.value(state, np.array([1.0, 0.0])) + 0.5


@pytest.mark.parametrize("d", [10, 30])
def test_rewards_that_repeat_only_after_a_short_horizon(d: int) -> None:
    rng, state = np.random.default_rng(2), AUTO.init(d, 10)
    for t in range(200):
        rows = rng.normal(size=(3, d))
        row = AUTO.select(state, rows, t, None)
        AUTO.update(state, rows[row], float(rng.random() < 0.3) if t > 60 else rng.normal())
    assert AUTO.goal(state) == "mean"
    assert all(np.isfinite(AUTO.index_of(state, x, 200)) for x in rows)


def test_gross_errors_are_told_from_heavy_tails() -> None:
    contexts, means = problem(21, 300)
    noise = np.random.default_rng(21).standard_normal(300)
    noise[::12] = 300.0
    _, state = played(AUTO, contexts, means, noise)
    assert state.laws[state.numbers[0].law, GROSS] > 0.0
    assert state.numbers[0].scale == pytest.approx(1.0, rel=0.15)


@pytest.mark.parametrize("n_rounds", [1, 3000])
def test_cauchy_noise_costs_a_fraction_of_what_it_costs_least_squares(n_rounds: int) -> None:
    rng = np.random.default_rng(13)
    contexts = rng.normal(size=(n_rounds, 20, 5))
    contexts /= np.linalg.norm(contexts, axis=2, keepdims=True)
    means, losses = contexts @ np.array([1.0, 0.0, 0.0, 0.0, 0.0]), []
    for policy in (AUTO, MEAN):
        runs = (played(policy, contexts, means, rng.standard_cauchy(3000))[0] for _ in range(4))
        losses.append(sum(regret(rows, means) for rows in runs))
    assert losses[0] < 0.4 * losses[1]


@pytest.mark.parametrize(
    ("name", "law"),
    [("normal", (30.0, 30.0, 1.0)), ("cauchy", (1.0, 1.0, 1.0)), ("pareto", (30.0, 1.0, 3.0))],
)
def test_the_law_of_the_noise_is_learned(name: str, law: tuple[float, float, float]) -> None:
    contexts, means = problem(14, 600, n_rows=8, d=10)
    rng = np.random.default_rng(14)
    noise = {"normal": rng.normal(size=600), "cauchy": rng.standard_cauchy(600), "pareto": rng.pareto(1.5, 600)}[name]
    _, state = played(AUTO, contexts, means, noise)
    below, above, ratio = state.laws[state.numbers[0].law][:3]
    if name == "pareto":
        assert below > above
        assert ratio > 1.0
    else:
        assert (below, above, ratio) == law


def test_a_law_that_is_told_stays() -> None:
    contexts, means = problem(15, 1)
    told = hb.make("linear-level-set-ucb", degrees=3, scale=0.5)
    _, state = played(told, contexts, means, 0.5 * np.random.default_rng(15).standard_t(3, 400))
    assert state.numbers[0].scale == 0.5
    assert state.laws[state.numbers[0].law][:3].tolist() == [3.0, 3.0, 1.0]
    _, state = played(told._replace(scale=0.0), contexts, means, 0.5 * np.random.default_rng(15).standard_t(3, 400))
    assert state.numbers[0].scale == pytest.approx(0.5, rel=0.2)


def test_parameters_are_checked() -> None:
    with pytest.raises(ValueError, match="LinearLevelSetUCB: c must be a positive finite number, got 0"):
        LinearLevelSetUCB(c=0)
    with pytest.raises(ValueError, match="compares"):
        LinearLevelSetUCB(compares="medians")  # type: ignore[arg-type]


def test_fits_have_rewards_enough_to_tell_the_law_however_few_the_features() -> None:
    rooms = {d: len(AUTO.init(d, None).rows.y) for d in (1, 10, 15, 30, 100)}
    assert rooms == {1: 300, 10: 300, 15: 450, 30: 600, 100: 1000}
    assert len(AUTO.init(2, 50).rows.y) == 50


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
