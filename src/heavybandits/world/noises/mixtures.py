"""Mixtures of laws, including the two of the paper."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ..._validate import in_range, positive
from ..registered import register_noise
from .base import Noise, Size, check, checked_probability, finite_or_none
from .integrals import Floats, invert_cdf
from .skewed import Exponential, Pareto
from .symmetric import Cauchy
from .transformed import Shifted, inner

__all__ = ["CauchyExponential", "CauchyPareto", "Mixture"]


class _Mixed(Noise):
    """A mixture of other laws; subclasses say which."""

    @abstractmethod
    def _parts(self) -> Sequence[tuple[float, Noise]]:
        """Return the laws, each after its positive weight."""

    @property
    def moment_order(self) -> float:
        return min(noise.moment_order for _, noise in self._parts())

    @property
    def mean(self) -> float | None:
        means = [(weight, noise.mean) for weight, noise in self._parts()]
        if any(mean is None for _, mean in means):
            return None
        return finite_or_none(math.fsum(weight * mean for weight, mean in means if mean is not None))

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        # All draws come from the likeliest part, and some are then overwritten: this is faster than selecting first.
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
        p = checked_probability(u)
        ends = [noise.quantile(p) for _, noise in self._parts()]
        return invert_cdf(self.cdf, p, np.min(ends, axis=0), np.max(ends, axis=0))

    def _marks(self) -> Floats:
        return np.concatenate([noise._marks() for _, noise in self._parts()])

    def _expect(self, function: Callable[[Floats], Floats], marks: Floats) -> float:
        return sum(weight * noise._expect(function, marks) for weight, noise in self._parts())


@dataclass(frozen=True)
class _CauchyAnd(_Mixed):
    """Standard Cauchy noise mixed with another law."""

    weight: float = 0.7

    def __post_init__(self) -> None:
        check(self, weight=partial(in_range, low=0, high=1))

    @abstractmethod
    def _other(self) -> Noise:
        """Return the other law."""

    def _parts(self) -> Sequence[tuple[float, Noise]]:
        parts = (self.weight, Cauchy()), (1 - self.weight, self._other())
        return [part for part in parts if part[0] > 0]


@register_noise("cauchy-exponential")
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
        return Shifted(Exponential(), -1.0)


@register_noise("cauchy-pareto")
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
        return Shifted(Pareto(3.0), -1.5)


@register_noise("mixture")
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

    >>> from heavybandits.world.noises import Gaussian
    >>> contaminated = Mixture(weights=[0.95, 0.05], noises=[Gaussian(), Cauchy()])
    >>> contaminated.moment_order, contaminated.is_symmetric
    (1.0, True)
    """

    weights: Sequence[float]
    noises: Sequence[Noise]

    def __post_init__(self) -> None:
        weights = tuple(positive("Mixture", "each of weights", weight) for weight in self.weights)
        noises = tuple(inner("Mixture", "each of noises", noise) for noise in self.noises)
        if len(weights) != len(noises):
            raise ValueError(f"Mixture: needs one weight per noise, got {len(weights)} and {len(noises)}")
        if not math.isclose(math.fsum(weights), 1.0, abs_tol=1e-9):
            raise ValueError(f"Mixture: weights must have sum 1, got {self.weights!r}")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "noises", noises)

    @property
    def has_density(self) -> bool:  # type: ignore[override]
        return all(noise.has_density for noise in self.noises)

    def _parts(self) -> Sequence[tuple[float, Noise]]:
        return tuple(zip(self.weights, self.noises, strict=True))
