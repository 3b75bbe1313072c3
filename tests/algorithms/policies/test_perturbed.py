"""APE² and MR-APE: perturbations, choices, invariances."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import (
    fed,
    play,
    rewards_table,
    seeds,
)
from scipy import integrate, stats

from heavybandits.algorithms.policies._perturbed import PERTURBATIONS, perturbation
from heavybandits.algorithms.policies.ape2 import APE2
from heavybandits.algorithms.policies.mr_ape import MRAPE
from heavybandits.algorithms.policies.mr_ucb import MRUCB
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


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
