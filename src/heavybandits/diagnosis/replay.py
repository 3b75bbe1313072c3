r"""What policies would have earned, promised only by rewards that their choices did not see.

A policy that plays on the rewards of a file finds the arm that is best *in the file*, and paid by the same rewards it
looks better than it is, because the best of several estimates is too high on average: the winner's curse.  So the file
is *split*: each arm's rewards are cut in half at random.  On one half the policies learn: a pull pays one of the half's
rewards of that arm, drawn with replacement, and all policies see the same draws.  The other half says what the pulled
arms pay, by their means or medians there.  Then the halves change places, and all of this is done for 10 splits.

With the share :math:`s_k` of pulls of arm k, which depends on one half, and the mean :math:`m_k` of the other,
:math:`\sum_k s_k m_k` is an unbiased estimate of what these choices pay.  Whatever does not learn is paid alike: as
logged, an arm at random, the control; and "the best arm" is the one that is best in the half for the choice.

*Intervals* treat the two directions of a split as independent,

.. math:: \sigma^2 = \tfrac14 \sum_{d=1}^{2} \sum_k \frac{s_{dk}^2 \sigma_k^2}{n_k/2},

averaged over the splits.  If the halves agree about the best arm, this is the variance of the arm's mean in the whole
file; if not, it is too large rather than too small.  To :math:`\sigma` comes twice the deviation over the halves
of what the chosen arms pay in the whole file: by so much the choices might have been luckier.  The variance
of an arm counts two rewards of all arms beside its own, because an arm that never paid may yet pay.  Quantiles are
Student's, for the arm with the fewest rewards, and Hall's transformation (1992) corrects them for skewness.  They have
4.5% on either side: with 5% some intervals held in 89.8%, because skewness, too, is estimated.  Where
tails leave it open whether rewards have a variance, no interval for a mean is honest, so rewards then count up to a cap
that 30 rewards of the file exceed.  ``benchmarks/replay.py`` measures how often the intervals hold the truth.

Learning on half of a file is harder than on what visitors really do, so policies may do a little better than promised.
No world changes over time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._format import plural
from ..engine.loop import simulate
from ..engine.progress import say
from ..numerics import power_of_two
from ..protocols import FloatArray
from ..world.instances import Instance
from .shape import RELATIVE_ROUNDING, Shape, average, level
from .tails import Estimate

FEWEST_PER_ARM = 10  # rewards of each arm, for a replay
MOST_ARMS_IN_REPLAY = 1000
MOST_PULLS = 10_000  # in a replay
FILE_SPLITS, REPLAYS_PER_HALF = 10, 5
MOST_REPLAY_DRAWS = 10**8  # over all replays and arms
BAND_LEVEL = 0.955  # of the upper end of a 90% interval
BEYOND_CAP = 30  # rewards of the file
SURE_VARIANCE = 2.0  # tail index above which there is a variance
MEDIAN_WIDTH = 2 * 1.959964  # standard errors in the interval of a median
BORROWED = 2.0  # rewards of all arms that count in the variance of each
Cap: TypeAlias = tuple[float, float]  # from which amount to which rewards count
Halves: TypeAlias = tuple[list[FloatArray], list[FloatArray]]  # the rewards of each arm
IN_FULL: Cap = (-math.inf, math.inf)
LOGGED, AT_RANDOM, ALWAYS_BEST = "as logged", "an arm at random", "the best arm, always"


class Worth(NamedTuple):
    """What arms pay: by halves, and how uncertain that is."""

    paid: FloatArray  # (split, half, arm): the mean or the median in the half that did not choose
    variance: FloatArray  # (arm,): of that of the whole file
    third: FloatArray  # (arm,): its third central moment
    quantile: float  # of studentised errors, at the upper end of an interval
    unit: float  # in which all of these are
    limits: Cap  # that no mean can leave


@dataclass(frozen=True)
class Replay:
    """Shares of pulls by what chose them, what arms pay, and a ``note`` on why there are none.

    Attributes
    ----------
    shares
        For each policy, and for whatever else chooses, an array (split, half, arm) of the shares of pulls.
    policies
        Which of them are policies.
    cap
        From which amount to which rewards count.
    """

    shares: dict[str, FloatArray] = field(default_factory=dict)
    policies: tuple[str, ...] = ()
    worth: Worth = Worth(np.zeros((0, 2, 0)), np.zeros(0), np.zeros(0), 0.0, 1.0, IN_FULL)  # noqa: RUF009
    pulls: int = 0
    cap: Cap = IN_FULL
    note: str = ""

    def earned(self, label: str) -> Estimate:
        """Return what a policy earns per pull, with a 90% interval."""
        found = self._valued(self.shares[label])
        return Estimate(*(min(max(end, self.worth.limits[0]), self.worth.limits[1]) for end in found))

    def lead(self, label: str, other: str) -> Estimate:
        """Return how much more one earns than the other, with a 90% interval."""
        return self._valued(self.shares[label] - self.shares[other])

    def is_ahead(self, label: str, other: str) -> bool:
        """Return whether a policy surely earns more than another one; nothing is sure without a replay."""
        if not self.shares:
            return False
        return self.lead(label, other).low > RELATIVE_ROUNDING * abs(self.earned(other).value)

    @np.errstate(invalid="ignore", over="ignore")
    def _valued(self, shares: FloatArray) -> Estimate:
        """Return what shares of pulls pay."""
        worth = self.worth
        value = average(np.einsum("shk,shk->sh", shares, worth.paid))
        # A half has twice the variance of the whole, and four times the third moment; the two directions are averaged.
        error = math.sqrt(float(np.einsum("shk,k->sh", shares**2, worth.variance).mean()))
        skewness = float(np.einsum("shk,k->sh", shares**3, worth.third).mean()) / error**3 if error > 0 else 0.0
        # Halves of one file differ by less than halves of two files do, and a policy on the laws learns from more.
        moved = 2 * float(np.einsum("shk,k->sh", shares, worth.paid.mean(axis=(0, 1))).std())
        if not math.isfinite(error):
            return Estimate(worth.unit * value, -math.inf, math.inf)
        low, high = (value - (error + moved) * hall(score, skewness / 3) for score in (worth.quantile, -worth.quantile))
        return Estimate(worth.unit * value, worth.unit * low, worth.unit * high)


def hall(score: float, lean: float) -> float:
    """Return the studentised error of a mean that belongs to a normal score; ``lean`` is a third of its skewness.

    Examples
    --------
    >>> round(hall(1.5, 0.0), 3), round(hall(1.5, 0.1), 3), round(hall(-1.5, 0.1), 3)
    (1.5, 1.279, -1.882)
    """
    return score if abs(lean) < 1e-6 else float(np.cbrt(1 + 3 * lean * (score - lean / 2)) - 1) / lean


@dataclass(frozen=True, eq=False)
class Resampled:
    """Noise drawn from residuals with replacement.

    Examples
    --------
    >>> Resampled(np.array([-1.0, 1.0])).sample(np.random.default_rng(0), 4)
    array([ 1.,  1.,  1., -1.])
    """

    residuals: FloatArray

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw ``size`` residuals."""
        drawn: FloatArray = self.residuals[rng.integers(0, len(self.residuals), size)]
        return drawn


