"""How good arms are: intervals hold the truth as often as promised, chances and pulls agree with what is known."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from heavybandits.diagnosis.means import levels, median_interval
from heavybandits.protocols import FloatArray


def clicks(share: float, size: int, seed: int = 0) -> FloatArray:
    return (np.random.default_rng(seed).random(size) < share).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "size", "truth"),
    [
        (lambda rng, n: rng.standard_normal(n), 30, 0.0),
        (lambda rng, n: rng.exponential(1, n), 50, 1.0),
        (lambda rng, n: -np.exp(rng.standard_normal(n)), 200, -math.exp(0.5)),
        (lambda rng, n: (rng.random(n) < 0.1).astype(float), 100, 0.1),
    ],
)
def test_intervals_of_means_hold_the_truth(
    draw: Callable[[np.random.Generator, int], FloatArray], size: int, truth: float
) -> None:
    rng = np.random.default_rng(0)
    found = [levels([draw(rng, size)], "mean").arms[0].mean for _ in range(400)]
    assert 0.91 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.985
    # Skewness matters: Student's interval would be equally long on either side.
    below, above = (np.mean([abs(end - one.value) for one in found for end in (one[side],)]) for side in (1, 2))
    assert (above > 1.1 * below) == (truth in (1.0, 0.1))


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8, 9, 10, 11, 13, 16, 20, 30, 40])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.standard_cauchy(n),
        lambda rng, n: rng.pareto(0.7, n) + 1.0 - 2.0 ** (1 / 0.7),
        lambda rng, n: np.round(rng.standard_t(1.5, n)),
    ],
    ids=["Cauchy", "Pareto", "rounded"],
)
@pytest.mark.slow
def test_intervals_of_medians_hold_the_truth(draw: Callable[[np.random.Generator, int], FloatArray], size: int) -> None:
    """The median is 0; three standard errors are allowed.  With ties intervals hold it more often."""
    rng = np.random.default_rng(size)
    found = [levels([draw(rng, size)], "location").arms[0].median for _ in range(600)]
    held = np.mean([one.low <= 0 <= one.high for one in found])
    assert 0.95 - 3 * math.sqrt(0.95 * 0.05 / 600) < held


@pytest.mark.parametrize("size", [*range(6, 41), 1000])
def test_intervals_of_medians_are_as_short_as_they_may_be(size: int) -> None:
    """The next shorter one would hold the median in fewer than 95% of samples."""
    low, high = median_interval(np.arange(size, dtype=float))
    assert low + high == size - 1
    assert 2 * binom.cdf(low, size, 0.5) <= 0.05 < 2 * binom.cdf(low + 1, size, 0.5)


def test_too_few_rewards_have_no_interval_of_the_median() -> None:
    found = levels([np.arange(5.0), np.arange(5.0) + 100.0], "location")
    assert found.arms[0].median == (2.0, -math.inf, math.inf)
    assert found.pulls_needed == math.inf


@pytest.mark.slow
def test_chances_are_calibrated() -> None:
    """Two equal arms are equally likely to be best, high chances are as rare as they should be, and all add up to 1."""
    rng = np.random.default_rng(0)
    chances = [levels([rng.exponential(1, 50), rng.exponential(1, 50)], "mean").arms[0].chance for _ in range(200)]
    assert np.mean(chances) == pytest.approx(0.5, abs=0.07)
    assert np.mean(np.array(chances) > 0.9) == pytest.approx(0.1, abs=0.06)
    three = levels([clicks(0.1, 500, seed) for seed in range(3)], "mean")
    assert sum(arm.chance for arm in three.arms) == pytest.approx(1)
    assert levels([np.ones(5), np.ones(5)], "mean").arms[0].chance == 0.5


def test_the_goal_decides_which_arm_is_best() -> None:
    loud, steady = np.array([0.0] * 60 + [9.0] * 40), np.array([1.0, 2.0] * 50)
    assert levels([loud, steady], "mean").best == 0
    assert levels([loud, steady], "location").best == 1
    assert levels([np.array([0.0, 0.0, 3.0]), np.array([0.0, 0.0, 9.0])], "location").best == 1  # medians tie


def test_zeros_and_others() -> None:
    arm = levels([np.array([0.0, 0.0, 0.0, 4.0, 8.0])], "mean").arms[0]
    assert (arm.zeros, arm.others) == (0.6, 6.0)
    assert arm.mean.value == pytest.approx(2.4)


def test_an_arm_that_never_paid_may_still_be_the_best() -> None:
    few = levels([np.zeros(20), clicks(0.04, 50, 1)], "mean").arms[0]
    many = levels([np.zeros(2000), clicks(0.04, 50, 1)], "mean").arms[0]
    assert few.mean.high == pytest.approx(0.17, abs=0.02)  # 1 - 0.025 ** (1 / 20)
    assert few.chance > 0.1 > many.chance


def test_pulls_needed_against_a_test_of_power_four_fifths() -> None:
    """A z-test with this many pulls of each arm finds the difference in four of five samples."""
    rng = np.random.default_rng(0)
    needed = levels([rng.normal(0, 1, 20_000), rng.normal(0.5, 2, 20_000)], "mean").pulls_needed
    assert needed == pytest.approx(7.849 * (1 + 4) / 0.25, rel=0.15)
    size = 157
    differences = rng.normal(0.5, 2, (4000, size)).mean(axis=1) - rng.normal(0, 1, (4000, size)).mean(axis=1)
    assert np.mean(differences > 1.96 * math.sqrt(5 / size)) == pytest.approx(0.8, abs=0.03)
    assert levels([np.ones(9), np.ones(9)], "mean").pulls_needed == math.inf


def test_levels_of_the_largest_numbers_are_finite() -> None:
    found = levels([np.array([1e308, 1.5e308, 1e308] * 9), np.array([-1.7e308, 1e308, 0.0] * 9)], "mean")
    assert found.best == 0
    assert math.isfinite(found.pulls_needed)
    assert found.arms[0].mean.value == pytest.approx(1.1666666666666667e308)


def test_arms_that_differ_by_rounding_tie() -> None:
    for arms in ([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2]], [[0.3], [0.1 + 0.2]]):
        for goal in ("mean", "location"):
            found = levels([np.array(arm * 10) for arm in arms], goal)
            assert found.tied == (0, 1)
            assert found.pulls_needed == math.inf
    assert levels([np.array([1.0]), np.array([2.0]), np.array([-1e20])], "mean").tied == (1,)
    assert levels([np.full(9, math.inf), np.ones(9), np.full(9, math.inf)], "location").tied == (0, 2)


@pytest.mark.parametrize("outlier", [2.0, 1e200])
def test_at_least_one_pull_tells_arms_apart(outlier: float) -> None:
    found = levels([np.ones(10), np.array([2.0] * 9 + [outlier])], "location")
    assert (found.best, found.pulls_needed) == (1, 1.0)


@pytest.mark.parametrize(("offset", "size"), [(1e13, 1.0), (0.0, 1e-171), (0.0, 1e-310), (0.0, 1e-9)])
def test_an_arm_with_little_noise_has_an_interval(offset: float, size: float) -> None:
    """An arm is constant only if its rewards are equal, whatever other arms pay."""
    rewards = offset + size * np.random.default_rng(0).normal(size=100)
    estimate = levels([rewards, np.array([1.0, -1.0])], "mean").arms[0].mean
    assert estimate.high - estimate.low == pytest.approx(4 * rewards.std() / 10, rel=0.1)
    assert estimate.low < estimate.value < estimate.high


def test_a_constant_arm_beside_infinite_rewards_has_an_interval() -> None:
    endless = np.array([math.inf, -math.inf] * 5)
    alone, beside = (levels([np.ones(20), other], "location").arms[0] for other in (endless, np.append(endless, 3.0)))
    assert alone.mean == (1.0, 1.0, 1.0)
    assert beside.mean.low == 1.0
    assert 1.0 < beside.mean.high < 3.0


def test_the_interval_of_an_arm_that_always_paid_the_same_holds_what_it_paid() -> None:
    found = levels([np.array([1.0]), np.array([3.0, 4.0, 5.0]), np.array([9.0, 9.0])], "mean")
    for arm in (0, 2):
        mean = found.arms[arm].mean
        assert mean.low <= mean.value <= mean.high
    assert found.arms[0].mean.high > 1.0
    assert found.arms[2].mean.low < 9.0
