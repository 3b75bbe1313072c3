"""Which policy fits: rules of thumb by the goal, and a replay that may overrule them.

The goal is the *mean* where means exist: where the intervals of both tail indices are above 1, or
where the most extreme rewards are all the same number, as timeouts are.  Otherwise it is the *location*, here the
median, unless medians tie and cannot tell the arms apart.

Rules of thumb; the first that applies decides.

1. *Coins*: the rewards are two numbers, and the goal is the mean.  ``thompson-beta`` between the two.
2. *Light tails*: the intervals of the tail indices, of one if the other side is nearly empty, are above 4, and at most
   one reward in 100,000 is an outlier: the indices do not see what is rarer than the tails they are fitted to.  If the
   goal is the mean, arms also must be alike.  ``ucb`` with the scale that a normal law of this spread has; nothing does
   better on normal noise.
3. *Heavy, symmetric, and easy*: an index is at most 2, or a reward infinite; the skew is not told from zero or below
   0.1; and the best median leads by half the spread, so that an arm's first three rewards seldom mislead.  ``sgd-ucb``,
   which asks for symmetry and no moment, with what it must be told measured: the clipping level is the largest
   difference between medians, but at least half the spread, and the bonus 0.3 of half the spread.
4. *Anything else*, too few data to tell included, gets a policy that need not be told anything: ``auto`` for locations,
   and for means if the noise is symmetric and arms are alike, so that medians rank them too; else ``auto-mean``.

Arms are alike if no spread is more than half as large again as another.  The residuals of all arms are taken together,
for they share the noise or one arm has too few.

The advised policy and its rivals then play on rewards drawn from the file.  If one earns significantly more than the
rule's choice, the one that earns most is advised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..algorithms.registry import make
from ..protocols import FloatArray
from .replay import Replay
from .shape import Shape

LIGHT, HEAVY = 4.0, 2.0  # tail indices above and below which tails are called so
NEARLY_SYMMETRIC = 0.1  # skew
FEW_OUTLIERS = 1e-5  # share of rewards; of normal ones 2e-6 are outliers
UNTOLD = {"mean": "auto-mean", "location": "auto"}  # policies that need not be told anything
ALIKE = 1.5  # ratio of spreads
CAPPED = 3  # times that the most extreme reward must come
LISTED = 20  # arms that a snippet names
FEWEST = 10  # rewards without which nothing can be told


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
        """Return the policy itself."""
        return make(self.name, **self.parameters)

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{self.name}({given})" if given else self.name

    def snippet(self, labels: tuple[str, ...], horizon: int, reward: float, minimised: bool = False) -> str:
        """Return a program that uses the policy online."""
        given = "".join(f", {name}={value!r}" for name, value in self.parameters.items())
        arms = f"arms={list(labels)!r}" if len(labels) <= LISTED else f"n_arms={len(labels)}"
        example = repr(reward) if math.isfinite(reward) else "0.0"
        paid = "what the arm cost, negated" if minimised else "whatever the arm paid"
        return (
            "import heavybandits as hb\n\n"
            f"policy = hb.make({self.name!r}{given})\n"
            f"agent = hb.Agent(policy, {arms}, horizon={horizon})\n"
            "arm = agent.select()\n"
            f"agent.update(arm, {example})  # {paid}\n"
            "print(agent)\n"
        )


def choose_goal(by_arm: list[FloatArray], medians: FloatArray, noise: Shape) -> tuple[str, str]:
    """Return what to compare the arms by, and why.

    Examples
    --------
    >>> from heavybandits.diagnosis.shape import measure
    >>> noise = np.random.default_rng(0).standard_cauchy(1000)
    >>> choose_goal([noise, noise + 1], np.array([0.0, 1.0]), measure(noise))[0]
    'location'
    """
    sides = ((noise.upper, _is_capped(by_arm, 1)), (noise.lower, _is_capped(by_arm, -1)))
    tails = [tail for tail, capped in sides if not math.isnan(tail.value) and not (capped and tail.low <= 1)]
    heaviest = min(tails, key=lambda tail: tail.low, default=None)
    if noise.infinite:
        return "location", "Some rewards are infinite, so arms have no means and are compared by their medians."
    if sum(map(len, by_arm)) < FEWEST:
        return "mean", "There are too few rewards to tell whether means exist; ask for a goal, or come back with more."
    if any(capped and tail.low <= 1 for tail, capped in sides) and (heaviest is None or heaviest.low > 1):
        return "mean", "The most extreme rewards are all the same number, as timeouts are, so means exist."
    if heaviest is None or heaviest.low == math.inf:
        return "mean", "No tail reaches far: rewards are few numbers or have a limit, so means exist."
    if heaviest.low > 1:
        return "mean", f"The heavier tail has an index clearly above 1, {heaviest}, so means exist."
    if np.count_nonzero(medians == medians.max()) > 1:
        return "mean", (
            f"The heavier tail has the index {heaviest}, so means may not exist; but medians tie, and nothing else "
            "tells the arms apart."
        )
    return "location", (
        f"The heavier tail has the index {heaviest}, not clearly above 1, so means may not exist.  If rewards cannot "
        "be arbitrarily large and you add them up, ask for the goal mean."
    )


def _is_capped(by_arm: list[FloatArray], side: int) -> bool:
    """Whether the most extreme reward on a side came several times, as timeouts do: then no tail goes on from there."""
    extreme = max(float((side * rewards).max()) for rewards in by_arm)
    return sum(int(np.count_nonzero(side * rewards == extreme)) for rewards in by_arm) >= CAPPED


def advise(by_arm: list[FloatArray], goal: str, medians: FloatArray, noise: Shape, residuals: FloatArray) -> Advice:
    """Apply the rules of thumb to the arms' rewards and medians, and the pooled residuals about these and their shape.

    Examples
    --------
    >>> from heavybandits.diagnosis.shape import measure
    >>> noise = np.random.default_rng(0).standard_normal(5000)
    >>> advise([noise, noise + 1], "mean", np.array([0.0, 1.0]), measure(noise), noise).policy()
    UCB(c=1.01)
    """
    if goal == "mean" and (range_ := two_values(by_arm)):
        low, high = range_
        reason = f"Every reward is {low:g} or {high:g}: a coin, whose chance has a beta law given what was seen."
        return Advice("thompson-beta", {"low": low, "high": high}, reason)
    tails = [tail for tail in (noise.upper, noise.lower) if not math.isnan(tail.value)]
    alike = _alike(by_arm) and noise.spread > 0
    shifts = alike and is_symmetric(noise)  # so that medians and means rank the arms alike
    spiky = noise.infinite > 0 or noise.outliers > FEW_OUTLIERS * noise.size
    if tails and min(tail.low for tail in tails) > LIGHT and not spiky and (goal == "location" or alike):
        return measured_ucb(noise, residuals, "Both tails are light, so averages do well.")
    heavy = noise.infinite > 0 or min((tail.value for tail in tails), default=math.inf) <= HEAVY
    lead = float(medians.max() - np.partition(medians, -2)[-2]) if len(medians) > 1 else 0.0
    if heavy and is_symmetric(noise) and lead >= noise.spread / 2 and (goal == "location" or shifts):
        reason = "The tails are too heavy for averages; the noise is symmetric, and the best arm well ahead."
        return measured_sgd_ucb(medians, noise, reason)
    if goal == "mean" and not shifts:
        reason = "Arms may differ in more than their level, so only means tell which earns most; it learns their noise."
        return Advice(UNTOLD["mean"], {}, reason)
    return Advice(
        UNTOLD["location"], {}, "No simpler policy is sure to fit, so choose one that need not know the noise."
    )


def rivals(
    by_arm: list[FloatArray], goal: str, medians: FloatArray, noise: Shape, residuals: FloatArray
) -> list[Advice]:
    """List the policies that the replay compares with the rule's choice."""
    if goal == "location":
        return [Advice("auto", {}, ""), measured_ucb(noise, residuals), measured_sgd_ucb(medians, noise)]
    scale = _deviation(residuals)
    others = [Advice("auto", {}, ""), Advice("ucb", {"c": _rounded(scale / 2)} if math.isfinite(scale) else {}, "")]
    if range_ := two_values(by_arm):
        bounds = dict(zip(("low", "high"), range_, strict=True))
        return [Advice("auto-mean", {}, ""), *others, Advice("kl-ucb", bounds, ""), Advice("thompson-beta", bounds, "")]
    return [Advice("auto-mean", {}, ""), *others, measured_sgd_ucb(medians, noise)]


