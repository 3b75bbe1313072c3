"""When rewards come: some rounds after their decisions, in batches, or never."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from .._validate import count, in_range, whole
from ..protocols import FloatArray, IntArray, Sampler


@dataclass(frozen=True)
class Batches:
    """Rewards that come together, after every ``size`` rounds.

    Parameters
    ----------
    size
        Rounds in a batch.

    Examples
    --------
    >>> Batches(3).delays(7)
    array([2, 1, 0, 2, 1, 0, 2])
    """

    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", count("Batches", "size", self.size))

    def delays(self, horizon: int) -> IntArray:
        """Return how many rounds late the reward of each decision is."""
        return self.size - 1 - np.arange(horizon) % self.size


Delay = int | Sampler | Batches


@dataclass(frozen=True)
class Delays:
    """How late rewards come, how many never do, and when a decision is given up.

    Parameters
    ----------
    delay
        How many rounds late every reward is, a law of this number, whose draws are rounded down, or :class:`Batches`.
    lost
        Share of rewards that never come.
    window
        Rounds after which a decision without its reward is given up; ``None`` for never.

    Examples
    --------
    >>> Delays(delay=2, lost=0.0, window=None).due(np.random.default_rng(0), horizon=6)
    array([3, 4, 5, 6, 6, 6])
    """

    delay: Delay
    lost: float
    window: int | None

    def __post_init__(self) -> None:
        delay: Any = self.delay
        if isinstance(delay, Real):
            delay = whole("simulate", "delay", delay)
        elif isinstance(delay, type) or not (isinstance(delay, Batches) or callable(getattr(delay, "sample", None))):
            rule = "a number of rounds, a law with a method sample(rng, size), or hb.Batches(size)"
            raise TypeError(f"simulate: delay must be {rule}, got {delay!r}")
        object.__setattr__(self, "delay", delay)
        object.__setattr__(self, "lost", in_range("simulate", "lost", self.lost, 0, 1))
        if self.window is not None:
            object.__setattr__(self, "window", whole("simulate", "window", self.window))

    def __bool__(self) -> bool:
        """Return whether a reward may come after the next decision, or never."""
        return self.lost > 0 or self.delay != 0

    def due(self, rng: np.random.Generator, horizon: int) -> IntArray:
        """Draw, for each reward, the round before whose decision it comes; ``horizon`` if too late or never."""
        rounds = np.arange(1, horizon + 1) + np.minimum(self._delays(rng, horizon), horizon).astype(np.int64)
        if self.lost > 0:
            rounds[rng.random(horizon) < self.lost] = horizon
        return np.minimum(rounds, horizon)

    def _delays(self, rng: np.random.Generator, horizon: int) -> FloatArray | IntArray:
        if isinstance(self.delay, int):
            return np.full(horizon, self.delay)
        if isinstance(self.delay, Batches):
            return self.delay.delays(horizon)
        drawn = np.asarray(self.delay.sample(rng, horizon), dtype=float)
        if drawn.shape != (horizon,) or not drawn.min() >= 0 or math.isnan(drawn.max()):
            rule = f"sample(rng, {horizon}) must return {horizon} numbers of at least 0"
            raise ValueError(f"delay {self.delay!r}: {rule}, got {drawn!r}")
        return drawn
