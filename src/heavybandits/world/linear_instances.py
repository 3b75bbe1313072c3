"""Linear instances: rewards are linear in the features of the row that is played, plus noise."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._format import plural
from .._validate import count
from ..protocols import FloatArray, Sampler
from .contexts import Contexts, Frozen, finite_array, require_contexts
from .identity import BaseInstance, describe, texts
from .instance_arguments import per_arm
from .noises import Noise

SAMPLED_ROUNDS, SAMPLED_NUMBERS = 2000, 2_000_000  # at most, to compute averages over rounds
SMALL_SHIFT = 0.1  # in quartile distances: small enough that the divergence of a shift gives the Fisher information
NO_SCATTER = 1e-12  # of the largest scatter along an axis: less than this is rounding


class ThetaAndRows(NamedTuple):
    """What a replication plays: its theta, if there is one, and its rows if they stay the same."""

    theta: FloatArray | None
    rows: FloatArray | None


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LinearInstance(BaseInstance):
    """A linear bandit: a round offers rows of features, and row x pays x'theta plus noise.

    Regret counts how far the row that is played lies below the best of its round.  Two instances are equal if all their
    parts are; two objects of your own class are never taken for the same.

    Parameters
    ----------
    theta
        d numbers; or a sampler of contexts, such as ``hb.Sphere(1, d)``, from which each replication draws its own; or
        None, if the contexts tell what their rows pay, which need not be linear.
    contexts
        Rows that stay the same, an array of shape (K, d); or a sampler from which each round draws its rows: anything
        with a method ``sample(rng, size)`` that returns an array of shape (size, K, d); see
        :mod:`heavybandits.world.contexts`.  Without theta, they need a method ``sample_paid(rng, size)``, which returns
        the same rows and what they pay on average, an array of shape (size, K).
    noise
        One noise for all rows, or a sequence with one per row.

    Attributes
    ----------
    n_arms, n_features
        Rows in a round, and numbers in a row.
    means, gaps
        What each row pays, and how far it lies below the best, on average over rounds and replications.
    noises, shared_noise
        As in :class:`.Instance`.
    key
        A digest of all parts of the instance.  It stays the same from run to run, and keys the random streams.

    Examples
    --------
    >>> from heavybandits.world.contexts import Sphere
    >>> from heavybandits.world.noises import Cauchy
    >>> fixed = LinearInstance(theta=[1.0, 0.0], contexts=[[1, 0], [0, 1], [0.6, 0.8]], noise=Cauchy())
    >>> fixed.gaps
    array([0. , 1. , 0.4])
    >>> LinearInstance(theta=[1.0, 0.0], contexts=Sphere(n_arms=20, n_features=2), noise=Cauchy())
    LinearInstance(20 rows of 2 features, contexts=Sphere(n_arms=20, n_features=2), noise=Cauchy(scale=1.0))
    """

    theta: Any
    contexts: Any
    noise: Sampler | tuple[Sampler, ...]
    shared_noise: bool
    n_arms: int
    n_features: int
    kind = "linear"  # of the policies that play it

    def __init__(
        self,
        theta: ArrayLike | Contexts | None,
        contexts: ArrayLike | Contexts,
        noise: Sampler | Sequence[Sampler],
    ) -> None:
        made_theta = None if theta is None else _made("theta", theta, (1,))
        made_contexts = _made("contexts", contexts, (2,))
        shape = context_rows(made_contexts).shape
        _check_theta(made_theta, made_contexts, shape[1])
        noises = per_arm("LinearInstance", "noise", noise, shape[0])
        described = texts(noises)
        self.__dict__.update(
            theta=made_theta,
            contexts=made_contexts,
            noise=noise if hasattr(noise, "sample") else noises,
            noises=noises,
            shared_noise=len(set(described)) == 1,
            n_arms=shape[0],
            n_features=shape[1],
            key=hashlib.sha256(
                "\n".join(["linear", _text(made_theta), _text(made_contexts), *described]).encode()
            ).hexdigest(),
        )

    def __repr__(self) -> str:
        contexts = "fixed" if isinstance(self.contexts, np.ndarray) else repr(self.contexts)
        return (f"LinearInstance({self.n_arms} rows of {self.n_features} features, contexts={contexts}, "
                f"noise={self.noise!r})")  # fmt: skip

    @property
    def _laws(self) -> tuple[Any, ...]:
        return (self.theta, self.contexts, *self.noises)

    def theta_and_rows(self, rng: np.random.Generator) -> ThetaAndRows:
        """Draw what stays the same throughout a replication: theta, and the rows if they do."""
        theta = None if self.theta is None else _drawn_theta(self.theta, rng)
        if isinstance(self.contexts, np.ndarray):
            return ThetaAndRows(theta, self.contexts)
        rows = draw_rows(self.contexts, rng, 1)[0] if isinstance(self.contexts, Frozen) else None
        return ThetaAndRows(theta, rows)

    def problem(self, rng: np.random.Generator) -> ThetaAndRows:
        """Do what :meth:`theta_and_rows` does, under its old name."""
        message = "LinearInstance: problem is called theta_and_rows now; the old name goes with the next version"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.theta_and_rows(rng)

    @cached_property
    def _sampled_means(self) -> FloatArray:
        """Expected rewards of all rows in some rounds, each from a different replication."""
        if isinstance(self.contexts, np.ndarray) and isinstance(self.theta, np.ndarray):
            return expected(self.contexts[None], self.theta)
        if self.theta is None:
            return draw_rounds(self.contexts, None, np.random.default_rng(0), self._sampled_rounds)[1]
        means: FloatArray = np.einsum("ikd,id->ik", *self._sample())
        return means

    @property
    def _sampled_rounds(self) -> int:
        return max(1, min(SAMPLED_ROUNDS, SAMPLED_NUMBERS // (self.n_arms * self.n_features)))

    def _sample(self) -> tuple[FloatArray, FloatArray]:
        """Return the rows and the theta of some rounds, the same ones each time."""
        rng, size = np.random.default_rng(0), self._sampled_rounds
        rows = draw_rows(self.contexts, rng, size)
        return rows, np.stack([_drawn_theta(self.theta, rng) for _ in range(size)])

    @cached_property
    def means(self) -> FloatArray:
        """What each row pays on average."""
        found: FloatArray = self._sampled_means.mean(axis=0)
        return found

    @cached_property
    def gaps(self) -> FloatArray:
        """How far each row lies below the best of its round on average."""
        means = self._sampled_means
        found: FloatArray = (means.max(axis=1, keepdims=True) - means).mean(axis=0)
        return found

    @cached_property
    def theta_norm(self) -> float:
        """Length of theta, on average if replications draw it."""
        if self.theta is None:
            raise ValueError(f"theta_norm: there is no theta, the contexts tell what rows pay: {self!r}")
        rng = np.random.default_rng(0)
        times = 1 if isinstance(self.theta, np.ndarray) else 200
        return float(np.mean([np.linalg.norm(_drawn_theta(self.theta, rng)) for _ in range(times)]))

    def learning_loss(self, rounds: int) -> float | None:
        """Return what a round still loses with the best estimate of theta from this many rows played at random.

        The error of that estimate is normal.  Its covariance is the inverse of the noise's Fisher information times the
        scatter of the rows and their number.  A policy that plays good rows learns about as much; one that knows
        something about theta beforehand may lose less.

        Parameters
        ----------
        rounds
            How many rows were played.

        Returns
        -------
        float or None
            None if it is not known: if there is no theta, if rows stay the same, if their noises differ, or if the
            noise is not a :class:`.Noise`.

        Examples
        --------
        >>> from heavybandits.world.contexts import Sphere
        >>> from heavybandits.world.noises import Gaussian
        >>> instance = LinearInstance([1.0, 0.0], Sphere(n_arms=5, n_features=2), Gaussian())
        >>> [round(instance.learning_loss(rounds), 3) for rounds in (10, 100, 1000)]
        [0.095, 0.007, 0.001]
        """
        rounds, noise = count("learning_loss", "rounds", rounds), self.noises[0]
        if self.theta is None or isinstance(self.contexts, np.ndarray | Frozen):
            return None
        if not (self.shared_noise and isinstance(noise, Noise)):
            return None
        shift = SMALL_SHIFT * float(np.subtract(*noise.quantile([0.75, 0.25])))
        divergence = noise.kl_shift(shift)
        if not 0.0 < divergence < math.inf:  # one draw reveals the shift, or most draws are the same
            return 0.0
        information = rounds * 2.0 * divergence / shift**2
        rows, thetas = self._sample()
        centred = (rows - rows.mean(axis=(0, 1))).reshape(-1, self.n_features)
        scatter, axes = np.linalg.eigh(centred.T @ centred / len(centred))
        spread = scatter > NO_SCATTER * scatter[-1]  # along the other axes there is nothing to learn
        errors = np.random.default_rng(1).standard_normal((len(rows), spread.sum()))
        errors /= np.sqrt(information * scatter[spread])
        chosen = np.einsum("ikd,id->ik", rows, thetas + errors @ axes[:, spread].T).argmax(axis=1)
        means = self._sampled_means
        return float((means.max(axis=1) - means[np.arange(len(means)), chosen]).mean())


def expected(rows: FloatArray, theta: FloatArray) -> FloatArray:
    """Return x'theta for all rows x of an array (n, K, d).

    Examples
    --------
    >>> expected(np.ones((1, 2, 3)), np.array([1.0, 2.0, 3.0]))
    array([[6., 6.]])
    """
    means: FloatArray = rows[:, :, 0] * theta[0]
    for j in range(1, len(theta)):  # in a fixed order, so that rounding is the same on every machine, unlike that of @
        means += rows[:, :, j] * theta[j]
    return means


def draw_rows(contexts: Any, rng: np.random.Generator, size: int) -> FloatArray:
    """Return the rows of ``size`` rounds; refuse anything else that a sampler returns.

    Examples
    --------
    >>> draw_rows(np.eye(2), np.random.default_rng(0), 3).shape
    (3, 2, 2)
    """
    if isinstance(contexts, np.ndarray):
        return np.broadcast_to(contexts, (size, *contexts.shape))
    drawn = np.ascontiguousarray(contexts.sample(rng, size), dtype=float)
    if drawn.ndim != 3 or len(drawn) != size or not drawn.size:
        raise ValueError(
            f"contexts {contexts!r}: sample(rng, {size}) must return shape ({size}, K, d), got {drawn.shape}"
        )
    if not np.isfinite(drawn).all():
        raise ValueError(f"contexts {contexts!r}: sample(rng, {size}) must return finite numbers, got NaN or infinity")
    return drawn


def draw_rounds(
    contexts: Any, theta: FloatArray | None, rng: np.random.Generator, size: int
) -> tuple[FloatArray, FloatArray]:
    """Return the rows of ``size`` rounds and their expected rewards; refuse what is no such thing.

    Examples
    --------
    >>> rows, means = draw_rounds(np.eye(2), np.array([3.0, 4.0]), np.random.default_rng(0), 1)
    >>> means
    array([[3., 4.]])
    """
    if theta is not None:
        rows = draw_rows(contexts, rng, size)
        return rows, expected(rows, theta)
    drawn, paid = contexts.sample_paid(rng, size)
    rows, means = np.ascontiguousarray(drawn, dtype=float), np.ascontiguousarray(paid, dtype=float)
    if rows.ndim != 3 or len(rows) != size or not rows.size or means.shape != rows.shape[:2]:
        raise ValueError(f"contexts {contexts!r}: sample_paid(rng, {size}) must return shapes ({size}, K, d) and "
                         f"({size}, K), got {rows.shape} and {means.shape}")  # fmt: skip
    if not (np.isfinite(rows).all() and np.isfinite(means).all()):
        raise ValueError(f"contexts {contexts!r}: sample_paid(rng, {size}) must return finite numbers, got NaN or "
                         f"infinity")  # fmt: skip
    return rows, means


def context_rows(contexts: Any) -> FloatArray:
    """Return the rows of one round, to learn their shape.

    Examples
    --------
    >>> context_rows([[1, 2, 3]]).shape
    (1, 3)
    """
    made = _made("contexts", contexts, (2,))
    rows: FloatArray = draw_rows(made, np.random.default_rng(0), 1)[0]
    return rows


def _check_theta(theta: Any, contexts: Any, n_features: int) -> None:
    if theta is None:
        if not callable(getattr(contexts, "sample_paid", None)):
            raise ValueError(
                f"LinearInstance: without theta, contexts must have a method sample_paid(rng, size), got {contexts!r}"
            )
        return
    n_parameters = _drawn_theta(theta, np.random.default_rng(0)).size
    if n_parameters != n_features:
        given, needed = plural(n_parameters, "number"), plural(n_features, "feature")
        raise ValueError(
            f"LinearInstance: theta must have one number per feature, got {given} for contexts of {needed}"
        )


def _drawn_theta(theta: Any, rng: np.random.Generator) -> FloatArray:
    return theta if isinstance(theta, np.ndarray) else draw_rows(theta, rng, 1).ravel()


def _made(name: str, value: Any, dimensions: tuple[int, ...]) -> Any:
    """Return a sampler as it is, and numbers as a read-only array."""
    if hasattr(value, "sample"):
        require_contexts("LinearInstance", name, value)
        return value
    given = finite_array("LinearInstance", name, value)
    if given.ndim not in dimensions or not given.size:
        shape = "d numbers" if dimensions == (1,) else "rows of features, an array of shape (K, d)"
        raise ValueError(f"LinearInstance: {name} must be {shape}, or a sampler, got shape {given.shape}")
    given = given + 0.0  # so that -0 and 0 are one number
    given.flags.writeable = False
    return given


def _text(part: Any) -> str:
    """Return a text that tells arrays apart to the last bit."""
    if isinstance(part, np.ndarray):
        return f"array{part.shape} {hashlib.sha256(part.tobytes()).hexdigest()}"
    return describe(part)
