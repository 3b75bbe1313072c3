"""The saved form of an agent for rewards that are linear in features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._validate import count
from ..algorithms.parts.state.tree import fresh_state, with_rows
from .agent_file import Contents, counted
from .rows import ALLOWED, are_usable


class SavedLinear(NamedTuple):
    """Everything that makes up an agent."""

    policy: Any
    horizon: int | None
    n_features: int
    n_rows: int  # the most rows that it was asked about at once
    seen: int  # rewards
    rng: np.random.Generator | None
    state: Any
    pending: list[list[float]]  # rows whose rewards have not come, the oldest first

    def header(self) -> dict[str, Any]:
        """Return the fields, in JSON types except for policy, generator and state, which the file encodes."""
        return self._asdict()


def built(contents: Contents) -> SavedLinear:
    """Check the agent that a file holds, and return it."""
    header, policy = contents.header, contents.policy
    n_features, n_rows = (count("agent", name, header[name]) for name in ("n_features", "n_rows"))
    counted(header["seen"])
    pending = [list(map(float, row)) for row in header["pending"]]
    if not all(len(row) == n_features and are_usable(np.array(row)) for row in pending):
        raise ValueError(f"pending rows must have {n_features} numbers {ALLOWED} each")
    template = with_rows(fresh_state(policy, n_features, contents.horizon), n_rows)
    state = contents.state(template, n_rows)
    return SavedLinear(**{**header, "policy": policy, "rng": contents.rng, "state": state, "pending": pending})
