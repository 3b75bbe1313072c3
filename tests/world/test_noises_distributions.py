"""Distribution functions, quantiles, densities and moments of every law against their definitions."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import ASYMMETRIC, LAWS, Logistic, each_law, name

from heavybandits.world.noises import (
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
)


def moment(noise: Noise, order: float) -> float:
    """Return E|X|^order by the trapezoidal rule in log|x|, which is all but exact for smooth densities."""
    log_x = np.arange(-60, 300, 0.05)
    heights = [np.exp((order + 1) * log_x + noise.log_pdf(side)) for side in (np.exp(log_x), -np.exp(log_x))]
    return 0.05 * float(np.sum(heights))


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


@pytest.mark.slow
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


@pytest.mark.slow
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
@settings(max_examples=15)
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
        with pytest.raises(ValueError, match=rf"u must lie in \[0, 1\], got {u}$"):
            noise.quantile([0.5, u])


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
