"""What policies would have earned on logged rewards.

This is *table replay by resampling*: a pull of an arm pays one of the arm's logged rewards, drawn with replacement, and
all policies of a replay meet the same draws.  Replay by rejection, which keeps a logged row only if the policy happens
to choose its arm, needs arms that were logged at random, and throws away all but one in K rows.  Handing out each arm's
rewards in their order runs out of them for the arm that is chosen most.

So the file is taken for the truth, and for constant in time: the intervals show the luck of the draw, not that the file
may be mistaken about which arm is best.

Rule for too little data: with fewer than 10 rewards for some arm there is no replay, and with fewer than 100 the arm's
tail is hardly in the file, so that the replay flatters policies that average.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..engine.loop import simulate
from ..protocols import FloatArray
from ..world.instances import Instance
from .shape import quantile

FEWEST = 10  # rewards of each arm, for a replay
ENOUGH = 100  # rewards of each arm, for one to believe
PULLS = 10_000  # at most, in a replay
REPLAYS = 50  # at most
DRAWS = 10**8  # at most, over all replays and arms


class Earned(NamedTuple):
    """What a policy earned: means over replays, with the middle nine tenths of them."""

    mean: tuple[float, float, float]  # mean of the pulled arms' rewards, per pull
    median: tuple[float, float, float]  # the same of their medians
    best: tuple[float, float, float]  # share of pulls of the best arm


@dataclass(frozen=True)
class Replay:
    """Earnings by the label of the policy; ``note`` says what to think of them, or why there are none."""

    earned: dict[str, Earned]
    best_arm: int
    pulls: int
    replays: int
    note: str


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
        """``size`` of the residuals."""
        drawn: FloatArray = self.residuals[rng.integers(0, len(self.residuals), size)]
        return drawn


def best_arm(by_arm: list[FloatArray]) -> int:
    """The arm with the highest median; of several, the one with the highest mean.

    Examples
    --------
    >>> best_arm([np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 5.0]), np.array([-1.0, -1.0, 99.0])])
    1
    """
    with np.errstate(invalid="ignore", over="ignore"):
        scores = [(quantile(np.sort(rewards), 0.5), np.nan_to_num(np.mean(rewards))) for rewards in by_arm]
    return scores.index(max(scores))


def replay(by_arm: list[FloatArray], policies: Mapping[str, Any], seed: int = 0) -> Replay:
    """Let policies choose among arms that pay resampled rewards, as many times as there are rewards.

    Examples
    --------
    >>> import heavybandits as hb
    >>> rng = np.random.default_rng(0)
    >>> log = [rng.normal(mean, 1, 500) for mean in (0, 1)]
    >>> replayed = replay(log, {"UCB": hb.UCB(c=1.0)})
    >>> replayed.earned["UCB"].best[0] > 0.9
    True
    """
    best, fewest = best_arm(by_arm), min(map(len, by_arm))
    medians = np.array([quantile(np.sort(rewards), 0.5) for rewards in by_arm])
    if obstacle := _obstacle(fewest, medians):
        return Replay({}, best, 0, 0, f"Nothing to replay: {obstacle}.")
    pulls = min(sum(map(len, by_arm)), PULLS)
    replays = max(10, min(REPLAYS, DRAWS // (pulls * len(by_arm))))
    with np.errstate(over="ignore"):
        noises = [Resampled(rewards - median) for rewards, median in zip(by_arm, medians, strict=True)]
    result = simulate(Instance(medians, noises), policies, horizon=pulls, replications=replays, seed=seed)
    with np.errstate(invalid="ignore", over="ignore"):
        means = np.array([float(np.mean(rewards)) for rewards in by_arm])
    earned = {
        label: Earned(_band(share, means), _band(share, medians), _band(share, np.eye(len(by_arm))[best]))
        for label, share in zip(policies, result.pulls.to_numpy() / pulls, strict=True)
    }
    note = "Means over replays, and where nine in ten of them lie; rare failures may pull a mean out of there."
    if fewest < ENOUGH:
        note += f"  Too few data to rely on: an arm has {fewest} rewards, fewer than {ENOUGH}."
    return Replay(earned, best, pulls, replays, note)


def _band(share: FloatArray, worth: FloatArray) -> tuple[float, float, float]:
    """Mean and 5% and 95% quantile over replays of what pulls were worth."""
    with np.errstate(invalid="ignore", over="ignore"):
        values = np.where(share > 0, share * worth, 0.0).sum(axis=1)
        low, high = np.quantile(values, (0.05, 0.95), method="inverted_cdf")
        return float(values.mean()), float(low), float(high)


def _obstacle(fewest: int, medians: FloatArray) -> str:
    """Why there can be no replay; nothing if there can."""
    if len(medians) == 1:
        return "there is one arm only"
    if fewest < FEWEST:
        return f"an arm has {fewest} reward{'s' * (fewest != 1)}, fewer than {FEWEST}"
    with np.errstate(invalid="ignore", over="ignore"):
        width = np.ptp(medians)
    return "" if math.isfinite(width) else "medians are infinite, or infinitely far apart"
