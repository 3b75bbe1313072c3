"""Rates, steps and regret bounds: worked examples, independent transcriptions, and bounds put to the test."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import Means
from scipy import integrate, optimize

import heavybandits as hb
from heavybandits import theory
from heavybandits.algorithms.estimators.clipped_sgd import ClippedSGD
from heavybandits.algorithms.estimators.two_point import TwoPoint
from heavybandits.algorithms.policies.fo_ucb import FOUCB
from heavybandits.algorithms.policies.zo_ucb import ZOUCB
from heavybandits.jit.compiled import compiled, without_text
from heavybandits.protocols import FloatArray

CAUCHY_MEDIAN_OF_9 = math.sqrt(0.408659)  # standard deviation


def appendix_delta(horizon: int) -> float:
    return 1 / (horizon * (horizon + 1))


# Worked examples.


def test_magnitudes_of_the_theory_schedule() -> None:
    """T = 10,000, R = 10, sigma = 1."""
    horizon, radius = 10_000, 10.0
    delta = appendix_delta(horizon)
    factor = theory.log_factor(horizon, delta)
    step = theory.printed_step(horizon, radius, delta)
    first = theory.first_clip(step, radius, horizon, delta)
    assert factor == pytest.approx(29.017515467, abs=1e-9)
    assert 1 / (400 * factor) == pytest.approx(8.615486e-05, abs=1e-11)
    assert theory.distance_factor(horizon, radius) / (horizon + 1) == pytest.approx(1.381423e-03, abs=1e-9)
    assert step == pytest.approx(8.615486e-05, abs=1e-11)
    assert 1 / step == pytest.approx(11607, abs=0.5)
    assert first == pytest.approx(33.330462, abs=1e-6)
    assert first * math.exp(-500 * step) == pytest.approx(31.925157, abs=1e-6)
    assert first * step == pytest.approx(0.00287158, abs=1e-8)
    for k, expected, digits in ((0, 7734.14, 2), (100, 769.576, 3), (10_000, 77.34, 2)):
        assert round(math.sqrt(2 * theory.printed_rate(k, delta, horizon, radius, 1.0)), digits) == expected


def test_a_short_theory_schedule() -> None:
    """T = 100, R = 2, sigma = 1."""
    horizon, radius = 100, 2.0
    delta = appendix_delta(horizon)
    step = theory.printed_step(horizon, radius, delta)
    assert theory.log_factor(horizon, delta) == pytest.approx(15.221705581, abs=1e-9)
    assert step == pytest.approx(1.642391509e-04, abs=1e-13)
    clips = [theory.first_clip(step, radius, horizon, delta) * math.exp(-0.5 * step * k) for k in (0, 1, 50)]
    assert clips == pytest.approx([6.665571829, 6.665024477, 6.638259243], abs=1e-9)
    rates = [theory.printed_rate(k, delta, horizon, radius, 1.0) for k in (0, 1, 50)]
    assert rates == pytest.approx([2960495.3177, 1480247.6589, 58048.9278], abs=1e-4)
    radii = [math.sqrt(2 * theory.exponential_rate(k, step, radius)) for k in (0, 1, 50)]
    assert radii == pytest.approx([2.828427125, 2.828194865, 2.816837473], abs=1e-9)


def test_the_optimiser_uses_these_schedules_with_delta_one_over_t_squared() -> None:
    horizon, radius, sigma = 10**6, 3.0, 2.0
    delta = 1 / horizon**2
    printed, proven = theory.printed_step(horizon, radius, delta), theory.proven_step(horizon, radius, delta, sigma)
    assert proven < printed
    for sgd, step, rate in (
        (ClippedSGD(clip=radius, sigma=sigma), printed, theory.printed_rate(4, delta, horizon, radius, sigma)),
        (ClippedSGD(clip=radius, sigma=sigma, radius="exp"), proven, radius**2 * math.exp(-4 * proven)),
    ):
        state = sgd.init(1, horizon)
        x = 0.0
        for k in range(4):
            level = radius * math.exp(-step * (1 + k / 2)) / (120 * step * math.log(4 * (horizon + 1) * horizon**2))
            reward = 1e300 if k % 2 else 2.5
            sgd.observe(state, 0, reward)
            x += step * min(reward - x, level)
            assert sgd.value(state, 0) == pytest.approx(x, rel=1e-12)
        assert sgd.bound(state, 0, delta) == pytest.approx(rate, rel=1e-12)


def test_readings_of_the_paper() -> None:
    """The logarithm of the regret bound is that of the rate; T delta (T + 1) is the constant beside the inverse."""
    for horizon in (1, 10, 10**6):
        assert theory.log_factor(horizon, appendix_delta(horizon)) == pytest.approx(
            math.log(4 * horizon * (horizon + 1) ** 2), rel=1e-14
        )
        assert theory.log_factor(horizon, theory.confidence(horizon)) == pytest.approx(
            math.log(4 * horizon**2 * (horizon + 1)), rel=1e-14
        )
        assert horizon * (horizon + 1) * appendix_delta(horizon) == pytest.approx(1)
        assert horizon * (horizon + 1) * theory.confidence(horizon) <= 2
    assert theory.practical_step(100) == pytest.approx(0.06573863328521, abs=1e-14)


@pytest.mark.parametrize(("draws", "variance"), [(5, 1.221253), (7, 0.612082), (9, 0.408659), (11, 0.306804)])
def test_variance_of_medians_of_cauchy_noise(draws: int, variance: float) -> None:
    """This is sigma in the coverage test below: the order statistic's density, integrated over quantiles."""
    m = draws // 2
    constant = math.gamma(draws + 1) / math.gamma(m + 1) ** 2

    def density(u: float) -> float:
        return math.tan(math.pi * (u - 0.5)) ** 2 * constant * (u * (1 - u)) ** m

    assert integrate.quad(density, 0, 1)[0] == pytest.approx(variance, abs=1e-6)


