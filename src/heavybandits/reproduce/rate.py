"""The theorem on clipped SGD: whether its rate holds after every step, not only after the last.

Half of the runs choose the step at which the rate fails most often, and the others judge.  The rate holds if a run is
beyond it at any step with a probability of at most delta, which takes far more runs to show than to refute.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..evidence.statements import MeanAbove
from ..protocols import FloatArray
from ..results.result import CHOOSING, JUDGING
from ..theory import confidence, first_clip, printed_rate, printed_step
from .comparisons import Comparison, Rule
from .study_evidence import StudyEvidence

PATHS = 200


def rate_holds(sigma: float, radius: float, horizon: int, steps: int) -> Rule:
    """Require clipped SGD to be within the printed rate after each of its first steps, with the printed probability."""

    def compare(*_: StudyEvidence) -> Iterator[Comparison]:
        distances = paths(sigma, radius, horizon, steps)
        delta = confidence(horizon)
        rates = np.array([printed_rate(k, delta, horizon, radius, sigma) for k in range(1, steps + 1)])
        losses = 0.5 * distances**2
        beyond, median = losses > rates[:, None], np.median(losses, axis=1)
        chosen = beyond[:, CHOOSING].mean(axis=1)
        worst = max(range(steps), key=lambda k: (chosen[k], median[k] / rates[k]))
        there, anywhere = beyond[worst, JUDGING].astype(float), beyond[:, JUDGING].any(axis=0).astype(float)
        words = (
            f"after {worst + 1:,} of {horizon:,} steps the median of f(x) - f* is {median[worst]:.3g}, and f(x) - f* "
            f"is above the rate, {rates[worst]:.3g}, in {there.mean():.0%} of {there.size} runs"
        )
        yield Comparison(words, MeanAbove(delta - anywhere, 1.0 - delta), MeanAbove(there - delta, delta))

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
