"""What every law has, derived from its distribution function and its density."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ..._validate import finite
from ...numerics import LARGEST_FLOAT
from ...protocols import Sampler
from .integrals import Floats, integrate, invert_cdf

Size = int | tuple[int, ...]

HALF_STEP = 2.0**-54  # half the spacing of uniform draws: takes the place of an exact zero, which may map to infinity


class Noise(ABC):
    """A law of noise or of rewards.

    ``cdf``, ``log_pdf``, ``pdf`` and ``quantile`` take and return arrays of one shape.

    Examples
    --------
    A law of your own, here the logistic:

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

    has_density = True  #: Whether no single value has a positive probability.

    @property
    def mean(self) -> float | None:
        """Mean of the law, or None if it has none: if it is undefined, infinite, or too large for a float.

        Unless a law says otherwise, this integrates its quantiles.  A law whose moment order is only just above 1 needs
        its own formula, because the integral then depends on quantiles too close to the end for floats.
        """
        if not self.moment_order > 1:
            return None
        return 0.0 if self.is_symmetric else self._expect(lambda x: x, self._marks())

    def begin(self) -> Sampler:
        """Return what one replication draws from; a law that remembers its draws returns a fresh copy."""
        return self

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density."""
        return np.exp(self.log_pdf(x))

    def quantile(self, u: ArrayLike) -> Floats:
        """Return the smallest x with ``cdf(x) >= u``, for ``u`` in [0, 1]."""
        return invert_cdf(self.cdf, checked_probability(u), -np.inf, np.inf)

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        """Return independent draws, an array of shape ``size``."""
        return self.quantile(np.maximum(rng.random(size), HALF_STEP))

    @property
    def is_symmetric(self) -> bool:
        """Whether the law is symmetric about zero."""
        u = np.array([0.0137, 0.0731, 0.1519, 0.2357, 0.3163, 0.4129, 0.4813])
        return bool(np.allclose(self.quantile(u), -self.quantile(1 - u), rtol=1e-6, atol=1e-9))

    def kl_shift(self, d: float) -> float:
        r"""Return the Kullback-Leibler divergence from the law to itself shifted up by ``d``.

        It is :math:`\int f(x) \ln \frac{f(x)}{f(x - d)}\,dx`: the average evidence of a draw against the arm
        being better by ``d`` than it is.  For positive ``d`` and a law that is bounded below it is infinite,
        since a draw near the lower end rules the shift out; a negative ``d`` shifts down.  For a law of whole
        numbers it is a sum, and infinite unless ``d`` is whole.
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


def check(noise: Noise, **rules: Callable[[str, str, object], float]) -> None:
    """Validate parameters of a frozen dataclass, and store them as floats."""
    for name, rule in rules.items():
        object.__setattr__(noise, name, rule(type(noise).__name__, name, getattr(noise, name)))


def finite_or_none(x: float) -> float | None:
    """Return a number, or None if it is infinite or NaN."""
    return float(x) if math.isfinite(x) else None


def checked_probability(u: ArrayLike) -> Floats:
    u = np.asarray(u, float)
    for wrong in u[~((u >= 0) & (u <= 1))].tolist():
        raise ValueError(f"quantile: u must lie in [0, 1], got {wrong}")
    return u


def bounded_exp(x: Floats) -> Floats:
    """Exponentiate in place; what would overflow becomes the largest double, so that no draw is infinite."""
    return np.exp(np.minimum(x, math.log(LARGEST_FLOAT), out=x), out=x)


def special(name: str) -> Callable[..., Floats]:
    """Return a function of scipy.special, imported late because that is slow."""
    import scipy.special

    function: Callable[..., Floats] = getattr(scipy.special, name)
    return function
