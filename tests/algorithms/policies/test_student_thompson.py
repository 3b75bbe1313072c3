"""Student Thompson sampling: modes and posteriors against numerical integration, invariances, edge cases."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import (
    WILD,
    fed,
    play,
    rewards_table,
    seeds,
)
from scipy import optimize, stats

import heavybandits as hb
from heavybandits.algorithms.policies.student_thompson import StudentThompson
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


def log_posterior(mu: float, rewards: FloatArray, df: float, scale: float) -> float:
    return float(-(df + 1) / 2 * np.log1p(((rewards - mu) / scale) ** 2 / df).sum())


def test_with_one_reward_the_posterior_is_exact() -> None:
    for df, scale in [(1.0, 2.0), (3.0, 0.5)]:
        state = fed(StudentThompson(df, scale), [[7.0]])
        freedom = df
        assert (state.mode[0], state.curvature[0]) == (7.0, (df + 1) / df)
        assert math.sqrt((freedom + 1) / (freedom * state.curvature[0])) == pytest.approx(1.0)


@settings(max_examples=40, derandomize=True)
@given(seeds, st.sampled_from([1.0, 2.0, 5.0]), st.sampled_from([0.1, 1.0, 20.0]), st.integers(20, 120))
def test_modes(seed: int, df: float, scale: float, n: int) -> None:
    """Many rewards have one mode near their middle, and it is exact whenever it is computed anew."""
    rewards = 3.0 + scale * np.random.default_rng(seed).standard_t(df, n)
    policy = StudentThompson(df, scale)
    state = fed(policy, [rewards.tolist()])
    middle, width = float(np.median(rewards)), 3 * scale / math.sqrt(n)
    best = optimize.minimize_scalar(
        lambda mu: -log_posterior(mu, rewards, df, scale), bounds=(middle - width, middle + width), method="bounded",
        options={"xatol": 1e-10 * scale},
    )  # fmt: skip
    exact = n == state.anchor[0]
    assert policy.value(state, 0) == pytest.approx(best.x, abs=(1e-5 if exact else 0.05 / math.sqrt(n)) * scale)


@pytest.mark.slow
@pytest.mark.parametrize(("df", "n"), [(1.0, 1), (1.0, 12), (1.0, 60), (4.0, 5), (4.0, 30)])
def test_quantiles_of_the_posterior(df: float, n: int) -> None:
    """They agree with integration on a grid, for rewards spread as in the model."""
    rewards = stats.t(df).ppf((np.arange(n) + 0.5) / n) + 1.0
    grid = np.linspace(-60, 62, 400_001)
    log = np.zeros_like(grid)
    for reward in rewards:
        log -= (df + 1) / 2 * np.log1p((reward - grid) ** 2 / df)
    weights = np.exp(log - log.max())
    levels = np.cumsum(weights) / weights.sum()
    state = fed(StudentThompson(df, 1.0), [rewards.tolist()])
    freedom = n * (df + 1) - 1
    spread = math.sqrt((freedom + 1) / (freedom * state.curvature[0]))
    for level in (0.1, 0.25, 0.75, 0.9):
        exact = float(np.interp(level, levels, grid))
        found = state.mode[0] + spread * stats.t(freedom).ppf(level)
        assert found == pytest.approx(exact, abs=0.15 * spread)


def test_it_chooses_as_often_as_an_arm_is_best_under_its_posterior() -> None:
    policy = StudentThompson(df=1.0, scale=1.0)
    state, rng = fed(policy, [[0.0], [1.0]]), np.random.default_rng(0)
    chosen = np.mean([policy.select(state, 2, rng) for _ in range(4000)])
    expected = stats.cauchy.cdf(1.0 / 2.0)  # the difference of two Cauchy numbers is Cauchy, of twice the scale
    assert chosen == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / 4000))


@pytest.mark.slow
@settings(max_examples=20, derandomize=True)
@given(seeds, st.integers(-20, 20), st.integers(-8, 8))
def test_shifts_and_scales(seed: int, power: int, shift: int) -> None:
    a, table = 2.0**power, np.round(rewards_table("cauchy", seed, 80, 3), 3)
    arms = play(StudentThompson(1.0, 0.5), table)
    assert np.array_equal(arms, play(StudentThompson(1.0, 0.5 * a), a * table))
    assert np.array_equal(arms, play(StudentThompson(1.0, 0.5), table + shift))


@settings(max_examples=30, derandomize=True)
@given(st.lists(st.sampled_from([*WILD, 2.0, -1.0]), min_size=1, max_size=30), st.sampled_from([1e-200, 1.0, 1e200]))
def test_wild_rewards(rewards: list[float], scale: float) -> None:
    policy = StudentThompson(1.0, scale)
    state = fed(policy, [rewards])
    assert math.isfinite(policy.value(state, 0))
    assert 0.0 < state.curvature[0] < math.inf
    assert policy.select(state, len(rewards), np.random.default_rng(0)) == 0


def test_a_few_outliers_are_not_believed() -> None:
    rewards = [*np.linspace(-1, 1, 21).tolist(), 1e300, math.inf, -1e6]
    policy = StudentThompson(1.0, 1.0)
    assert policy.value(fed(policy, [rewards]), 0) == pytest.approx(0.0, abs=0.1)


def test_it_is_better_than_a_normal_model_on_cauchy_noise() -> None:
    policies: dict[str, Any] = {"student": StudentThompson(1.0, 1.0), "normal": hb.ThompsonGaussian(1.0)}
    result = hb.simulate(hb.env1(hb.Cauchy()), policies, horizon=2000, replications=20)
    regret = result.summary()["mean"]
    assert regret["student"] < 0.2 * regret["normal"]
