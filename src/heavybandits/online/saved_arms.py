"""The saved form of an agent for K arms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._validate import whole
from ..algorithms.parts.state.tree import fresh_state
from .agent_file import Contents, counted

NAMES = (str, int, float)  # types of names that a file can hold


class Saved(NamedTuple):
    """Everything that makes up an agent."""

    policy: Any
    horizon: int | None
    labels: list[Any]
    unused: int  # the first number that never named an arm
    pulls: list[int]  # rewards seen, per arm
    seen: int  # rewards seen, those of removed arms included
    rng: np.random.Generator | None
    state: Any
    pending: list[int]  # decisions whose rewards have not come, per arm
    chances: list[tuple[int, list[float]]]  # and probabilities of the latest by arm, if arms are drawn at random

    def header(self) -> dict[str, Any]:
        """Return the fields, in JSON types except for policy, generator and state, which the file encodes."""
        for label in self.labels:
            if not isinstance(label, NAMES):
                raise TypeError(f"Agent: to be saved, arms must be named by text or numbers, got {label!r}")
        return self._asdict()


def built(contents: Contents) -> Saved:
    """Check the agent that a file holds, and return it."""
    header, policy = contents.header, contents.policy
    labels, horizon = header["labels"], contents.horizon
    whole("agent", "unused", header["unused"])
    if contents.version == "1":
        header = {**header, "pending": [0] * len(labels), "chances": []}
    counted(header["seen"], *header["pulls"], *header["pending"])
    if not all(isinstance(label, NAMES) for label in labels):
        raise ValueError(f"arms must be named by text or numbers, got {labels}")
    if not len(set(labels)) == len(header["pulls"]) == len(header["pending"]):
        raise ValueError("there must be as many labels as pulls and as pending decisions")
    chances = [(whole("agent", "arm", arm), list(map(float, queue))) for arm, queue in header["chances"]]
    if not all(arm < len(labels) and all(0.0 <= p <= 1.0 for p in queue) for arm, queue in chances):
        raise ValueError("probabilities of pending decisions must belong to arms and lie between 0 and 1")
    state = contents.state(fresh_state(policy, len(labels), horizon), len(labels))
    return Saved(**{**header, "policy": policy, "rng": contents.rng, "state": state, "chances": chances})
