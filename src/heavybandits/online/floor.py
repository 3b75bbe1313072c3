"""Floors: a share of all decisions is drawn whatever the policy prefers, so that every arm goes on showing its worth.

A floor gives each arm a share of the decisions.  A number drawn uniformly from [0, 1) says whether a decision is one of
these, and for which arm.  Agents share a floor equally between the arms that may be chosen; experiments of the service
state the share of each arm.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .._validate import in_range

FLOOR = (2,)  # key that distinguishes a floor's generator from others with the same seed

Arm = TypeVar("Arm", bound=Hashable)


def taken_by_floor(shares: Mapping[Arm, float], at: float) -> Arm | None:
    """Return the arm that the floor takes a decision for, if it does, given a number drawn from [0, 1).

    Examples
    --------
    >>> [taken_by_floor({"red": 0.1, "green": 0.2}, at) for at in (0.05, 0.15, 0.5)]
    ['red', 'green', None]
    """
    for arm, share in shares.items():
        at -= share
        if at < 0.0:
            return arm
    return None


def mixed(shares: Mapping[Arm, float], arm: Arm, propensity: float | None) -> float | None:
    """Return the probability of an arm, by the floor or by the policy; None if that of the policy is not known.

    Examples
    --------
    >>> mixed({"red": 0.1, "green": 0.1}, "red", propensity=0.5)
    0.5
    """
    if propensity is None or not shares:
        return propensity
    return min(1.0, shares.get(arm, 0.0) + max(0.0, 1.0 - sum(shares.values())) * propensity)


class Floor:
    """A share of an agent's decisions that is uniform over the arms that may be chosen.

    Parameters
    ----------
    share
        The share of all decisions; 0 is no floor at all.
    rng
        Draws which decisions, unless these have keys.

    Examples
    --------
    >>> floor = Floor(0.25, np.random.default_rng(0))
    >>> floor.shares([0, 1])
    {0: 0.125, 1: 0.125}
    """

    def __init__(self, share: float, rng: np.random.Generator) -> None:
        self.share, self.rng = share, rng

    @classmethod
    def made(cls, owner: str, share: Any, seed: int | None) -> Floor:
        """Return the floor of a new agent."""
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=FLOOR))
        return cls(in_range(owner, "floor", share, 0, 1), rng)

    @classmethod
    def loaded(cls, parts: dict[str, Any]) -> Floor:
        """Return the floor among the parts of an agent."""
        rng = np.random.default_rng(0)
        share, rng.bit_generator.state = parts.get("floor", (0.0, rng.bit_generator.state))
        return cls(in_range("agent", "floor", share, 0, 1), rng)

    def saved(self) -> dict[str, Any]:
        """Return the floor as a part of an agent, if there is one."""
        return {"floor": [self.share, self.rng.bit_generator.state]} if self.share > 0.0 else {}

    def shares(self, slots: Sequence[int]) -> dict[int, float]:
        """Return the shares of the arms that may be chosen; none without a floor."""
        return dict.fromkeys(slots, self.share / len(slots)) if self.share > 0.0 else {}

    def taken(self, shares: Mapping[int, float], key: bytes | None) -> int | None:
        """Return the arm that this decision is for, if the floor takes it; only the key counts, if there is one."""
        if not shares:
            return None
        if key is None:
            return taken_by_floor(shares, self.rng.random())
        at = np.ldexp(int.from_bytes(hashlib.sha256(b"floor/" + key).digest()[:8]) >> 11, -53)
        return taken_by_floor(shares, float(at))

    def peek(self, slots: Sequence[int]) -> int | None:
        """Return the arm that the next decision without a key would be for, if the floor took it."""
        return copy.deepcopy(self).taken(self.shares(slots), None)