# The step that the cited theorem asks for.


def test_the_number_b_of_the_cited_theorem() -> None:
    """It solves B ln^2 B = 6.38 here; iterating its definition would jump between 2 and 13.3."""
    horizon, radius = 10_000, 10.0
    delta = appendix_delta(horizon)
    factor = theory.log_factor(horizon, delta)
    scale = (horizon + 1) * radius**2 / (5400 * factor)
    assert scale == pytest.approx(6.382480, abs=1e-6)
    roots = [optimize.brentq(lambda b, s=s: b * math.log(b) ** 2 - scale / s**2, 1.1, 100) for s in (1, 2, 4)]
    assert roots == pytest.approx([3.711316, 2.300010, 1.638018], abs=1e-6)
    steps = [theory.proven_step(horizon, radius, delta, sigma) * (horizon + 1) for sigma in (1.0, 2.0, 4.0)]
    assert steps[0] == pytest.approx((horizon + 1) / (400 * factor), rel=1e-12)  # the other term decides
    assert steps[1] == pytest.approx(math.log(roots[1]), rel=1e-9)
    assert steps[2] == pytest.approx(math.log(2), rel=1e-12)  # B is at least 2


@settings(max_examples=200, derandomize=True)
@given(st.integers(1, 10**9), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(1e-12, 0.5))
def test_proven_step_solves_its_equation(horizon: int, radius: float, sigma: float, delta: float) -> None:
    step = theory.proven_step(horizon, radius, delta, sigma)
    factor = math.log(4 * (horizon + 1) / delta)
    assert step <= 1 / (400 * factor) * (1 + 1e-12)
    if step < 1 / (400 * factor) * (1 - 1e-12):
        b = math.exp(step * (horizon + 1))
        right = (horizon + 1) * radius**2 / (5400 * sigma**2 * factor * math.log(b) ** 2)
        assert b == pytest.approx(max(2.0, right), rel=1e-6)


def test_extreme_parameters_do_not_overflow() -> None:
    for radius in (1e-200, 1e200):
        for step in (theory.printed_step(10, radius, 0.01), theory.proven_step(10, radius, 0.01, 1.0)):
            assert 0 < step < 1
    assert theory.distance_factor(10, 0.1) == math.log(2)  # (T + 1) R^2 is below 2
    assert theory.distance_factor(10, 1e200) == pytest.approx(math.log(11) + 400 * math.log(10))


