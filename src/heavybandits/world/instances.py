"""Instances: the locations of the arms and the noise around them, and what theory says of the pair."""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._validate import count, non_negative
from ..protocols import FloatArray, Sampler
from .noises import Cauchy, Gaussian

__all__ = [
    "Instance", "delta_cauchy", "delta_gaussian", "env1", "env2", "env3", "gaussian_env1", "gaussian_env2",
    "gaussian_env3", "instances",
]  # fmt: skip


@dataclass(frozen=True, init=False, eq=False)
class Instance:
    """A bandit: arm ``i`` pays ``means[i]`` plus a fresh draw of its noise.

    Instances are equal if their locations and the laws of their noise are.

    Parameters
    ----------
    means
        Locations of the arms: their means if the noise is centred.  Only differences count if it is not.
    noise
        One noise for all arms, or a sequence with one per arm.  Anything with a method ``sample(rng, size)``
        will do; see :mod:`.noises`.

    Attributes
    ----------
    means
        Locations, an array that cannot be written to.
    noises
        The noise of each arm.
    shared_noise
        Whether all arms have the same law of noise.
    key
        A digest of locations and noise.  It stays the same from run to run, and keys the random streams.

    Examples
    --------
    >>> instance = Instance(means=[0, 1, 2], noise=Cauchy(scale=1.0))
    >>> instance.n_arms, instance.best_arm, instance.gaps
    (3, 2, array([2., 1., 0.]))
    >>> round(instance.lai_robbins(horizon=10_000), 6)
    67.850829
    """

    means: FloatArray
    noise: Sampler | tuple[Sampler, ...]
    noises: tuple[Sampler, ...] = field(repr=False)
    shared_noise: bool = field(repr=False)
    key: str = field(repr=False)

    def __init__(self, means: ArrayLike, noise: Sampler | Sequence[Sampler]) -> None:
        locations = _locations(means)
        noises = _per_arm(noise, locations.size)
        laws = [_describe(one) for one in noises]
        text = "\n".join([*(mean.hex() for mean in locations.tolist()), *laws])
        self.__dict__.update(
            means=locations,
            noise=noise if hasattr(noise, "sample") else noises,
            noises=noises,
            shared_noise=len(set(laws)) == 1,
            key=hashlib.sha256(text.encode()).hexdigest(),
        )

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Instance) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return self.means.size

    @property
    def gaps(self) -> FloatArray:
        """How far the location of each arm lies below the best."""
        gaps: FloatArray = self.means.max() - self.means
        return gaps

    @property
    def best_arm(self) -> int:
        """The arm with the highest location, the first of them if there are several."""
        return int(self.means.argmax())

    def lai_robbins(self, horizon: int) -> float:
        r"""Return the regret that no consistent policy can asymptotically beat, by Lai and Robbins (1985).

        It is :math:`\ln T \sum_i \Delta_i / \mathrm{KL}_i` over the arms with a gap :math:`\Delta_i > 0`, for
        policies that know the shape of the noise but not the locations: :math:`\mathrm{KL}_i` is
        :meth:`~heavybandits.world.noises.Noise.kl_shift` of the arm's own noise at its gap.  An arm that one lucky
        draw can rule out, because that divergence is infinite, adds nothing.

        The limit concerns large horizons; at a short one a good policy may stay below it.

        Parameters
        ----------
        horizon
            Number of pulls :math:`T`.

        Returns
        -------
        float
            The limit; NaN if the noise of an arm with a gap has no method ``kl_shift``.

        Examples
        --------
        >>> round(gaussian_env1().lai_robbins(3000), 3)
        452.995
        """
        return math.log(count("lai_robbins", "horizon", horizon)) * self._lai_robbins_constant

    @cached_property
    def _lai_robbins_constant(self) -> float:
        divergences: dict[tuple[int, float], float] = {}
        total = 0.0
        for gap, noise in zip(self.gaps.tolist(), self.noises, strict=True):
            if gap == 0:
                continue
            if not hasattr(noise, "kl_shift"):
                return math.nan
            if (id(noise), gap) not in divergences:
                divergences[id(noise), gap] = noise.kl_shift(gap)
            divergence = divergences[id(noise), gap]
            total += gap / divergence if divergence else math.inf  # a divergence that underflows is zero
        return total


def env1(noise: Sampler | Sequence[Sampler]) -> Instance:
    """Return ten arms at 0, 1, ..., 9.

    Examples
    --------
    >>> env1(Cauchy()).means
    array([0., 1., 2., 3., 4., 5., 6., 7., 8., 9.])
    """
    return Instance(np.arange(10), noise)


