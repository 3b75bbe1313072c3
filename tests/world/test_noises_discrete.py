"""Laws of counts, data and rewards with zeros: distribution, draws, means and divergences."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from laws import DISCRETE, LAWS, MIXED, Logistic, name

import heavybandits as hb
from heavybandits.world.noises import (
    Bernoulli,
    Cauchy,
    CauchyExponential,
    CauchyPareto,
    Empirical,
    Frechet,
    Gaussian,
    LogNormal,
    Mixture,
    Negative,
    NegativeBinomial,
    Noise,
    Pareto,
    Poisson,
    ScipyNoise,
    Shifted,
    StudentT,
    SymmetricStable,
    ZeroInflated,
)

each = pytest.mark.parametrize("noise", [*DISCRETE, *MIXED], ids=name)


def values_of(noise: Noise) -> np.ndarray:
    """Return the values that a discrete law can take, except for those that are next to impossible."""
    levels = np.arange(1, 200_000) / 200_000
    return np.unique(noise.quantile(levels))


@pytest.mark.parametrize(
    ("noise", "reference"),
    [
        (Bernoulli(0.3), scipy.stats.bernoulli(0.3)),
        (Poisson(0.3), scipy.stats.poisson(0.3)),
        (Poisson(1e6), scipy.stats.poisson(1e6)),
        (NegativeBinomial(0.5, 0.1), scipy.stats.nbinom(0.5, 0.1)),
        (NegativeBinomial(7.0, 1.0), scipy.stats.nbinom(7, 1.0)),
        (Shifted(Poisson(4.0), -3.0), scipy.stats.poisson(4.0, loc=-3)),
    ],
    ids=name,
)
def test_agrees_with_scipy(noise: Noise, reference: scipy.stats.rv_discrete) -> None:
    x = np.array([-4.0, -3.0, -0.5, 0.0, 0.5, 1.0, 2.0, 7.0, 30.0, 1e6, 1.001e6])
    u = np.array([1e-9, 0.01, 0.2, 0.5, 0.77, 0.99, 1 - 1e-9])
    np.testing.assert_allclose(noise.cdf(x), reference.cdf(x), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(noise.pdf(x), reference.pmf(x), rtol=1e-7, atol=1e-300)
    np.testing.assert_array_equal(noise.quantile(u), reference.ppf(u))
    assert noise.mean == pytest.approx(reference.mean())


@each
def test_draws_follow_the_distribution(noise: Noise) -> None:
    """Chi-square tests the values of a discrete law, and the intervals and zeros of a law that is neither."""
    n = 100_000
    x = noise.sample(np.random.default_rng(4), n)
    assert np.isfinite(x).all()
    edges = np.unique(np.append(noise.quantile(np.arange(1, 20) / 20), [-1e-12, 0.0]))
    edges = edges[(noise.cdf(edges) > 0) & (noise.cdf(edges) < 1)]
    expected = n * np.diff([0.0, *noise.cdf(edges), 1.0])
    observed = np.bincount(np.searchsorted(edges, x, side="left"), minlength=len(expected))
    kept = expected > 5
    assert observed[~kept].sum() < 30
    statistic = float(((observed - expected)[kept] ** 2 / expected[kept]).sum())
    assert statistic < scipy.stats.chi2(max(1, kept.sum() - 1)).ppf(0.999)


@each
def test_quantiles_are_where_the_distribution_reaches_a_level(noise: Noise) -> None:
    u = np.array([0.001, 0.02, 0.25, 0.3, 0.5, 0.731, 0.98, 0.9993])
    x = noise.quantile(u)
    assert (noise.cdf(x) >= u - 1e-12).all()
    assert (noise.cdf(np.nextafter(x, -math.inf)) <= u + 1e-12).all()
    with pytest.raises(ValueError, match=r"u must lie in \[0, 1\], got 1.5"):
        noise.quantile(1.5)


@pytest.mark.slow
@pytest.mark.parametrize("noise", DISCRETE, ids=name)
def test_mass_adds_up_to_the_distribution(noise: Noise) -> None:
    values = values_of(noise)
    np.testing.assert_allclose(np.cumsum(noise.pdf(values)), noise.cdf(values), atol=1e-4)
    assert noise.pdf(values + 0.123).max() == 0.0
    assert noise.mean == pytest.approx(float(values @ noise.pdf(values)), rel=1e-3)


@each
def test_symmetry(noise: Noise) -> None:
    assert noise.is_symmetric == (noise in (ZeroInflated(0.6, Cauchy()), ZeroInflated(1.0, hb.Laplace())))


def test_data_that_are_symmetric() -> None:
    assert Empirical([-2.0, -1.0, 0.0, 1.0, 2.0]).is_symmetric
    assert Empirical([-1.0, 1.0], weights=[3, 3]).is_symmetric
    assert not Empirical([-1.0, 1.0], weights=[3, 4]).is_symmetric


@each
def test_the_public_check_accepts_them(noise: Noise) -> None:
    hb.check_noise(noise, draws=20_000)


def test_the_public_check_finds_a_wrong_discrete_law() -> None:
    class Wrong(Bernoulli):
        def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
            return 1.0 - super().sample(rng, size)

    class Off(Bernoulli):
        def quantile(self, u: object) -> np.ndarray:
            return super().quantile(u) + 1.0  # type: ignore[arg-type]

    with pytest.raises(AssertionError, match="sample must follow its cdf"):
        hb.check_noise(Wrong(0.1))
    with pytest.raises(AssertionError, match="quantile must invert its cdf"):
        hb.check_noise(Off(0.1))


# Means


def integrated_mean(noise: Noise) -> float:
    """Return the area above the distribution function minus the area below it, with points crowded at the bulk."""
    tail = np.geomspace(1e-9, 1e13, 200_001)
    with np.errstate(over="ignore"):
        upper, lower = 1 - noise.cdf(tail), noise.cdf(-tail)
    return float(np.trapezoid(upper - lower, tail))


@pytest.mark.parametrize("noise", [n for n in LAWS if n.moment_order >= 1.5] + MIXED[:1] + MIXED[2:], ids=name)
def test_mean_against_integration(noise: Noise) -> None:
    assert noise.mean is not None
    assert noise.mean == pytest.approx(integrated_mean(noise), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        (Frechet(1.25), 4.590843712),
        (Pareto(1.1, 2.0), 22.0),
        (LogNormal(1.0), 1.648721271),
        (StudentT(1.1), 0.0),
        (Shifted(Gaussian(), -3.0), -3.0),
        (CauchyExponential(weight=0.0), 0.0),
        (CauchyPareto(weight=0.0), 0.0),
        (Mixture([0.25, 0.75], [Pareto(2.0), Gaussian()]), 0.5),
        (ScipyNoise(scipy.stats.gamma(3)), 3.0),
        (Empirical([1.0, 2.0, 6.0]), 3.0),
        (Empirical([1.0, 2.0, 6.0], weights=[1, 1, 0]), 1.5),
        (ZeroInflated(0.1, Negative(Pareto(2.0))), -0.2),
        (Logistic(), 0.0),
    ],
    ids=name,
)
def test_means(noise: Noise, expected: float) -> None:
    assert noise.mean == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "noise",
    [
        Cauchy(), StudentT(1.0), SymmetricStable(0.9), Frechet(1.0), Pareto(1.0), CauchyPareto(), LogNormal(50.0),
        Mixture([0.5, 0.5], [Gaussian(), Cauchy()]), ScipyNoise(scipy.stats.cauchy()), ScipyNoise(scipy.stats.levy()),
        Negative(Cauchy()), ZeroInflated(0.1, Frechet(0.5)), Shifted(Cauchy(), 1.0),
    ],
    ids=name,
)  # fmt: skip
def test_no_mean(noise: Noise) -> None:
    assert noise.mean is None


def test_the_inherited_mean_integrates() -> None:
    class Uneven(Logistic):
        def cdf(self, x: object) -> np.ndarray:
            return super().cdf(np.asarray(x, float) - 2.0)

        def log_pdf(self, x: object) -> np.ndarray:
            return super().log_pdf(np.asarray(x, float) - 2.0)

    assert Uneven().mean == pytest.approx(2.0, abs=1e-9)


# Divergences


def summed_kl(noise: Noise, d: float) -> float:
    values = np.arange(-50.0, 400.0)
    p, q = noise.pdf(values), noise.pdf(values - d)
    return float(sum(a * math.log(a / b) if b > 0 else math.inf for a, b in zip(p, q, strict=True) if a > 1e-200))


@pytest.mark.parametrize(
    "noise",
    [Poisson(3.0), NegativeBinomial(2.0, 0.3), ZeroInflated(0.4, Poisson(2.0)), Negative(Poisson(1.0))],
    ids=name,
)
@pytest.mark.parametrize("d", [-3.0, -1.0, 1.0, 2.0])
def test_divergence_of_counts_is_a_sum(noise: Noise, d: float) -> None:
    assert noise.kl_shift(d) == pytest.approx(summed_kl(noise, d), rel=1e-6)
    assert noise.kl_shift(0.0) == 0.0
    assert noise.kl_shift(d + 0.5) == math.inf


@pytest.mark.parametrize("noise", [Bernoulli(0.3), Empirical([1.0, 2.0]), *MIXED[:2], MIXED[3]], ids=name)
def test_a_single_draw_tells_these_from_their_shifts(noise: Noise) -> None:
    assert noise.kl_shift(1.0) == noise.kl_shift(-1.0) == noise.kl_shift(0.3) == math.inf
    assert noise.kl_shift(0.0) == 0.0


def test_the_divergence_of_transformed_laws() -> None:
    assert Shifted(Cauchy(2.0), 5.0).kl_shift(1.0) == Cauchy(2.0).kl_shift(1.0)
    assert Negative(hb.Exponential()).kl_shift(1.0) == hb.Exponential().kl_shift(-1.0) == pytest.approx(1.0)
    assert ZeroInflated(1.0, Cauchy()).kl_shift(1.0) == Cauchy().kl_shift(1.0)


# Data without replacement


def test_data_without_replacement_are_dealt_as_permutations() -> None:
    law = Empirical([1.0, 2.0, 3.0, 4.0, 4.0], replace=False)
    dealt, rng = law.begin(), np.random.default_rng(0)
    sizes = itertools.cycle([1, 3, 7, 2])
    drawn = np.concatenate([dealt.sample(rng, next(sizes)) for _ in range(40)])
    passes = drawn[:130].reshape(-1, 5)
    assert (np.sort(passes, axis=1) == law.values).all()
    assert len({tuple(one) for one in passes.tolist()}) > 10
    assert law.begin() is not dealt
    assert law.sample(np.random.default_rng(0), (2, 3)).shape == (2, 3)


def test_each_replication_deals_the_data_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    from heavybandits.engine import arms_game

    monkeypatch.setattr(arms_game, "BLOCK_ROUNDS", 4)  # so that blocks and passes do not end together
    drawn: list[np.ndarray] = []
    draw = arms_game.draw_noise

    def spy(*arguments: Any) -> Any:
        drawn.append(draw(*arguments))
        return drawn[-1]

    monkeypatch.setattr(arms_game, "draw_noise", spy)
    values = [1.0, 2.0, 3.0]
    instance = hb.Instance(laws=[Empirical(values, replace=False), Empirical([5.0])])
    hb.simulate(instance, {"UCB": hb.UCB()}, horizon=9, replications=2, workers=1)
    first, second = np.concatenate(drawn)[:9, 0], np.concatenate(drawn)[9:, 0]
    for rewards in (first, second):
        assert np.sort(rewards.reshape(3, 3), axis=1).tolist() == [values] * 3
    assert first.tolist() != second.tolist()