# Inverses.


@settings(max_examples=100, derandomize=True)
@given(st.integers(1, 10**6), st.floats(1e-6, 0.5), st.integers(1, 10**5), st.floats(0.1, 100), st.floats(0.1, 10))
def test_inverse_rates(k: int, delta: float, horizon: int, radius: float, sigma: float) -> None:
    value = theory.printed_rate(k, delta, horizon, radius, sigma)
    assert theory.inverse_printed_rate(value, delta, horizon, radius, sigma) == pytest.approx(k, rel=1e-9)
    assert theory.inverse_printed_rate(1e300, delta, horizon, radius, sigma) == 0.0
    value = theory.exponential_rate(k, 1e-4, radius)
    assert theory.inverse_exponential_rate(value, 1e-4, radius) == pytest.approx(k, rel=1e-6)
    assert theory.inverse_exponential_rate(2 * radius**2, 1e-4, radius) == 0.0


# Regret bounds against a transcription.


def gaussian_inverse(sigma: float) -> Callable[[float, float], float]:
    """Return the inverse of g(k, delta) = sigma^2 ln(2/delta)/k."""
    return lambda value, delta: sigma**2 * math.log(2 / delta) / value


def test_template_regret_bounds() -> None:
    horizon, sigma = 5000, 0.7
    gaps = [0.0, 0.4, 1.0, 2.5]
    log = math.log(2 * horizon**2)
    fo = sum(gap * (math.ceil(8 * sigma**2 * log / gap**2) + 2) for gap in gaps[1:])
    assert theory.fo_regret_bound(gaps, horizon, gaussian_inverse(sigma)) == pytest.approx(fo, rel=1e-12)

    def zero_order(value: float, delta: float) -> float:
        return 2 * sigma**2 * math.log(2 / delta) / value**2

    zo = sum(gap * (math.ceil(2 * sigma**2 * log / (gap / 2) ** 2) + 2) for gap in gaps[1:])
    assert theory.zo_regret_bound(gaps, horizon, zero_order) == pytest.approx(zo, rel=1e-12)
    assert theory.zo_regret_bound(iter(gaps), horizon, zero_order) == pytest.approx(zo, rel=1e-12)


def test_regret_bounds_are_never_above_the_largest_regret() -> None:
    assert theory.fo_regret_bound([0.0, 1e-3], 1000, gaussian_inverse(1.0)) == 1000 * 1e-3
    assert theory.fo_regret_bound([0.0, 0.5, 1e-9], 10, lambda value, delta: math.inf) == 5.0
    assert theory.zo_regret_bound([0.0, 0.0], 10, gaussian_inverse(1.0)) == 0.0


def test_clipped_sgd_ucb_regret_bounds() -> None:
    horizon, radius, sigma = 2000, 3.0, 0.2
    gaps = [0.0, 0.3, 1.5]
    c, long = 5400 * sigma**2, math.log(4 * horizon * (horizon + 1) ** 2)
    distance = math.log((horizon + 1) * radius**2)
    expected = sum(gap + 8 * c * long * distance**2 / gap for gap in gaps[1:])
    bound = theory.clipped_sgd_ucb_regret_bound(gaps, horizon, radius, sigma)
    assert bound == pytest.approx(expected, rel=1e-12)
    # the same from the rate: Delta (g^-1(Delta^2/8) + 1) with g = C A l^2/k
    delta = appendix_delta(horizon)
    rate = theory.printed_rate(0, delta, horizon, radius, sigma)
    assert bound == pytest.approx(sum(gap * (rate / (gap**2 / 8) + 1) for gap in gaps[1:]), rel=1e-12)
    # and g = C A l^2/(k + 1), with a whole number of pulls, asks for no more
    inverse = theory.inverse_printed_rate(gaps[1] ** 2 / 8, delta, horizon, radius, sigma)
    assert math.ceil(inverse) <= rate / (gaps[1] ** 2 / 8)
    expected = 4 * math.sqrt(2) * distance * math.sqrt(c * long * horizon * 3) + 1.8
    assert theory.clipped_sgd_ucb_worst_case(gaps, horizon, radius, sigma) == pytest.approx(expected, rel=1e-12)


