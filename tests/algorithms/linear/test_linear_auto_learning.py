"""linear-auto: means where rewards repeat, the law of the noise, and regret far below that of least squares."""

import numpy as np
import pytest
from linear_auto import AUTO, MEAN, played, problem, regret

import heavybandits as hb
from heavybandits.algorithms.linear._level_set.two_piece_laws import GROSS


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