def overruled(advice: Advice, candidates: list[Advice], replay: Replay) -> Advice:
    """Return the candidate that earned most in the replay, if the advised one earned significantly less."""
    earned = replay.earned
    if not earned or not earned[str(advice)].is_beaten:
        return advice
    first = min(candidates, key=lambda one: earned[str(one)].behind[0] != 0)
    less, low, high = (f"{x:.3g}" for x in earned[str(advice)].behind)
    return replace(
        first,
        reason=f"The rule of thumb says {advice}: {advice.reason[0].lower()}{advice.reason[1:]}  The replay disagrees: "
        f"there it is worse by {less} ({low} to {high}) per pull than {first}, which is therefore advised.",
    )


def two_values(by_arm: list[FloatArray]) -> tuple[float, float] | None:
    """Return the two numbers that all rewards are; None if these are not two.

    Examples
    --------
    >>> two_values([np.array([0.0, 1.0]), np.array([0.0, 0.0])])
    (0.0, 1.0)
    """
    low, high = min(float(x.min()) for x in by_arm), max(float(x.max()) for x in by_arm)
    coins = low < high and math.isfinite(high - low) and all(((x == low) | (x == high)).all() for x in by_arm)
    return (low, high) if coins else None


def _alike(by_arm: list[FloatArray]) -> bool:
    spreads = [float(np.subtract(*np.quantile(x, (0.75, 0.25), method="inverted_cdf"))) for x in by_arm]
    return max(spreads) <= ALIKE * min(spreads)


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
    scale = noise.spread / 1.349 if noise.spread > 0 else _deviation(residuals)
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


def _deviation(residuals: FloatArray) -> float:
    with np.errstate(invalid="ignore", over="ignore"):
        return float(np.std(residuals))


def _rounded(x: float) -> float:
    return float(f"{x:.3g}")
