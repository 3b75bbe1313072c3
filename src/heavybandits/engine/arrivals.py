"""When rewards come that come late, and what games with such rewards share.

The times at which rewards come are drawn beforehand, from a stream keyed by (seed, instance, "delay", replication), and
are the same for all policies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..protocols import IntArray
from ..world.delays import Delays
from .game import Block, Game
from .streams import generator, stream_key


class Arrivals(NamedTuple):
    """When the rewards of a replication come; fields have one number per decision unless noted otherwise."""

    due: IntArray  # the reward comes before the decision of this round
    order: IntArray  # the decisions whose rewards come at all, in the order in which they come
    window: IntArray  # array of length one: rounds after which a decision is given up


def draw_arrivals(delays: Delays, rng: np.random.Generator, horizon: int) -> Arrivals:
    """Draw when the rewards of a replication come.

    Examples
    --------
    >>> from heavybandits.world.delays import Batches
    >>> draw_arrivals(Delays(Batches(3), lost=0.0, window=None), np.random.default_rng(0), 7).due
    array([3, 3, 3, 6, 6, 6, 7])
    """
    due = delays.due(rng, horizon)
    order = np.argsort(due, kind="stable")
    window = horizon if delays.window is None else delays.window
    return Arrivals(due=due, order=order[: np.count_nonzero(due < horizon)], window=np.array([window]))


class LateGame(Game):
    """A game whose rewards come late, to be combined with another: its blocks, each with the arrivals of all rewards.

    Before each decision the policy is given the rewards that are due, in the order of their decisions, and is then told
    which decision is given up.  Regret counts when a decision is made.
    """

    def __init__(self, instance: Any, delays: Delays) -> None:
        super().__init__(instance)
        self.delays = delays

    def example_block(self) -> Block:
        """Return a block of one round."""
        return *super().example_block(), draw_arrivals(Delays(0, 0.0, None), np.random.default_rng(0), 1)

    def blocks(self, seed: int, replication: int, horizon: int) -> Iterator[tuple[int, Block]]:
        """Yield the blocks of a replication, each with its first round."""
        rng = generator(stream_key(seed, self.key, "delay"), replication)
        arrivals = draw_arrivals(self.delays, rng, horizon)
        for start, block in super().blocks(seed, replication, horizon):
            yield start, (*block, arrivals)
