"""Which policy fits what was measured, by four rules; the first that applies decides.

1. *Only means tell the arms apart*: several arms share the highest median, as when most rewards are zero.  If the upper
   tail index is above 2, so that averages settle, ``ucb`` with the residuals' standard deviation; from 1 to 2,
   ``rucb-catoni`` with a moment of an order half way between 1 and the index.
2. *Light tails*: the intervals of the tail indices, of one if the other side is nearly empty, are above 4, and at most
   one reward in 100,000 is an outlier: the indices do not see what is rarer than the tails they are fitted to.
   ``ucb`` with the scale that a normal law of this spread has; nothing does better on normal noise.
3. *Heavy, symmetric, and easy*: an index is at most 2, or a reward infinite; the skew is not told from zero or below
   0.1; and the best median leads by half the spread, so that an arm's first three rewards seldom mislead.  ``sgd-ucb``,
   which asks for symmetry and no moment, with what it must be told measured: the clipping level is the largest
   difference between medians, but at least half the spread, and the bonus 0.3 of half the spread.
4. *Anything else*, too few data to tell included: the policy that need not be told anything.

The residuals of all arms are taken together, for they share the noise or one arm has too few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms.registry import make
from ..protocols import FloatArray
from .shape import Shape

LIGHT, HEAVY = 4.0, 2.0  # tail indices above and below which tails are called so
NEARLY_SYMMETRIC = 0.1  # skew
FEW_OUTLIERS = 1e-5  # share of rewards; of normal ones 2e-6 are outliers
UNTOLD = "auto"  # the policy that need not be told anything
LISTED = 20  # arms that a snippet names


@dataclass(frozen=True)
class Advice:
    """A policy by name, with its parameters, and why.

    Examples
    --------
    >>> Advice("ucb", {"c": 2.0}, "Tails are light.").policy()
    UCB(c=2.0)
    """

    name: str
    parameters: dict[str, float]
    reason: str

    def policy(self) -> Any:
        """The policy itself."""
        return make(self.name, **self.parameters)

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{self.name}({given})" if given else self.name

    def snippet(self, labels: tuple[str, ...], horizon: int, reward: float) -> str:
        """A program that uses the policy online."""
        given = "".join(f", {name}={value!r}" for name, value in self.parameters.items())
        arms = f"arms={list(labels)!r}" if len(labels) <= LISTED else f"n_arms={len(labels)}"
        example = repr(reward) if math.isfinite(reward) else "0.0"
        return (
            "import heavybandits as hb\n\n"
            f"policy = hb.make({self.name!r}{given})\n"
            f"agent = hb.Agent(policy, {arms}, horizon={horizon})\n"
            "arm = agent.select()\n"
            f"agent.update(arm, {example})  # whatever the arm paid\n"
            "print(agent)\n"
        )


def advise(medians: FloatArray, noise: Shape, residuals: FloatArray) -> Advice:
    """Apply the rules to the arms' medians, and to the pooled residuals about them and their shape.

    Examples
    --------
    >>> from heavybandits.diagnosis.shape import measure
    >>> noise = np.random.default_rng(0).standard_normal(5000)
    >>> advise(np.array([0.0, 1.0]), measure(noise), noise).policy()
    UCB(c=1.01)
    """
    tails = [tail for tail in (noise.upper, noise.lower) if not math.isnan(tail.value)]
    tied = np.count_nonzero(medians == medians.max()) > 1
    if tied and noise.infinite == 0 and 1 < noise.upper.value <= HEAVY:
        return _measured_catoni(noise, residuals)
    if tied and noise.infinite == 0 and noise.upper.value > HEAVY:
        scale = {"c": _rounded(float(np.std(residuals)))}
        return Advice(
            "ucb", scale, "Several arms share the highest median: only means tell them apart, and these settle."
        )
    spiky = noise.infinite > 0 or noise.outliers > FEW_OUTLIERS * noise.size
    if tails and min(tail.low for tail in tails) > LIGHT and not spiky:
        return measured_ucb(noise, residuals, "Both tails are light, so averages do well.")
    heavy = noise.infinite > 0 or min((tail.value for tail in tails), default=math.inf) <= HEAVY
    lead = float(medians.max() - np.partition(medians, -2)[-2]) if len(medians) > 1 else 0.0
    if heavy and is_symmetric(noise) and lead >= noise.spread / 2:
        reason = "The tails are too heavy for averages; the noise is symmetric, and the best arm well ahead."
        return measured_sgd_ucb(medians, noise, reason)
    reason = "No simpler policy is sure to fit, so choose one that need not know the noise."
    return Advice(UNTOLD, {}, reason)


def is_symmetric(noise: Shape) -> bool:
    """Whether the skew is not told from zero, or small.

    Examples
    --------
    >>> from heavybandits.diagnosis.shape import measure
    >>> is_symmetric(measure(np.random.default_rng(0).pareto(1.5, 1000)))
    False
    """
    return noise.skew.low <= 0 <= noise.skew.high or abs(noise.skew.value) < NEARLY_SYMMETRIC


def measured_ucb(noise: Shape, residuals: FloatArray, reason: str = "") -> Advice:
    """UCB with the scale that a normal law of this spread has, or with the standard deviation if the spread is zero.

    Examples
    --------
    >>> from heavybandits.diagnosis.shape import measure
    >>> coins = np.repeat([0.0, 1.0], (90, 10))
    >>> measured_ucb(measure(coins), coins).parameters
    {'c': 0.3}
    """
    with np.errstate(invalid="ignore", over="ignore"):
        scale = noise.spread / 1.349 if noise.spread > 0 else float(np.std(residuals))
    return Advice("ucb", {"c": _rounded(scale)} if math.isfinite(scale) else {}, reason)


def measured_sgd_ucb(medians: FloatArray, noise: Shape, reason: str = "") -> Advice:
    """SGD-UCB with a clipping level and a bonus of the size of gaps and spread.

    Examples
    --------
    >>> from heavybandits.diagnosis.shape import measure
    >>> measured_sgd_ucb(np.array([0.0, 5.0]), measure(np.arange(101.0))).parameters
    {'clip': 25.0, 'coeff': 7.5}
    """
    half = noise.spread / 2
    clip = max(float(medians.max() - medians.min()), half)
    usable = 0 < clip < math.inf
    return Advice("sgd-ucb", {"clip": _rounded(clip), "coeff": _rounded(0.3 * half)} if usable else {}, reason)


def _measured_catoni(noise: Shape, residuals: FloatArray) -> Advice:
    order = (1 + noise.upper.value) / 2
    moment = float(np.mean(np.abs(residuals - np.mean(residuals)) ** order))
    reason = "Several arms share the highest median: only means tell them apart; these exist, the variance does not."
    return Advice("rucb-catoni", {"v": _rounded(moment), "eps": _rounded(order - 1)}, reason)


def _rounded(x: float) -> float:
    return float(f"{x:.3g}")
