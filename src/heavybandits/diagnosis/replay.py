"""What policies would have earned on logged rewards.

This is *table replay by resampling*: a pull of an arm pays one of the arm's logged rewards, drawn with replacement, and
all policies of a replay see the same draws.  Replay by rejection, which keeps a logged row only if the policy happens
to choose its arm, needs arms that were logged at random, and throws away all but one in K rows.  Handing out each arm's
rewards in their order runs out of them for the arm that is chosen most.

The file may be wrong about which arm is best, especially if it has few rewards.  So each of 20 worlds has a file of its
own, resampled from the given one, and a policy must do well in most of them.  Policies are compared in pairs, world by
world: the deviation over the worlds tells how much the comparison owes to this one file.  No world changes over time.

Rule for too little data: with fewer than 10 rewards for some arm there is no replay, and with fewer than 100 the arm's
tail is hardly in the file, so that the replay flatters policies that average.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._format import plural
from ..engine.loop import simulate
from ..numerics import power_of_two
from ..protocols import FloatArray
from ..world.instances import Instance
from .shape import RELATIVE_ROUNDING, average, quantile

FEWEST_PER_ARM = 10  # rewards of each arm, for a replay
ENOUGH_PER_ARM = 100  # rewards of each arm, for a replay that can be relied on
MOST_PULLS = 10_000  # in a replay
WORLDS = 20
REPLAYS_PER_WORLD = 5  # at most
MOST_REPLAY_DRAWS = 10**8  # over all replays and arms
LEAD_QUANTILE = 1.281552  # normal quantile of an 80% interval over the worlds


class Earned(NamedTuple):
    """What a policy earned: means over replays, with the middle nine tenths of them."""

    mean: tuple[float, float, float]  # mean of the pulled arms' rewards, per pull
    median: tuple[float, float, float]  # likewise of their medians
    best: tuple[float, float, float]  # share of pulls of the arm that is best in its world
    by_world: FloatArray  # the mean or the median, by the goal, averaged over the replays in each world

    def behind(self, other: Earned) -> tuple[float, float, float]:
        """Return how much less than another policy this one earned, by the goal, with an 80% interval over the worlds.

        Differences that are due to rounding count as zero.

        Examples
        --------
        >>> band = (1.0, 1.0, 1.0)
        >>> less, more = (Earned(band, band, band, level + np.arange(WORLDS)) for level in (1.0, 1.5))
        >>> less.behind(more)
        (0.5, 0.5, 0.5)
        """
        with np.errstate(invalid="ignore", over="ignore"):
            differences = other.by_world - self.by_world
            size = np.maximum(np.abs(other.by_world), np.abs(self.by_world))
            differences[np.abs(differences) < RELATIVE_ROUNDING * size] = 0.0
            middle, unit = average(differences), power_of_two(float(np.abs(differences).max()))
            error = LEAD_QUANTILE * float(np.std(differences / unit, ddof=1)) * unit
        return middle, middle - error, middle + error


@dataclass(frozen=True)
class Replay:
    """Earnings by the label of the policy; ``note`` says how to read them, or why there are none."""

    earned: dict[str, Earned]
    pulls: int
    replays: int
    note: str

    def is_ahead(self, label: str, other: str) -> bool:
        """Return whether a policy earned clearly more than another one; nothing is clear without a replay."""
        return bool(self.earned) and self.earned[other].behind(self.earned[label])[1] > 0

    def first(self, labels: Iterable[str]) -> str:
        """Return the one of these policies that earned most, by the goal; of equals, the first."""
        leader, *others = labels
        for label in others:
            if self.earned[leader].behind(self.earned[label])[0] > 0:
                leader = label
        return leader


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


def replay_rewards(
    by_arm: list[FloatArray], policies: Mapping[str, Any], goal: str, noun: str = "reward", seed: int = 0
) -> Replay:
    """Let policies choose among arms that pay resampled rewards, for as many pulls as there are rewards, up to 10,000.

    The note on it calls a reward ``noun``.

    Examples
    --------
    >>> import heavybandits as hb
    >>> rng = np.random.default_rng(0)
    >>> log = [rng.normal(mean, 1, 500) for mean in (0, 1)]
    >>> replayed = replay_rewards(log, {"UCB": hb.UCB(c=1.0)}, goal="mean")
    >>> replayed.earned["UCB"].best[0] > 0.9
    True
    """
    fewest = min(map(len, by_arm))
    if obstacle := _obstacle(fewest, _medians(by_arm), noun):
        return Replay(earned={}, pulls=0, replays=0, note=f"No replay: {obstacle}.")
    pulls = min(sum(map(len, by_arm)), MOST_PULLS)
    replays = max(1, min(REPLAYS_PER_WORLD, MOST_REPLAY_DRAWS // (WORLDS * pulls * len(by_arm))))
    rng, worlds = np.random.default_rng(0), []
    for world in range(WORLDS):
        resampled = [rewards[rng.integers(0, len(rewards), len(rewards))] for rewards in by_arm]
        if _obstacle(fewest, _medians(resampled), noun):
            resampled = by_arm  # because a world must have finite medians
        worlds.append(_in_one_world(resampled, policies, goal, pulls, replays, world))
    means, medians, best = np.concatenate(worlds, axis=2)
    goals = (means if goal == "mean" else medians).reshape(len(policies), WORLDS, replays)
    by_world = np.apply_along_axis(average, 2, goals)
    earned = {
        label: Earned(_band(means[row]), _band(medians[row]), _band(best[row]), by_world[row])
        for row, label in enumerate(policies)
    }
    note = "Means over replays, with the middle nine tenths of them; rare failures may pull a mean out of that range."
    if fewest < ENOUGH_PER_ARM:
        note += f"  Too few data to rely on: an arm has {fewest} {noun}s, fewer than {ENOUGH_PER_ARM}."
    return Replay(earned=earned, pulls=pulls, replays=WORLDS * replays, note=note)


def _in_one_world(
    by_arm: list[FloatArray], policies: Mapping[str, Any], goal: str, pulls: int, replays: int, seed: int
) -> FloatArray:
    """Return the mean and the median per pull and the share of the best arm, by policy and replay."""
    with np.errstate(invalid="ignore", over="ignore"):
        means = np.array([average(rewards) for rewards in by_arm])
        medians = _medians(by_arm)
        noises = [Resampled(rewards - median) for rewards, median in zip(by_arm, medians, strict=True)]
    result = simulate(
        Instance(medians, noises), policies, horizon=pulls, replications=replays, seed=seed, checkpoints="end"
    )
    # Medians may tie, as when most rewards are zero; means then decide.
    ranks = np.nan_to_num([means if goal == "mean" else medians, means], nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    best = np.eye(len(by_arm))[max(range(len(by_arm)), key=lambda arm: tuple(ranks[:, arm]))]
    shares = result.pulls.to_numpy() / pulls
    return np.array([[_worth(share, worth) for share in shares] for worth in (means, medians, best)])


def _medians(by_arm: list[FloatArray]) -> FloatArray:
    return np.array([quantile(np.sort(rewards), 0.5) for rewards in by_arm])


def _worth(share: FloatArray, worth: FloatArray) -> FloatArray:
    """Return what the pulls of each replay were worth, per pull: no less than the worst arm, no more than the best."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = np.where(share > 0, share * worth, 0.0).sum(axis=1)
        return np.asarray(np.clip(total, np.fmin.reduce(worth), np.fmax.reduce(worth)))


def _band(values: FloatArray) -> tuple[float, float, float]:
    """Return the mean and the 5% and 95% quantiles over replays."""
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = np.quantile(values, (0.05, 0.95), method="inverted_cdf")
        return average(values), float(low), float(high)


def _obstacle(fewest: int, medians: FloatArray, noun: str) -> str:
    """Return why there can be no replay; an empty string if there can."""
    if len(medians) == 1:
        return "there is only one arm"
    if fewest < FEWEST_PER_ARM:
        return f"an arm has {plural(fewest, noun)}, fewer than {FEWEST_PER_ARM}"
    with np.errstate(invalid="ignore", over="ignore"):
        width = np.ptp(medians)
    return "" if math.isfinite(width) else "medians are infinite, or infinitely far apart"
