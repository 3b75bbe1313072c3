"""Catoni's mean, and its form for infinite variance, against their equations."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from means import MEANS, TWENTY, fed, stream
from scipy import optimize

from heavybandits.algorithms.estimators import _catoni as catoni
from heavybandits.algorithms.estimators.catoni import Catoni
from heavybandits.algorithms.estimators.catoni_infinite_variance import CatoniInfiniteVariance
from heavybandits.algorithms.parts.means.influence import influence
from heavybandits.numerics import LARGEST_FLOAT, saturate
from heavybandits.protocols import FloatArray


def naive_influence(z: FloatArray, c: float, p: float) -> FloatArray:
    """Return psi(z) = sign(z) ln(1 + |z| + c |z|^p), computed in logarithms so that no z is too large."""
    with np.errstate(divide="ignore"):
        log = np.log(np.abs(z))
    return np.sign(z) * np.logaddexp(np.logaddexp(0.0, log), math.log(c) + p * log)


def constant(eps: float) -> float:
    return float((eps / (1 + eps)) ** ((1 + eps) / 2) * ((1 - eps) / eps) ** ((1 - eps) / 2))


def shape(mean: Any, n: int, log_term: float) -> tuple[float, float, float]:
    """Return alpha, C and p as published."""
    if isinstance(mean, Catoni):
        spread = mean.v + 2 * mean.v * log_term / (n - 2 * log_term)
        return math.sqrt(2 * log_term / (n * spread)), 0.5, 2.0
    eps, c = mean.eps, constant(mean.eps)
    alpha = (log_term / (eps * mean.h**-eps * c * mean.v * n)) ** (1 / (1 + eps))
    return float(alpha), c, 1 + eps


def excess(rewards: FloatArray, m: float, alpha: float, c: float, p: float) -> float:
    with np.errstate(over="ignore"):
        z = np.clip(alpha * np.clip(rewards - m, -LARGEST_FLOAT, LARGEST_FLOAT), -LARGEST_FLOAT, LARGEST_FLOAT)
    return math.fsum(naive_influence(z, c, p))


def test_catoni_vector() -> None:
    mean, log_term = Catoni(v=4.0), math.log(1 / 0.05)
    assert mean.alpha(20, log_term) == pytest.approx(0.229035536985, rel=1e-11)
    assert mean.refresh(fed(mean, TWENTY), 0, log_term) == pytest.approx(6.035413440029, rel=1e-11)
    assert mean.width(20) * mean.factor(log_term) == pytest.approx(1.548091024, rel=1e-9)


def test_catoni_infinite_variance_vector() -> None:
    mean, log_term = CatoniInfiniteVariance(eps=0.5, v=2.0), math.log(2 / 0.05)
    state = fed(mean, TWENTY)
    alpha = mean.alpha(20, log_term)
    assert alpha == pytest.approx(0.445444506553, rel=1e-11)
    assert mean.refresh(state, 0, log_term) == math.inf  # the radius needs more rewards
    assert 1.0 / mean.log_limit(1) * log_term == pytest.approx(34.08, abs=5e-3)
    catoni.solve(state, 0, alpha, mean.constant(), 1.5)
    assert mean.value(state, 0) == pytest.approx(5.740894720969, rel=1e-11)
    assert mean.width(20) * mean.factor(log_term) == pytest.approx(2.484403377, rel=1e-9)


@pytest.mark.parametrize(("eps", "c"), [(0.25, 0.552159079), (0.5, 0.438691338), (0.75, 0.415317428), (1.0, 0.5)])
def test_catoni_constant(eps: float, c: float) -> None:
    assert CatoniInfiniteVariance(eps, 1.0).constant() == pytest.approx(c, abs=5e-10)


def test_least_number_of_rewards() -> None:
    """Against the published products, and at eps = 1 where 0^0 is 1."""
    for eps, h, tau in [(0.5, 0.5, 1.0), (0.25, 0.3, 2.0), (1.0, 0.9, 0.5)]:
        mean = CatoniInfiniteVariance(eps, 1.0, h, tau)
        power = constant(eps) ** (1 / eps) * (1 + tau) ** ((1 + eps) / eps) * tau ** (-1 / eps)
        assert 1.0 / mean.log_limit(1) == pytest.approx((1 + eps) / eps / (1 - h) * power, rel=1e-12)
        radius = (1 + tau) * (1 + eps) ** 0.5 * (1 - eps) ** (1 / (1 + eps) - 0.5) * h ** (-eps / (1 + eps))
        assert mean.width(1) == pytest.approx(radius, rel=1e-12)
    classical = Catoni(1.0)
    state = fed(classical, np.arange(40.0))
    assert classical.refresh(state, 0, 10.0) == math.inf
    assert classical.refresh(state, 0, 9.99) < math.inf
    assert classical.until(state, 0, 9.99) == 10.0


@settings(derandomize=True, max_examples=200)
@given(st.floats(-LARGEST_FLOAT, LARGEST_FLOAT), st.sampled_from([1.1, 1.5, 2.0]))
def test_influence(z: float, p: float) -> None:
    psi, slope = influence(z, 0.5, p)
    assert psi == pytest.approx(float(naive_influence(np.array(z), 0.5, p)), rel=1e-12, abs=1e-15)
    size = abs(z)
    if size < 1e100:
        assert slope == pytest.approx((1 + 0.5 * p * size ** (p - 1)) / (1 + size + 0.5 * size**p), rel=1e-12)
    assert 0.0 < slope <= 1.35


def test_influence_is_smooth_where_its_formula_changes() -> None:
    below, above = influence(1e8, 0.5, 2.0), influence(math.nextafter(1e8, 1e9), 0.5, 2.0)
    assert above == pytest.approx(below, rel=1e-14)


@pytest.mark.parametrize("mean", [Catoni(1.0), Catoni(1e-6), CatoniInfiniteVariance(0.5, 1.0), MEANS[3]])
def test_root_is_that_of_the_sum(mean: Any) -> None:
    for seed in range(10):
        rewards = stream(seed, 100 + 20 * seed, wild=0.0) + 50.0 * seed
        log_term = 4.0 + 0.1 * seed
        alpha, c, p = shape(mean, len(rewards), log_term)
        root = optimize.brentq(
            lambda m, x=rewards, a=alpha, c=c, p=p: excess(x, m, a, c, p), rewards.min(), rewards.max(), xtol=1e-13
        )
        assert mean.refresh(fed(mean, rewards), 0, log_term) == pytest.approx(root, rel=1e-10, abs=1e-10 / alpha)


@pytest.mark.parametrize("mean", [Catoni(1.0), Catoni(1e-300), Catoni(1e300), *MEANS[3:]])
def test_root_among_wild_rewards(mean: Any) -> None:
    """The sum changes sign at the root, whatever the rewards are."""
    for seed in range(12):
        rewards = stream(seed, 80, wild=0.1 * seed)
        if seed == 11:
            rewards[:40] = 1.7e308 * np.where(np.arange(40) % 3, 1.0, -1.0)
        log_term = 3.0
        value = mean.refresh(fed(mean, rewards), 0, log_term)
        rewards = np.clip(rewards, -LARGEST_FLOAT, LARGEST_FLOAT)
        alpha, c, p = shape(mean, 80, log_term)
        assert rewards.min() <= value <= rewards.max()
        margin = 1e-7 / alpha + 1e-9 * abs(value)
        assert excess(rewards, value - margin, alpha, c, p) >= -1e-9
        assert excess(rewards, value + margin, alpha, c, p) <= 1e-9


@pytest.mark.parametrize("rewards", [[math.inf], [5e-324], [1.7e308, math.inf], [-1e308, -math.inf], [3.0, 3.0]])
@pytest.mark.parametrize("v", [1e-300, 1.0, 1e300])
def test_root_at_the_edges_of_floating_point(v: float, rewards: list[float]) -> None:
    mean = Catoni(v)
    value = mean.refresh(fed(mean, 20 * rewards), 0, 2.0)
    assert saturate(min(rewards)) <= value <= saturate(max(rewards))


@pytest.mark.parametrize("mean", [Catoni(3.0), CatoniInfiniteVariance(0.5, 3.0)])
def test_warm_start_finds_the_same_root(mean: Any) -> None:
    rewards = stream(2, 400, wild=0.03)
    warm = mean.init(1, 400)
    for n, reward in enumerate(rewards, 1):
        mean.observe(warm, 0, reward)
        log_term = min(1.0 + 0.01 * n, 0.9 * mean.log_limit(n))
        value = mean.refresh(warm, 0, log_term)
        if n % 23 == 0 and warm.solved[0] == n:
            cold = mean.refresh(fed(mean, rewards[:n]), 0, log_term)
            assert value == pytest.approx(cold, rel=1e-9, abs=1e-8)


def test_equation_is_solved_again_after_a_percent() -> None:
    mean, state = Catoni(1.0), fed(Catoni(1.0), stream(0, 200))
    mean.refresh(state, 0, 5.0)
    assert mean.until(state, 0, 5.0) == pytest.approx(5.05)
    before = mean.value(state, 0)
    assert mean.refresh(state, 0, 5.04) == before
    mean.observe(state, 0, 100.0)
    assert mean.refresh(state, 0, 5.04) == before
    mean.observe(state, 0, 100.0)
    assert mean.refresh(state, 0, 5.04) > before
    before = mean.value(state, 0)
    assert mean.refresh(state, 0, 5.1) != before
