"""Divergence of a law from its shift: closed forms, quadrature, brute force and corners."""

import math
from itertools import pairwise

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from laws import Logistic, each_law, name

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


def brute_force_kl(noise: Noise, d: float, kinks: tuple[float, ...] = (0.0,)) -> float:
    def integrand(x: float) -> float:
        return float(noise.pdf(x) * (noise.log_pdf(x) - noise.log_pdf(x - d)))

    cuts = sorted({-100.0, 100.0, *kinks, *(kink + d for kink in kinks)})
    pieces = pairwise([-math.inf, *cuts, math.inf])
    return math.fsum(scipy.integrate.quad(integrand, a, b, limit=200, epsabs=1e-12)[0] for a, b in pieces)


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


@pytest.mark.slow
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