def test_constant_of_the_gap_free_bound() -> None:
    """Minimising T D + 8 C A l^2 K/D over D gives 4 sqrt(2), not the printed 4."""
    horizon, radius, sigma, n_arms = 2000, 3.0, 0.2, 6
    rate = theory.printed_rate(0, appendix_delta(horizon), horizon, radius, sigma)
    found = optimize.minimize_scalar(
        lambda log_gap: horizon * math.exp(log_gap) + 8 * rate * n_arms / math.exp(log_gap), bounds=(-10, 15)
    )
    worst = theory.clipped_sgd_ucb_worst_case([0.0] * n_arms, horizon, radius, sigma)
    assert found.fun == pytest.approx(worst, rel=1e-9)
    assert found.fun / math.sqrt(rate * horizon * n_arms) == pytest.approx(4 * math.sqrt(2), rel=1e-9)


# Do the bounds hold?


class Mean(NamedTuple):
    """The mean, with its rate under normal noise: for (x - mu)^2/2, or for the distance |x - mu| itself."""

    sigma: float
    squared: bool

    def init(self, n_arms: int, horizon: int | None) -> Means:
        return Means(np.zeros(n_arms, np.int64), np.zeros(n_arms))

    def observe(self, state: Means, arm: int, reward: float) -> None:
        state.pulls[arm] += 1
        state.mean[arm] += (reward - state.mean[arm]) / state.pulls[arm]

    def value(self, state: Means, arm: int) -> float:
        return float(state.mean[arm])

    def bound(self, state: Means, arm: int, delta: float) -> float:
        n = state.pulls[arm]
        distance = self.sigma * math.sqrt(2.0 * math.log(2.0 / delta) / n) if n > 0 else math.inf
        return 0.5 * distance * distance if self.squared else distance


def misses(estimator: Any, table: FloatArray, delta: float, to_radius: Callable[[float], float]) -> float:
    """Return the share of columns, with locations at 0, whose final estimate is outside its radius."""
    n_arms = table.shape[1]
    state = estimator.init(n_arms, 1000)
    for arm, column in enumerate(table.T.tolist()):
        for reward in column:
            estimator.observe(state, arm, reward)
    radii = [to_radius(estimator.bound(state, arm, delta)) for arm in range(n_arms)]
    return float(np.mean([abs(estimator.value(state, arm)) > radii[arm] for arm in range(n_arms)]))


@pytest.mark.slow
def test_the_mean_covers_as_promised() -> None:
    table = 0.7 * np.random.default_rng(1).standard_normal((15, 4000))
    for delta in (0.5, 0.1):
        missed = misses(Mean(0.7, squared=True), table, delta, lambda rate: math.sqrt(2 * rate))
        assert missed == misses(Mean(0.7, squared=False), table, delta, lambda rate: rate)
        assert 0.1 * delta < missed < delta
    told_half = Mean(0.35, squared=False)  # of sigma; then it does not
    assert misses(told_half, table, 0.1, lambda rate: rate) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("steps", [50, 200])
def test_two_point_descent_covers_cauchy_noise(steps: int) -> None:
    """The bound is that of the normal limit, which the far tail of the initial median exceeds: delta is not small."""
    zo = TwoPoint()
    table = np.random.default_rng(steps).standard_cauchy((zo.init_pulls + steps, 800))
    assert 0.005 < misses(zo, table, 0.1, lambda rate: rate) < 0.1


def follow(policy: Any, state: Any, rewards: FloatArray, target: float, delta: float, worst: FloatArray) -> None:
    """Feed each arm its row, and record the largest distance to the target in units of the radius."""
    for arm in range(rewards.shape[0]):
        for i in range(rewards.shape[1]):
            policy.update(state, arm, rewards[arm, i])
            rate = policy.optimizer.bound(state.optimizer, arm, delta)
            distance = abs(policy.optimizer.value(state.optimizer, arm) - target)
            worst[arm] = max(worst[arm], distance / math.sqrt(2.0 * rate))


