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
        The share of all decisions.
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
    def made(cls, owner: str, share: Any, seed: int | None) -> Floor | None:
        """Return the floor of a new agent, or None if it has none."""
        share = in_range(owner, "floor", share, 0, 1)
        return cls(share, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=FLOOR))) if share > 0.0 else None

    @classmethod
    def loaded(cls, parts: dict[str, Any]) -> Floor | None:
        """Return the floor among the parts of an agent, or None if there is none."""
        if "floor" not in parts:
            return None
        share, state = parts["floor"]
        rng = np.random.default_rng(0)
        rng.bit_generator.state = state
        return cls(in_range("agent", "floor", share, 0, 1), rng)

    @staticmethod
    def saved(floor: Floor | None) -> dict[str, Any]:
        """Return the floor as a part of an agent, if there is one."""
        return {} if floor is None else {"floor": [floor.share, floor.rng.bit_generator.state]}

    def peek(self, slots: Sequence[int]) -> int | None:
        """Return the arm that the next decision without a key would be for, if the floor took it."""
        return taken_by_floor(self.shares(slots), copy.deepcopy(self.rng).random())

    def shares(self, slots: Sequence[int]) -> dict[int, float]:
        """Return the shares of the arms that may be chosen."""
        return dict.fromkeys(slots, self.share / len(slots))

    def at(self, key: bytes | None) -> float:
        """Return a number from [0, 1): the next one, or the one that belongs to the key of a decision."""
        if key is None:
            return self.rng.random()
        return float(np.ldexp(int.from_bytes(hashlib.sha256(b"floor/" + key).digest()[:8]) >> 11, -53))
