"""Whether levels change over time, and whether all arms change together.

Changes are sought in ranks within arms, which are comparable even if the arms' noises differ.  To see whether arms move
apart, what all of them do is taken out first: from each rank the mean rank of its stretch of time.  A jump or a season
that arms share then leaves nothing, while arms that change places still show.
"""

from __future__ import annotations

import math

import numpy as np

from ..logs.rewards import Rewards
from ..protocols import FloatArray
from .shape import Drift, centred_ranks, drift_of_ranks

SURE_P_VALUE = 0.01  # of a drift that is reported
STRETCHES, ROWS_IN_STRETCH = 50, 100  # at most so many, of at least so many rows


def ranks_within_arms(rewards: Rewards) -> FloatArray:
    """Return the centred rank of each reward among those of its arm."""
    ranks = np.empty(len(rewards.rewards))
    for rows, values in zip(rewards.rows, rewards.by_arm, strict=True):
        ranks[rows] = centred_ranks(values)
    return ranks


def arms_move_together(rewards: Rewards) -> bool:
    """Return whether nothing tells that arms change differently.

    Examples
    --------
    >>> rng, arms, time = np.random.default_rng(0), np.arange(4000) % 2, np.arange(4000)
    >>> season = np.sin(time / 300) + rng.normal(size=4000)
    >>> common, apart = (
    ...     Rewards("log", labels=("a", "b"), arms=arms, rewards=season + lead, timed=True)
    ...     for lead in (arms, np.where(time < 2000, arms, -arms))
    ... )
    >>> arms_move_together(common), arms_move_together(apart)
    (True, False)
    """
    ranks = ranks_within_arms(rewards)
    stretches = np.array_split(np.arange(len(ranks)), max(1, min(STRETCHES, len(ranks) // ROWS_IN_STRETCH)))
    for stretch in stretches:
        ranks[stretch] -= ranks[stretch].mean()
    own = [drift_of_ranks(ranks[rows] - ranks[rows].mean(), values, "location")
           for rows, values in zip(rewards.rows, rewards.by_arm, strict=True)]  # fmt: skip
    return not changing([("", drift) for drift in own])


def changing(arms: list[tuple[str, Drift]]) -> dict[str, Drift]:
    """Return the arms that surely change, the surest first; of many arms, some seem to change by chance.

    Examples
    --------
    >>> list(changing([("a", Drift(0.2, 5, 1.0)), ("b", Drift(1e-9, 5, 1.0))]))
    ['b']
    """
    tested = [(label, drift) for label, drift in arms if not math.isnan(drift.p_value)]
    sure = [(label, drift) for label, drift in tested if drift.p_value * len(tested) < SURE_P_VALUE]
    return dict(sorted(sure, key=lambda one: one[1].p_value))
