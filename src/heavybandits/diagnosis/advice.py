"""Which policy fits: rules of thumb by the goal, and a replay that may overrule them.

Rules of thumb; the first that applies decides.

1. *Too few rewards*: fewer than 10 tell nothing.  Use a policy that needs no prior knowledge: ``auto`` for locations,
   ``auto-mean`` for means.
2. *Coins*: rewards take two values, each of them at least three times, and the goal is the mean.  Use
   ``thompson-beta`` between the two.
3. *Light tails*: the intervals of both tail indices (of one, if the other side is nearly empty) are above 4, and at
   most one reward in 100,000 is an outlier, because the indices miss anything rarer than the tails they are fitted to.
   If the goal is the mean, the arms must also be alike.  Use ``ucb`` with the scale of a normal law of this spread;
   nothing does better on normal noise.
4. *Heavy, symmetric, and easy*: an index is at most 2 or a reward is infinite; the skew is below 0.1 or cannot be told
   from zero; and the best median leads by half the spread, so that an arm's first three rewards seldom mislead.  Use
   ``sgd-ucb``, which requires symmetry but no moments, with measured parameters: the clipping level is the largest
   difference between medians, but at least half the spread, and the bonus is 0.3 of half the spread.
5. *Anything else* gets a policy that needs no prior knowledge: ``auto`` for locations, and for means if the noise is
   symmetric and the arms are alike, so that medians rank them too; otherwise ``auto-mean``, also for locations of
   skewed arms with different spreads, which ``auto`` would rank by neither medians nor means.  If their means may not
   exist, ``order-statistic-ucb``, which compares medians.

Arms are alike if no spread is more than 1.5 times another.  The residuals of all arms are pooled: the arms share their
noise, or a single arm has too few rewards.

The advised policy and its rivals, one that needs no prior knowledge and ``ucb`` with a measured scale, then play on
half of the file.  A rival is advised instead only if it surely earns more on the other half: on rewards that neither it
nor the rule's choice has seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._format import plural
from ..algorithms.registry import make
from ..logs.rewards import NOUNS
from ..protocols import FloatArray
from .goals import FEWEST_REWARDS
from .replay import Replay
from .shape import Shape
from .tails import OFTEN

LIGHT_INDEX, HEAVY_INDEX = 4.0, 2.0  # tail indices above and below which tails are called so
NEARLY_SYMMETRIC = 0.1  # skew
FEW_OUTLIERS = 1e-5  # share of rewards; normal noise gives 2e-6
PARAMETER_FREE = {"mean": "auto-mean", "location": "auto"}  # policies that need no prior knowledge
ALIKE = 1.5  # ratio of spreads
DIFFERENT_SHAPES = (
    "Arms are skewed and differ in spread, and auto would then rank them by neither their medians nor their means.  "
)
BY_MEANS = "This policy ranks them by their means; compare with the goal location says which median is best."
BY_MEDIANS = "Their means may not exist, and this policy ranks them by their medians."
MEDIANS = ("order-statistic-ucb", {"c": 0.25})  # a policy that compares medians, whatever the laws


@dataclass(frozen=True)
class Advice:
    """A policy by name, its parameters, and the reason for it.

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

    def snippet(self, reading: str, paid: str, drifts: bool) -> str:
        """Return a program that feeds logged rewards to an agent with the policy, and then decides online."""
        given = "".join(f", {name}={value!r}" for name, value in self.parameters.items())
        drift = ", drift=True" if drifts else ""
        return (
            "import heavybandits as hb\n"
            "from heavybandits.logs.rewards import read_rewards\n\n"
            f"log = read_rewards({reading})\n"
            f"policy = hb.make({self.name!r}{given})\n"
            f"agent = hb.Agent(policy, arms=log.labels, horizon=2 * len(log.rewards){drift})\n"
            "agent.update_many([log.labels[arm] for arm in log.arms], log.rewards, selected=False)\n"
            "print(agent)\n"
            f"arm = agent.select()  # then agent.update(arm, reward), with {paid}\n"
        )


