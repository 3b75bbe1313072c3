"""APE², MR-UCB and MR-APE: the p-robust estimator against its definition, perturbations, choices, invariances."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import (
    KINDS,
    WILD,
    fed,
    play,
    rewards_table,
    seeds,
)
from scipy import integrate, stats

from heavybandits.algorithms.parts.choice.estimates import index_of
from heavybandits.algorithms.policies._p_robust import (
    REFIT_GROWTH,
    influence_constant,
    init_p_robust,
    observe_p_robust,
)
from heavybandits.algorithms.policies._perturbed import PERTURBATIONS, perturbation
from heavybandits.algorithms.policies.ape2 import APE2
from heavybandits.algorithms.policies.mr_ape import MRAPE
from heavybandits.algorithms.policies.mr_ucb import MRUCB, minimax_width
from heavybandits.numerics import LARGEST_FLOAT
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


def estimates(rewards: Any, p: float, c: float) -> list[float]:
    """Return the estimate after each reward."""
    state = init_p_robust(1, len(rewards))
    return [float(observe_p_robust(state, 0, float(reward), p, c)) for reward in rewards]


def definition(rewards: Any, p: float, c: float) -> tuple[float, float]:
    """Return the estimate from scratch, and what a term of 1 contributes to it."""
    n, b = len(rewards), influence_constant(p)
    z = np.clip(np.clip(rewards, -LARGEST_FLOAT, LARGEST_FLOAT) / (c * n ** (1 / p)), -LARGEST_FLOAT, LARGEST_FLOAT)
    size = np.maximum(np.abs(z), 1e-300)
    small = np.minimum(size, 1e100)
    large = math.log(b) + p * np.log(size) + np.log1p(size ** (1 - p) / b)
    psi = np.where(size < 1e100, np.log1p(small + b * small**p), large)
    factor = c / n ** (1 - 1 / p)
    return float(factor * np.sum(np.sign(z) * psi)), factor


def test_constant() -> None:
    expected = {1.05: 0.818922551, 1.1: 0.718858070, 1.25: 0.552159079, 1.5: 0.438691338, 1.75: 0.415317428,
                1.9: 0.440557235, 2.0: 0.5}  # fmt: skip
    for p, b in expected.items():
        assert influence_constant(p) == pytest.approx(b, abs=1e-9)


def test_constant_is_the_least_that_works() -> None:
    """ln(1 + |z| + b|z|^p) <= -ln(1 - |z| + b|z|^p) for all z, and not for a smaller b."""
    z = np.linspace(1e-3, 20, 200_000)
    for p in (1.1, 1.5, 1.9, 2.0):
        b = influence_constant(p)
        assert np.all((1 + z + b * z**p) * (1 - z + b * z**p) >= 1 - 1e-9)
        assert np.any((1 + z + 0.999 * b * z**p) * (1 - z + 0.999 * b * z**p) < 1)


def test_estimate_vectors() -> None:
    expected = {(1.5, 1.0): 3.004501585, (2.0, 1.0): 3.340797732, (1.5, 10.0): 9.593344872, (1.5, 1e5): 13.076721904}
    for (p, c), value in expected.items():
        assert estimates([1, -2, 50, 3], p, c)[-1] == pytest.approx(value, abs=1e-8)
    # Taking magnitudes instead of signed rewards is a known mistake.
    assert estimates([1, 2, 50, 3], 1.5, 1.0)[-1] == pytest.approx(3.941623031, abs=1e-9)


@settings(max_examples=12, derandomize=True)
@given(seeds, st.sampled_from([1.05, 1.3, 1.5, 2.0]), st.sampled_from([1.0, 30.0]))
def test_estimate_agrees_with_its_definition(seed: int, p: float, c: float) -> None:
    """It agrees exactly when computed anew, and to second order in between."""
    rng = np.random.default_rng(seed)
    rewards = rng.standard_cauchy(100) + rng.normal()
    wild = rng.random(100) < 0.1
    rewards[wild] = rng.choice(WILD, int(wild.sum()))
    anchor = 0
    for n, found in enumerate(estimates(rewards, p, c), 1):
        expected, unit = definition(rewards[:n], p, c)
        if n >= REFIT_GROWTH * anchor:
            anchor = n
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * unit)
        assert found == pytest.approx(expected, rel=1e-6, abs=2e-4 * n * unit)


@settings(max_examples=30, derandomize=True)
@given(seeds, st.floats(1.5, 2.0))
def test_estimate_is_odd_and_becomes_the_mean(seed: int, p: float) -> None:
    rewards = np.random.default_rng(seed).standard_cauchy(40)
    assert estimates(-rewards, p, 1.0)[-1] == -estimates(rewards, p, 1.0)[-1]
    assert estimates(rewards, p, 1e12)[-1] == pytest.approx(rewards.mean(), abs=1e-2 * np.abs(rewards).mean())
    huge = math.log1p(1e308 + influence_constant(p)) * p
    assert abs(estimates([math.inf] * 40, p, 1.0)[-1]) <= 40 ** (1 / p) * huge


def test_tail_inequality() -> None:
    """P(Y - mu > x) <= exp(-n^(1-1/p) x/c + b nu/c^p), on symmetric Pareto noise whose moment is known."""
    rng, n, p, c = np.random.default_rng(0), 60, 1.5, 2.0
    draws = rng.choice([-1.0, 1.0], (3000, n)) * rng.random((3000, n)) ** (-1 / 1.8)
    nu = 1.8 / (1.8 - p)
    z = draws / (c * n ** (1 / p))
    b = influence_constant(p)
    y = c / n ** (1 - 1 / p) * (np.sign(z) * np.log1p(np.abs(z) + b * np.abs(z) ** p)).sum(axis=1)
    assert y[0] == pytest.approx(estimates(draws[0], p, c)[-1], rel=1e-3, abs=1e-3)
    for x in (0.5, 1.0, 2.0):
        assert np.mean(y > x) <= math.exp(-(n ** (1 - 1 / p)) * x / c + b * nu / c**p)


def test_bonus_vector() -> None:
    assert minimax_width(1.0, 1.5, 25, 1000.0) == pytest.approx(1.261579027, abs=1e-9)
    assert minimax_width(1.0, 1.5, 2000, 1000.0) == 0.0
    policy = MRUCB(p=1.5)
    state = fed(policy, [[0.0] * 25] + [[0.0]] * 9, 10_000)
    assert index_of(policy, state, 0, 34) == pytest.approx(1.261579027, abs=1e-9)
    assert float(policy.c * 4 ** (1 / 1.5 - 1)) == pytest.approx(0.629960525, abs=1e-9)


def test_perturbations_follow_their_laws() -> None:
    exponential = np.random.default_rng(0).standard_exponential(20_000)
    shape, scale = 4.5, 1.5
    laws = {"exponential": stats.expon(), "gumbel": stats.gumbel_r(), "pareto": stats.pareto(shape, scale=scale),
            "frechet": stats.invweibull(shape, scale=scale), "uniform": stats.uniform(-1, 2)}  # fmt: skip
    for number, name in enumerate(PERTURBATIONS):
        drawn = [perturbation(number, shape, scale, float(e)) for e in exponential]
        assert stats.kstest(drawn, laws[name].cdf).pvalue > 1e-3
        assert math.isfinite(perturbation(number, shape, scale, 0.0))


def test_shape_of_the_heavy_perturbations() -> None:
    """Shape and scale are p^2/(p-1) and 1, or both ln K if that exceeds the shape."""
    small = APE2(1.5, perturbation="pareto").init(10, None).law
    assert [number.item() for number in small] == [2, 4.5, 1.0]
    large = APE2(1.5, perturbation="frechet").init(1000, None).law
    assert [number.item() for number in large] == [3, math.log(1000), math.log(1000)]


def test_ape2_chooses_as_often_as_its_perturbed_estimate_is_highest() -> None:
    policy = APE2(p=2.0, c=1.0)
    state, rng = fed(policy, [[0.4] * 4, [0.1] * 9]), np.random.default_rng(0)
    (low, high), (wide, narrow) = sorted(policy.value(state, a) for a in range(2)), (4**-0.5, 9**-0.5)
    # P(high + wide E < low + narrow E')
    expected, _ = integrate.quad(lambda e: math.exp(-e - (high - low + wide * e) / narrow), 0, math.inf)
    chosen = np.mean([policy.select(state, 13, rng) for _ in range(4000)])
    assert chosen == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / 4000))


def test_mr_ape_chooses_as_often_as_its_perturbed_estimate_is_highest() -> None:
    policy = MRAPE(p=2.0, c=1.0)
    state, rng = fed(policy, [[0.4] * 4, [0.1] * 9], 100), np.random.default_rng(0)
    uniform = np.random.default_rng(1).uniform(-1, 1, (200_000, 2))
    width = np.array([math.log(100 / (2 * n)) / math.sqrt(n) for n in (4, 9)])
    heights = np.array([policy.value(state, a) for a in range(2)]) + uniform * width
    expected = np.mean(heights[:, 1] > heights[:, 0])
    chosen = np.mean([policy.select(state, 13, rng) for _ in range(4000)])
    assert 0.05 < expected < 0.95
    assert chosen == pytest.approx(expected, abs=4.5 * math.sqrt(expected * (1 - expected) / 4000))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_arms", [1, 4])
def test_mr_ucb_plays_as_its_reference(kind: str, n_arms: int) -> None:
    """With each arm's estimates computed in advance, the policy must play the highest index by the formula."""
    p, c, horizon = 1.5, 0.5, 200
    table = rewards_table(kind, 5, horizon, n_arms)
    after = [estimates(table[:, arm], p, c) for arm in range(n_arms)]
    pulls, arms = [0] * n_arms, []
    for t in range(horizon):
        bonus = [c * max(0.0, math.log(horizon / n_arms / n)) * n ** (1 / p - 1) if n else math.inf for n in pulls]
        indices = [(after[i][n - 1] if n else 0.0) + bonus[i] for i, n in enumerate(pulls)]
        arm = t if t < n_arms else indices.index(max(indices))
        pulls[arm] += 1
        arms.append(arm)
    assert play(MRUCB(p, c), table).tolist() == arms


