"""Draws of every law: their distribution, shape and generator, and that they are finite at the extremes."""

import math
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from laws import LAWS, Logistic, each_law, name

from heavybandits.world.noises import (
    Beta,
    Cauchy,
    CauchyPareto,
    Frechet,
    Gaussian,
    LogNormal,
    Mixture,
    Noise,
    Pareto,
    ScipyNoise,
    StudentT,
    SymmetricStable,
)
from heavybandits.world.noises.integrals import Floats, cotangent


def constant_rng(uniform: float = 0.0, exponential: float = 0.0) -> Any:
    """Return a generator all of whose draws are the same."""
    draws = {"random": uniform, "standard_exponential": exponential, "standard_normal": 0.0}
    return SimpleNamespace(**{name: partial(np.full, fill_value=value) for name, value in draws.items()})


def kolmogorov(noise: Noise, x: Floats) -> float:
    """Return sqrt(n) times the Kolmogorov-Smirnov distance; above 1.95 with probability 0.001."""
    n = x.size
    cdf = noise.cdf(np.sort(x))
    rank = np.arange(n + 1) / n
    return math.sqrt(n) * float(max((rank[1:] - cdf).max(), (cdf - rank[:-1]).max()))


@pytest.mark.parametrize("noise", [*LAWS, Logistic()], ids=name)
def test_draws_follow_the_distribution(noise: Noise) -> None:
    x = noise.sample(np.random.default_rng(20), 100_000)
    assert np.isfinite(x).all()
    assert kolmogorov(noise, x) < 1.95


def test_the_distribution_test_has_power() -> None:
    x = Cauchy().sample(np.random.default_rng(20), 100_000)
    assert kolmogorov(Cauchy(scale=1.05), x) > 1.95
    assert kolmogorov(Cauchy(), x + 0.05) > 1.95


def test_discrete_draws_follow_the_distribution() -> None:
    x = ScipyNoise(scipy.stats.poisson(2.0)).sample(np.random.default_rng(0), 100_000)
    observed = np.bincount(x.astype(int), minlength=8)[:8] / x.size
    np.testing.assert_allclose(observed, scipy.stats.poisson(2.0).pmf(np.arange(8)), atol=0.005)


@each_law
@pytest.mark.parametrize("size", [0, 1, 7, (2, 3), (), (4, 0)])
def test_shape_of_draws(noise: Noise, size: int | tuple[int, ...]) -> None:
    x = noise.sample(np.random.default_rng(0), size)
    assert isinstance(x, np.ndarray)
    assert x.dtype == np.float64
    assert x.shape == (size if isinstance(size, tuple) else (size,))


@each_law
def test_draws_depend_on_the_generator_alone(noise: Noise) -> None:
    first, again, other = (noise.sample(np.random.default_rng(seed), 50) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("noise", [Cauchy(), Frechet(), SymmetricStable(0.5), CauchyPareto(), StudentT(0.5)], ids=name)
def test_a_million_draws_are_finite(noise: Noise) -> None:
    assert np.isfinite(noise.sample(np.random.default_rng(3), 1_000_000)).all()


@pytest.mark.parametrize(
    "noise",
    [Frechet(0.01), Pareto(0.01), LogNormal(500.0), StudentT(0.01), SymmetricStable(0.01)],
    ids=name,
)
def test_draws_beyond_the_doubles_become_the_largest(noise: Noise) -> None:
    x = np.abs(noise.sample(np.random.default_rng(3), 20_000))
    assert np.isfinite(x).all()
    assert x.max() > 1e300


@pytest.mark.parametrize("noise", [n for n in LAWS if not isinstance(n, StudentT | Beta | ScipyNoise)], ids=name)
@pytest.mark.parametrize("uniform", [0.0, 0.5, 1 - 2.0**-53])
@pytest.mark.parametrize("exponential", [0.0, 50.0])
def test_extreme_uniforms_give_finite_draws(noise: Noise, uniform: float, exponential: float) -> None:
    assert np.isfinite(noise.sample(constant_rng(uniform, exponential), 3)).all()


def test_inherited_sampling_survives_a_uniform_of_zero() -> None:
    assert np.isfinite(Logistic().sample(constant_rng(0.0), 3)).all()


def test_largest_cauchy_draw() -> None:
    assert Cauchy().sample(constant_rng(0.5), 1)[0] == pytest.approx(2.0**54 / math.pi, rel=1e-12)


@pytest.mark.parametrize("size", [5, 4096, 4097, 50_000])
def test_cotangent(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled and without numba, it is the same to the last bit."""
    w = np.random.default_rng(size).uniform(-0.5, 0.5, size)
    w[:4] = 0.5, -0.5, 1e-300, -(2.0**-54)
    expected = np.where(np.abs(w) < 0.25, 1 / np.tan(math.pi * w), np.tan(math.pi * (np.copysign(0.5, w) - w)))
    interpreted = w.copy()
    cotangent(w, 0.0, 1.0)
    np.testing.assert_allclose(w, expected, rtol=1e-14, atol=3e-15)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    cotangent(interpreted, 0.0, 1.0)
    assert np.array_equal(interpreted, w)


@pytest.mark.parametrize(
    ("angle", "exponential", "expected"),
    [
        (math.pi / 6, 1.0, {0.5: 0.333333333, 1.0: 0.577350269, 1.5: 0.787317651}),
        (-math.pi / 6, 0.5, {0.5: -0.666666667, 1.0: -0.577350269, 1.5: -0.624894434}),
    ],
)
def test_chambers_mallows_stuck(angle: float, exponential: float, expected: dict[float, float]) -> None:
    for alpha, value in expected.items():
        if alpha == 1.0:  # the two sides of the special case, which is drawn as Cauchy noise
            for near in (1 - 1e-7, 1 + 1e-7):
                x = SymmetricStable(near).sample(constant_rng(angle / math.pi + 0.5, exponential), 1)
                assert x[0] == pytest.approx(value, rel=1e-6)
        else:
            x = SymmetricStable(alpha, scale=2.0).sample(constant_rng(angle / math.pi + 0.5, exponential), 1)
            assert x[0] == pytest.approx(2 * value, rel=1e-8)


def test_mixture_weights() -> None:
    far = [Mixture([1.0], [Gaussian(0.01)]), Pareto(1000.0, scale=10.0), Pareto(1000.0, scale=100.0)]
    x = Mixture([0.2, 0.5, 0.3], far).sample(np.random.default_rng(0), 100_000)
    observed = [np.mean(x < 5), np.mean((x > 5) & (x < 50)), np.mean(x > 50)]
    np.testing.assert_allclose(observed, [0.2, 0.5, 0.3], atol=0.005)
