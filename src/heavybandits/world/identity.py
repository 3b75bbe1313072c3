"""Which laws and instances are the same: decided by what they are, never by how they print."""

import copy
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Self

import numpy as np

from ..protocols import Sampler
from .context_names import contexts
from .noises import Noise, ScipyNoise, noises


def same_law(one: Any, two: Any) -> bool:
    """Return whether two laws are certainly the same.

    They are if they are one object, or of the same class of this package with equal parameters.  A class of your own
    may hide what its ``repr``, its ``==`` and its attributes do not show, so two objects of it are never equal here.

    Examples
    --------
    >>> import heavybandits as hb
    >>> same_law(hb.Cauchy(1), hb.Cauchy(1.0)), same_law(hb.Cauchy(1), hb.Cauchy(2))
    (True, False)
    """
    if one is two:
        return True
    if type(one) is not type(two):
        return False
    if isinstance(one, ScipyNoise):
        return type(one) is ScipyNoise and one == two
    if type(one) in (*noises().values(), *contexts().values()):
        return all(same_law(getattr(one, field.name), getattr(two, field.name)) for field in fields(one))
    if type(one) is tuple:
        return len(one) == len(two) and all(map(same_law, one, two))
    if type(one) is np.ndarray:
        return np.array_equal(one, two)
    return type(one) in (float, int, bool) and one == two


def texts(laws: Sequence[object]) -> list[str]:
    """Describe laws so that equal laws have the same text, and different laws have different texts.

    The texts are the same in every process.  Laws that read alike but may differ are numbered.

    Examples
    --------
    >>> import heavybandits as hb
    >>> texts([hb.Cauchy(), hb.Gaussian(), hb.Cauchy()])
    ['Cauchy(scale=1.0)', 'Gaussian(scale=1.0)', 'Cauchy(scale=1.0)']
    """
    known: dict[str, list[object]] = {}  # different laws by their common text
    by_object: dict[int, str] = {}
    found = []
    for law in laws:
        if id(law) not in by_object:
            text = describe(law)
            alike = known.setdefault(text, [])
            number = next((i for i, other in enumerate(alike) if same_law(law, other)), len(alike))
            if number == len(alike):
                alike.append(law)
            by_object[id(law)] = f"{text} (another, number {number + 1})" if number else text
        found.append(by_object[id(law)])
    return found


def describe(thing: object) -> str:
    """Return a text that is the same in every process: ``repr``, unless that is cut short or has an address."""
    text = repr(thing)
    if " at 0x" not in text and "..." not in text:
        return text
    if isinstance(thing, np.ndarray):
        return f"array({thing.dtype}, {thing.shape}, {hashlib.sha256(thing.tobytes()).hexdigest()})"
    inside: Iterable[tuple[Any, Any]]
    if isinstance(thing, Mapping):
        inside = thing.items()
    elif isinstance(thing, list | tuple):
        inside = enumerate(thing)
    else:
        inside = sorted(getattr(thing, "__dict__", {}).items())
    named: Any = thing if hasattr(thing, "__qualname__") else type(thing)  # a function, or an object
    parts = ", ".join(f"{key}={describe(part)}" for key, part in inside)
    return f"{named.__module__}.{named.__qualname__}({parts})"


def centres(laws: Sequence[Any]) -> list[float] | None:
    """Return the means of the laws if all have one, else their medians; None if one is not a :class:`.Noise`.

    Examples
    --------
    >>> import heavybandits as hb
    >>> centres([hb.Pareto(2), hb.Gaussian()]), centres([hb.Cauchy(), hb.Gaussian()])
    ([2.0, 0.0], [0.0, 0.0])
    """
    different = {id(law): law for law in laws}
    if not all(isinstance(law, Noise) for law in different.values()):
        return None
    means = {key: law.mean for key, law in different.items()}
    if None in means.values():
        means = {key: float(law.quantile(0.5)) for key, law in different.items()}
    return [means[id(law)] for law in laws]


class BaseInstance:
    """What instances of all kinds share: equal ones have the same laws, and each replication begins afresh."""

    noises: tuple[Sampler, ...]
    key: str

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.key == other.key and all(map(same_law, self._laws, other._laws))

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def _laws(self) -> tuple[Any, ...]:
        return self.noises

    def begin(self) -> Self:
        """Return the instance for one replication, in which data without replacement start afresh."""
        fresh = tuple(noise.begin() if isinstance(noise, Noise) else noise for noise in self.noises)
        if all(one is two for one, two in zip(fresh, self.noises, strict=True)):
            return self
        instance = copy.copy(self)
        instance.__dict__["noises"] = fresh
        return instance

    def lai_robbins(self, horizon: int) -> float | None:
        """Return the regret that no policy can beat as the horizon grows; None, because it is known for K arms only."""
        return None

    def learning_loss(self, rounds: int) -> float | None:
        """Return what a round still loses after this many; None, because it is known for linear rewards only."""
        return None
