"""The saved form of an agent whose arms are points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._validate import count, whole
from ..algorithms.parts.choice.pending import find_pending
from ..algorithms.parts.state.tree import fresh_state
from .agent_file import Contents, counted


class SavedLipschitz(NamedTuple):
    """Everything that makes up an agent."""

    policy: Any
    horizon: int | None
    dim: int
    seen: int  # rewards
    rng: np.random.Generator | None
    state: Any
    pulls: list[tuple[int, int]]  # cells, and rewards of each
    pending: list[tuple[int, int]]  # cells, and decisions of each whose rewards have not come

    def header(self) -> dict[str, Any]:
        """Return the fields, in JSON types except for policy, generator and state, which the file encodes."""
        return self._asdict()


def room_for(state: Any) -> int | None:
    """Return how many cells a state has room for; None if it does not say."""
    pulls = find_pending(state).pulls
    return None if pulls is None else len(pulls)


def built(contents: Contents) -> SavedLipschitz:
    """Check the agent that a file holds, and return it."""
    header, policy = contents.header, contents.policy
    dim = count("agent", "dim", header["dim"])
    template = fresh_state(policy, dim, contents.horizon)
    state = contents.state(template, room_for(template) or policy.n_cells(template))
    n_cells = policy.n_cells(state)
    pulls, pending = ([(whole("agent", "cell", cell), n) for cell, n in header[name]] for name in ("pulls", "pending"))
    counted(header["seen"], *(n for _, n in [*pulls, *pending]))
    if any(cell >= n_cells for cell, _ in [*pulls, *pending]):
        raise ValueError(f"rewards and pending decisions must belong to the {n_cells} cells")
    parts = {"policy": policy, "rng": contents.rng, "state": state, "pulls": pulls, "pending": pending}
    return SavedLipschitz(**{**header, **parts})