def advise(
    by_arm: list[FloatArray], goal: str, medians: FloatArray, noise: Shape, residuals: FloatArray,
    minimised: bool = False,
) -> Advice:  # fmt: skip
    """Apply the rules of thumb to the arms' rewards and medians, and to the pooled residuals and their shape.

    Rewards may be negated costs, ``minimised``; the reason then speaks of costs.

    Examples
    --------
    >>> from heavybandits.diagnosis.shape import measure
    >>> noise = np.random.default_rng(0).standard_normal(5000)
    >>> advise([noise, noise + 1], "mean", np.array([0.0, 1.0]), measure(noise), noise).policy()
    UCB(c=1.01)
    """
    count, noun = sum(map(len, by_arm)), NOUNS[minimised]
    if count < FEWEST_REWARDS:
        are, they_are = ("is", "it is") if count == 1 else ("are", "they are")
        few = f"{plural(count, noun)} {are} too few to tell what kind {they_are}; at least {FEWEST_REWARDS} are needed."
        return Advice(PARAMETER_FREE[goal], {}, f"{few}  This policy needs no prior knowledge.")
    if goal == "mean" and (range_ := two_values(by_arm)):
        low, high = range_
        less, more = (0.0 - high, 0.0 - low) if minimised else range_  # in the units of the file
        reason = f"Every {noun} is {less:g} or {more:g}: a coin, whose chance has a beta posterior."
        return Advice("thompson-beta", {"low": low, "high": high}, reason)
    tails = [tail for tail in (noise.upper, noise.lower) if not math.isnan(tail.value)]
    alike = _alike(by_arm) and noise.spread > 0
    shifts = alike and is_symmetric(noise)  # so that medians and means rank the arms alike
    spiky = noise.infinite > 0 or noise.outliers > FEW_OUTLIERS * noise.size
    if tails and all(tail.exceeds(LIGHT_INDEX) for tail in tails) and not spiky and (goal == "location" or alike):
        return measured_ucb(noise, residuals, "The tails are light, so averages do well.")
    heavy = noise.infinite > 0 or min((tail.value for tail in tails), default=math.inf) <= HEAVY_INDEX
    lead = float(medians.max() - np.partition(medians, -2)[-2]) if len(medians) > 1 else 0.0
    if heavy and is_symmetric(noise) and lead >= noise.spread / 2 and (goal == "location" or shifts):
        reason = "The tails are too heavy for averages, but the noise is symmetric and the best arm is well ahead."
        return measured_sgd_ucb(medians, noise, reason)
    if goal == "mean" and not shifts:
        reason = "Arms may differ in more than their level, so only means tell which earns most."
        return Advice(PARAMETER_FREE["mean"], {}, reason)
    if not (alike or is_symmetric(noise)):
        if not noise.infinite and all(tail.exceeds(1) for tail in tails):
            return Advice(PARAMETER_FREE["mean"], {}, DIFFERENT_SHAPES + BY_MEANS)
        return Advice(*MEDIANS, DIFFERENT_SHAPES + BY_MEDIANS)
    reason = "No simpler policy is sure to fit, so use one that needs no knowledge of the noise."
    return Advice(PARAMETER_FREE["location"], {}, reason)


def rivals(goal: str, noise: Shape, residuals: FloatArray) -> list[Advice]:
    """Return the policies that the replay compares with the rule's choice; each one more takes seconds to compile."""
    scale = _deviation(residuals)
    averaging = Advice("ucb", {"c": _rounded(scale / 2)} if math.isfinite(scale) else {}, "")
    return [Advice(PARAMETER_FREE[goal], {}, ""), averaging if goal == "mean" else measured_ucb(noise, residuals)]


def overruled(advice: Advice, candidates: list[Advice], replay: Replay) -> Advice:
    """Return the candidate that earned most of those that are surely ahead of the advised one, if any."""
    ahead = [one for one in candidates if replay.is_ahead(str(one), str(advice))]
    if not ahead:
        return advice
    first = max(ahead, key=lambda one: replay.earned(str(one)).value)
    more = replay.lead(str(first), str(advice))
    return replace(
        first,
        reason=f"The rule of thumb says {advice}: {advice.reason[0].lower()}{advice.reason[1:]}  But {first} is better "
        f"by {more.value:.3g} ({more.low:.3g} to {more.high:.3g}) per pull on rewards that neither has seen.",
    )


def two_values(by_arm: list[FloatArray]) -> tuple[float, float] | None:
    """Return the two values that rewards take; None if there are more or fewer, or if one is rare.

    Examples
    --------
    >>> two_values([np.array([0.0, 1.0, 1.0, 1.0]), np.array([0.0, 0.0])])
    (0.0, 1.0)
    >>> two_values([np.array([0.0, 37.5]), np.array([0.0, 0.0])])  # perhaps revenue, with a single order
    """
    low, high = min(float(x.min()) for x in by_arm), max(float(x.max()) for x in by_arm)
    lows, highs = (sum(int(np.count_nonzero(x == value)) for x in by_arm) for value in (low, high))
    coins = low < high and math.isfinite(high - low) and lows + highs == sum(map(len, by_arm))
    return (low, high) if coins and min(lows, highs) >= OFTEN else None


def _alike(by_arm: list[FloatArray]) -> bool:
    spreads = [float(np.subtract(*np.quantile(x, (0.75, 0.25), method="inverted_cdf"))) for x in by_arm]
    return max(spreads) <= ALIKE * min(spreads)


def is_symmetric(noise: Shape) -> bool:
    """Return whether the skew is small or cannot be told from zero.

    Examples
    --------
    >>> from heavybandits.diagnosis.shape import measure
    >>> is_symmetric(measure(np.random.default_rng(0).pareto(1.5, 1000)))
    False
    """
    return noise.skew.low <= 0 <= noise.skew.high or abs(noise.skew.value) < NEARLY_SYMMETRIC


def measured_ucb(noise: Shape, residuals: FloatArray, reason: str = "") -> Advice:
    """Return UCB with the scale of a normal law of this spread, or with the standard deviation if the spread is zero.

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
    """Return SGD-UCB with a clipping level and a bonus measured from the gaps and the spread.

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
