r"""A policy for rewards about which nothing is known: it compares locations, or means where rewards repeat.

*Assumes* noise with the same law for all arms, whatever its tails; arms may differ in scale.  *Needs* no prior
knowledge.  *When that fails*: it compares locations, as medians do.  If arms differ in shape, so that the highest mean
and the highest location belong to different arms, use ``auto-mean``.

*Formula*: that of :mod:`.level_set_ucb` with a learned loss and c = 4.  Rewards that repeat, such as coins, revenues
that are mostly zero, or small counts, have no useful location.  So it also tracks the moments that ``auto-mean`` uses,
and plays the indices of :mod:`.auto_mean` while more than a tenth of the arms' successive rewards are equal and neither
chance nor rounding explains it: see
:func:`~heavybandits.algorithms.level_sets.spreads.repeats`.  ``print(agent)`` shows the current goal.

*Cost*: O(1) amortised per reward and O(log K) per choice; 401 bytes per arm.

*Reference*: this library; see ``docs/level-set.md`` and ``docs/means.md``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...protocols import IntArray, compilable
from ..entries import register_policy
from ..level_sets.level_set import LevelSets, observe
from ..level_sets.mean_sets import Pooled, init_pooled, refresh_means, renew_means
from ..level_sets.moments import MEAN, Moments, add_reward, in_rewards, init_moments
from ..level_sets.spreads import repeats
from ..parameters import Positive
from ..parts.choice.estimates import standing
from ..parts.choice.tournament import choose
from .level_set_ucb import LevelSetUCB

MEANS_EXPLORE = 2.0  # factor by which c is larger while means are compared


class AutoState(NamedTuple):
    """Level sets, moments, and which of the two the indices come from."""

    sets: LevelSets
    moments: Moments
    pooled: Pooled
    by_means: IntArray  # array of length one: 1 while means are compared


@register_policy(
    "auto",
    needs="nothing",
    memory="401 bytes",
    cost="O(1) amortised, O(log K)",
    regret="none; measured in docs/level-set-measured.md",
    reference="this library",
    look="hero solid",
)
class Auto(NamedTuple):
    r"""Level-set UCB with a learned loss, and mean UCB where rewards repeat.

    Parameters
    ----------
    c
        How much to explore.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.make("auto"), arms=["red", "green"])
    >>> agent.update_many(["red"] * 5, [1.0, 1.2, 0.9, 1e9, 1.1])
    >>> agent.update_many(["green"] * 5, [5.0, 4.8, -1e9, 5.1, 5.3])
    >>> agent.select()
    'green'
    """

    c: Positive = 4.0

    def init(self, n_arms: int, horizon: int | None) -> AutoState:
        sets = LevelSetUCB(noise=None).init(n_arms, horizon)
        return AutoState(
            sets=sets, moments=init_moments(n_arms), pooled=init_pooled(n_arms), by_means=np.zeros(1, np.int64)
        )

    def level(self, state: LevelSets, t: int) -> float:
        """Return zero: between refreshes, indices do not depend on t."""
        return 0.0

    def select(self, state: AutoState, t: int, rng: Any) -> int:
        """Return each arm once, then the one with the highest index."""
        return choose(self, state.sets, t, 1, 1)

    def update(self, state: AutoState, arm: int, reward: float) -> None:
        """Learn from the reward, and bring the arm's index up to date."""
        learn_reward(state, arm, reward, self.c)

    def goal(self, state: AutoState) -> str:
        """Return what arms are currently compared by, ``"location"`` or ``"mean"``."""
        return "mean" if state.by_means[0] else "location"

    def value(self, state: AutoState, arm: int) -> float:
        """Return the arm's location, or its mean if that is the current goal."""
        if state.sets.pulls[arm] == 0:
            return math.nan
        moments = state.moments
        return float(in_rewards(moments, moments.whole[arm, MEAN]) if state.by_means[0] else state.sets.x[arm])

    def index_of(self, state: AutoState, arm: int, t: int) -> float:
        """Return the highest location or mean that is not ruled out for the arm, as of the latest refresh."""
        index = standing(state.sets.tournament, arm, 0.0)
        by_means = state.by_means[0] and state.sets.pulls[arm] > 0
        return float(in_rewards(state.moments, index) if by_means else index)


@compilable
def learn_reward(state: AutoState, arm: int, reward: float, c: float) -> None:
    """Learn from a reward; the goal may change when all indices are refreshed."""
    sets, moments, pooled = state.sets, state.moments, state.pooled
    due = sets.shared.due[0]
    observe(sets, arm, reward, c, True)
    pooled.clock[0] += 1
    add_reward(moments, sets.pulls, arm, reward, pooled.clock[0])
    if sets.shared.due[0] > due:
        state.by_means[0] = repeats(sets.spreads)
        if state.by_means[0]:
            refresh_means(sets.pulls, moments, pooled, sets.tournament, MEANS_EXPLORE * c)
    elif state.by_means[0]:
        renew_means(sets.pulls, moments, pooled, sets.tournament, arm, MEANS_EXPLORE * c)
