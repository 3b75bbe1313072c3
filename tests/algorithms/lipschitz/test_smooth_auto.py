"""smooth-auto: its waves, its law and its fit against obvious references, and where it plays."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import seeds
from scipy import stats

import heavybandits as hb
from heavybandits.algorithms.lipschitz._smooth_fit import (
    LENGTH_SCALES,
    LOG_LIKELIHOOD_SLACK,
    SIGNALS,
    choose_prior,
    count_row,
    init_smooth_fit,
    log_marginal,
    refit,
    set_prior,
    set_variances,
    take_step,
)
from heavybandits.algorithms.lipschitz._student_noise import (
    FREEDOMS,
    PEAKS,
    Law,
    effective_residual,
    fit_law,
    information,
)
from heavybandits.algorithms.lipschitz._waves import lowest_waves, wave_at, wave_variance
from heavybandits.algorithms.lipschitz.smooth_auto import KEPT, SmoothAuto
from heavybandits.protocols import FloatArray, IntArray
from heavybandits.world.halton import halton


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_waves_are_the_lowest_and_all_differ(dim: int) -> None:
    waves = lowest_waves(dim, 40)
    grid = np.stack(np.meshgrid(*[np.arange(40)] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    squares = np.sort((grid**2).sum(axis=1))[:40]
    assert (waves**2).sum(axis=1).tolist() == squares.tolist()
    assert len(np.unique(waves, axis=0)) == 40


def test_waves_are_orthogonal_on_the_wider_cube() -> None:
    middles = (np.arange(3000) + 0.5) / 3000 * 1.5 - 0.25
    heights = np.array([[wave_at(wave, np.array([x])) for x in middles] for wave in lowest_waves(1, 5)])
    np.testing.assert_allclose(heights @ heights.T / 3000, np.eye(5), atol=1e-6)


@pytest.mark.parametrize("length_scale", [0.2, 0.5])
def test_the_prior_is_nearly_a_gaussian_process(length_scale: float) -> None:
    """In the middle of the cube, where the mirror images at its sides are far away."""
    waves = lowest_waves(1, 60)
    x = np.array([0.4, 0.5, 0.65])
    heights = np.array([[wave_at(wave, x[i : i + 1]) for wave in waves] for i in range(3)])
    variances = np.array([wave_variance(wave, length_scale) for wave in waves])
    covariance = heights @ np.diag(variances) @ heights.T
    covariance /= covariance[1, 1]
    kernel = np.exp(-0.5 * (x[:, None] - x[None]) ** 2 / length_scale**2)
    np.testing.assert_allclose(covariance, kernel, atol=0.25 * length_scale)


@pytest.mark.parametrize("i", range(len(FREEDOMS)))
def test_score_information_and_height_are_those_of_the_law(i: int) -> None:
    freedom, scale = float(FREEDOMS[i]), 1.7
    law = stats.norm(scale=scale) if math.isinf(freedom) else stats.t(freedom, scale=scale)
    assert PEAKS[i] - math.log(scale) == pytest.approx(law.logpdf(0.0))
    step = 1e-5
    for r in (-3.0, 0.4, 20.0):
        score = (law.logpdf(r - step) - law.logpdf(r + step)) / (2 * step)
        assert effective_residual(r, freedom, scale) * information(freedom, scale) == pytest.approx(score, rel=1e-6)
    expected = law.expect(lambda r: (effective_residual(r, freedom, scale) * information(freedom, scale)) ** 2)
    assert information(freedom, scale) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("df", "freedom"), [(1.0, 1.0), (2.0, 2.0), (4.0, 4.0)])
def test_the_law_is_found(df: float, freedom: float) -> None:
    law = Law(freedom=np.array([4.0]), scale=np.array([1.0]))
    residuals = 3.0 * np.random.default_rng(3).standard_t(df, 5000)
    fit_law(law, residuals, 5000, False)
    assert law.freedom[0] == freedom
    assert law.scale[0] == pytest.approx(3.0, rel=0.1)
    fit_law(law, residuals[:100], 100, True)
    assert law.freedom[0] == math.inf
    assert law.scale[0] == pytest.approx(np.sqrt((residuals[:100] ** 2).mean()))


def fitted(noise: float = 0.2, n: int = 60) -> tuple[Any, IntArray, FloatArray, FloatArray]:
    """Return a fit to a few points, what it was fitted to, and the points."""
    points = halton(20, 1)
    fit = init_smooth_fit(lowest_waves(1, 12), points, 20, n)
    rng = np.random.default_rng(1)
    places = rng.integers(0, 20, n)
    rewards = np.sin(5 * points[places, 0]) + noise * rng.standard_normal(n)
    for place in places:
        count_row(fit, int(place))
    return fit, places, rewards, points


def test_the_fit_is_gaussian_regression_where_the_noise_is_gaussian() -> None:
    fit, places, rewards, _ = fitted()
    refit(fit, 20, places, rewards, len(rewards), np.zeros(20), True)
    set_variances(fit, 20)
    heights, variance = fit.heights[:, places].T, float(fit.law.scale[0]) ** 2
    precision = heights.T @ heights / variance + np.diag(1.0 / (fit.prior * variance))
    used = np.trace(np.linalg.inv(precision) @ heights.T @ heights) / variance  # waves, of which there are 12
    assert 3.0 < used < 12.0
    wider = len(rewards) / (len(rewards) - used)
    np.testing.assert_allclose(fit.covariance, wider * np.linalg.inv(precision), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fit.theta, np.linalg.solve(precision, heights.T @ rewards / variance), rtol=1e-6)
    np.testing.assert_allclose(fit.mean, fit.heights.T @ fit.theta, rtol=1e-9)
    expected = np.einsum("ic,ij,jc->c", fit.heights, fit.covariance, fit.heights)
    np.testing.assert_allclose(fit.variance, expected, rtol=1e-6)


def test_the_likelihood_is_that_of_the_rewards() -> None:
    fit, places, rewards, _ = fitted()
    fit.law.freedom[0], fit.law.scale[0] = math.inf, 0.3
    heights = fit.heights[:, places].T

    def ours(i: int, j: int) -> float:
        set_prior(fit, float(LENGTH_SCALES[i]), float(SIGNALS[j]))
        return log_marginal(fit, heights.T @ rewards)

    def theirs() -> float:
        covariance = 0.09 * (np.eye(len(rewards)) + heights @ np.diag(fit.prior) @ heights.T)
        return float(stats.multivariate_normal(np.zeros(len(rewards)), covariance).logpdf(rewards))

    pairs = [(i, j) for i in range(len(LENGTH_SCALES)) for j in range(len(SIGNALS))]
    values = {pair: ours(*pair) for pair in pairs}
    first, last = pairs[0], pairs[-1]
    set_prior(fit, float(LENGTH_SCALES[first[0]]), float(SIGNALS[first[1]]))
    one = theirs()
    set_prior(fit, float(LENGTH_SCALES[last[0]]), float(SIGNALS[last[1]]))
    assert values[first] - values[last] == pytest.approx(one - theirs(), abs=1e-6)
    allowed = [pair for pair in pairs if values[pair] >= max(values.values()) - LOG_LIKELIHOOD_SLACK]
    chosen = min(allowed, key=lambda pair: (pair[0], -pair[1]))
    choose_prior(fit, heights.T @ rewards)
    found = fit.prior.copy()
    set_prior(fit, float(LENGTH_SCALES[chosen[0]]), float(SIGNALS[chosen[1]]))
    assert found.tolist() == fit.prior.tolist()


def test_a_step_is_what_regression_says_where_the_noise_is_gaussian() -> None:
    """With the law and the prior unchanged, one more reward changes the fit as Bayes' rule does."""
    fit, places, rewards, _ = fitted()
    refit(fit, 20, places, rewards, len(rewards), np.zeros(20), True)
    set_variances(fit, 20)
    before, theta, row = np.linalg.inv(fit.covariance), fit.theta.copy(), fit.heights[:, 7].copy()
    variance = float(fit.law.scale[0]) ** 2
    count_row(fit, 7)
    take_step(fit, 20, 7, 2.5)
    after = np.linalg.inv(before + np.outer(row, row) / variance)
    np.testing.assert_allclose(fit.covariance, after, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(fit.theta, after @ (before @ theta + row * 2.5 / variance), rtol=1e-5)
    np.testing.assert_allclose(fit.mean, fit.heights.T @ fit.theta, rtol=1e-6)


def played(noise: FloatArray, scale: float = 1.0, shift: float = 0.0) -> tuple[list[float], Any]:
    policy = SmoothAuto()
    state, points = policy.init(1, None), []
    for t, xi in enumerate(noise.tolist()):
        cell = policy.select(state, t, None)
        points.append(float(policy.point(state, cell)[0]))
        policy.update(state, cell, scale * (shift - (points[-1] - 0.3) ** 2 + xi))
    return points, state


@settings(max_examples=3, derandomize=True, deadline=None)
@given(seeds, st.sampled_from([2.0**-40, 0.25, 2.0**30]))
def test_the_unit_of_rewards_does_not_matter(seed: int, scale: float) -> None:
    noise = 0.1 * np.random.default_rng(seed).standard_cauchy(60)
    assert played(noise)[0] == played(noise, scale=scale)[0]


def test_it_finds_the_top_of_a_bowl_to_the_third_digit() -> None:
    points, state = played(0.02 * np.random.default_rng(0).standard_t(1.5, 400))
    assert np.median(points[-50:]) == pytest.approx(0.3, abs=0.02)
    assert state.numbers[0]["n_points"] > 64  # finer than the points that it began with


def test_equal_rewards_leave_it_exploring_and_wild_ones_leave_no_nan() -> None:
    policy = SmoothAuto()
    state = policy.init(2, None)
    for t in range(30):
        policy.update(state, policy.select(state, t, None), 5.0)
    assert math.isnan(policy.value(state, 0))
    for t, reward in enumerate([math.inf, -math.inf, 1e308, -1e308, 0.0, 1.0] * 5):
        policy.update(state, policy.select(state, 30 + t, None), reward)
    assert np.isfinite(state.fit.mean).all()
    assert np.isfinite(state.fit.variance).all()


@pytest.mark.slow
def test_means_are_compared_where_rewards_repeat() -> None:
    """Most visitors do not buy, so all medians are 0; the best price is 0.5."""
    rng, agent = np.random.default_rng(1), hb.LipschitzAgent(SmoothAuto(), dim=1)
    lost = 0.0
    for _ in range(2000):
        x = agent.select()
        lost += 0.2 - 0.8 * x[0] * (1.0 - x[0])
        agent.update(x, x[0] if rng.random() < 0.8 * (1.0 - x[0]) else 0.0)
    assert lost < 0.25 * 2000 * 0.067  # drawing prices at random loses 0.067 each time


@pytest.mark.slow
def test_more_rewards_than_are_kept() -> None:
    instance = hb.LipschitzInstance(lambda x: -((x[:, 0] - 0.3) ** 2), hb.StudentT(2.0))
    result = hb.simulate(instance, {"smooth": SmoothAuto()}, horizon=3 * KEPT, replications=4, seed=0)
    regret = result.regret.to_numpy()[0, :, -1]
    assert regret.mean() < 0.35 * 3 * KEPT * 0.14  # drawing at random costs 0.14 a round


@pytest.mark.slow
@pytest.mark.parametrize("noise", [hb.Gaussian(0.3), hb.StudentT(2.0), hb.Cauchy(0.3)])
def test_it_beats_boxes_on_smooth_functions_in_three_dimensions(noise: hb.Noise) -> None:
    instance = hb.LipschitzInstance("hartmann-3", noise, dim=3)
    policies = {"smooth": SmoothAuto(), "boxes": hb.make("lipschitz-auto")}
    regret = hb.simulate(instance, policies, horizon=1500, replications=8, seed=0).regret.to_numpy()[:, :, -1]
    assert regret[0].mean() < regret[1].mean()
