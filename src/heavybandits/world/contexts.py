"""Contexts: the rows of features that a linear policy chooses from, drawn again in each round.

A sampler of contexts has a method ``sample(rng, size)``, which returns an array of shape (size, K, d); your own sampler
needs no base class.  Those of this package are frozen dataclasses, and ``repr`` spells each out completely, because the
random streams are keyed by it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from reprlib import repr as brief
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from .._validate import count, finite
from ..protocols import FloatArray
from .registered import register_contexts


class Contexts(Protocol):
    """The minimum that contexts must offer to be simulated."""

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return ``size`` independent arrays of rows, as one array of shape (size, K, d)."""
        ...


@register_contexts("sphere")
@dataclass(frozen=True)
class Sphere:
    """Rows that are uniform on the unit sphere.

    Parameters
    ----------
    n_arms, n_features
        Rows in a round, and numbers in a row.

    Examples
    --------
    >>> rows = Sphere(n_arms=20, n_features=10).sample(np.random.default_rng(0), 3)
    >>> rows.shape, bool(np.allclose((rows**2).sum(axis=2), 1.0))
    ((3, 20, 10), True)
    """

    n_arms: int
    n_features: int

    def __post_init__(self) -> None:
        _check_counts(self)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return ``size`` arrays of rows."""
        return _normalised(rng.standard_normal((size, self.n_arms, self.n_features)))


@register_contexts("cube")
@dataclass(frozen=True)
class Cube:
    """Rows that are uniform in a cube, by default projected onto the unit sphere.

    Numbers from 0 to 1 give rows that are all positive, as in Xue et al. (2020); Kang and Kim (2023) use numbers from
    -1 to 1.

    Parameters
    ----------
    n_arms, n_features
        Rows in a round, and numbers in a row.
    low, high
        Range of the numbers.
    normalised
        Whether rows are scaled to length 1.

    Examples
    --------
    >>> Cube(n_arms=2, n_features=3).sample(np.random.default_rng(0), 5).min() > 0.0
    np.True_
    """

    n_arms: int
    n_features: int
    low: float = 0.0
    high: float = 1.0
    normalised: bool = True

    def __post_init__(self) -> None:
        _check_counts(self)
        for name in ("low", "high"):
            object.__setattr__(self, name, finite("Cube", name, getattr(self, name)))
        if not self.low < self.high:
            raise ValueError(f"Cube: high must be above low, got low={self.low}, high={self.high}")
        if not isinstance(self.normalised, bool):
            raise TypeError(f"Cube: normalised must be True or False, got {self.normalised!r}")

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return ``size`` arrays of rows."""
        rows: FloatArray = rng.uniform(self.low, self.high, (size, self.n_arms, self.n_features))
        return _normalised(rows) if self.normalised else rows


@register_contexts("disjoint")
@dataclass(frozen=True)
class Disjoint:
    """One context per round, for arms that each have a model of their own; see :func:`blocks`.

    Parameters
    ----------
    n_arms
        Number of arms.
    context
        Contexts of one row.

    Examples
    --------
    >>> Disjoint(n_arms=3, context=Sphere(1, 2)).sample(np.random.default_rng(0), 4).shape
    (4, 3, 6)
    """

    n_arms: int
    context: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_arms", count("Disjoint", "n_arms", self.n_arms))
        require_contexts("Disjoint", "context", self.context)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return ``size`` arrays of rows."""
        drawn = self.context.sample(rng, size)
        if drawn.shape[1] != 1:
            raise ValueError(f"Disjoint: context must have one row, got {drawn.shape[1]}")
        return blocks(drawn[:, 0], self.n_arms)


@register_contexts("frozen")
@dataclass(frozen=True)
class Frozen:
    """Rows that are drawn once for each replication and then stay the same.

    Parameters
    ----------
    contexts
        What they are drawn from.

    Examples
    --------
    >>> Frozen(Sphere(n_arms=20, n_features=10))
    Frozen(contexts=Sphere(n_arms=20, n_features=10))
    """

    contexts: Any

    def __post_init__(self) -> None:
        require_contexts("Frozen", "contexts", self.contexts)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return ``size`` arrays of rows, one per replication."""
        drawn: FloatArray = self.contexts.sample(rng, size)
        return drawn


