"""What a policy reports about an arm: its estimate and its index."""

from __future__ import annotations

import math
from typing import Any

from ....numerics import LARGEST_FLOAT
from .kinetic_tree import VALUE, height
from .tournament import Tournament


def value_of(policy: Any, state: Any, arm: int) -> float:
    """Return the arm's estimate, from the policy's method ``value`` or from its tournament; NaN if there is none.

    Examples
    --------
    >>> import heavybandits as hb
    >>> policy = hb.UCB()
    >>> state = policy.init(n_arms=2, horizon=None)
    >>> policy.update(state, 0, 5.0)
    >>> value_of(policy, state, 0), value_of(policy, state, 1)
    (5.0, nan)
    """
    if hasattr(policy, "value"):
        return float(policy.value(state, arm))
    return float(state.tournament.base[arm, VALUE]) if hasattr(state, "tournament") else math.nan


def index_of(policy: Any, state: Any, arm: int, t: int) -> float:
    """Return the arm's index after t rewards; NaN if there is none.

    If the policy has no method ``index_of``, it is the arm's height in the tournament, or else the arm's probability at
    the last draw.

    Examples
    --------
    >>> import heavybandits as hb
    >>> policy = hb.make("exp3")
    >>> index_of(policy, policy.init(n_arms=4, horizon=100), 0, t=0)
    0.25
    """
    if hasattr(policy, "index_of"):
        return float(policy.index_of(state, arm, t))
    if hasattr(state, "tournament") and hasattr(policy, "level"):  # a policy around another may have no level
        return standing(state.tournament, arm, policy.level(state, t))
    return float(state.draws.chance[arm]) if hasattr(state, "draws") else math.nan


def standing(tournament: Tournament, arm: int, level: float) -> float:
    """Return the arm's height in the tournament; that of an arm that waits for its first rewards is infinite."""
    waits = tournament.line[arm, VALUE] == -LARGEST_FLOAT
    return float(height(tournament.base if waits else tournament.line, tournament.open, arm, level))
