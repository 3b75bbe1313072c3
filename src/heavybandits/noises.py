r"""What a pull adds to the location of its arm: the laws, their draws and their information.

Each law is a frozen dataclass of its parameters.  ``sample`` is all that a simulation needs; the other
methods serve theory and tests.  A law of one's own needs ``cdf``, ``log_pdf`` and ``moment_order``, and
inherits the rest from :class:`Noise`; one that is only to be simulated needs ``sample`` and no base class.

``repr`` spells a law out completely, because the random streams are keyed by it.
"""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._laws import Floats, cotangent, integrate, invert, log_hypot, stable_tail
from ._validate import finite, in_range, positive, unknown

__all__ = [
    "Cauchy", "CauchyExponential", "CauchyPareto", "Frechet", "Gaussian", "Laplace", "LogNormal", "Mixture",
    "Noise", "Pareto", "ScipyNoise", "StudentT", "SymmetricStable", "make_noise", "noises",
]  # fmt: skip

Size = int | tuple[int, ...]

_LARGEST = float(np.finfo(np.float64).max)
_HALF_STEP = 2.0**-54  # half the spacing of the uniforms, which may be exactly zero where a law must not


class Noise(ABC):
    """A law of the noise.

    ``cdf``, ``log_pdf``, ``pdf`` and ``quantile`` take and return arrays of one shape.

    Examples
    --------
    A law of one's own, here the logistic:

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Logistic(Noise):
    ...     moment_order = math.inf
    ...     def cdf(self, x):
    ...         return 1 / (1 + np.exp(-np.asarray(x)))
    ...     def log_pdf(self, x):
    ...         return -2 * np.logaddexp(np.asarray(x) / 2, -np.asarray(x) / 2)
    >>> law = Logistic()
    >>> print(law.quantile([0.25, 0.75]).round(6), law.is_symmetric, round(law.kl_shift(1.0), 6))
    [-1.098612  1.098612] True 0.163953
    """

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of a draw of at most ``x``."""

    @abstractmethod
    def log_pdf(self, x: ArrayLike) -> Floats:
        """Return the logarithm of the density, which is minus infinity outside the support."""

    @property
    @abstractmethod
    def moment_order(self) -> float:
        """Supremum of the orders q for which the q-th absolute moment is finite."""

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density."""
        return np.exp(self.log_pdf(x))

    def quantile(self, u: ArrayLike) -> Floats:
        """Return the smallest x with ``cdf(x) >= u``, for ``u`` in [0, 1]."""
        return invert(self.cdf, _probability(u), -np.inf, np.inf)

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        """Return independent draws, an array of shape ``size``."""
        return self.quantile(np.maximum(rng.random(size), _HALF_STEP))

    @property
    def is_symmetric(self) -> bool:
        """Whether the law is symmetric about zero."""
        u = np.array([0.0137, 0.0731, 0.1519, 0.2357, 0.3163, 0.4129, 0.4813])
        return bool(np.allclose(self.quantile(u), -self.quantile(1 - u), rtol=1e-6, atol=1e-9))

    def kl_shift(self, d: float) -> float:
        r"""Return the Kullback-Leibler divergence from the law to itself shifted up by ``d``.

        It is :math:`\int f(x) \ln \frac{f(x)}{f(x - d)}\,dx`: what a draw, on average, tells against the
        arm being better by ``d`` than it is.  For positive ``d`` and a law that is bounded below it is
        infinite, since a draw near the lower end rules the shift out; a negative ``d`` shifts down.
        """
        d = finite(type(self).__name__, "d", d)
        if d == 0:
            return 0.0
        bottom, top = self.quantile([0.0, 1.0])
        if (d > 0 and bottom > -np.inf) or (d < 0 and top < np.inf):
            return math.inf
        marks = np.concatenate((self._marks(), self._marks() + d))
        return self._expect(lambda x: self.log_pdf(x) - self.log_pdf(x - d), marks)

    def _marks(self) -> Floats:
        """Return where the bulk of the law is, and its ends if there are any."""
        marks = self.quantile([0.0, 0.25, 0.5, 0.75, 1.0])
        return marks[np.isfinite(marks)]

    def _expect(self, function: Callable[[Floats], Floats], marks: Floats) -> float:
        """Return the mean of a function that is smooth between ``marks``."""
        return integrate(lambda u: function(self.quantile(u)), self.cdf(marks))


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

    def __post_init__(self) -> None:
        _check(self, scale=positive)

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = rng.random(size)
        x -= 0.5 - _HALF_STEP
        cotangent(x)
        if self.scale != 1:
            x *= self.scale
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        # Unlike 1/2 + arctan(x) / pi, this keeps its digits in the lower tail.
        probability: Floats = np.arctan2(self.scale, -np.asarray(x, float)) / math.pi
        return probability

    def quantile(self, u: ArrayLike) -> Floats:
        p = _probability(u)
        centre = np.tan(math.pi * (p - 0.5))
        with np.errstate(divide="ignore"):  # near the ends this keeps more digits
            tail = np.copysign(1 / np.tan(math.pi * np.minimum(p, 1 - p)), centre)
        x: Floats = self.scale * np.where(np.abs(p - 0.5) < 0.25, centre, tail)
        return x

    def log_pdf(self, x: ArrayLike) -> Floats:
        return -math.log(math.pi * self.scale) - 2 * log_hypot(np.asarray(x, float) / self.scale)

    def kl_shift(self, d: float) -> float:
        return math.log1p((finite("Cauchy", "d", d) / (2 * self.scale)) ** 2)


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

    def __post_init__(self) -> None:
        _check(self, scale=positive)

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = rng.standard_normal(size)
        x *= self.scale
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        return _special("ndtr")(np.asarray(x, float) / self.scale)

    def quantile(self, u: ArrayLike) -> Floats:
        return self.scale * _special("ndtri")(_probability(u))

    def log_pdf(self, x: ArrayLike) -> Floats:
        return -0.5 * (np.asarray(x, float) / self.scale) ** 2 - math.log(self.scale * math.sqrt(2 * math.pi))

    def kl_shift(self, d: float) -> float:
        return 0.5 * (finite("Gaussian", "d", d) / self.scale) ** 2


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

    def __post_init__(self) -> None:
        _check(self, scale=positive)

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = rng.random(size)
        x -= 0.5 - _HALF_STEP
        np.copysign(self.scale * np.log(1 - 2 * np.abs(x)), x, out=x)
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        z = np.asarray(x, float) / self.scale
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1 - tail)

    def quantile(self, u: ArrayLike) -> Floats:
        p = _probability(u)
        with np.errstate(divide="ignore"):
            x: Floats = self.scale * np.copysign(np.log(2 * np.minimum(p, 1 - p)), p - 0.5)
        return x

    def log_pdf(self, x: ArrayLike) -> Floats:
        return -np.abs(np.asarray(x, float) / self.scale) - math.log(2 * self.scale)

    def kl_shift(self, d: float) -> float:
        ratio = abs(finite("Laplace", "d", d)) / self.scale
        return ratio + math.expm1(-ratio)


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
        _check(self, df=positive)

    @property
    def moment_order(self) -> float:
        return self.df

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = rng.standard_t(self.df, size)
        return np.clip(x, -_LARGEST, _LARGEST, out=x)

    def cdf(self, x: ArrayLike) -> Floats:
        return _special("stdtr")(self.df, np.asarray(x, float))

    def quantile(self, u: ArrayLike) -> Floats:
        p = _probability(u)
        return np.copysign(_special("stdtrit")(self.df, np.minimum(p, 1 - p)), p - 0.5)

    def log_pdf(self, x: ArrayLike) -> Floats:
        peak = math.lgamma((self.df + 1) / 2) - math.lgamma(self.df / 2) - 0.5 * math.log(self.df * math.pi)
        return peak - (self.df + 1) * log_hypot(np.asarray(x, float) / math.sqrt(self.df))


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
    Draws follow Chambers, Mallows and Stuck (1976).  Distribution function and density interpolate a table of
    integrals, good to eight digits after the point.

    Examples
    --------
    >>> SymmetricStable(alpha=1.5).cdf([-1.0, 0.0, 1.0]).round(6)
    array([0.243658, 0.5     , 0.756342])
    """

    alpha: float
    scale: float = 1.0
    is_symmetric = True

    def __post_init__(self) -> None:
        _check(self, alpha=partial(in_range, low=0, high=2, ends="(]"), scale=positive)

    @property
    def moment_order(self) -> float:
        return self.alpha if self.alpha < 2 else math.inf

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        if closed := self._closed():
            return closed.sample(rng, size)
        angle = math.pi * (rng.random(size) - 0.5)
        x = rng.standard_exponential(size)
        np.maximum(x, _HALF_STEP, out=x)
        np.log(np.cos((1 - self.alpha) * angle) / x, out=x)
        x *= 1 / self.alpha - 1
        x -= np.log(np.cos(angle)) / self.alpha
        _exp(x)
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
        p = _probability(u)
        return np.copysign(invert(self.cdf, np.minimum(p, 1 - p), -np.inf, 0.0), p - 0.5)

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
        # Quantiles are root searches here.  Those of the Cauchy law are not, and its tails are heavy enough.
        proposal = Cauchy(self.scale)

        def weighted(u: Floats) -> Floats:
            x = proposal.quantile(u)
            return np.exp(self.log_pdf(x) - proposal.log_pdf(x)) * function(x)

        return integrate(weighted, proposal.cdf(marks))


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
        _check(self, alpha=positive)

    @property
    def moment_order(self) -> float:
        return self.alpha

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = rng.standard_exponential(size)
        np.maximum(x, _HALF_STEP, out=x)
        if self.alpha == 1:
            return np.reciprocal(x, out=x)
        np.log(x, out=x)
        x *= -1 / self.alpha
        return _exp(x)

    def cdf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            return np.exp(-(np.maximum(x, 0.0) ** -self.alpha))

    def quantile(self, u: ArrayLike) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            return np.abs(np.log(_probability(u))) ** (-1 / self.alpha)

    def log_pdf(self, x: ArrayLike) -> Floats:
        x = np.asarray(x, float)
        with np.errstate(all="ignore"):
            log_x = np.log(x)
            inside = math.log(self.alpha) - (1 + self.alpha) * log_x - np.exp(-self.alpha * log_x)
        return np.where(x > 0, inside, -np.inf)


@dataclass(frozen=True)
class Pareto(Noise):
    r"""Pareto noise: :math:`P(X > x) = (s/x)^a` for :math:`x \ge s`, with moments of orders below :math:`a`.

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
        _check(self, shape=positive, scale=positive)

    @property
    def moment_order(self) -> float:
        return self.shape

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = rng.standard_exponential(size)
        x /= self.shape
        _exp(x)
        x *= self.scale
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        return -np.expm1(-self.shape * np.log(np.maximum(x, self.scale) / self.scale))

    def quantile(self, u: ArrayLike) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            return self.scale * np.exp(-np.log1p(-_probability(u)) / self.shape)

    def log_pdf(self, x: ArrayLike) -> Floats:
        ratio = np.asarray(x, float) / self.scale
        inside = math.log(self.shape / self.scale) - (self.shape + 1) * np.log(np.maximum(ratio, 1.0))
        return np.where(ratio >= 1, inside, -np.inf)