@register_contexts("held")
@dataclass(frozen=True)
class Held:
    """Rows that stay the same for some rounds before they are drawn again.

    In the literature, policies that repeat a row are played on such contexts, with new rows for each group of repeats.

    Parameters
    ----------
    contexts
        What they are drawn from.
    rounds
        How many rounds they stay.

    Examples
    --------
    >>> rows = Held(Sphere(n_arms=2, n_features=3), rounds=2).sample(np.random.default_rng(0), 4)
    >>> bool((rows[0] == rows[1]).all()), bool((rows[1] == rows[2]).any())
    (True, False)
    """

    contexts: Any
    rounds: int

    def __post_init__(self) -> None:
        require_contexts("Held", "contexts", self.contexts)
        object.__setattr__(self, "rounds", count("Held", "rounds", self.rounds))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return ``size`` arrays of rows, beginning with new ones."""
        drawn: FloatArray = self.contexts.sample(rng, -(-size // self.rounds))
        return np.repeat(drawn, self.rounds, axis=0)[:size]


@register_contexts("logged")
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Logged:
    """A table of logged contexts, from which rounds are drawn with replacement.

    Parameters
    ----------
    values
        An array of shape (n, K, d), or (n, d) for contexts of one row, as :class:`Disjoint` takes them.

    Examples
    --------
    >>> table = np.arange(12.0).reshape(2, 3, 2)  # two rounds of three rows
    >>> Logged(table).sample(np.random.default_rng(0), 5).shape
    (5, 3, 2)
    """

    values: FloatArray

    def __init__(self, values: ArrayLike) -> None:
        table = finite_array("Logged", "values", values)
        table = table[:, None] if table.ndim == 2 else table
        if table.ndim != 3 or not table.size:
            raise ValueError(f"Logged: values must have shape (n, K, d) or (n, d), got {table.shape}")
        object.__setattr__(self, "values", table)

    def __repr__(self) -> str:
        return f"Logged({self.values.shape}, sha256={hashlib.sha256(self.values.tobytes()).hexdigest()})"

    def __eq__(self, other: object) -> bool:
        return np.array_equal(self.values, other.values) if isinstance(other, Logged) else NotImplemented

    def __hash__(self) -> int:
        return hash(repr(self))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return ``size`` arrays of rows."""
        drawn: FloatArray = self.values[rng.integers(len(self.values), size=size)]
        return drawn


def blocks(context: ArrayLike, n_arms: int) -> FloatArray:
    """Return features that give each arm its own model: the context in the arm's block, zeros elsewhere.

    Parameters
    ----------
    context
        A context of p numbers, or an array with one in each row.
    n_arms
        Number of arms K.

    Returns
    -------
    array
        Of shape (K, K p), a row per arm; for n contexts of shape (n, K, K p).

    Examples
    --------
    >>> blocks([3.0, 4.0], n_arms=2)
    array([[3., 4., 0., 0.],
           [0., 0., 3., 4.]])
    """
    given = finite_array("blocks", "context", context)
    n_arms = count("blocks", "n_arms", n_arms)
    if given.ndim not in (1, 2):
        raise ValueError(f"blocks: context must be p numbers, or an array of such rows, got shape {given.shape}")
    several = np.atleast_2d(given)
    n, p = several.shape
    parts = np.zeros((n, n_arms, n_arms, p))
    for arm in range(n_arms):
        parts[:, arm, arm] = several
    made: FloatArray = parts.reshape(n, n_arms, n_arms * p)
    return made if given.ndim == 2 else made[0]


def _check_counts(shape: Any) -> None:
    for name in ("n_arms", "n_features"):
        object.__setattr__(shape, name, count(type(shape).__name__, name, getattr(shape, name)))


def require_contexts(owner: str, name: str, value: Any) -> None:
    """Refuse anything but a sampler of contexts."""
    if isinstance(value, type) or not callable(getattr(value, "sample", None)):
        raise TypeError(f"{owner}: {name} must be contexts with a method sample(rng, size), got {value!r}")


def finite_array(owner: str, name: str, values: ArrayLike) -> FloatArray:
    """Return finite numbers as a new, read-only array."""
    try:
        given = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{owner}: {name} must be an array of numbers, got {brief(values)}") from None
    if not np.isfinite(given).all():
        raise ValueError(f"{owner}: {name} must be finite, got {brief(values)}")
    given.flags.writeable = False
    return given


def _normalised(rows: FloatArray) -> FloatArray:
    """Return the rows, scaled in place to length 1."""
    squares = rows[:, :, 0] ** 2
    for j in range(1, rows.shape[2]):  # in a fixed order, so that rounding is the same on every machine
        squares += rows[:, :, j] ** 2
    rows /= np.sqrt(squares)[:, :, None]
    return rows
