"""Laws of positive numbers: Fréchet, Pareto, log-normal, exponential, beta."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..._validate import positive
from ..registered import register_noise
from .base import HALF_STEP, Noise, Size, bounded_exp, check, checked_probability, finite_or_none, special
from .integrals import Floats
from .symmetric import Gaussian

__all__ = ["Beta", "Exponential", "Frechet", "LogNormal", "Pareto"]


@register_noise("frechet")
@dataclass(frozen=True)
class Frechet(Noise):
    r"""Fréchet noise: positive, with moments of all orders below :math:`\alpha`.

    The distribution function is :math:`\exp(-x^{-\alpha})`.

    Parameters
    ----------
    alpha
        Shape :math:`\alpha`.

    Examples
    --------
    >>> Frechet(alpha=1).quantile([0.25, 0.5, 0.75]).round(6)
    array([0.721348, 1.442695, 3.476059])
    """

    alpha: float = 1.0
    is_symmetric = False

    def __post_init__(self) -> None:
        check(self, alpha=positive)

    @property
    def moment_order(self) -> float:
        return self.alpha

    @property
    def mean(self) -> float | None:
        return math.gamma(1 - 1 / self.alpha) if self.alpha > 1 else None

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = rng.standard_exponential(size)
        np.maximum(x, HALF_STEP, out=x)
        if self.alpha == 1:
            return np.reciprocal(x, out=x)
        np.log(x, out=x)
        x *= -1 / self.alpha
        return bounded_exp(x)

    def cdf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            return np.exp(-(np.maximum(x, 0.0) ** -self.alpha))

    def quantile(self, u: ArrayLike) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            return np.abs(np.log(checked_probability(u))) ** (-1 / self.alpha)

    def log_pdf(self, x: ArrayLike) -> Floats:
        x = np.asarray(x, float)
        with np.errstate(all="ignore"):
            log_x = np.log(x)
            inside = math.log(self.alpha) - (1 + self.alpha) * log_x - np.exp(-self.alpha * log_x)
        return np.where(x > 0, inside, -np.inf)


@register_noise("pareto")
@dataclass(frozen=True)
class Pareto(Noise):
    r"""Pareto noise: :math:`P(X > x) = (s/x)^a` for :math:`x > s`, with moments of orders below :math:`a`.

    Parameters
    ----------
    shape
        Tail index :math:`a`.
    scale
        Smallest value :math:`s`.

    Examples
    --------
    >>> Pareto(shape=2, scale=3).quantile([0.0, 0.75])
    array([3., 6.])
    """

    shape: float
    scale: float = 1.0
    is_symmetric = False

    def __post_init__(self) -> None:
        check(self, shape=positive, scale=positive)

    @property
    def moment_order(self) -> float:
        return self.shape

    @property
    def mean(self) -> float | None:
        return finite_or_none(self.scale * (self.shape / (self.shape - 1))) if self.shape > 1 else None

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = rng.standard_exponential(size)
        x /= self.shape
        bounded_exp(x)
        x *= self.scale
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        return -np.expm1(-self.shape * np.log(np.maximum(x, self.scale) / self.scale))

    def quantile(self, u: ArrayLike) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            return self.scale * np.exp(-np.log1p(-checked_probability(u)) / self.shape)

    def log_pdf(self, x: ArrayLike) -> Floats:
        ratio = np.asarray(x, float) / self.scale
        inside = math.log(self.shape / self.scale) - (self.shape + 1) * np.log(np.maximum(ratio, 1.0))
        return np.where(ratio >= 1, inside, -np.inf)


@register_noise("log-normal")
@dataclass(frozen=True)
class LogNormal(Noise):
    r"""Log-normal noise :math:`e^{\sigma Z}`: positive, with median 1 and all moments, yet heavy in practice.

    Parameters
    ----------
    sigma
        Standard deviation :math:`\sigma` of the logarithm.

    Examples
    --------
    >>> LogNormal(sigma=1).quantile([0.5, 0.75]).round(6)
    array([1.      , 1.963031])
    """

    sigma: float = 1.0
    is_symmetric = False
    moment_order = math.inf

    def __post_init__(self) -> None:
        check(self, sigma=positive)

    @property
    def mean(self) -> float | None:
        with np.errstate(over="ignore"):
            return finite_or_none(np.exp(0.5 * np.float64(self.sigma) ** 2))

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        return bounded_exp(Gaussian(self.sigma).sample(rng, size))

    def cdf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return Gaussian(self.sigma).cdf(np.log(np.maximum(x, 0.0)))

    def quantile(self, u: ArrayLike) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(Gaussian(self.sigma).quantile(u))

    def log_pdf(self, x: ArrayLike) -> Floats:
        x = np.asarray(x, float)
        with np.errstate(all="ignore"):
            return np.where(x > 0, Gaussian(self.sigma).log_pdf(np.log(x)) - np.log(x), -np.inf)


@register_noise("exponential")
@dataclass(frozen=True)
class Exponential(Noise):
    """Exponential noise: positive, with a density that is highest at zero.

    Parameters
    ----------
    scale
        Mean.

    Examples
    --------
    >>> Exponential(scale=2).cdf([0.0, 2.0]).round(6)
    array([0.      , 0.632121])
    """

    scale: float = 1.0
    is_symmetric = False
    moment_order = math.inf

    def __post_init__(self) -> None:
        check(self, scale=positive)

    @property
    def mean(self) -> float:
        return self.scale

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = rng.standard_exponential(size)
        x *= self.scale
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        return -np.expm1(-np.maximum(x, 0.0) / self.scale)

    def quantile(self, u: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return -self.scale * np.log1p(-checked_probability(u))

    def log_pdf(self, x: ArrayLike) -> Floats:
        z = np.asarray(x, float) / self.scale
        return np.where(z >= 0, -z - math.log(self.scale), -np.inf)


@register_noise("beta")
@dataclass(frozen=True)
class Beta(Noise):
    r"""Beta law: numbers between 0 and 1, with density proportional to :math:`x^{a-1} (1-x)^{b-1}`.

    Parameters
    ----------
    a, b
        Shape parameters; the mean is :math:`a/(a + b)`.

    Examples
    --------
    >>> Beta(2, 6).mean, Beta(1, 1).quantile(0.3).round(6)
    (0.25, np.float64(0.3))
    """

    a: float
    b: float
    is_symmetric = False
    moment_order = math.inf

    def __post_init__(self) -> None:
        check(self, a=positive, b=positive)

    @property
    def mean(self) -> float:
        return 1 / (1 + self.b / self.a)

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        return np.asarray(rng.beta(self.a, self.b, size), float)

    def cdf(self, x: ArrayLike) -> Floats:
        return special("betainc")(self.a, self.b, np.clip(x, 0.0, 1.0))

    def quantile(self, u: ArrayLike) -> Floats:
        return special("betaincinv")(self.a, self.b, checked_probability(u))

    def log_pdf(self, x: ArrayLike) -> Floats:
        x = np.asarray(x, float)
        inner = np.clip(x, 0.0, 1.0)
        log_x, log_rest = special("xlogy")(self.a - 1, inner), special("xlog1py")(self.b - 1, -inner)
        return np.where((x >= 0) & (x <= 1), log_x + log_rest - special("betaln")(self.a, self.b), -np.inf)