@dataclass(frozen=True)
class LogNormal(Noise):
    r"""Log-normal noise :math:`e^{\sigma Z}`: positive, of median 1; all moments, yet heavy in practice.

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
        _check(self, sigma=positive)

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        return _exp(Gaussian(self.sigma).sample(rng, size))

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


class _Mixed(Noise):
    """A mixture of other laws; subclasses say of which."""

    @abstractmethod
    def _parts(self) -> Sequence[tuple[float, Noise]]:
        """Return the laws, each after its positive weight."""

    @property
    def moment_order(self) -> float:
        return min(noise.moment_order for _, noise in self._parts())

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        # All draws come from the likeliest part, and some are then overwritten: quicker than to select first.
        (edge, main), *others = sorted(self._parts(), key=lambda part: -part[0])
        x = main.sample(rng, size)
        u = rng.random(size)
        for weight, noise in others:
            chosen = np.flatnonzero((u >= edge) & (u < edge + weight))
            x.reshape(-1)[chosen] = noise.sample(rng, chosen.size)
            edge += weight
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        probability: Floats = np.add.reduce([weight * noise.cdf(x) for weight, noise in self._parts()])
        return probability

    def log_pdf(self, x: ArrayLike) -> Floats:
        terms = [math.log(weight) + noise.log_pdf(x) for weight, noise in self._parts()]
        log_density: Floats = np.logaddexp.reduce(terms)
        return log_density

    def quantile(self, u: ArrayLike) -> Floats:
        p = _probability(u)
        ends = [noise.quantile(p) for _, noise in self._parts()]
        return invert(self.cdf, p, np.min(ends, axis=0), np.max(ends, axis=0))

    def _marks(self) -> Floats:
        return np.concatenate([noise._marks() for _, noise in self._parts()])

    def _expect(self, function: Callable[[Floats], Floats], marks: Floats) -> float:
        return sum(weight * noise._expect(function, marks) for weight, noise in self._parts())


@dataclass(frozen=True)
class _Exponential(Noise):
    """Standard exponential noise."""

    is_symmetric = False
    moment_order = math.inf

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        return rng.standard_exponential(size)

    def cdf(self, x: ArrayLike) -> Floats:
        return -np.expm1(-np.maximum(x, 0.0))

    def quantile(self, u: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return -np.log1p(-_probability(u))

    def log_pdf(self, x: ArrayLike) -> Floats:
        return np.where(np.asarray(x) >= 0, -np.asarray(x, float), -np.inf)


@dataclass(frozen=True)
class _Shifted(Noise):
    """Another law, moved."""

    noise: Noise
    by: float

    @property
    def moment_order(self) -> float:
        return self.noise.moment_order

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = self.noise.sample(rng, size)
        x += self.by
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        return self.noise.cdf(np.asarray(x, float) - self.by)

    def quantile(self, u: ArrayLike) -> Floats:
        return self.noise.quantile(u) + self.by

    def log_pdf(self, x: ArrayLike) -> Floats:
        return self.noise.log_pdf(np.asarray(x, float) - self.by)


@dataclass(frozen=True)
class _CauchyAnd(_Mixed):
    """Standard Cauchy noise mixed with another law."""

    weight: float = 0.7

    def __post_init__(self) -> None:
        _check(self, weight=partial(in_range, low=0, high=1))

    @abstractmethod
    def _other(self) -> Noise:
        """Return the other law."""

    def _parts(self) -> Sequence[tuple[float, Noise]]:
        parts = (self.weight, Cauchy()), (1 - self.weight, self._other())
        return [part for part in parts if part[0] > 0]


@dataclass(frozen=True)
class CauchyExponential(_CauchyAnd):
    r"""Standard Cauchy noise mixed with an exponential law: asymmetric, without a mean.

    The exponential part has density :math:`e^{-(x + 1)}` for :math:`x \ge -1`, and mean zero.

    Parameters
    ----------
    weight
        Probability of the Cauchy part, in [0, 1].

    Examples
    --------
    >>> CauchyExponential().cdf([-0.11696, 0.0]).round(6)
    array([0.5     , 0.539636])
    """

    def _other(self) -> Noise:
        return _Shifted(_Exponential(), -1.0)


@dataclass(frozen=True)
class CauchyPareto(_CauchyAnd):
    r"""Standard Cauchy noise mixed with a Pareto law: asymmetric, without a mean.

    The Pareto part has density :math:`3/(x + 1.5)^4` for :math:`x \ge -0.5`, and mean zero.

    Parameters
    ----------
    weight
        Probability of the Cauchy part, in [0, 1].

    Examples
    --------
    >>> CauchyPareto().cdf([-0.139469, 0.0]).round(6)
    array([0.5     , 0.561111])
    """

    def _other(self) -> Noise:
        return _Shifted(Pareto(3.0), -1.5)


@dataclass(frozen=True)
class Mixture(_Mixed):
    """A mixture of any laws.

    Parameters
    ----------
    weights
        Probabilities of the parts, positive, with sum 1.
    noises
        The parts, one per weight.

    Examples
    --------
    Gaussian noise in which one draw in twenty is a Cauchy one:

    >>> contaminated = Mixture(weights=[0.95, 0.05], noises=[Gaussian(), Cauchy()])
    >>> contaminated.moment_order, contaminated.is_symmetric
    (1.0, True)
    """

    weights: Sequence[float]
    noises: Sequence[Noise]

    def __post_init__(self) -> None:
        weights = tuple(positive("Mixture", "each of weights", weight) for weight in self.weights)
        noises = tuple(self.noises)
        for noise in noises:
            if not isinstance(noise, Noise):
                raise TypeError(f"Mixture: each of noises must be a Noise, got {noise!r}")
        if len(weights) != len(noises):
            raise ValueError(f"Mixture: needs one weight per noise, got {len(weights)} and {len(noises)}")
        if not math.isclose(math.fsum(weights), 1.0, abs_tol=1e-9):
            raise ValueError(f"Mixture: weights must have sum 1, got {self.weights!r}")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "noises", noises)

    def _parts(self) -> Sequence[tuple[float, Noise]]:
        return tuple(zip(self.weights, self.noises, strict=True))


@dataclass(frozen=True, repr=False, eq=False)
class ScipyNoise(Noise):
    """Any law of ``scipy.stats``; the ``pdf`` of a discrete one is its probability mass.

    Parameters
    ----------
    frozen
        The law with its parameters, such as ``scipy.stats.t(df=3)``.

    Notes
    -----
    ``moment_order`` is read off the decay of the density far out; a tail that is no power has all moments.

    Examples
    --------
    >>> import scipy.stats
    >>> noise = ScipyNoise(scipy.stats.t(3, scale=2))
    >>> noise, noise.moment_order
    (ScipyNoise(t(df=3.0, scale=2.0)), 3.0)
    """

    frozen: Any

    def __post_init__(self) -> None:
        import scipy.stats

        laws = scipy.stats.rv_continuous | scipy.stats.rv_discrete
        if not isinstance(getattr(self.frozen, "dist", None), laws):
            rule = "frozen must be a scipy.stats law with its parameters, such as scipy.stats.t(df=3)"
            raise TypeError(f"ScipyNoise: {rule}, got {self.frozen!r}")
        self._parameters()  # they must be numbers

    def _parameters(self) -> dict[str, float]:
        """Return the parameters by name, so that ``t(3)`` and ``t(df=3)`` are one law."""
        names = [*(self.frozen.dist.shapes or "").replace(",", " ").split(), "loc", "scale"]
        given = dict(zip(names, self.frozen.args, strict=False)) | self.frozen.kwds
        values = {name: finite("ScipyNoise", name, given[name]) for name in names if name in given}
        defaults = {"loc": 0.0, "scale": 1.0}
        return {name: value for name, value in values.items() if value != defaults.get(name)}

    def __repr__(self) -> str:
        import scipy.stats

        dist = self.frozen.dist
        parameters = [f"{name}={value!r}" for name, value in self._parameters().items()]
        if type(dist) is not type(getattr(scipy.stats, dist.name, None)):
            # A law of the user's own, such as a histogram: its name says little, its quantiles nearly all.
            quantiles = np.asarray(self.frozen.ppf(np.arange(1, 256) / 256), float)
            parameters.append(f"quantiles={hashlib.sha256(quantiles.tobytes()).hexdigest()[:16]}")
        return f"ScipyNoise({dist.name}({', '.join(parameters)}))"

    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other) if isinstance(other, ScipyNoise) else NotImplemented

    def __hash__(self) -> int:
        return hash(repr(self))

    @property
    def moment_order(self) -> float:
        return min(self._order(-1.0), self._order(1.0))

    def _order(self, sign: float) -> float:
        """Return the moment order of one tail."""
        for start, step in ((60, 5), (20, 3), (6, 1)):  # as far out as the density does not underflow
            with np.errstate(all="ignore"):
                heights = self.log_pdf(sign * 10.0 ** np.arange(start, start + 3 * step, step))
            if np.isfinite(heights).all():
                near, far = -np.diff(heights) / (step * math.log(10)) - 1
                return round(float(far), 6) if math.isclose(near, far, rel_tol=1e-2) else math.inf
        return math.inf

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        return np.asarray(self.frozen.rvs(size=size, random_state=rng), float)

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(self.frozen.cdf(x), float)

    def quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(self.frozen.ppf(_probability(u)), float)

    def log_pdf(self, x: ArrayLike) -> Floats:
        return np.asarray((self.frozen.logpmf if self._is_discrete() else self.frozen.logpdf)(x), float)

    def kl_shift(self, d: float) -> float:
        # A discrete law without ends lives on the integers.
        return math.inf if self._is_discrete() and finite("ScipyNoise", "d", d) % 1 else super().kl_shift(d)

    def _is_discrete(self) -> bool:
        return not hasattr(self.frozen.dist, "logpdf")

    def _expect(self, function: Callable[[Floats], Floats], marks: Floats) -> float:
        if self._is_discrete():
            return float(self.frozen.expect(function))
        return super()._expect(function, marks)


def noises() -> dict[str, type[Noise]]:
    """Return the laws by the names they have in study files and on the command line.

    Examples
    --------
    >>> noises()["student-t"]
    <class 'heavybandits.noises.StudentT'>
    """
    return {
        "cauchy": Cauchy,
        "frechet": Frechet,
        "cauchy-exponential": CauchyExponential,
        "cauchy-pareto": CauchyPareto,
        "gaussian": Gaussian,
        "student-t": StudentT,
        "symmetric-stable": SymmetricStable,
        "pareto": Pareto,
        "log-normal": LogNormal,
        "laplace": Laplace,
        "mixture": Mixture,
        "scipy": ScipyNoise,
    }


def make_noise(kind: str, **parameters: Any) -> Noise:
    """Make a noise from its registered name and its parameters, as a study file gives them.

    Each part of a mixture is a noise, or a mapping of ``kind`` and parameters.  For a ``"scipy"`` noise,
    ``law`` names the law, and all other parameters are that law's.

    Examples
    --------
    >>> make_noise("cauchy", scale=2)
    Cauchy(scale=2.0)
    >>> make_noise("mixture", weights=[0.9, 0.1], noises=[{"kind": "gaussian"}, Cauchy()])
    Mixture(weights=(0.9, 0.1), noises=(Gaussian(scale=1.0), Cauchy(scale=1.0)))
    >>> make_noise("scipy", law="t", df=3)
    ScipyNoise(t(df=3.0))
    """
    known = noises()
    if kind not in known:
        raise ValueError(unknown("noise", kind, known))
    if kind == "scipy":
        return _make_scipy(**parameters)
    accepted = {field.name: field for field in fields(known[kind])}  # type: ignore[arg-type]
    for name in parameters:
        if name not in accepted:
            raise ValueError(f"{kind}: {unknown('parameter', name, accepted)}")
    for name, field in accepted.items():
        if field.default is MISSING and name not in parameters:
            raise ValueError(f"{kind}: parameter {name!r} is missing")
    if kind == "mixture":
        parts = parameters["noises"]
        parameters["noises"] = [make_noise(**part) if isinstance(part, Mapping) else part for part in parts]
    return known[kind](**parameters)


def _make_scipy(law: str = "", **parameters: Any) -> ScipyNoise:
    import scipy.stats

    kinds = scipy.stats.rv_continuous | scipy.stats.rv_discrete
    laws = [name for name, value in vars(scipy.stats).items() if isinstance(value, kinds)]
    if law not in laws:
        raise ValueError(f"scipy: {unknown('law', law, sorted(laws))}")
    try:
        return ScipyNoise(getattr(scipy.stats, law)(**parameters))
    except TypeError as error:
        raise ValueError(f"scipy: {law} cannot be made of {parameters}: {error}") from error


def _check(noise: Noise, **rules: Callable[[str, str, object], float]) -> None:
    """Validate parameters of a frozen dataclass, and store them as floats."""
    for name, rule in rules.items():
        object.__setattr__(noise, name, rule(type(noise).__name__, name, getattr(noise, name)))


def _probability(u: ArrayLike) -> Floats:
    u = np.asarray(u, float)
    if not np.all((u >= 0) & (u <= 1)):
        raise ValueError("quantile: u must lie in [0, 1]")
    return u


def _exp(x: Floats) -> Floats:
    """Exponentiate in place; what would overflow becomes the largest double, so that no draw is infinite."""
    return np.exp(np.minimum(x, math.log(_LARGEST), out=x), out=x)


def _special(name: str) -> Callable[..., Floats]:
    """Return a function of scipy.special, imported late because that takes long."""
    import scipy.special

    function: Callable[..., Floats] = getattr(scipy.special, name)
    return function
