"""What results know about an instance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from ..protocols import FloatArray


class PlayedInstance(Protocol):
    """What results know about an instance of any kind, just played or read from a store."""

    @property
    def means(self) -> FloatArray:
        """Locations of the arms."""
        ...

    @property
    def gaps(self) -> FloatArray:
        """How far each arm lies below the best."""
        ...

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        ...

    def lai_robbins(self, horizon: int) -> float | None:
        """Return the regret that no policy can beat as the horizon grows; None if it is not known."""
        ...

    def learning_loss(self, rounds: int) -> float | None:
        """Return what a round still loses after this many rounds with random rows; None if it is not known."""
        ...


@dataclass(frozen=True)
class StoredInstance:
    """The instance of a stored result, without the noise itself, which may be a user's code.

    Attributes
    ----------
    means, gaps
        Locations of the arms, and how far each lies below the best.
    noise
        The law of the noise, in words.
    horizon, limit, loss
        A horizon, and the Lai-Robbins limit and the loss of a learner there; None if they are not known.
    """

    means: FloatArray
    gaps: FloatArray
    noise: str
    horizon: int
    limit: float | None
    loss: float | None = None

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return self.means.size

    def lai_robbins(self, horizon: int) -> float | None:
        """Return the regret that no policy can beat as the horizon grows; see :meth:`Instance.lai_robbins`.

        Examples
        --------
        >>> import numpy as np
        >>> StoredInstance(np.zeros(2), np.zeros(2), "Cauchy", horizon=10, limit=3.0).lai_robbins(100)
        6.0
        """
        if self.limit is None or horizon == self.horizon:
            return self.limit
        return self.limit * math.log(horizon) / math.log(self.horizon)

    def learning_loss(self, rounds: int) -> float | None:
        """Return :meth:`LinearInstance.learning_loss` at the stored horizon; None for any other number of rounds."""
        return self.loss if rounds == self.horizon else None


def noise_of(instance: Any) -> str:
    """Return the law of an instance's noise, in words."""
    if isinstance(instance, StoredInstance):
        return instance.noise
    return repr(instance.noises[0]) if instance.shared_noise else "noises that differ between arms"
