"""Instances: what the arms pay, what they are compared by, and what theory says about them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .._validate import count
from ..protocols import FloatArray, Sampler
from .identity import BaseInstance, texts
from .instance_arguments import (
    changes_by_round,
    goal_of,
    listed_laws,
    location_of,
    locations_of,
    per_arm,
    warn_of_centres,
)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Instance(BaseInstance):
    """A bandit: what each arm pays, and what regret is measured by.

    Give ``means`` and ``noise``, and arm ``i`` pays ``means[i]`` plus a fresh draw of its noise; or give ``laws``, and
    arm ``i`` pays a fresh draw of ``laws[i]``.

    Two instances are equal if their arms are.  Laws of this package are equal if their class and parameters are.  Two
    objects of your own class are never taken for the same law, however alike they look.

    Parameters
    ----------
    means
        Locations of the arms: their means if the noise is centred.  Regret counts differences between them, so noises
        that differ between arms should have the same centre.
    noise
        One noise for all arms, or a sequence with one per arm.  Anything with a method ``sample(rng, size)``
        will do; see :mod:`.noises`.
    laws
        Laws of the arms, instead of ``means`` and ``noise``.
    goal
        What arms given by ``laws`` are compared by: their ``"mean"``, or their ``"location"``, which is the median and
        exists for every law.
    changes
        New ``means`` by the number of rounds after which they hold, such as ``{1000: [2, 1, 0]}``, for arms that
        change.  Regret is against the best arm of each round.

    Attributes
    ----------
    means
        What arms are compared by, as a read-only array: the locations, or the means or medians of laws.
    shifts
        What is added to each draw of an arm: the locations, or zero for laws.
    noises
        The noise or law of each arm.
    shared_noise
        Whether all arms have the same law of noise.  They then share its draws.
    goal
        ``"location"`` for arms given by ``means``.
    is_of_laws
        Whether the arms were given as laws.
    changes
        Later locations by round, in order; empty if arms never change.  ``means`` and all that is derived from them
        describe the first round.
    key
        A digest of the arms.  It stays the same from run to run, and keys the random streams.

    Examples
    --------
    >>> from heavybandits.world.noises import Bernoulli, Cauchy, LogNormal, ZeroInflated
    >>> instance = Instance(means=[0, 1, 2], noise=Cauchy(scale=1.0))
    >>> instance.n_arms, instance.best_arm, instance.gaps
    (3, 2, array([2., 1., 0.]))
    >>> round(instance.lai_robbins(horizon=10_000), 6)
    67.850829

    Two arms given as laws: clicks that pay 1 each, and purchases that pay varying amounts.

    >>> arms = Instance(laws=[Bernoulli(0.04), ZeroInflated(0.03, LogNormal(1.0))])
    >>> arms.means.round(4), arms.best_arm
    (array([0.04  , 0.0495]), 1)
    """

    means: FloatArray
    shifts: FloatArray
    noise: Sampler | tuple[Sampler, ...]
    shared_noise: bool
    goal: str
    is_of_laws: bool
    changes: dict[int, FloatArray]
    kind = "arms"  # of the policies that play it

    def __init__(
        self,
        means: ArrayLike | None = None,
        noise: Sampler | Sequence[Sampler] | None = None,
        *,
        laws: Sequence[Sampler] | None = None,
        goal: Literal["mean", "location"] | None = None,
        changes: Mapping[int, ArrayLike] | None = None,
    ) -> None:
        if laws is None:
            if means is None or noise is None:
                given = f"means={means!r} and noise={noise!r}"
                raise TypeError(f"Instance: means and noise must both be given, or laws instead, got {given}")
            if goal not in (None, "location"):
                raise ValueError(f"Instance: arms given by means are compared by them; to compare means of rewards, "
                                 f"give the arms as laws; got goal={goal!r}")  # fmt: skip
            goal, locations = "location", locations_of(means)
            noises = per_arm("Instance", "noise", noise, locations.size)
            shifts, heads = locations, [mean.hex() for mean in locations.tolist()]
            warn_of_centres(noises)
        else:
            if means is not None or noise is not None:
                raise TypeError("Instance: laws take the place of means and noise; give one or the other, got both")
            goal, noises = goal_of(goal), listed_laws(laws)
            locations, heads = locations_of([location_of(law, goal) for law in noises]), [f"laws by {goal}"]
            shifts = np.zeros(len(noises))
            shifts.flags.writeable = False
        later = changes_by_round(changes, locations.size, laws is not None)
        for start, moved in later.items():
            heads += [f"from {start}", *(mean.hex() for mean in moved.tolist())]
        described = texts(noises)
        self.__dict__.update(
            means=locations,
            shifts=shifts,
            noise=noise if hasattr(noise, "sample") else noises,
            noises=noises,
            shared_noise=len(set(described)) == 1,
            goal=goal,
            is_of_laws=laws is not None,
            changes=later,
            key=hashlib.sha256("\n".join([*heads, *described]).encode()).hexdigest(),
        )

    def __repr__(self) -> str:
        if not self.is_of_laws:
            changes = f", changes={self.changes!r}" if self.changes else ""
            return f"Instance(means={self.means!r}, noise={self.noise!r}{changes})"
        return f"Instance(laws={list(self.noises)!r}, goal={self.goal!r})"

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
        """The arm with the highest location; the first if there are several."""
        return int(self.means.argmax())

    def pieces(self, horizon: int) -> Iterator[tuple[int, int, FloatArray, FloatArray]]:
        """Yield the stretches of rounds in which no arm changes: first round, end, shifts and gaps.

        Examples
        --------
        >>> from heavybandits.world.noises import Gaussian
        >>> instance = Instance([0, 1], Gaussian(), changes={300: [2, 0]})
        >>> for piece in instance.pieces(1000):
        ...     print(*piece)
        0 300 [0. 1.] [1. 0.]
        300 1000 [2. 0.] [0. 2.]
        """
        starts = [0, *(start for start in self.changes if start < horizon)]
        for start, end in zip(starts, [*starts[1:], horizon], strict=True):
            moved = self.changes.get(start)
            if moved is None:
                yield start, end, self.shifts, self.gaps
            else:
                yield start, end, moved, moved.max() - moved

    def lai_robbins(self, horizon: int) -> float | None:
        r"""Return the regret that no consistent policy can asymptotically beat, by Lai and Robbins (1985).

        It is :math:`\ln T \sum_i \Delta_i / \mathrm{KL}_i` over the arms with a gap :math:`\Delta_i > 0`, for
        policies that know the shape of the noise but not the locations: :math:`\mathrm{KL}_i` is
        :meth:`~heavybandits.world.noises.Noise.kl_shift` of the arm's own noise at its gap.  An arm that one lucky
        draw can rule out, because that divergence is infinite, adds nothing.  Arms given as laws are not shifts of each
        other, so for them the limit is not defined, unless all arms are equally good; nor is it for arms that change.

        The limit concerns large horizons; at a short one a good policy may stay below it.

        Parameters
        ----------
        horizon
            Number of pulls :math:`T`.

        Returns
        -------
        float or None
            The limit; None if it is not defined, or if the noise of an arm with a gap has no method ``kl_shift``.

        Examples
        --------
        >>> from heavybandits.world.noises import Gaussian
        >>> round(Instance([0, 0.5], Gaussian()).lai_robbins(3000), 3)
        32.025
        """
        logarithm, constant = math.log(count("lai_robbins", "horizon", horizon)), self._lai_robbins_constant
        return None if constant is None else logarithm * constant

    @cached_property
    def _lai_robbins_constant(self) -> float | None:
        if self.changes:
            return None
        divergences: dict[tuple[int, float], float] = {}
        total = 0.0
        for gap, noise in zip(self.gaps.tolist(), self.noises, strict=True):
            if gap == 0:
                continue
            if self.is_of_laws or not hasattr(noise, "kl_shift"):
                return None
            if (id(noise), gap) not in divergences:
                divergences[id(noise), gap] = noise.kl_shift(gap)
            divergence = divergences[id(noise), gap]
            total += gap / divergence if divergence else math.inf  # a divergence that underflows is zero
        return total
