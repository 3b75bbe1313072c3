"""Laws of whole numbers: Bernoulli, Poisson, negative binomial.  Their ``pdf`` is the probability of a value."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ..._validate import LARGEST_COUNT, finite, in_range, positive
from ..registered import register_noise
from .base import Noise, Size, check, checked_probability, special
from .integrals import Floats, invert_cdf

__all__ = ["Bernoulli", "NegativeBinomial", "Poisson"]


class _Counts(Noise):
    """A law of 0, 1, 2, ..."""

    is_symmetric = False
    has_density = False
    moment_order = math.inf

    def quantile(self, u: ArrayLike) -> Floats:
        return invert_cdf(self.cdf, checked_probability(u), 0.0, np.inf)

    def kl_shift(self, d: float) -> float:
        return math.inf if finite(type(self).__name__, "d", d) % 1 else super().kl_shift(d)

    def _expect(self, function: Callable[[Floats], Floats], marks: Floats) -> float:
        low, high = self.quantile([1e-18, 1 - 2.0**-53])
        values = np.arange(low, high + 1)
        return float(self.pdf(values) @ function(values))


@register_noise("bernoulli")
@dataclass(frozen=True)
class Bernoulli(_Counts):
    """Success or failure: 1 with probability ``p``, else 0.

    Parameters
    ----------
    p
        Probability of a 1, in [0, 1].

    Examples
    --------
    >>> Bernoulli(0.02).sample(np.random.default_rng(0), 60).sum()
    np.float64(2.0)
    """

    p: float

    def __post_init__(self) -> None:
        check(self, p=partial(in_range, low=0, high=1))

    @property
    def mean(self) -> float:
        return self.p

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        return (rng.random(size) < self.p).astype(float)

    def cdf(self, x: ArrayLike) -> Floats:
        x = np.asarray(x, float)
        return np.where(x < 0, 0.0, np.where(x < 1, 1 - self.p, 1.0))

    def quantile(self, u: ArrayLike) -> Floats:
        return np.where(checked_probability(u) <= 1 - self.p, 0.0, 1.0)

    def log_pdf(self, x: ArrayLike) -> Floats:
        x = np.asarray(x, float)
        with np.errstate(divide="ignore"):
            return np.log(np.where(x == 0, 1 - self.p, np.where(x == 1, self.p, 0.0)))


@register_noise("poisson")
@dataclass(frozen=True)
class Poisson(_Counts):
    """Number of independent events, such as clicks in an hour.

    Parameters
    ----------
    rate
        Mean number of events.

    Examples
    --------
    >>> Poisson(2).pdf([0, 1, 2]).round(6)
    array([0.135335, 0.270671, 0.270671])
    """

    rate: float

    def __post_init__(self) -> None:
        check(self, rate=partial(in_range, low=0, high=LARGEST_COUNT, ends="(]"))

    @property
    def mean(self) -> float:
        return self.rate

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        return np.asarray(rng.poisson(self.rate, size), float)

    def cdf(self, x: ArrayLike) -> Floats:
        k = np.floor(np.asarray(x, float))
        return np.where(k < 0, 0.0, special("gammaincc")(np.maximum(k, 0.0) + 1, self.rate))

    def log_pdf(self, x: ArrayLike) -> Floats:
        k, is_count = _counts(x)
        return np.where(is_count, k * math.log(self.rate) - self.rate - special("gammaln")(k + 1), -np.inf)


@register_noise("negative-binomial")
@dataclass(frozen=True)
class NegativeBinomial(_Counts):
    r"""Number of failures before the ``n``-th success: counts that vary more than Poisson's.

    The mean is :math:`n(1 - p)/p`, and the variance is :math:`1/p` times as large.

    Parameters
    ----------
    n
        Number of successes, positive and not necessarily whole; small values give heavier tails.
    p
        Probability of a success, in (0, 1].

    Examples
    --------
    >>> law = NegativeBinomial(n=0.5, p=0.1)
    >>> round(law.mean, 6), law.quantile([0.5, 0.99])
    (4.5, array([ 2., 31.]))
    """

    n: float
    p: float

    def __post_init__(self) -> None:
        check(self, n=positive, p=partial(in_range, low=0, high=1, ends="(]"))
        if (1 / self.p - 1) * (self.n + 10 * math.sqrt(self.n)) > LARGEST_COUNT:
            rule = f"counts beyond {LARGEST_COUNT} must be rare; make n smaller or p larger"
            raise ValueError(f"NegativeBinomial: {rule}, got n={self.n}, p={self.p}")

    @property
    def mean(self) -> float:
        return self.n * (1 / self.p - 1)

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        return np.asarray(rng.negative_binomial(self.n, self.p, size), float)

    def cdf(self, x: ArrayLike) -> Floats:
        k = np.floor(np.asarray(x, float))
        return np.where(k < 0, 0.0, np.where(np.isinf(k), 1.0, special("betainc")(self.n, _bounded(k) + 1, self.p)))

    def log_pdf(self, x: ArrayLike) -> Floats:
        k, is_count = _counts(x)
        ways = special("gammaln")(k + self.n) - special("gammaln")(k + 1) - math.lgamma(self.n)
        log_mass = ways + self.n * math.log(self.p) + special("xlog1py")(k, -self.p)
        return np.where(is_count, log_mass, -np.inf)


def _counts(x: ArrayLike) -> tuple[Floats, np.ndarray]:
    """Return ``x`` with zeros for what is not a count, and which numbers are counts."""
    x = np.asarray(x, float)
    is_count = (x >= 0) & (x < math.inf) & (x == np.floor(x))
    return np.where(is_count, x, 0.0), is_count


def _bounded(k: Floats) -> Floats:
    return np.clip(k, 0.0, 1e300)
