"""Rows drawn by known probabilities: the row of highest value, or sometimes another."""

from __future__ import annotations

import math
from typing import Any

from ...protocols import FloatArray, compilable


@compilable
def best_or_other(policy: Any, state: Any, features: FloatArray, t: int, rng: Any) -> int:
    """Return the row of highest value, ties to the first, or any other with its chance; write chances if asked.

    A row whose value is lower by ``gap`` has the chance ``policy.chance_of(gap, n_rows, t)``, at most 1/n_rows.
    """
    n_rows, best, highest = len(features), 0, -math.inf
    for row in range(n_rows):
        value = policy.value(state, features[row])
        if value > highest:
            best, highest = row, value
    point, others, drawn = rng.random(), 0.0, best
    for row in range(n_rows):
        if row != best:
            others += policy.chance_of(highest - policy.value(state, features[row]), n_rows, t)
            if drawn == best and point < others:
                drawn = row
    write_chances_of_rows(policy, state, state.propensity, features, best, t)
    return drawn


@compilable
def write_chances_of_rows(
    policy: Any, state: Any, propensity: FloatArray | None, features: FloatArray, best: int, t: int
) -> None:
    """Write, if asked, with which probability each row was drawn."""
    if propensity is None or propensity[0] >= 0.0:
        return
    n_rows, highest, others = len(features), policy.value(state, features[best]), 0.0
    for row in range(n_rows):
        propensity[row] = policy.chance_of(highest - policy.value(state, features[row]), n_rows, t)
        others += propensity[row] if row != best else 0.0
    propensity[best] = 1.0 - others
