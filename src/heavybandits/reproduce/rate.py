"""The theorem on clipped SGD: whether its rate holds after every step, not only after the last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..protocols import FloatArray
from ..theory import confidence, first_clip, printed_rate, printed_step
from .comparisons import Comparison, Rule
from .measures import StudyEvidence

PATHS = 100


def rate_holds(sigma: float, radius: float, horizon: int, steps: int) -> Rule:
    """Require clipped SGD to be within the printed rate after each of its first steps, with the printed probability."""

    def compare(*_: StudyEvidence) -> Iterator[Comparison]:
        distances = paths(sigma, radius, horizon, steps)
        delta = confidence(horizon)
        rates = np.array([printed_rate(k, delta, horizon, radius, sigma) for k in range(1, steps + 1)])
        losses = 0.5 * distances**2
        beyond, median = (losses > rates[:, None]).mean(axis=1), np.median(losses, axis=1)
        worst = max(range(steps), key=lambda k: (beyond[k], median[k] / rates[k]))
        share = float(beyond[worst])
        words = (
            f"after {worst + 1:,} of {horizon:,} steps the median of f(x) - f* is {median[worst]:.3g}, and f(x) - f* "
            f"is above the rate, {rates[worst]:.3g}, in {share:.0%} of {PATHS} runs"
        )
        yield Comparison(words, delta - share, float(np.sqrt(share * (1.0 - share) / PATHS)), PATHS - 1)

    return Rule(
        f"clipped SGD with the theorem's step size and clipping levels for {horizon:,} steps, from a distance of "
        f"{radius:g}, under Gaussian noise of scale {sigma:g}: within the rate, with C = 5400 times the variance, "
        f"after each of the first {steps:,} steps in all but a share delta of the runs",
        compare,
    )


def paths(sigma: float, radius: float, horizon: int, steps: int) -> FloatArray:
    """Return the distances to the minimum after each step: (step, run)."""
    delta = confidence(horizon)
    step = printed_step(horizon, radius, delta)
    clips = first_clip(step, radius, horizon, delta) * np.exp(-0.5 * step * np.arange(steps))
    noise: Any = np.random.default_rng(0).normal(scale=sigma, size=(steps, PATHS))
    distances = np.empty((steps, PATHS))
    x = np.full(PATHS, radius)
    for k in range(steps):
        x = x - step * np.clip(x - noise[k], -clips[k], clips[k])
        distances[k] = np.abs(x)
    return distances
