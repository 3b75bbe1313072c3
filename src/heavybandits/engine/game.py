"""What the loop must know about a kind of instance: how policies begin, the compiled kernel, and its blocks.

A kind of instance has a subclass of :class:`Game` in a file of its own.  Its kernel is a plain function
``play(policy, state, rng, start, rounds, *record, *block)``, compiled for each policy: it plays one round per row of
the block, from round ``start`` on, and writes regret and pulls to the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..protocols import FloatArray, IntArray

Block = tuple[Any, ...]


class Record(NamedTuple):
    """What a kernel records during a replication."""

    regret: FloatArray  # at checkpoints
    pulls: IntArray
    total: FloatArray  # regret so far
    recorded: IntArray  # checkpoints passed


class Game:
    """An instance, as the loop sees it.

    Attributes
    ----------
    instance
        The instance.
    kind
        The kind of policies that can play it: ``"arms"``, ``"linear"`` or ``"lipschitz"``.
    key
        The instance's key, for random streams.
    n_arms
        The number of arms whose pulls are counted.
    """

    def __init__(self, instance: Any) -> None:
        self.instance = instance
        self.kind: str = instance.kind
        self.key: str = instance.key
        self.n_arms: int = instance.n_arms

    @staticmethod
    def play(policy: Any, state: Any, rng: Any, start: int, rounds: IntArray, *record_and_block: Any) -> bool | None:
        """Play one round per row of the block, or return true to be called again after :meth:`complete`; compiled."""
        raise NotImplementedError

    def complete(self, policy: Any, state: Any, record: Any) -> None:
        """Write what the kernel stopped for into the record; most kernels never stop."""

    def initial_state(self, policy: Any, horizon: int) -> Any:
        """Return the state of a policy before its first round."""
        raise NotImplementedError

    def blank_record(self, n_checkpoints: int) -> Any:
        """Return a NamedTuple of arrays for the kernel to write to, with at least ``regret`` and ``pulls``."""
        return Record(
            regret=np.zeros(n_checkpoints),
            pulls=np.zeros(self.n_arms, np.int64),
            total=np.zeros(1),
            recorded=np.zeros(1, np.int64),
        )

    def example_block(self) -> Block:
        """Return a block of one round, of the types that :meth:`blocks` yields, to compile the kernel for."""
        raise NotImplementedError

    def blocks(self, seed: int, replication: int, horizon: int) -> Iterator[tuple[int, Block]]:
        """Yield the blocks of a replication, each with its first round: the same for all policies."""
        raise NotImplementedError
