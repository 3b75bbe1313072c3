"""Laws made from another law: shifted, negated, or with zeros among its draws."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._validate import finite, in_range
from ..registered import register_noise
from .base import Noise, Size, check, checked_probability, finite_or_none
from .integrals import Floats

__all__ = ["Negative", "Shifted", "ZeroInflated"]


def inner(owner: str, name: str, value: Any) -> Noise:
    """Return a law that another is made from; refuse data without replacement, which remember their draws."""
    if not isinstance(value, Noise):
        raise TypeError(f"{owner}: {name} must be a Noise, got {value!r}")
    if value.begin() is not value:
        raise ValueError(f"{owner}: {name} must be drawn with replacement; use replace=True, got {value!r}")
    return value


class _Transformed(Noise):
    """A law made from another, its ``law``."""

    law: Noise

    @property
    def moment_order(self) -> float:
        return self.law.moment_order

    @property
    def has_density(self) -> bool:  # type: ignore[override]
        return self.law.has_density


@register_noise("shifted")
@dataclass(frozen=True)
class Shifted(_Transformed):
    """Another law, shifted by a constant.

    Parameters
    ----------
    law
        The other law.
    by
        What is added to each of its draws.

    Examples
    --------
    >>> from heavybandits.world.noises import Exponential
    >>> Shifted(Exponential(), by=-1).mean
    0.0
    """

    law: Noise
    by: float

    def __post_init__(self) -> None:
        inner("Shifted", "law", self.law)
        check(self, by=finite)

    @property
    def mean(self) -> float | None:
        return None if self.law.mean is None else finite_or_none(self.law.mean + self.by)

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = self.law.sample(rng, size)
        x += self.by
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        return self.law.cdf(np.asarray(x, float) - self.by)

    def quantile(self, u: ArrayLike) -> Floats:
        return self.law.quantile(u) + self.by

    def log_pdf(self, x: ArrayLike) -> Floats:
        return self.law.log_pdf(np.asarray(x, float) - self.by)

    def kl_shift(self, d: float) -> float:
        return self.law.kl_shift(d)


@register_noise("negative")
@dataclass(frozen=True)
class Negative(_Transformed):
    """The negative of another law: costs, delays or losses as rewards.

    Parameters
    ----------
    law
        The other law.

    Examples
    --------
    >>> from heavybandits.world.noises import Pareto
    >>> delay = Negative(Pareto(shape=2, scale=3))
    >>> delay.mean, delay.quantile([0.25, 1.0])
    (-6.0, array([-6., -3.]))
    """

    law: Noise

    def __post_init__(self) -> None:
        inner("Negative", "law", self.law)

    @property
    def mean(self) -> float | None:
        return None if self.law.mean is None else -self.law.mean

    @property
    def is_symmetric(self) -> bool:
        return self.law.is_symmetric

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = self.law.sample(rng, size)
        return np.subtract(0.0, x, out=x)  # no negative zeros

    def cdf(self, x: ArrayLike) -> Floats:
        return 1 - self.law.cdf(before(-np.asarray(x, float)))

    def quantile(self, u: ArrayLike) -> Floats:
        p = checked_probability(u)
        upper = 1 - p
        x = self.law.quantile(upper)
        if not self.law.has_density:  # where the distribution function meets a level exactly, take the next value
            at_level = (self.law.cdf(x) <= upper) & (upper < 1)
            x = np.where(at_level, self.law.quantile(np.minimum(np.nextafter(upper, 1.0), 1.0)), x)
        return 0.0 - x

    def log_pdf(self, x: ArrayLike) -> Floats:
        return self.law.log_pdf(-np.asarray(x, float))

    def kl_shift(self, d: float) -> float:
        return self.law.kl_shift(-finite("Negative", "d", d))


@register_noise("zero-inflated")
@dataclass(frozen=True)
class ZeroInflated(_Transformed):
    """Mostly zero, and now and then a draw from another law: revenue per visitor, claims per contract.

    Parameters
    ----------
    share
        Share of draws that come from ``law``, in (0, 1]; the others are zero.
    law
        Law of the rewards that are not zero.

    Notes
    -----
    ``pdf`` at zero is the probability of a zero.  ``kl_shift`` is infinite, because one zero tells the law from its
    shift, unless ``share`` is 1 or ``law`` can give exactly what the zeros become.

    Examples
    --------
    One visitor in fifty buys something:

    >>> from heavybandits.world.noises import LogNormal
    >>> revenue = ZeroInflated(0.02, LogNormal(1.0))
    >>> round(revenue.mean, 6), float(revenue.quantile(0.5)), revenue.cdf([-1.0, 0.0])
    (0.032974, 0.0, array([0.  , 0.98]))
    """

    share: float
    law: Noise

    def __post_init__(self) -> None:
        check(self, share=partial(in_range, low=0, high=1, ends="(]"))
        inner("ZeroInflated", "law", self.law)

    @property
    def mean(self) -> float | None:
        return None if self.law.mean is None else self.share * self.law.mean

    @property
    def is_symmetric(self) -> bool:
        return self.law.is_symmetric

    @property
    def has_density(self) -> bool:  # type: ignore[override]
        return self.share == 1 and self.law.has_density

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        x = np.zeros(size)
        chosen = np.flatnonzero(rng.random(size) < self.share)
        x.reshape(-1)[chosen] = self.law.sample(rng, chosen.size)
        return x

    def cdf(self, x: ArrayLike) -> Floats:
        zeros = np.where(np.asarray(x, float) >= 0, 1 - self.share, 0.0)
        return self.share * self.law.cdf(x) + zeros

    def quantile(self, u: ArrayLike) -> Floats:
        p = checked_probability(u)
        below, up_to = self.share * float(self.law.cdf(before(0.0))), float(self.cdf(0.0))
        lower = self.law.quantile(np.minimum(p / self.share, 1.0))
        upper = self.law.quantile(1 - np.minimum((1 - p) / self.share, 1.0))
        return np.where(p <= below, np.minimum(lower, 0.0), np.where(p <= up_to, 0.0, np.maximum(upper, 0.0)))

    def log_pdf(self, x: ArrayLike) -> Floats:
        x = np.asarray(x, float)
        with np.errstate(divide="ignore"):
            drawn = math.log(self.share) + self.law.log_pdf(x)
            if self.has_density:
                return drawn
            zeros = np.log(1 - self.share + (0.0 if self.law.has_density else self.share * self.law.pdf(0.0)))
        return np.where(x == 0, zeros, drawn)

    def kl_shift(self, d: float) -> float:
        d = finite("ZeroInflated", "d", d)
        if d == 0 or self.share == 1:
            return self.law.kl_shift(d)
        moved = float(self.law.cdf(-d) - self.law.cdf(before(-d)))  # probability that a draw is where the zeros were
        return super().kl_shift(d) if moved > 1e-12 else math.inf

    def _expect(self, function: Callable[[Floats], Floats], marks: Floats) -> float:
        zeros = (1 - self.share) * float(function(np.zeros(1))[0]) if self.share < 1 else 0.0
        return zeros + self.share * self.law._expect(function, marks)


def before(x: ArrayLike) -> Floats:
    """Return the largest floats below ``x``: the distribution function there excludes the mass at ``x`` itself."""
    below: Floats = np.nextafter(np.asarray(x, float), -np.inf)
    return below
