"""What the loop must know about a kind of instance: how policies begin, the compiled kernel, and its blocks.

A kind of instance is a class with the methods of :class:`Game`, in a file of its own.  Its kernel is a plain function
``play(policy, state, rng, start, rounds, *record, *block)``, compiled for each policy: it plays one round per row of
the block, from round ``start`` on, and writes regret and pulls to the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..protocols import FloatArray, IntArray


class Record(NamedTuple):
    """What a kernel records during a replication."""

    regret: FloatArray  # at checkpoints
    pulls: IntArray
    total: FloatArray  # regret so far
    recorded: IntArray  # checkpoints passed


def blank_record(n_checkpoints: int, n_arms: int) -> Record:
    """Return the record of a replication before its first round.

    Examples
    --------
    >>> blank_record(2, 3).pulls
    array([0, 0, 0])
    """
    return Record(
        regret=np.zeros(n_checkpoints),
        pulls=np.zeros(n_arms, np.int64),
        total=np.zeros(1),
        recorded=np.zeros(1, np.int64),
    )


class Game(Protocol):
    """An instance, as the loop sees it.

    Attributes
    ----------
    kind
        The kind of policies that can play it: ``"arms"``, ``"linear"`` or ``"lipschitz"``.
    key
        The instance's key, for random streams.
    n_arms
        The number of arms whose pulls are counted.
    """

    kind: str
    key: str
    n_arms: int

    @staticmethod
    def play(policy: Any, state: Any, rng: Any, start: int, rounds: IntArray, *record_and_block: Any) -> bool | None:
        """Play one round per row of the block, or return true to be called again after :meth:`reveal`; compiled."""
        ...

    def reveal(self, policy: Any, state: Any, record: Any) -> None:
        """Write what the kernel stopped for into the record; most kernels never stop."""
        return

    def fresh(self, policy: Any, horizon: int) -> Any:
        """Return the state of a policy before its first round."""
        ...

    def record(self, n_checkpoints: int) -> Any:
        """Return a NamedTuple of arrays for the kernel to write to, with at least ``regret`` and ``pulls``."""
        ...

    def example(self) -> tuple[Any, ...]:
        """Return a block of the types that :meth:`deal` yields, to compile the kernel for."""
        ...

    def deal(self, seed: int, replication: int, horizon: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield the blocks of a replication, each with its first round: the same for all policies."""
        ...
