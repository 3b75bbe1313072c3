"""Laws that are symmetric about zero, which is their mean if they have one."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ..._validate import finite, in_range, positive
from ...numerics import LARGEST_FLOAT
from ..registered import register_noise
from .base import HALF_STEP, Noise, Size, bounded_exp, check, checked_probability, special
from .integrals import Floats, cotangent, integrate, invert_cdf, log_hypot, stable_tail

__all__ = ["Cauchy", "Gaussian", "Laplace", "StudentT", "SymmetricStable"]


@register_noise("cauchy")
@dataclass(frozen=True)
class Cauchy(Noise):
    """Cauchy noise: symmetric, without a mean.

    Draws are made by arithmetic alone, so they are the same to the last bit on every machine.

    Parameters
    ----------
    scale
        Half the distance between the quartiles.

    Examples
    --------
    >>> Cauchy(scale=2).quantile([0.25, 0.5, 0.75])
    array([-2.,  0.,  2.])
    """

    scale: float = 1.0
    is_symmetric = True
    moment_order = 1.0
    mean = None

    def __post_init__(self) -> None:
        check(self, scale=positive)

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = rng.random(size)
        cotangent(x, 0.5 - HALF_STEP, self.scale)
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        # Unlike 1/2 + arctan(x) / pi, this keeps its digits in the lower tail.
        probability: Floats = np.arctan2(self.scale, -np.asarray(x, float)) / math.pi
        return probability

    def quantile(self, u: ArrayLike) -> Floats:
        p = checked_probability(u)
        centre = np.tan(math.pi * (p - 0.5))
        with np.errstate(divide="ignore"):  # near the ends this keeps more digits
            tail = np.copysign(1 / np.tan(math.pi * np.minimum(p, 1 - p)), centre)
        x: Floats = self.scale * np.where(np.abs(p - 0.5) < 0.25, centre, tail)
        return x

    def log_pdf(self, x: ArrayLike) -> Floats:
        return -math.log(math.pi * self.scale) - 2 * log_hypot(np.asarray(x, float) / self.scale)

    def kl_shift(self, d: float) -> float:
        return math.log1p((finite("Cauchy", "d", d) / (2 * self.scale)) ** 2)


@register_noise("gaussian")
@dataclass(frozen=True)
class Gaussian(Noise):
    """Gaussian noise.

    Parameters
    ----------
    scale
        Standard deviation.

    Examples
    --------
    >>> Gaussian(scale=2).kl_shift(1.0)
    0.125
    """

    scale: float = 1.0
    is_symmetric = True
    moment_order = math.inf
    mean = 0.0

    def __post_init__(self) -> None:
        check(self, scale=positive)

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = rng.standard_normal(size)
        x *= self.scale
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        return special("ndtr")(np.asarray(x, float) / self.scale)

    def quantile(self, u: ArrayLike) -> Floats:
        return self.scale * special("ndtri")(checked_probability(u))

    def log_pdf(self, x: ArrayLike) -> Floats:
        return -0.5 * (np.asarray(x, float) / self.scale) ** 2 - math.log(self.scale * math.sqrt(2 * math.pi))

    def kl_shift(self, d: float) -> float:
        return 0.5 * (finite("Gaussian", "d", d) / self.scale) ** 2


@register_noise("laplace")
@dataclass(frozen=True)
class Laplace(Noise):
    """Laplace noise, the two-sided exponential law.

    Parameters
    ----------
    scale
        Mean absolute deviation.

    Examples
    --------
    >>> Laplace().quantile([0.25, 0.75])
    array([-0.69314718,  0.69314718])
    """

    scale: float = 1.0
    is_symmetric = True
    moment_order = math.inf
    mean = 0.0

    def __post_init__(self) -> None:
        check(self, scale=positive)

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = rng.random(size)
        x -= 0.5 - HALF_STEP
        np.copysign(self.scale * np.log(1 - 2 * np.abs(x)), x, out=x)
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        z = np.asarray(x, float) / self.scale
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1 - tail)

    def quantile(self, u: ArrayLike) -> Floats:
        p = checked_probability(u)
        with np.errstate(divide="ignore"):
            x: Floats = self.scale * np.copysign(np.log(2 * np.minimum(p, 1 - p)), p - 0.5)
        return x

    def log_pdf(self, x: ArrayLike) -> Floats:
        return -np.abs(np.asarray(x, float) / self.scale) - math.log(2 * self.scale)

    def kl_shift(self, d: float) -> float:
        ratio = abs(finite("Laplace", "d", d)) / self.scale
        return ratio + math.expm1(-ratio)


@register_noise("student-t")
@dataclass(frozen=True)
class StudentT(Noise):
    """Student noise: symmetric, with moments of all orders below ``df``.

    Parameters
    ----------
    df
        Degrees of freedom; 1 is Cauchy noise.

    Examples
    --------
    >>> StudentT(df=3).moment_order
    3.0
    """

    df: float
    is_symmetric = True

    def __post_init__(self) -> None:
        check(self, df=positive)

    @property
    def moment_order(self) -> float:
        return self.df

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = rng.standard_t(self.df, size)
        return np.clip(x, -LARGEST_FLOAT, LARGEST_FLOAT, out=x)

    def cdf(self, x: ArrayLike) -> Floats:
        return special("stdtr")(self.df, np.asarray(x, float))

    def quantile(self, u: ArrayLike) -> Floats:
        p = checked_probability(u)
        return np.copysign(special("stdtrit")(self.df, np.minimum(p, 1 - p)), p - 0.5)

    def log_pdf(self, x: ArrayLike) -> Floats:
        peak = math.lgamma((self.df + 1) / 2) - math.lgamma(self.df / 2) - 0.5 * math.log(self.df * math.pi)
        return peak - (self.df + 1) * log_hypot(np.asarray(x, float) / math.sqrt(self.df))


@register_noise("symmetric-stable")
@dataclass(frozen=True)
class SymmetricStable(Noise):
    r"""Symmetric stable noise, with characteristic function :math:`\exp(-|c t|^\alpha)`.

    Parameters
    ----------
    alpha
        Stability, in (0, 2]: 1 is Cauchy noise, 2 Gaussian noise of standard deviation :math:`\sqrt2\,c`.
    scale
        Scale :math:`c`.

    Notes
    -----
    Draws follow Chambers, Mallows and Stuck (1976).  The distribution function and the density interpolate a table
    of integrals, accurate to eight decimal places.

    Examples
    --------
    >>> SymmetricStable(alpha=1.5).cdf([-1.0, 0.0, 1.0]).round(6)
    array([0.243658, 0.5     , 0.756342])
    """

    alpha: float
    scale: float = 1.0
    is_symmetric = True

    def __post_init__(self) -> None:
        check(self, alpha=partial(in_range, low=0, high=2, ends="(]"), scale=positive)

    @property
    def moment_order(self) -> float:
        return self.alpha if self.alpha < 2 else math.inf

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        if closed := self._closed():
            return closed.sample(rng, size)
        angle = math.pi * (rng.random(size) - 0.5)
        x = rng.standard_exponential(size)
        np.maximum(x, HALF_STEP, out=x)
        np.log(np.cos((1 - self.alpha) * angle) / x, out=x)
        x *= 1 / self.alpha - 1
        x -= np.log(np.cos(angle)) / self.alpha
        bounded_exp(x)
        x *= self.scale * np.sin(self.alpha * angle)
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        if closed := self._closed():
            return closed.cdf(x)
        z = np.asarray(x, float) / self.scale
        beyond = np.exp(stable_tail(np.abs(z), self.alpha)[0])
        return np.where(z > 0, 1 - beyond, beyond)

    def quantile(self, u: ArrayLike) -> Floats:
        if closed := self._closed():
            return closed.quantile(u)
        p = checked_probability(u)
        return np.copysign(invert_cdf(self.cdf, np.minimum(p, 1 - p), -np.inf, 0.0), p - 0.5)

    def log_pdf(self, x: ArrayLike) -> Floats:
        if closed := self._closed():
            return closed.log_pdf(x)
        z = np.asarray(x, float) / self.scale
        return stable_tail(np.abs(z), self.alpha)[1] - math.log(self.scale)

    def kl_shift(self, d: float) -> float:
        closed = self._closed()
        return closed.kl_shift(d) if closed else super().kl_shift(d)

    def _closed(self) -> Noise | None:
        """Return the same law in closed form, if it has one."""
        if abs(self.alpha - 1) < 1e-9:
            return Cauchy(self.scale)
        return Gaussian(math.sqrt(2) * self.scale) if self.alpha == 2 else None

    def _expect(self, function: Callable[[Floats], Floats], marks: Floats) -> float:
        # Quantiles need root finding here.  Those of the Cauchy law do not, and its tails are heavy enough.
        proposal = Cauchy(self.scale)

        def weighted(u: Floats) -> Floats:
            x = proposal.quantile(u)
            return np.exp(self.log_pdf(x) - proposal.log_pdf(x)) * function(x)

        return integrate(weighted, proposal.cdf(marks))
