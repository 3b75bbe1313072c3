"""Laws of every kind, and one that leaves as much as it can to the base class."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats
from numpy.typing import ArrayLike

from heavybandits.world.noises import (
    Bernoulli,
    Beta,
    Cauchy,
    CauchyExponential,
    CauchyPareto,
    Empirical,
    Exponential,
    Frechet,
    Gaussian,
    Laplace,
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
from heavybandits.world.noises.integrals import Floats

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
    Exponential(scale=3.0),
    Beta(0.5, 2.0),
    Negative(LogNormal()),
    Shifted(Pareto(1.5), -4.0),
]
DISCRETE: list[Noise] = [
    Bernoulli(0.02),
    Bernoulli(0.5),
    Poisson(0.3),
    Poisson(40.0),
    NegativeBinomial(0.5, 0.1),
    NegativeBinomial(20.0, 0.7),
    Empirical([3.0, -1.0, 0.0, 0.0, 2.5]),
    Empirical([1.0, 2.0, 4.0, 9.0], weights=[4, 0, 1, 2]),
    Negative(Poisson(2.0)),
    Negative(Bernoulli(0.5)),
    Shifted(Bernoulli(0.3), -0.3),
    ZeroInflated(0.4, Poisson(2.0)),
]
MIXED: list[Noise] = [  # zeros among numbers that never repeat
    ZeroInflated(0.02, LogNormal()),
    ZeroInflated(0.6, Cauchy()),
    ZeroInflated(1.0, Laplace()),
    Negative(ZeroInflated(0.3, Pareto(3.0))),
]
LAWS = SYMMETRIC + ASYMMETRIC


def name(value: object) -> str | None:
    return repr(value) if isinstance(value, Noise) else None  # the repr of other things may hold an address


each_law = pytest.mark.parametrize("noise", LAWS, ids=name)


@dataclass(frozen=True)
class Logistic(Noise):
    """A law that leaves as much as it can to the base class."""

    moment_order = math.inf

    def cdf(self, x: ArrayLike) -> Floats:
        return scipy.special.expit(x)  # type: ignore[no-any-return]

    def log_pdf(self, x: ArrayLike) -> Floats:
        half = np.asarray(x, float) / 2
        return -2 * np.logaddexp(half, -half)


class Plain:
    """A user's noise that offers the minimum, and whose ``repr`` is an address."""

    def __init__(self, **parameters: Any) -> None:
        self.__dict__.update(parameters)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.uniform(-1, 1, size)
