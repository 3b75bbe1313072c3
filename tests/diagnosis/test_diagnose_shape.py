"""The shape of rewards: ties, outliers, skewness and drift."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logged_rewards import logged
from scipy import stats

import heavybandits as hb
from heavybandits.diagnosis.shape import centred_ranks, drift, level, measure, quantile, skewness
from heavybandits.numerics import LARGEST_FLOAT


def test_rewards_tie_with_those_of_their_arm_only() -> None:
    """Neither subtracting medians nor another arm's rewards make ties."""
    report = hb.diagnose(logged({"a": np.array([1.0]), "b": np.array([1.0, 2.0]), "c": np.array([3.0, 3.0, 4.0])}))
    assert report.pooled.ties == pytest.approx(2 / 6)
    assert "Ties" not in report.text()
    assert "Ties: 67% of the rewards repeat" in hb.diagnose(logged({"a": np.array([1.0, 1.0, 2.0])})).text()


def test_ties_outliers_and_infinities_are_counted() -> None:
    shape = measure(np.array([*range(10), 3.0, 3.0, 40.0, -math.inf, math.inf]))
    assert shape.ties == pytest.approx(3 / 15)
    assert (shape.outliers, shape.infinite) == (3, 2)
    assert (shape.size, shape.median, shape.spread) == (15, 4.0, 6.0)
    assert measure(np.array([0.0] * 30 + [1.0, math.inf])).outliers == 1  # no spread to measure others by


@pytest.mark.parametrize("rewards", [[5.0], [1.0] * 500, [math.inf] * 100, [math.inf, -math.inf] * 50, [1e308, -1e308]])
def test_what_cannot_be_told_is_not(rewards: list[float]) -> None:
    shape = measure(np.array(rewards))
    assert math.isnan(shape.upper.value)
    assert not shape.drift.p_value < 0.5
    assert not shape.skew.value > 0


@settings(max_examples=50, derandomize=True)
@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=60))
def test_any_rewards_have_a_shape(rewards: list[float]) -> None:
    shape = measure(np.array(rewards))
    assert min(rewards) <= shape.median <= max(rewards)
    assert sum(reward < shape.median for reward in rewards) <= len(rewards) / 2
    assert 0 <= shape.ties <= 1
    assert shape.infinite <= shape.outliers <= len(rewards)


@pytest.mark.slow
def test_skew_against_quantiles_and_its_coverage() -> None:
    """The interval covers the truth of a skewed law, and zero for a symmetric one without a mean, 19 times in 20."""
    low, middle, high = stats.expon.ppf([0.1, 0.5, 0.9])
    truth = (high + low - 2 * middle) / (high - low)
    rng = np.random.default_rng(0)
    for draw, skew in ((rng.standard_exponential, truth), (rng.standard_cauchy, 0.0)):
        found = [skewness(np.sort(draw(300))) for _ in range(400)]
        assert np.mean([one.low <= skew <= one.high for one in found]) == pytest.approx(0.95, abs=0.035)
        assert np.mean([one.value for one in found]) == pytest.approx(skew, abs=0.02)


def test_drift_is_found_as_often_as_it_should() -> None:
    rng = np.random.default_rng(0)
    still = [drift(rng.standard_cauchy(400)).p_value < 0.05 for _ in range(2000)]
    assert 0.02 < np.mean(still) < 0.065
    ramp = np.linspace(0, 2, 400)
    assert np.mean([drift(rng.standard_cauchy(400) + ramp).p_value < 0.05 for _ in range(100)]) > 0.9


@pytest.mark.parametrize("value", [0.1, LARGEST_FLOAT, -LARGEST_FLOAT, 5e-324, 0.0, math.inf])
@pytest.mark.parametrize("size", [1, 3, 37])
def test_the_mean_of_equal_rewards_is_the_reward(value: float, size: int) -> None:
    assert level(np.full(size, value), "mean") == value


def test_the_size_of_a_change_is_finite_if_levels_are() -> None:
    for goal in ("mean", "location"):
        assert drift(np.repeat([-1.7e308, 1.7e308], 30), goal).shift == LARGEST_FLOAT
    endless = np.append(np.resize([math.inf, math.inf, 1.0], 60), np.full(60, math.inf))
    found = drift(endless)
    assert found.p_value < 0.01
    assert math.isnan(found.shift)


def test_ranks_share_ties() -> None:
    assert centred_ranks(np.array([2.0, 1.0, 2.0])) == pytest.approx([1 / 6, -1 / 3, 1 / 6])
    assert quantile(np.array([1.0, 2.0, 3.0, 4.0]), 0.5) == 2.0


def test_pooled_drift_ignores_which_arms_come_when() -> None:
    """A log of one arm after the other, with very different rewards, does not drift."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"arm": np.repeat(["a", "b"], 500), "reward": np.r_[rng.pareto(1, 500), 5 - rng.pareto(1, 500)]}
    )
    assert hb.diagnose(frame, ordered=True).pooled.drift.p_value > 0.05


@pytest.mark.parametrize(("gap", "said"), [(1.0, "Drift: the level of '"), (0.0, "Drift: none seen")])
def test_arms_that_change_places_drift_though_their_average_does_not(gap: float, said: str) -> None:
    rng = np.random.default_rng(0)
    arms = rng.integers(2, size=2000)
    levels = gap * ((arms == 0) == (np.arange(2000) < 1000))
    table = pd.DataFrame({"arm": np.array(["a", "b"])[arms], "reward": levels + rng.normal(size=2000)})
    report = hb.diagnose(table, ordered=True)
    assert report.pooled.drift.p_value > 0.05
    assert report.findings()[-1].startswith(said)
