"""Lipschitz instances: arms are points of the unit cube, and nearby points pay alike."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validate import count, unknown
from ..protocols import FloatArray, Sampler
from .functions import Function, functions
from .halton import halton
from .identity import BaseInstance, describe

PROBES = 20_000  # points with which the search for the supremum begins
STARTS = 20  # per dimension: the best of them, around which it continues
NEIGHBOURS = 64  # points tried around each
BOX_FACTOR, BOX_STEPS = 0.6, 60  # of the box around each: 0.6^60 is 5e-14
BOXES, BINNED = 64, 6  # at most: boxes in which pulls are counted, and coordinates that tell them apart


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LipschitzInstance(BaseInstance):
    """A bandit whose arms are the points of the cube [0, 1]^dim.

    A point x pays ``function(x)`` plus a fresh draw of the noise.  Regret is against the supremum of the function,
    which is found numerically: the best of many points that fill the cube are improved by searching shrinking boxes
    around them.  A peak that is much narrower than the distance between these points may be missed.

    Parameters
    ----------
    function
        A function that maps points, an array of shape (n, dim), to n finite values; or the name of one of
        :func:`~heavybandits.world.functions.functions`.
    noise
        Anything with a method ``sample(rng, size)``; see :mod:`.noises`.
    dim
        The number of coordinates of a point.

    Attributes
    ----------
    supremum
        The largest value of the function.
    means
        Its values at the centres of at most 64 equal boxes, in which pulls are counted.
    key
        A digest of its values at fixed points and of the noise.  It keys the random streams.

    Examples
    --------
    >>> import heavybandits as hb
    >>> instance = LipschitzInstance("peak", hb.Cauchy(0.5), dim=2)
    >>> round(instance.supremum, 6), instance.n_arms
    (1.0, 64)
    """

    kind = "lipschitz"  # of the policies that play it
    function: Function | str
    noise: Sampler
    dim: int
    supremum: float
    means: FloatArray

    def __init__(self, function: Function | str, noise: Sampler, dim: int = 1) -> None:
        dim = count("LipschitzInstance", "dim", dim)
        if isinstance(noise, type) or not callable(getattr(noise, "sample", None)):
            raise TypeError(
                f"LipschitzInstance: noise must be an object with a method sample(rng, size), got {noise!r}"
            )
        self.__dict__.update(function=function, noise=noise, noises=(noise,), dim=dim, call=_callable(function, dim))
        probes = halton(PROBES, dim)
        values = self.values(probes)
        per_side, binned = boxes(dim)
        centres = np.full((per_side**binned, dim), 0.5)
        centres[:, :binned] = [*itertools.product((np.arange(per_side) + 0.5) / per_side, repeat=binned)]
        means = self.values(centres)
        means.flags.writeable = False
        parts = (values[:1000].tobytes(), f"\nlipschitz {dim}\n{describe(noise)}".encode())
        self.__dict__.update(
            supremum=max(_supremum(self, probes, values), float(means.max())),
            means=means,
            key=hashlib.sha256(b"".join(parts)).hexdigest(),
        )

    def __repr__(self) -> str:
        return f"LipschitzInstance(function={self.function!r}, noise={self.noise!r}, dim={self.dim})"

    def values(self, points: FloatArray) -> FloatArray:
        """Return the values of the function at points, an array of shape (n, dim).

        Examples
        --------
        >>> import heavybandits as hb
        >>> LipschitzInstance("peak", hb.Cauchy()).values(np.array([[0.3], [0.5]])).round(3).tolist()
        [1.0, 0.8]
        """
        values = np.asarray(self.__dict__["call"](points), dtype=float) + 0.0
        if values.shape != (len(points),) or not np.isfinite(values).all():
            rule = f"must return {len(points)} finite values for {len(points)} points of shape (n, {self.dim})"
            wrong = values[~np.isfinite(values)][:1]
            got = wrong[0] if values.shape == (len(points),) else f"an array of shape {values.shape}"
            raise ValueError(f"LipschitzInstance: function {rule}, got {got}")
        return values

    @property
    def n_arms(self) -> int:
        """Number of boxes in which pulls are counted."""
        return self.means.size

    @property
    def gaps(self) -> FloatArray:
        """How far the centres of the boxes lie below the supremum."""
        gaps: FloatArray = self.supremum - self.means
        return gaps

    @property
    def shared_noise(self) -> bool:
        """True: all points have the same law of noise."""
        return True


def boxes(dim: int) -> tuple[int, int]:
    """Return how many parts each side is divided into to count pulls, and how many coordinates are divided.

    Examples
    --------
    >>> boxes(1), boxes(2), boxes(3), boxes(20)
    ((64, 1), (8, 2), (4, 3), (2, 6))
    """
    binned = min(dim, BINNED)
    return round(BOXES ** (1.0 / binned) - 0.4), binned


def _callable(function: Any, dim: int) -> Function:
    if not isinstance(function, str):
        if not callable(function):
            raise TypeError(f"LipschitzInstance: function must be a callable or a known name, got {function!r}")
        return function  # type: ignore[no-any-return]
    known = functions()
    if function not in known:
        raise ValueError(f"LipschitzInstance: {unknown('function', function, known)}")
    if known[function].dim not in (0, dim):
        raise ValueError(f"LipschitzInstance: dim must be {known[function].dim} for {function!r}, got {dim}")
    return known[function].function


def _supremum(instance: LipschitzInstance, probes: FloatArray, values: FloatArray) -> float:
    """Return the largest value found around the best probes, in boxes that shrink about the best point so far."""
    best = np.argsort(values)[::-1][: STARTS * instance.dim]
    offsets = halton(NEIGHBOURS, instance.dim) - 0.5
    points, highest = probes[best], values[best]
    size = 8.0 * len(probes) ** (-1.0 / instance.dim)
    for _ in range(BOX_STEPS):
        around = np.clip(points[:, None, :] + size * offsets, 0.0, 1.0)
        found = instance.values(around.reshape(-1, instance.dim)).reshape(len(points), NEIGHBOURS)
        top, row = found.argmax(axis=1), np.arange(len(points))
        better = found[row, top] > highest
        points[better], highest[better] = around[row, top][better], found[row, top][better]
        size *= BOX_FACTOR
    return float(highest.max())