@np.errstate(invalid="ignore", over="ignore")
def replay_rewards(
    by_arm: list[FloatArray], policies: Mapping[str, Any], goal: str, *, control: int | None = None,
    cap: Cap = IN_FULL, noun: str = "reward",
) -> Replay:  # fmt: skip
    """Let policies choose among arms that pay resampled rewards, for as many pulls as there are rewards, up to 10,000.

    Parameters
    ----------
    by_arm
        The rewards of each arm.
    policies
        Policies by their labels.
    goal
        What arms pay: their ``"mean"``, or their ``"location"``, the median.
    control
        The arm to compare with, if any.
    cap
        From which amount to which rewards count, if the goal is the mean.
    noun
        What the note calls a reward.

    Examples
    --------
    >>> import heavybandits as hb
    >>> rng = np.random.default_rng(0)
    >>> log = [rng.normal(mean, 1, 500) for mean in (0, 1)]
    >>> replayed = replay_rewards(log, {"UCB": hb.UCB(c=1.0)}, goal="mean")
    >>> list(replayed.shares)
    ['UCB', 'the best arm, always', 'an arm at random', 'as logged']
    >>> replayed.earned("UCB").low > 0.8, replayed.is_ahead("UCB", "as logged")
    (True, True)
    """
    if obstacle := _obstacle(by_arm, noun):
        return Replay(note=f"No replay: {obstacle}.")
    rng, n_arms = np.random.default_rng(0), len(by_arm)
    splits = [_halves(by_arm, rng) for _ in range(FILE_SPLITS)]
    levels = np.array([[[level(rewards, "location") for rewards in half] for half in halves] for halves in splits])
    if not np.isfinite(np.ptp(levels, axis=2)).all():
        return Replay(note="No replay: medians are infinite, or infinitely far apart.")
    pulls = min(sum(map(len, by_arm)), MOST_PULLS, MOST_REPLAY_DRAWS // (2 * FILE_SPLITS * REPLAYS_PER_HALF * n_arms))
    say("replaying")
    played = np.array(
        [[_played(half, levels[split, side], policies, pulls, 2 * split + side) for side, half in enumerate(halves)]
         for split, halves in enumerate(splits)]
    )  # fmt: skip
    shares = {label: played[:, :, row] for row, label in enumerate(policies)}
    worth, means = _worth(by_arm, splits, levels, goal, cap)
    chosen = _best(levels if goal == "location" else means, means)
    shares[ALWAYS_BEST] = np.eye(n_arms)[chosen]
    fixed = {AT_RANDOM: np.full(n_arms, 1 / n_arms), LOGGED: np.array([len(rewards) for rewards in by_arm])}
    if control is not None:
        fixed["the control, always"] = np.eye(n_arms)[control]
    for label, share in fixed.items():
        shares[label] = np.broadcast_to(share / share.sum(), worth.paid.shape)
    return Replay(shares, tuple(policies), worth, pulls, cap)


def cap_of(by_arm: list[FloatArray], noise: Shape) -> Cap:
    """Return between which amounts rewards count in a mean: up to a cap on each side whose variance is in doubt.

    Examples
    --------
    >>> from heavybandits.diagnosis.shape import measure
    >>> rewards = np.random.default_rng(0).pareto(1.5, 5000)
    >>> low, high = cap_of([rewards], measure(rewards - np.median(rewards)))
    >>> low, int(np.count_nonzero(rewards > high))
    (-inf, 30)
    """
    pooled = np.sort(np.concatenate(by_arm))
    if len(pooled) <= BEYOND_CAP:
        return IN_FULL
    in_doubt = [not (math.isnan(tail.value) or tail.exceeds(SURE_VARIANCE)) for tail in (noise.lower, noise.upper)]
    if pooled[0] < 0.0 < pooled[-1] and any(in_doubt):  # the sign of the error decides which side looks heavier
        in_doubt = [True, True]
    return (
        float(pooled[BEYOND_CAP]) if in_doubt[0] else -math.inf,
        float(pooled[-1 - BEYOND_CAP]) if in_doubt[1] else math.inf,
    )


def _obstacle(by_arm: list[FloatArray], noun: str) -> str:
    """Return why there can be no replay; an empty string if there can."""
    fewest = min(map(len, by_arm))
    if len(by_arm) == 1:
        return "there is only one arm"
    if len(by_arm) > MOST_ARMS_IN_REPLAY:
        return f"there are more than {MOST_ARMS_IN_REPLAY:,} arms"
    return f"an arm has {plural(fewest, noun)}, fewer than {FEWEST_PER_ARM}" if fewest < FEWEST_PER_ARM else ""


def _halves(by_arm: list[FloatArray], rng: np.random.Generator) -> Halves:
    """Cut each arm's rewards in half at random."""
    mixed = [rng.permutation(rewards) for rewards in by_arm]
    return [rewards[: len(rewards) // 2] for rewards in mixed], [rewards[len(rewards) // 2 :] for rewards in mixed]


def _played(
    by_arm: list[FloatArray], levels: FloatArray, policies: Mapping[str, Any], pulls: int, seed: int
) -> FloatArray:
    """Return the shares of pulls, by policy and arm."""
    if not policies:
        return np.zeros((0, len(by_arm)))
    noises = [Resampled(rewards - level) for rewards, level in zip(by_arm, levels, strict=True)]
    result = simulate(
        Instance(levels, noises), policies, horizon=pulls, replications=REPLAYS_PER_HALF, seed=seed, checkpoints="end"
    )
    return np.asarray(result.arrays.pulls.mean(axis=1) / pulls)


def _worth(
    by_arm: list[FloatArray], splits: list[Halves], levels: FloatArray, goal: str, cap: Cap
) -> tuple[Worth, FloatArray]:
    """Return what arms pay, each half by the other one, and their means in the halves that choose."""
    from scipy import special

    counted = [np.clip(rewards, *cap) for rewards in by_arm]
    pooled = np.concatenate(counted)
    unit = power_of_two(float(np.abs(pooled[np.isfinite(pooled)]).max(initial=0.0)))
    means = np.array([[[average(np.clip(rewards, *cap)) for rewards in half] for half in halves] for halves in splits])
    limits = _limits(
        float(pooled.min()), float(pooled.max()), bool(np.isin(pooled, (pooled.min(), pooled.max())).all())
    )
    quantile = float(special.stdtrit(min(map(len, by_arm)) - 1, BAND_LEVEL))
    if goal == "location":
        variance = np.array([median_error(rewards / unit) ** 2 for rewards in by_arm])
        return Worth(levels[:, ::-1] / unit, variance, np.zeros(len(by_arm)), quantile, unit, limits), means
    moments = np.array([_moments(rewards / unit, pooled / unit) for rewards in counted])
    return Worth(means[:, ::-1] / unit, moments[:, 0], moments[:, 1], quantile, unit, limits), means


def _limits(least: float, most: float, are_all: bool) -> Cap:
    """Return between what means lie: two values that are all there are, or zero if rewards have one sign."""
    return (least, most) if are_all else (0.0 if least >= 0 else -math.inf, 0.0 if most <= 0 else math.inf)


def median_error(rewards: FloatArray) -> float:
    """Return the standard error of the median of at least six rewards, from its binomial interval.

    Examples
    --------
    >>> round(median_error(np.arange(100.0)), 2)
    5.36
    """
    from scipy import special

    n, ordered = len(rewards), np.sort(rewards)
    outside = int(special.bdtrik(0.025, n, 0.5))  # rewards beyond a 95% interval, on either side
    return float(ordered[n - 1 - outside] - ordered[outside]) / MEDIAN_WIDTH


def _moments(own: FloatArray, pooled: FloatArray) -> tuple[float, float]:
    """Return the variance of an arm's mean, and its third central moment."""
    n, mean = len(own), average(own)
    borrowed = BORROWED / (n + BORROWED)
    square, cube = (
        (1 - borrowed) * float(np.mean((own - mean) ** power)) + borrowed * float(np.mean((pooled - mean) ** power))
        for power in (2, 3)
    )
    return square / (n - 1), cube / n**2


def _best(values: FloatArray, means: FloatArray) -> Any:
    """Return the best arm of each half; among equals the one with the best mean."""
    ranks = np.nan_to_num(means, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    return np.argmax(np.where(values == values.max(axis=2, keepdims=True), ranks, -np.inf), axis=2)
