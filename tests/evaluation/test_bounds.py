"""Bounds of weighted means: against exact wealth, invariances, and how often they are wrong when one peeks."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavybandits.evaluation.bounds import _bets, gather_pairs, least_average, least_mean
from heavybandits.protocols import FloatArray


def log_wealth(weights: FloatArray, y: FloatArray, most: float, m: float, chance: float | None = None) -> float:
    """Return the logarithm of the mixture's wealth, factor by factor on all rows."""
    logs = []
    for bet, share, log in zip(*_bets(most, chance), strict=True):
        factors = 1.0 + bet * (y / m - 1.0) - bet * share * (weights - 1.0)
        assert (factors > 0.0).all()
        logs.append(log + float(np.log(factors).sum()))
    return float(np.logaddexp.reduce(logs))


@pytest.mark.parametrize("most", [8.0, math.inf])
@pytest.mark.parametrize("few", [True, False])
def test_the_grid_never_helps_and_costs_little(most: float, few: bool) -> None:
    rng = np.random.default_rng(0)
    weights = np.where(rng.random(3000) < 0.25, 4.0, 0.0) if few else 8.0 * rng.beta(0.5, 3.5, 3000)
    y = weights * (rng.pareto(1.5, 3000) + 1.0)
    bound = least_mean(weights, y, most, 0.05)
    assert log_wealth(weights, y, most, bound) >= math.log(20.0)
    assert log_wealth(weights, y, most, 1.02 * bound) < math.log(20.0)


@given(st.floats(1.0, 30.0), st.floats(0.001, 0.9), st.integers(0, 100))
def test_coins_are_bounded_where_the_wealth_of_their_bets_is_enough(most: float, chance: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = np.where(rng.random(2000) < 1.0 / most, most, 0.0)
    y = weights * (rng.random(2000) < chance)
    bound = least_mean(weights, y, most, 0.05, most)
    for m in bound * np.array([0.3, 0.9, 1.0]) if bound > 0.0 else ():
        assert log_wealth(weights, y, most, m, m / most) >= math.log(20.0)
    for m in np.array([1.001, 1.1, 2.0]) * bound if bound > 0.0 else (1e-9,):
        assert log_wealth(weights, y, most, m, m / most) < math.log(20.0)


def test_the_bound_of_twenty_coins_is_close_to_that_of_a_normal_law() -> None:
    ratios = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        weights = np.where(rng.random(20_000) < 0.05, 20.0, 0.0)
        y = weights * (rng.random(20_000) < 0.02)
        ratios.append((least_mean(weights, y, 20.0, 0.05, 20.0), y.mean() - 1.645 * y.std() / math.sqrt(len(y))))
    ours, usual = np.mean(ratios, axis=0)
    assert ours > 0.79 * usual


@given(st.lists(st.tuples(st.floats(0.0, 20.0), st.floats(0.0, 1e6)), min_size=1, max_size=60))
def test_gathering_keeps_counts_and_means(pairs: list[tuple[float, float]]) -> None:
    weights, y = np.array(pairs).T
    found = gather_pairs(weights, y)
    assert found.counts.sum() == pytest.approx(len(y))
    assert (found.counts * found.weights).sum() == pytest.approx(weights.sum(), abs=1e-6)
    assert (found.counts * found.rewards).sum() == pytest.approx(y.sum(), rel=1e-6, abs=1e-3)


@given(st.floats(1e-6, 1e6), st.integers(0, 100))
def test_a_bound_has_the_units_of_rewards(factor: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = np.where(rng.random(200) < 0.5, 2.0, 0.0)
    y = weights * rng.exponential(size=200)
    assert least_mean(weights, factor * y, 2.0, 0.05) == pytest.approx(
        factor * least_mean(weights, y, 2.0, 0.05), rel=1e-3
    )


def test_nothing_earned_gives_no_bound() -> None:
    assert least_mean(np.ones(5), np.zeros(5), 1.0, 0.05) == 0.0
    assert least_average(np.zeros(5), 0.05) == 0.0
    assert least_mean(np.ones(3), np.ones(3), 1.0, 0.05) < 0.6


def test_the_control_variate_narrows_bounds_of_steady_rewards() -> None:
    rng = np.random.default_rng(1)
    weights = np.where(rng.random(20_000) < 0.05, 20.0, 0.0)
    y = weights * rng.uniform(0.9, 1.1, 20_000)
    with_control, without = (least_mean(weights, y, most, 0.05) for most in (20.0, math.inf))
    assert with_control > 0.97 > 0.95 > without


LAWS: dict[str, tuple[Callable[[np.random.Generator, int], FloatArray], float]] = {
    "coins": (lambda rng, n: (rng.random(n) < 0.3).astype(float), 0.3),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "Pareto 1.5": (lambda rng, n: rng.pareto(1.5, n) + 1.0, 3.0),
    "Pareto 1.2": (lambda rng, n: rng.pareto(1.2, n) + 1.0, 6.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_bounds_are_rarely_wrong_at_any_look(law: str) -> None:
    draw, mean = LAWS[law]
    wrong = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        p = rng.choice([0.2, 0.5, 0.9], 4000)  # as if the policy had learned
        weights = np.where(rng.random(4000) < p, 1.0 / p, 0.0)
        y = weights * draw(rng, 4000)
        wrong += any(least_mean(weights[:n], y[:n], 5.0, 0.1) > mean for n in (50, 200, 800, 2000, 4000))
    assert wrong <= 20 + 3 * math.sqrt(18)


def test_coins_are_rarely_bounded_wrongly_at_any_look() -> None:
    wrong = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        weights = np.where(rng.random(3000) < 0.25, 4.0, 0.0)
        y = weights * (rng.random(3000) < 0.04)
        wrong += any(least_mean(weights[:n], y[:n], 4.0, 0.2, 4.0) > 0.04 for n in (100, 300, 1000, 3000))
    assert 1 <= wrong <= 20 + 3 * math.sqrt(16)


def test_averages_of_changing_means_are_bounded() -> None:
    rng = np.random.default_rng(2)
    means = np.linspace(0.5, 3.0, 5000)
    wrong = [least_average(means * rng.exponential(size=5000), 0.05) > means.mean() for _ in range(40)]
    assert sum(wrong) <= 4
    assert least_average(means * rng.exponential(size=5000), 0.05) > 0.9 * means.mean()
