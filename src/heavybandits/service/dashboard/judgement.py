"""Who leads, how sure that is, and what it has cost so far to find out.

Arms are compared by what the policy makes of their rewards, not by plain averages, which one outlier can move.  If the
policy has no estimates, they are compared by means or medians, depending on the goal.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._format import number
from ...protocols import FloatArray
from ..replicas.report import ArmReport
from .known import Known

DRAWS = 4000  # from each law, if there are few
MOST_DRAWS = 100_000  # from all laws together
FAR = 6.0  # standard errors; an arm that needs more to reach the others is not the best
SURE, EARLY = 0.95, 0.8  # chances of being best
FEWEST = 6  # rewards, for two of them to enclose the median with probability 95%
UNKNOWN = 1e100  # standard error if nothing is known


class Judgement(NamedTuple):
    """What the page says first.

    Attributes
    ----------
    leader
        The arm with the highest value, None before the first reward.
    values
        What arms are compared by, for those that have rewards.
    chances
        Rough chances of being the best arm: values are drawn from normal laws with the standard errors of means or
        medians.  Empty if the policy decides by features: the best arm then differs from decision to decision.
    cost
        Estimated regret: how much more would have been earned, had all decisions been for the leader; 0 if unknown.
    """

    leader: str | None
    values: dict[str, float]
    chances: dict[str, float]
    cost: float

    def sentence(self, goal: str, waiting: int) -> str:
        """Put the judgement in a sentence or two.

        Examples
        --------
        >>> Judgement("green", {"green": 2.0, "blue": 1.5}, {"green": 0.97, "blue": 0.03}, 12.4).sentence("mean", 0)
        'green leads with a mean of about 2.00, and is almost surely the best (97%). Finding out has cost about 12.4...'
        """
        if self.leader is None:
            return f"No rewards yet; {waiting} decision{'s are' if waiting != 1 else ' is'} pending."
        what = f"{self.leader} leads with a {goal} of about {number(self.values[self.leader])}"
        if len(self.values) == 1:
            return f"{what}; no other arm has a reward yet."
        if not self.chances:
            return f"{what} at average features; which arm is best differs from decision to decision."
        chance = self.chances[self.leader]
        sure = ("and is almost surely the best" if chance >= SURE else "and is probably the best" if chance >= EARLY
                else "but it is too early to tell whether it is the best")  # fmt: skip
        return f"{what}, {sure} ({chance:.0%}). Finding out has cost about {number(float(self.cost))} so far."


def judge(known: Known) -> Judgement:
    """Compare the arms that are not retired."""
    arms = [arm for arm in known.report.arms if arm.state != "retired" and arm.rewards]
    medians = {} if known.goal == "mean" else {arm.name: known.median(arm.name) for arm in arms}
    plain = [arm.mean if known.goal == "mean" else medians[arm.name][0] for arm in arms]
    compared = [mean if math.isnan(arm.estimate) else arm.estimate for arm, mean in zip(arms, plain, strict=True)]
    values = {arm.name: value for arm, value in zip(arms, compared, strict=True) if math.isfinite(value)}
    if not values:
        return Judgement(None, {}, {}, 0.0)
    arms = [arm for arm in arms if arm.name in values]
    leader = max(values, key=values.__getitem__)
    if known.has_context:
        return Judgement(leader, values, {}, 0.0)
    cost = sum(arm.decisions * (values[leader] - values[arm.name]) for arm in arms)
    errors = _mean_errors(arms) if known.goal == "mean" else [
        _median_error(arm, medians[arm.name][1], len(known.totals.arms[arm.name].sample)) for arm in arms
    ]  # fmt: skip
    bounded = [error if math.isfinite(error) else UNKNOWN for error in errors]
    chances = _chances(np.array(list(values.values())), np.array(bounded))
    return Judgement(leader, values, dict(zip(values, chances.tolist(), strict=True)), cost)


@np.errstate(over="ignore")
def _chances(values: FloatArray, errors: FloatArray) -> FloatArray:
    """Return how often each value is the largest of all when they are drawn with these errors."""
    near = np.flatnonzero(values + FAR * errors >= np.max(values - FAR * errors))
    draws = min(DRAWS, MOST_DRAWS // len(near))
    drawn = values[near] + errors[near] * np.random.default_rng(0).standard_normal((draws, len(near)))
    chances = np.zeros(len(values))
    chances[near] = np.bincount(drawn.argmax(axis=1), minlength=len(near)) / draws
    return chances


def _mean_errors(arms: list[ArmReport]) -> list[float]:
    """Return standard errors of means; rewards that have all been equal are assumed to vary like those of others."""
    spreads = [arm.standard_error * math.sqrt(arm.rewards) for arm in arms if 0.0 < arm.standard_error < math.inf]
    alike = max(spreads, default=math.inf)
    return [alike / math.sqrt(arm.rewards) if arm.standard_error == 0.0 else arm.standard_error for arm in arms]


def _median_error(arm: ArmReport, interval: tuple[float, float], sampled: int) -> float:
    """Return the standard error of a median; the sample may lack some of the arm's rewards."""
    if sampled < FEWEST:
        return math.inf
    low, high = interval
    return (high - low) / (2 * 1.96) * math.sqrt(sampled / arm.rewards)