def largest_ratios(sgd: ClippedSGD, target: float, rewards: FloatArray, horizon: int) -> FloatArray:
    policy = FOUCB(sgd)
    state, worst = policy.init(len(rewards), horizon), np.zeros(len(rewards))
    arguments = (without_text(policy), state, rewards, target, theory.confidence(horizon), worst)
    run = compiled(follow, *arguments) if rewards.size > 10_000 else follow
    run(*arguments)
    assert state.pulls.tolist() == [rewards.shape[1]] * len(rewards)
    return worst


@pytest.mark.slow
def test_clipped_sgd_stays_within_its_radii() -> None:
    """Medians of 9 Cauchy draws have a variance, as the theorem requires; all iterates of all runs are within."""
    horizon, radius = 10_000, 2.0
    noise = np.random.default_rng(0).standard_cauchy((10, 9 * horizon))
    told: dict[str, Any] = {"m": 4, "clip": radius, "sigma": CAUCHY_MEDIAN_OF_9}
    for target in (radius, -radius):
        proven = largest_ratios(ClippedSGD(radius="exp", **told), target, target + noise, horizon)
        assert np.all(proven <= 1.0)
        assert np.all(proven > 0.5)  # the start alone is at 1/sqrt(2)
        printed = largest_ratios(ClippedSGD(radius="printed", **told), target, target + noise, horizon)
        assert np.all(printed <= 1.0)
    # an optimiser that is told too small a distance stays behind its own radius
    small: dict[str, Any] = {**told, "clip": 0.1 * radius}
    assert np.all(largest_ratios(ClippedSGD(radius="exp", **small), radius, radius + noise, horizon) > 1.0)


def test_printed_rate_does_not_hold_for_every_step() -> None:
    """With next to no noise the start is forgotten like exp(-gamma k), and 1/(k + 1) promises more."""
    horizon, radius = 10_000, 1.0
    rewards = np.full((1, 3000), radius)
    assert largest_ratios(ClippedSGD(clip=radius, sigma=1e-3), radius, rewards, horizon)[0] > 2.0
    assert largest_ratios(ClippedSGD(clip=radius, sigma=1e-3, radius="exp"), radius, rewards, horizon)[0] < 1.0


def test_regret_of_the_templates_stays_below_their_bounds() -> None:
    sigma, horizon = 1.0, 20_000
    instance = hb.Instance([0.0, 2.0, 2.5, 3.0], hb.Gaussian(sigma))
    policies: dict[str, Any] = {"FO": FOUCB(Mean(sigma, squared=True)), "ZO": ZOUCB(Mean(sigma, squared=False))}
    result = hb.simulate(instance, policies, horizon=horizon, replications=20, seed=1, workers=1, checkpoints=[horizon])
    fo, zo = result.regret.values[:, :, -1]
    bound = theory.fo_regret_bound(instance.gaps, horizon, gaussian_inverse(sigma))
    assert bound < 0.1 * horizon * 3  # far from trivial
    assert theory.zo_regret_bound(
        instance.gaps, horizon, lambda value, delta: 2 * sigma**2 * math.log(2 / delta) / value**2
    ) == pytest.approx(bound)
    assert np.all(fo < bound)
    assert fo.mean() > 0.1 * bound
    assert zo == pytest.approx(fo, rel=0.05)  # sqrt(2 g) of one is g of the other


def test_regret_of_clipped_sgd_ucb_stays_below_its_bounds() -> None:
    """Noise is small and the horizon long; otherwise the bounds would say nothing."""
    sigma, radius, horizon = 0.01, 2.0, 2_000_000
    instance = hb.Instance([0.0, 1.0], hb.Gaussian(sigma))
    policy = FOUCB(ClippedSGD(clip=radius, sigma=sigma))
    result = hb.simulate(instance, {"SGD": policy}, horizon=horizon, replications=2, seed=1, checkpoints=[horizon])
    regret = result.regret.values[0, :, -1]
    bound = theory.clipped_sgd_ucb_regret_bound(instance.gaps, horizon, radius, sigma)
    worst = theory.clipped_sgd_ucb_worst_case(instance.gaps, horizon, radius, sigma)
    assert bound < worst < 0.5 * horizon
    assert np.all(regret < bound)
    assert np.all(regret > 0.05 * bound)
