"""Every law against its definition: draws, distribution, moments, information, and what it refuses."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from heavybandits import _validate
from heavybandits.noises import (
    Cauchy,
    CauchyExponential,
    CauchyPareto,
    Frechet,
    Gaussian,
    Laplace,
    LogNormal,
    Mixture,
    Noise,
    Pareto,
    ScipyNoise,
    StudentT,
    SymmetricStable,
    make_noise,
    noise_spec,
    noises,
)
from heavybandits.noises.numerics import Floats, cotangent

SYMMETRIC: list[Noise] = [
    Cauchy(),
    Cauchy(scale=3.0),
    Gaussian(scale=0.5),
    Laplace(scale=2.0),
    StudentT(df=1.3),
    StudentT(df=5),
    *(SymmetricStable(alpha) for alpha in (0.5, 0.8, 1.0, 1.5, 2.0)),
    SymmetricStable(1.7, scale=4.0),
    Mixture([0.9, 0.1], [Gaussian(), Cauchy(scale=5.0)]),
    ScipyNoise(scipy.stats.logistic()),
]
ASYMMETRIC: list[Noise] = [
    Frechet(),
    Frechet(alpha=1.25),
    Pareto(shape=1.5, scale=2.0),
    LogNormal(sigma=1.5),
    CauchyExponential(),
    CauchyExponential(weight=0.2),
    CauchyPareto(),
    CauchyPareto(weight=0.9),
    Mixture([0.2, 0.5, 0.3], [Pareto(2.0), Gaussian(), Laplace()]),
    ScipyNoise(scipy.stats.gumbel_r(scale=2.0)),
]
LAWS = SYMMETRIC + ASYMMETRIC


def name(value: object) -> str | None:
    return repr(value) if isinstance(value, Noise) else None  # the repr of other things may hold an address


each_law = pytest.mark.parametrize("noise", LAWS, ids=name)


@dataclass(frozen=True)
class Logistic(Noise):
    """A law that leaves to the base class all it can."""

    moment_order = math.inf

    def cdf(self, x: ArrayLike) -> Floats:
        return scipy.special.expit(x)  # type: ignore[no-any-return]

    def log_pdf(self, x: ArrayLike) -> Floats:
        half = np.asarray(x, float) / 2
        return -2 * np.logaddexp(half, -half)


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


def moment(noise: Noise, order: float) -> float:
    """Return E|X|^order by the trapezoidal rule in log|x|, which is all but exact for smooth densities."""
    log_x = np.arange(-60, 300, 0.05)
    heights = [np.exp((order + 1) * log_x + noise.log_pdf(side)) for side in (np.exp(log_x), -np.exp(log_x))]
    return 0.05 * float(np.sum(heights))


def brute_force_kl(noise: Noise, d: float, kinks: tuple[float, ...] = (0.0,)) -> float:
    def integrand(x: float) -> float:
        return float(noise.pdf(x) * (noise.log_pdf(x) - noise.log_pdf(x - d)))

    cuts = sorted({-100.0, 100.0, *kinks, *(kink + d for kink in kinks)})
    pieces = pairwise([-math.inf, *cuts, math.inf])
    return math.fsum(scipy.integrate.quad(integrand, a, b, limit=200, epsabs=1e-12)[0] for a, b in pieces)


# Draws


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


@pytest.mark.parametrize("noise", [n for n in LAWS if not isinstance(n, StudentT | ScipyNoise)], ids=name)
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
    """Compiled; and without numba the same to the last bit."""
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


# Distribution functions, quantiles and densities


@pytest.mark.parametrize(
    ("noise", "reference"),
    [
        (Cauchy(2.0), scipy.stats.cauchy(scale=2)),
        (Gaussian(2.0), scipy.stats.norm(scale=2)),
        (Laplace(0.5), scipy.stats.laplace(scale=0.5)),
        (StudentT(2.5), scipy.stats.t(2.5)),
        (StudentT(0.7), scipy.stats.t(0.7)),
        (Pareto(1.5, 2.0), scipy.stats.pareto(1.5, scale=2)),
        (LogNormal(1.5), scipy.stats.lognorm(1.5)),
        (Frechet(1.25), scipy.stats.invweibull(1.25)),
        (SymmetricStable(2.0, 3.0), scipy.stats.norm(scale=3 * math.sqrt(2))),
        (CauchyExponential(weight=0.0), scipy.stats.expon(loc=-1)),
        (CauchyPareto(weight=0.0), scipy.stats.pareto(3, loc=-1.5)),
        (CauchyPareto(weight=1.0), scipy.stats.cauchy()),
    ],
    ids=name,
)
def test_agrees_with_scipy(noise: Noise, reference: Any) -> None:
    x = np.array([-1e3, -7.0, -1.2, -0.4, 0.0, 0.3, 1.0, 2.0, 2.5, 9.0, 1e3])
    u = np.array([0.0, 1e-9, 0.01, 0.2, 0.5, 0.77, 0.99, 1 - 1e-9, 1.0])
    np.testing.assert_allclose(noise.cdf(x), reference.cdf(x), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(noise.pdf(x), reference.pdf(x), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(noise.quantile(u), reference.ppf(u), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.8, 1.5])
def test_stable_agrees_with_scipy(alpha: float) -> None:
    x = np.array([-4.0, -0.3, 0.7, 2.0])
    reference = scipy.stats.levy_stable(alpha, 0.0, scale=2.0)
    noise = SymmetricStable(alpha, scale=2.0)
    np.testing.assert_allclose(noise.cdf(x), reference.cdf(x), rtol=1e-6)
    np.testing.assert_allclose(noise.pdf(x), reference.pdf(x), rtol=1e-6)


def test_stable_of_index_one_half_in_closed_form() -> None:
    x = np.array([1e-3, 0.1, 1.0, 10.0, 1e6, 1e20])
    sine, cosine = scipy.special.fresnel(np.sqrt(1 / (2 * math.pi * x)))
    expected = np.sin(1 / (4 * x)) * (0.5 - sine) + np.cos(1 / (4 * x)) * (0.5 - cosine)
    expected /= math.sqrt(2 * math.pi) * x**1.5
    np.testing.assert_allclose(SymmetricStable(0.5).pdf(x), expected, rtol=1e-6)
    np.testing.assert_allclose(SymmetricStable(0.5).pdf(0.0), 2 / math.pi, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.3, 0.9, 1.1, 1.6, 1.9])
def test_stable_density_by_fourier_inversion(alpha: float) -> None:
    def transform(x: float) -> float:
        return float(scipy.integrate.quad(lambda t: math.exp(-(t**alpha)), 0, math.inf, weight="cos", wvar=x)[0])

    for x in (0.5, 2.0, 6.0):
        assert SymmetricStable(alpha).pdf(x) == pytest.approx(transform(x) / math.pi, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize(("alpha", "limit"), [(1.0, Cauchy()), (2.0, Gaussian(math.sqrt(2)))], ids=name)
def test_stable_is_continuous_in_its_index(alpha: float, limit: Noise) -> None:
    x = np.array([-3.0, -0.5, 0.1, 1.0, 4.0])
    for step in (-1e-7, 1e-7) if alpha == 1 else (-1e-7,):
        np.testing.assert_allclose(SymmetricStable(alpha + step).cdf(x), limit.cdf(x), atol=1e-6)
        np.testing.assert_allclose(SymmetricStable(alpha + step).pdf(x), limit.pdf(x), atol=1e-6)


@pytest.mark.parametrize("alpha", [0.05, 0.4, 1.3, 1.95])
def test_stable_tail_is_a_power(alpha: float) -> None:
    constant = math.gamma(alpha) * math.sin(math.pi * alpha / 2) / math.pi
    x = np.array([10 ** (8 / alpha), 10 ** (12 / alpha)])
    np.testing.assert_allclose(SymmetricStable(alpha).cdf(-x), constant * x**-alpha, rtol=1e-5)
    np.testing.assert_allclose(SymmetricStable(alpha).cdf([-math.inf, math.inf]), [0.0, 1.0])


@pytest.mark.parametrize(
    ("noise", "u", "expected"),
    [
        (Frechet(1.0), (0.25, 0.5, 0.75), (0.721347520, 1.442695041, 3.476059497)),
        (Frechet(1.25), (0.25, 0.5, 0.75), (0.770044166, 1.340724764, 2.709379004)),
        (CauchyExponential(), (0.25, 0.5, 0.75), (-0.810565858, -0.116960101, 0.795942214)),
        (CauchyPareto(), (0.25, 0.5, 0.75), (-0.496916419, -0.139469075, 0.658898343)),
        (Cauchy(2.0), (0.25, 0.5, 0.75), (-2.0, 0.0, 2.0)),
        (Gaussian(), (0.25, 0.75), (-0.674489750, 0.674489750)),
        (StudentT(2), (0.1, 0.9), (-1.885618083, 1.885618083)),
        (StudentT(4), (0.1, 0.9), (-1.533206274, 1.533206274)),
        (Pareto(2.0, 3.0), (0.0, 0.5), (3.0, 3.0 * math.sqrt(2))),
        (LogNormal(1.0), (0.5, 0.75), (1.0, 1.963031084)),
    ],
    ids=name,
)
def test_quantile_vectors(noise: Noise, u: tuple[float, ...], expected: tuple[float, ...]) -> None:
    np.testing.assert_allclose(noise.quantile(u), expected, rtol=2e-9, atol=1e-9)


def test_distribution_vectors() -> None:
    np.testing.assert_allclose(CauchyExponential().cdf([0, 1]), [0.539636168, 0.784399415], atol=1e-9)
    np.testing.assert_allclose(CauchyPareto().cdf([0, 1]), [0.561111111, 0.805800000], atol=1e-9)


@pytest.mark.parametrize(
    ("noise", "order", "expected"),
    [
        (Cauchy(2.0), 0.5, math.sqrt(2) / math.cos(math.pi / 4)),
        (Frechet(1.25), 1.0, 4.590843712),
        (StudentT(2), 1.5, 3.118169500),
        (StudentT(5), 2.0, 5 / 3),
        (SymmetricStable(1.5), 1.2, 2.552122172),
        (SymmetricStable(0.5, scale=3.0), 0.25, 3**0.25 * 2**0.25 * math.gamma(0.625) / math.gamma(0.875)),
        (LogNormal(1.0), 1.0, 1.648721271),
        (LogNormal(1.0), 2.0, 4.670774270 + 1.648721271**2),
        (Laplace(2.0), 1.0, 2.0),
        (Gaussian(3.0), 2.0, 9.0),
    ],
    ids=name,
)
def test_absolute_moments(noise: Noise, order: float, expected: float) -> None:
    assert moment(noise, order) == pytest.approx(expected, rel=1e-7)


def test_light_parts_of_the_mixtures_are_centred() -> None:
    exponential, pareto = CauchyExponential(weight=0.0), CauchyPareto(weight=0.0)
    assert scipy.integrate.quad(lambda x: x * exponential.pdf(x), -1, math.inf)[0] == pytest.approx(0, abs=1e-9)
    assert scipy.integrate.quad(lambda x: x * pareto.pdf(x), -0.5, math.inf)[0] == pytest.approx(0, abs=1e-8)
    assert scipy.integrate.quad(lambda x: x**2 * pareto.pdf(x), -0.5, math.inf)[0] == pytest.approx(0.75, rel=1e-8)
    np.testing.assert_array_equal(exponential.cdf([-1.001, -1.0]), 0)
    np.testing.assert_array_equal(pareto.cdf([-0.501, -0.5]), 0)


@pytest.mark.parametrize(("df", "expected"), [(2, 2.0), (3, 1.850551), (5, 1.734891)])
def test_variance_of_the_median_of_student_noise(df: float, expected: float) -> None:
    assert 1 / (4 * StudentT(df).pdf(0.0) ** 2) == pytest.approx(expected, rel=1e-6)


@each_law
def test_density_integrates_to_the_distribution(noise: Noise) -> None:
    low, high = noise.quantile([0.2, 0.8])
    kinks = [x for x in (-1.0, -0.5, 0.0, 1.0) if low < x < high]
    mass = scipy.integrate.quad(lambda x: float(noise.pdf(x)), low, high, points=kinks or None, limit=200)[0]
    assert mass == pytest.approx(0.6, abs=1e-7)


@each_law
@settings(max_examples=15, deadline=None)
@given(u=st.floats(1e-5, 1 - 1e-5))
def test_quantile_inverts_the_distribution(noise: Noise, u: float) -> None:
    x = noise.quantile(u)
    assert noise.cdf(x) == pytest.approx(u, rel=1e-9, abs=1e-12)
    assert noise.quantile(noise.cdf(x)) == pytest.approx(float(x), rel=1e-6, abs=1e-8)


@each_law
def test_quantile_at_the_ends_and_beyond(noise: Noise) -> None:
    bottom, top = noise.quantile([0.0, 1.0])
    assert noise.cdf([bottom, top]).tolist() == [0.0, 1.0]
    assert bottom < noise.quantile(1e-6) < noise.quantile(1 - 1e-6) < top
    for u in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=r"u must lie in \[0, 1\]"):
            noise.quantile(u)


@pytest.mark.parametrize("noise", [*LAWS, Logistic()], ids=name)
def test_symmetry(noise: Noise) -> None:
    u = np.array([1e-6, 0.003, 0.2, 0.45])
    mirrored = np.allclose(noise.quantile(u), -noise.quantile(1 - u), rtol=1e-6)
    assert noise.is_symmetric == mirrored == (noise not in ASYMMETRIC)


def test_inherited_quantile() -> None:
    u = np.array([0.0, 1e-12, 0.25, 0.6, 1.0])
    np.testing.assert_allclose(Logistic().quantile(u), scipy.special.logit(u), rtol=1e-12)


@pytest.mark.parametrize(
    ("noise", "order"),
    [
        (Cauchy(2.0), 1.0),
        (Frechet(1.25), 1.25),
        (Pareto(0.8), 0.8),
        (StudentT(2.5), 2.5),
        (SymmetricStable(1.5), 1.5),
        (SymmetricStable(2.0), math.inf),
        (Gaussian(), math.inf),
        (Laplace(), math.inf),
        (LogNormal(), math.inf),
        (CauchyExponential(), 1.0),
        (CauchyExponential(weight=0.0), math.inf),
        (CauchyPareto(), 1.0),
        (CauchyPareto(weight=0.0), 3.0),
        (Mixture([0.5, 0.5], [StudentT(3), Frechet(2)]), 2.0),
        (ScipyNoise(scipy.stats.t(3, loc=5, scale=100)), 3.0),
        (ScipyNoise(scipy.stats.invweibull(0.2)), 0.2),
        (ScipyNoise(scipy.stats.genpareto(c=0.1)), 10.0),
        (ScipyNoise(scipy.stats.zipf(2.5)), 1.5),
        (ScipyNoise(scipy.stats.lognorm(3.0)), math.inf),
        (ScipyNoise(scipy.stats.weibull_min(0.3)), math.inf),
        (ScipyNoise(scipy.stats.norm()), math.inf),
        (ScipyNoise(scipy.stats.uniform()), math.inf),
        (ScipyNoise(scipy.stats.poisson(2)), math.inf),
    ],
    ids=name,
)
def test_moment_order(noise: Noise, order: float) -> None:
    assert noise.moment_order == pytest.approx(order, rel=1e-5)


# Information


@pytest.mark.parametrize(
    ("noise", "d", "expected"),
    [
        (Cauchy(), 0.1, 0.002496880199),
        (Cauchy(), 1.0, 0.223143551314),
        (Cauchy(), 3.0, 1.178654996342),
        (Cauchy(2.0), 3.0, 0.446287102628),
        (Gaussian(2.0), 3.0, 9 / 8),
        (Laplace(2.0), 3.0, 1.5 + math.exp(-1.5) - 1),
        (SymmetricStable(1.0, 2.0), 3.0, 0.446287102628),
        (SymmetricStable(2.0, 2.0), 3.0, 9 / 16),
        (ScipyNoise(scipy.stats.norm(scale=2)), 3.0, 9 / 8),
        (CauchyPareto(weight=1.0), 3.0, 1.178654996342),
        (Mixture([0.5, 0.5], [Gaussian(), Gaussian()]), 40.0, 800.0),
    ],
    ids=name,
)
def test_divergence_vectors(noise: Noise, d: float, expected: float) -> None:
    assert noise.kl_shift(d) == pytest.approx(expected, rel=1e-9)
    assert noise.kl_shift(-d) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("noise", [Cauchy(2.0), Gaussian(0.7), Laplace(3.0)], ids=name)
@pytest.mark.parametrize("d", [0.01, 0.5, -2.0, 7.0])
def test_divergence_by_quadrature_agrees_with_the_closed_form(noise: Noise, d: float) -> None:
    assert Noise.kl_shift(noise, d) == pytest.approx(noise.kl_shift(d), rel=1e-9)


@pytest.mark.parametrize(
    ("noise", "kinks"),
    [
        (StudentT(1.5), (0.0,)),
        (CauchyExponential(), (-1.0,)),
        (CauchyPareto(), (-0.5,)),
        (Mixture([0.9, 0.1], [Gaussian(), Cauchy(10.0)]), (0.0,)),
        (Mixture([0.99, 0.01], [Cauchy(), Gaussian(0.001)]), (-0.1, -0.01, 0.0, 0.01, 0.1)),
        (SymmetricStable(1.5), (0.0,)),
        (Logistic(), (0.0,)),
    ],
    ids=name,
)
@pytest.mark.parametrize("d", [0.1, 1.0, -2.0])
def test_divergence_by_brute_force(noise: Noise, kinks: tuple[float, ...], d: float) -> None:
    assert noise.kl_shift(d) == pytest.approx(brute_force_kl(noise, d, kinks), rel=1e-6)


def test_divergence_of_a_scipy_law() -> None:
    for d in (0.1, 1.0, -2.0):
        assert ScipyNoise(scipy.stats.t(1.5)).kl_shift(d) == pytest.approx(StudentT(1.5).kl_shift(d), rel=1e-9)


@pytest.mark.parametrize("alpha", [1 - 1e-5, 1 + 1e-5, 2 - 1e-5])
def test_divergence_is_continuous_in_the_stability(alpha: float) -> None:
    limit = SymmetricStable(round(alpha))
    for d in (0.02, 1.0):
        assert SymmetricStable(alpha).kl_shift(d) == pytest.approx(limit.kl_shift(d), rel=1e-3)


@pytest.mark.parametrize("df", [1.5, 4.0])
def test_divergence_of_small_shifts_is_the_fisher_information(df: float) -> None:
    assert 2 * StudentT(df).kl_shift(1e-3) / 1e-6 == pytest.approx((df + 1) / (df + 3), rel=1e-5)


@pytest.mark.parametrize("noise", [Frechet(1.25), Pareto(2.0), LogNormal(), CauchyExponential(weight=0.0)], ids=name)
def test_divergence_of_laws_bounded_below(noise: Noise) -> None:
    assert noise.kl_shift(0.5) == math.inf
    assert noise.kl_shift(0.0) == 0.0
    bottom = float(noise.quantile(0.0))
    expected = scipy.integrate.quad(
        lambda u: noise.log_pdf(noise.quantile(u)) - noise.log_pdf(noise.quantile(u) + 0.5), 0, 1, limit=200
    )[0]
    assert noise.log_pdf(bottom - 0.1) == -math.inf
    assert noise.kl_shift(-0.5) == pytest.approx(expected, rel=1e-7)


def test_divergence_of_a_law_with_a_hole_in_its_support() -> None:
    pieces = [ScipyNoise(scipy.stats.cauchy()), ScipyNoise(scipy.stats.uniform())]
    assert math.isfinite(Mixture([0.5, 0.5], pieces).kl_shift(1.0))
    assert Mixture([0.5, 0.5], [ScipyNoise(scipy.stats.uniform(loc)) for loc in (0, 5)]).kl_shift(1.0) == math.inf


def test_divergence_of_discrete_laws() -> None:
    k = np.arange(-200, 201)
    law = scipy.stats.dlaplace(0.8)
    expected = float(np.sum(law.pmf(k) * (law.logpmf(k) - law.logpmf(k - 2))))
    assert ScipyNoise(law).kl_shift(2.0) == pytest.approx(expected, rel=1e-8)
    assert ScipyNoise(law).kl_shift(0.5) == math.inf
    assert ScipyNoise(scipy.stats.poisson(3)).kl_shift(1.0) == math.inf


@each_law
def test_divergence_refuses_what_is_not_a_number(noise: Noise) -> None:
    assert noise.kl_shift(0) == 0.0
    with pytest.raises(ValueError, match="d must be a finite number, got nan"):
        noise.kl_shift(math.nan)


# Names, texts and refusals


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Cauchy(-1), ValueError, "Cauchy: scale must be a positive finite number, got -1"),
        (lambda: Cauchy(math.inf), ValueError, "Cauchy: scale must be a positive finite number, got inf"),
        (lambda: Cauchy(10**400), ValueError, "Cauchy: scale must be a positive finite number, got 1000"),
        (lambda: Cauchy(True), TypeError, "Cauchy: scale must be a positive finite number, got True"),
        (lambda: Gaussian(0), ValueError, "Gaussian: scale must be a positive finite number, got 0"),
        (lambda: make_noise("laplace", scale="1"), TypeError, "scale must be a positive finite number, got '1'"),
        (lambda: Frechet(math.nan), ValueError, "Frechet: alpha must be a positive finite number, got nan"),
        (lambda: StudentT(0.0), ValueError, "StudentT: df must be a positive finite number, got 0.0"),
        (lambda: Pareto(1, 0), ValueError, "Pareto: scale must be a positive finite number, got 0"),
        (lambda: LogNormal(-2.0), ValueError, "LogNormal: sigma must be a positive finite number, got -2.0"),
        (lambda: SymmetricStable(2.5), ValueError, "SymmetricStable: alpha must be a number in (0, 2], got 2.5"),
        (lambda: SymmetricStable(0), ValueError, "SymmetricStable: alpha must be a number in (0, 2], got 0"),
        (lambda: CauchyPareto(1.5), ValueError, "CauchyPareto: weight must be a number in [0, 1], got 1.5"),
        (lambda: CauchyExponential(-0.1), ValueError, "CauchyExponential: weight must be a number in [0, 1], got -0.1"),
        (lambda: Mixture([0.5, 0.6], [Cauchy()] * 2), ValueError, "Mixture: weights must have sum 1, got [0.5, 0.6]"),
        (lambda: Mixture([1.0], [Cauchy()] * 2), ValueError, "Mixture: needs one weight per noise, got 1 and 2"),
        (lambda: Mixture([0.0, 1.0], [Cauchy()] * 2), ValueError, "each of weights must be a positive finite number"),
        (lambda: Mixture([], []), ValueError, "Mixture: weights must have sum 1, got []"),
        (lambda: make_noise("mixture", weights=[1], noises=[3]), TypeError, "each of noises must be a Noise, got 3"),
        (lambda: ScipyNoise(scipy.stats.norm), TypeError, "frozen must be a scipy.stats law with its parameters"),
        (lambda: ScipyNoise(Cauchy()), TypeError, "such as scipy.stats.t(df=3), got Cauchy(scale=1.0)"),
        (lambda: ScipyNoise(scipy.stats.multivariate_normal()), TypeError, "frozen must be a scipy.stats law"),
        (lambda: ScipyNoise(scipy.stats.t([2, 3])), TypeError, "ScipyNoise: df must be a finite number, got [2, 3]"),
        (lambda: make_noise("cauchi"), ValueError, "unknown noise 'cauchi'; did you mean 'cauchy'? Known: cauchy, "),
        (lambda: make_noise("zzz"), ValueError, "unknown noise 'zzz'; Known: cauchy, frechet, "),
        (lambda: make_noise("cauchy", skale=1), ValueError, "unknown parameter 'skale'; did you mean 'scale'?"),
        (lambda: make_noise("student-t"), ValueError, "student-t: parameter 'df' is missing"),
        (lambda: make_noise("cauchy", scale=-1), ValueError, "Cauchy: scale must be a positive finite number, got -1"),
        (lambda: make_noise("scipy"), ValueError, "scipy: unknown law ''"),
        (lambda: make_noise("scipy", law="norn"), ValueError, "scipy: unknown law 'norn'; did you mean 'norm'?"),
        (lambda: make_noise("scipy", law="t", dg=3), ValueError, "scipy: t cannot be made of {'dg': 3}: "),
    ],
)
def test_refusals(make: Callable[[], Noise], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("check", "good", "bad", "wrong_type"),
    [
        (_validate.finite, [-1, 0, 2.5, np.float32(1.5)], [math.inf, math.nan], [None, True, "1", 1j]),
        (_validate.positive, [1, 1e-300], [0, -1], [np.bool_(True)]),
        (_validate.non_negative, [0, 3], [-1e-9], [[]]),
        (_validate.fraction, [1, 1e-9], [0, 1.01], [False]),
        (_validate.count, [1, np.int32(7)], [0, -1], [1.0, True, "1"]),
        (_validate.whole, [0, 5], [-1], [0.5, False]),
        (_validate.odd_or_zero, [0, 1, 3], [2, -1], [1.0]),
    ],
)
def test_checks(check: Callable[..., float], good: list[Any], bad: list[Any], wrong_type: list[Any]) -> None:
    for value in good:
        result = check("Thing", "size", value)
        assert result == value
        assert type(result) in (int, float)
    for values, error in ((bad, ValueError), (wrong_type, TypeError)):
        for value in values:
            with pytest.raises(error, match=r"^Thing: size must be .*, got "):
                check("Thing", "size", value)


def test_open_and_closed_ends() -> None:
    for ends, low_belongs, high_belongs in (("[]", 1, 1), ("()", 0, 0), ("(]", 0, 1), ("[)", 1, 0)):
        for value, belongs in ((0, low_belongs), (1, high_belongs), (0.5, 1)):
            if belongs:
                assert _validate.in_range("Thing", "size", value, 0, 1, ends) == value
            else:
                with pytest.raises(ValueError, match="Thing: size must be a number in "):
                    _validate.in_range("Thing", "size", value, 0, 1, ends)


def test_parameters_become_floats() -> None:
    noise = Pareto(2, np.float64(3))
    assert repr(noise) == "Pareto(shape=2.0, scale=3.0)"
    assert noise == Pareto(2.0, 3.0)
    assert hash(noise) == hash(Pareto(2.0, 3.0))
    assert noise != Pareto(2.0, 3.5)


@each_law
def test_repr_spells_the_law_out(noise: Noise) -> None:
    if not isinstance(noise, ScipyNoise):
        assert eval(repr(noise)) == noise
    assert [repr(other) for other in LAWS].count(repr(noise)) == 1


def test_scipy_laws_are_equal_whichever_way_they_are_written() -> None:
    noise = ScipyNoise(scipy.stats.t(3, 0, 2))
    assert repr(noise) == "ScipyNoise(t(df=3.0, scale=2.0))"
    assert noise == ScipyNoise(scipy.stats.t(scale=2, df=3.0))
    assert hash(noise) == hash(ScipyNoise(scipy.stats.t(df=3, scale=2)))
    assert noise != ScipyNoise(scipy.stats.t(3))
    assert noise != Cauchy()


def test_scipy_laws_of_the_users_own_are_told_apart() -> None:
    histograms = [scipy.stats.rv_histogram((counts, [0, 1, 2]), density=False)() for counts in ([1, 2], [2, 1], [1, 2])]
    first, second, again = (ScipyNoise(histogram) for histogram in histograms)
    assert first == again
    assert first != second


def test_registered_names() -> None:
    assert list(noises()) == [
        "cauchy", "frechet", "cauchy-exponential", "cauchy-pareto", "gaussian", "student-t", "symmetric-stable",
        "pareto", "log-normal", "laplace", "mixture", "scipy",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "parameters", "expected"),
    [
        ("cauchy", {}, Cauchy()),
        ("frechet", {"alpha": 1.25}, Frechet(1.25)),
        ("cauchy-exponential", {"weight": 0.5}, CauchyExponential(0.5)),
        ("cauchy-pareto", {}, CauchyPareto(0.7)),
        ("gaussian", {"scale": 2}, Gaussian(2.0)),
        ("student-t", {"df": 3}, StudentT(3.0)),
        ("symmetric-stable", {"alpha": 1.5, "scale": 2}, SymmetricStable(1.5, 2.0)),
        ("pareto", {"shape": 2}, Pareto(2.0)),
        ("log-normal", {}, LogNormal()),
        ("laplace", {}, Laplace()),
        ("scipy", {"law": "t", "df": 3}, ScipyNoise(scipy.stats.t(3))),
        ("scipy", {"law": "poisson", "mu": 3}, ScipyNoise(scipy.stats.poisson(3))),
    ],
)
def test_make_noise(kind: str, parameters: dict[str, Any], expected: Noise) -> None:
    assert make_noise(kind, **parameters) == expected
    assert type(make_noise(kind, **parameters)) is noises()[kind]


def test_make_nested_mixture() -> None:
    inner = {"kind": "mixture", "weights": [0.5, 0.5], "noises": [{"kind": "cauchy", "scale": 1}, Gaussian()]}
    parts = [inner, {"kind": "pareto", "shape": 2}]
    expected = Mixture([0.9, 0.1], [Mixture([0.5, 0.5], [Cauchy(), Gaussian()]), Pareto(2.0)])
    assert make_noise("mixture", weights=[0.9, 0.1], noises=parts) == expected
    assert parts[0] is inner  # what the caller gave is left as it was


def test_scipy_is_imported_late() -> None:
    script = "import sys, heavybandits.noises; sys.exit(any(name.startswith('scipy.stats') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(
    "noise",
    [
        Cauchy(2.0),
        CauchyPareto(),
        Frechet(1.25),
        StudentT(3.0),
        Mixture([0.9, 0.1], [Gaussian(), Mixture([0.5, 0.5], [Cauchy(), Laplace()])]),
        ScipyNoise(scipy.stats.t(3, scale=2)),
    ],
    ids=repr,
)
def test_a_noise_is_made_again_from_its_description(noise: Noise) -> None:
    spec = noise_spec(noise)
    assert repr(make_noise(**json.loads(json.dumps(spec)))) == repr(noise)


def test_a_noise_of_ones_own_has_no_description() -> None:
    class Mine(Cauchy):
        pass

    with pytest.raises(ValueError, match=r"noise must be one of cauchy, .*, got"):
        noise_spec(Mine())