def policies(c: float) -> list[Any]:
    return [MRUCB(1.5, c), MRAPE(1.5, c), APE2(1.5, c), APE2(1.5, c, "frechet")]


@pytest.mark.slow
@settings(max_examples=15, derandomize=True)
@given(seeds, st.integers(-20, 20))
def test_scaling_rewards_and_c(seed: int, power: int) -> None:
    a, table = 2.0**power, rewards_table("cauchy", seed, 120, 4)
    for one, two in zip(policies(0.7), policies(0.7 * a), strict=True):
        assert np.array_equal(play(one, table), play(two, a * table))


@settings(max_examples=15, derandomize=True)
@given(seeds, st.permutations(range(4)))
def test_permuted_arms(seed: int, order: list[int]) -> None:
    table: FloatArray = rewards_table("normal", seed, 150, 4)
    arms, permuted = (play(MRUCB(1.5), columns) for columns in (table, table[:, order]))
    assert np.array_equal(arms[4:], np.array(order)[permuted[4:]])


def test_equal_arms_are_told_apart_by_their_number_only() -> None:
    assert np.ptp(np.bincount(play(MRUCB(1.5), np.ones((100, 4))))) <= 1


@pytest.mark.parametrize("policy", [MRUCB(1.5), MRAPE(1.5)])
def test_a_horizon_is_needed(policy: Any) -> None:
    with pytest.raises(ValueError, match=r"^MR(UCB|APE): .*horizon must be given, got None"):
        policy.init(2, None)


@pytest.mark.parametrize("p", [1.0, 2.1, math.nan])
def test_moment_orders_out_of_range(p: float) -> None:
    with pytest.raises(ValueError, match=r"p must be a number in \(1, 2\], got"):
        APE2(p)
