"""Data as a law: draws from observed rewards."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from reprlib import repr as brief

import numpy as np
from numpy.typing import ArrayLike

from ...protocols import Sampler
from ..registered import register_noise
from .base import Noise, Size, checked_probability, finite_or_none
from .integrals import Floats
from .transformed import before

__all__ = ["Empirical"]

SPELLED_OUT = 10  # at most: values that ``repr`` spells out; for more it has a digest


@register_noise("empirical")
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Empirical(Noise):
    """Data as a law: each draw is one of the observed values.

    Parameters
    ----------
    values
        The data, finite numbers.
    weights
        How likely each value is, relative to the others; by default all are equally likely.
    replace
        Whether values are drawn with replacement.  Without it, each replication of a simulation goes through all
        values in random order, one per round, then again in another order.

    Attributes
    ----------
    values, weights
        Read-only arrays, in increasing order of the values; weights have sum 1.

    Notes
    -----
    ``pdf`` is the probability of a value, and ``kl_shift`` is infinite: data are bounded.

    Examples
    --------
    >>> law = Empirical([0.0, 0.0, 0.0, 12.5])
    >>> law.mean, law.cdf([0.0, 12.5])
    (3.125, array([0.75, 1.  ]))
    >>> np.sort(Empirical([1, 2, 3], replace=False).sample(np.random.default_rng(0), 3))
    array([1., 2., 3.])
    """

    values: Floats
    weights: Floats | None = None
    replace: bool = True
    moment_order = math.inf
    has_density = False

    def __init__(self, values: ArrayLike, weights: ArrayLike | None = None, replace: bool = True) -> None:
        numbers = _numbers("values", values)
        if not isinstance(replace, bool):
            raise TypeError(f"Empirical: replace must be True or False, got {replace!r}")
        shares = None if weights is None else _shares(weights, numbers.size)
        if shares is not None:
            if not replace:
                raise ValueError("Empirical: weights need draws with replacement, got replace=False")
            numbers, shares = numbers[shares > 0], shares[shares > 0]
        order = np.argsort(numbers, kind="stable")
        shares = None if shares is None else _frozen(shares[order])
        self.__dict__.update(values=_frozen(numbers[order]), weights=shares, replace=replace)

    def __repr__(self) -> str:
        if self.values.size <= SPELLED_OUT:
            weights = None if self.weights is None else self.weights.tolist()
            return f"Empirical(values={self.values.tolist()}, weights={weights}, replace={self.replace})"
        digest = hashlib.sha256(self.values.tobytes() + (b"" if self.weights is None else self.weights.tobytes()))
        return f"Empirical({self.values.size} values, sha256={digest.hexdigest()}, replace={self.replace})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Empirical):
            return NotImplemented
        parts = ((self.values, other.values), (self._levels, other._levels))
        same_kind = self.replace == other.replace and (self.weights is None) == (other.weights is None)
        return same_kind and all(np.array_equal(*pair) for pair in parts)

    def __hash__(self) -> int:
        return hash(repr(self))

    @cached_property
    def _levels(self) -> Floats:
        """Probability of a draw of at most each value."""
        n = self.values.size
        levels = np.arange(1, n + 1) / n if self.weights is None else np.minimum(np.cumsum(self.weights), 1.0)
        levels[-1] = 1.0
        return levels

    @cached_property
    def mean(self) -> float | None:
        if self.weights is None:
            return finite_or_none(math.fsum(self.values / self.values.size))
        return finite_or_none(math.fsum(self.values * self.weights))

    @cached_property
    def is_symmetric(self) -> bool:
        return bool(np.allclose(self.cdf(self.values), 1 - self.cdf(before(-self.values)), rtol=0, atol=1e-9))

    def begin(self) -> Sampler:
        return self if self.replace else _Deck(self.values)

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        if not self.replace:
            return _Deck(self.values).sample(rng, size)
        if self.weights is None:
            return self.values[rng.integers(self.values.size, size=size)]
        return self.values[np.searchsorted(self._levels, rng.random(size), side="right")]

    def cdf(self, x: ArrayLike) -> Floats:
        rank = np.searchsorted(self.values, np.asarray(x, float), side="right")
        return np.where(rank > 0, self._levels[rank - 1], 0.0)

    def quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(self.values[np.searchsorted(self._levels, checked_probability(u), side="left")])

    def log_pdf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.cdf(x) - self.cdf(before(x)))

    def _expect(self, function: Callable[[Floats], Floats], marks: Floats) -> float:
        weights = np.diff(self._levels, prepend=0.0) if self.weights is None else self.weights
        return float(weights @ function(self.values))


class _Deck:
    """Values dealt in random order: all of them, then all again in another order."""

    def __init__(self, values: Floats) -> None:
        self.values, self.left = values, values[:0]

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        """Deal the next values."""
        wanted = math.prod(size) if isinstance(size, tuple) else size
        dealt = [self.left]
        while sum(map(len, dealt)) < wanted:
            dealt.append(rng.permutation(self.values))
        drawn = np.concatenate(dealt)
        self.left = drawn[wanted:]
        return drawn[:wanted].reshape(size)


def _numbers(name: str, given: ArrayLike) -> Floats:
    try:
        array = np.asarray(given)
    except ValueError:  # nested lists of unequal lengths
        array = np.empty(())
    if array.ndim != 1 or not array.size:
        raise ValueError(f"Empirical: {name} must be a sequence of at least one number, got {brief(given)}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"Empirical: {name} must be numbers, got {brief(given)}")
    numbers: Floats = array.astype(float) + 0.0  # so that -0 and 0 are one number
    if not np.isfinite(numbers).all():
        raise ValueError(f"Empirical: {name} must be finite; leave out missing values, got {brief(given)}")
    return numbers


def _shares(weights: ArrayLike, n_values: int) -> Floats:
    shares = _numbers("weights", weights)
    if shares.size != n_values:
        raise ValueError(f"Empirical: needs one weight per value, got {shares.size} for {n_values}")
    if (shares < 0).any() or not shares.any():
        raise ValueError(f"Empirical: weights must not be negative, nor all zero, got {brief(weights)}")
    shares /= shares.max()
    shares /= shares.sum()
    return shares


def _frozen(array: Floats) -> Floats:
    array.flags.writeable = False
    return array