def env2(noise: Sampler | Sequence[Sampler]) -> Instance:
    """Return ten arms at 0, 0.1, ..., 0.9.

    Examples
    --------
    >>> env2(Cauchy()).means
    array([0. , 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    """
    return Instance(np.arange(10) / 10, noise)


def env3(noise: Sampler | Sequence[Sampler]) -> Instance:
    """Return a hundred arms at 0, 0.02, ..., 1.98.

    Examples
    --------
    >>> env3(Cauchy()).means[[0, 1, 99]]
    array([0.  , 0.02, 1.98])
    """
    return Instance(np.arange(100) / 50, noise)


def gaussian_env1() -> Instance:
    """Return ten arms at 0, 0.1, ..., 0.9 with standard Gaussian noise.

    Examples
    --------
    >>> gaussian_env1().noise
    Gaussian(scale=1.0)
    """
    return env2(Gaussian())


def gaussian_env2() -> Instance:
    """Return ten arms at 0, 0.02, ..., 0.18 with standard Gaussian noise.

    Examples
    --------
    >>> gaussian_env2().means[[0, 1, 9]]
    array([0.  , 0.02, 0.18])
    """
    return Instance(np.arange(10) / 50, Gaussian())


def gaussian_env3() -> Instance:
    """Return a hundred arms at 0, 0.02, ..., 1.98 with standard Gaussian noise.

    Examples
    --------
    >>> gaussian_env3().n_arms
    100
    """
    return env3(Gaussian())


def delta_gaussian(delta: float) -> Instance:
    """Return two arms at 0 and ``delta`` with standard Gaussian noise.

    Examples
    --------
    >>> delta_gaussian(0.5).gaps
    array([0.5, 0. ])
    """
    return Instance([0.0, non_negative("delta_gaussian", "delta", delta)], Gaussian())


def delta_cauchy(delta: float) -> Instance:
    """Return four arms at 0 and one at ``delta`` with standard Cauchy noise.

    Examples
    --------
    >>> delta_cauchy(2).gaps
    array([2., 2., 2., 2., 0.])
    """
    return Instance([0.0] * 4 + [non_negative("delta_cauchy", "delta", delta)], Cauchy())


def instances() -> dict[str, Callable[..., Instance]]:
    """Return the functions that make the instances of the literature, by name.

    Examples
    --------
    >>> instances()["delta-cauchy"](2) == delta_cauchy(2)
    True
    """
    makers: list[Callable[..., Instance]] = [
        env1, env2, env3, gaussian_env1, gaussian_env2, gaussian_env3, delta_gaussian, delta_cauchy,
    ]  # fmt: skip
    return {make.__name__.replace("_", "-"): make for make in makers}


def _locations(means: ArrayLike) -> FloatArray:
    try:
        given = np.asarray(means)
    except ValueError:  # nested lists of unequal lengths
        given = np.empty(())
    if given.ndim != 1 or not given.size:
        raise ValueError(f"Instance: means must be a sequence of at least one number, got {means!r}")
    if given.dtype.kind not in "iuf":
        raise TypeError(f"Instance: means must be numbers, got {means!r}")
    locations: FloatArray = given.astype(np.float64) + 0.0  # so that -0 and 0 are one number
    if not np.isfinite(locations).all():
        raise ValueError(f"Instance: means must be finite, got {means!r}")
    if not math.isfinite(float(locations.max()) - float(locations.min())):
        raise ValueError(f"Instance: means must differ by a finite number, got {means!r}")
    locations.flags.writeable = False
    return locations


def _per_arm(noise: Any, n_arms: int) -> tuple[Sampler, ...]:
    # A noise may be a tuple itself, namely a NamedTuple with a method.
    several = isinstance(noise, Sequence) and not isinstance(noise, str) and not hasattr(noise, "sample")
    noises = tuple(noise) if several else (noise,) * n_arms
    for one in noises:
        if isinstance(one, type) or not callable(getattr(one, "sample", None)):
            hint = "; wrap a law of SciPy in hb.ScipyNoise" if hasattr(one, "rvs") else ""
            raise TypeError(f"Instance: noise must be an object with a method sample(rng, size), got {one!r}{hint}")
    if len(noises) != n_arms:
        raise ValueError(f"Instance: needs one noise per arm, got {len(noises)} for {n_arms} arms")
    return noises


def _describe(thing: object) -> str:
    """Return a text that is the same in every process: ``repr``, unless cut short or with an address."""
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
    parts = ", ".join(f"{key}={_describe(part)}" for key, part in inside)
    return f"{named.__module__}.{named.__qualname__}({parts})"
