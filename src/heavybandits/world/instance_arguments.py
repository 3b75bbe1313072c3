"""Checks of the arguments of an instance: means and their changes, noises, laws and a goal."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._validate import count
from ..protocols import FloatArray, Sampler
from .identity import centres


def locations_of(means: ArrayLike) -> FloatArray:
    """Return the means of the arms as a read-only array."""
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


def changes_by_round(changes: Any, n_arms: int, is_of_laws: bool) -> dict[int, FloatArray]:
    """Return locations by round, in order of rounds."""
    if changes is None:
        return {}
    if is_of_laws:
        raise ValueError("Instance: changes are new means, so arms given as laws must have none")
    if not isinstance(changes, Mapping):
        raise TypeError(f"Instance: changes must be a mapping of rounds to means, got {changes!r}")
    later = {count("Instance", "each round of changes", start): locations_of(means) for start, means in changes.items()}
    for start, moved in later.items():
        if moved.size != n_arms:
            given = f"got {moved.size} means at {start}"
            raise ValueError(f"Instance: changes must have a mean for each of {n_arms} arms, {given}")
    return dict(sorted(later.items()))


def per_arm(owner: str, name: str, noise: Any, n_arms: int) -> tuple[Sampler, ...]:
    """Return a noise for each arm, given one for all or a sequence of them."""
    # A noise may itself be a tuple, namely a NamedTuple with a method.
    several = isinstance(noise, Sequence) and not isinstance(noise, str) and not hasattr(noise, "sample")
    noises = tuple(noise) if several else (noise,) * n_arms
    for one in noises:
        if isinstance(one, type) or not callable(getattr(one, "sample", None)):
            hint = "; wrap a law of SciPy in hb.ScipyNoise" if hasattr(one, "rvs") else ""
            raise TypeError(f"{owner}: {name} must be an object with a method sample(rng, size), got {one!r}{hint}")
    if len(noises) != n_arms:
        raise ValueError(f"{owner}: needs one noise per arm, got {len(noises)} for {n_arms} arms")
    return noises


def listed_laws(laws: Any) -> tuple[Sampler, ...]:
    """Return the laws of the arms."""
    if not isinstance(laws, Sequence) or isinstance(laws, str) or hasattr(laws, "sample") or not laws:
        raise TypeError(f"Instance: laws must be a sequence of at least one law, got {laws!r}")
    return per_arm("Instance", "each of laws", laws, len(laws))


def goal_of(goal: object) -> Literal["mean", "location"]:
    """Return what arms are compared by."""
    if goal is None or goal == "mean":
        return "mean"
    if goal == "location":
        return "location"
    raise ValueError(f"Instance: goal must be 'mean' or 'location', got {goal!r}")


def location_of(law: Any, goal: str) -> float:
    """Return what a law is compared by."""
    needed = "mean" if goal == "mean" else "quantile"
    if not hasattr(law, needed):
        raise TypeError(f"Instance: for goal={goal!r} each of laws must have {needed!r}, got {law!r}, which does not")
    if goal == "location":
        return float(law.quantile(0.5))
    if law.mean is None:
        raise ValueError(f"Instance: {law!r} has no mean; use goal='location' to compare arms by their medians")
    return float(law.mean)


def warn_of_centres(noises: tuple[Sampler, ...]) -> None:
    """Warn if rewards of the arms differ by more than their ``means`` do."""
    found = centres(noises)
    if found and not all(math.isclose(found[0], centre, rel_tol=1e-6, abs_tol=1e-9) for centre in found):
        warnings.warn(
            f"Instance: the noises have different centres, from {min(found):.4g} to {max(found):.4g}, but regret "
            "counts only means; to measure it by true means, give the arms as laws=[...] (hb.Shifted moves a law)",
            stacklevel=3,
        )
