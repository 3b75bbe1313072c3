"""Arms that are points: how they are played, and the noise of a replication, drawn in blocks.

The function of an instance is plain Python, so the kernel cannot call it.  It need not: a policy plays few points, each
of them often.  When a cell is played for the first time, the kernel stops, :meth:`LipschitzGame.complete` records what
the cell's point pays, and the kernel resumes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._format import plural
from ..protocols import FloatArray, IntArray
from ..world.lipschitz_instances import LipschitzInstance, boxes
from .arms_game import BLOCK_ROUNDS
from .game import Block, Game
from .streams import checked_draws, generator, stream_key

FIRST_CELLS = 64  # the number of cells that there is room for at first


class LipschitzRecord(NamedTuple):
    """What the kernel records during a replication, and what it knows about the cells played so far."""

    regret: FloatArray  # at checkpoints
    pulls: IntArray  # per box of the instance
    total: FloatArray  # regret so far
    recorded: IntArray  # checkpoints passed
    played: IntArray  # rounds
    unknown: IntArray  # the cell whose reward is not known yet, or -1
    cells: FloatArray  # (cell, 3): what its point pays, the gap to the supremum, and the box that it lies in


class LipschitzGame(Game):
    """A :class:`.LipschitzInstance`, as the loop sees it."""

    instance: LipschitzInstance

    @staticmethod
    def play(
        policy: Any, state: Any, rng: Any, start: int, rounds: IntArray,
        regret: FloatArray, pulls: IntArray, total: FloatArray, recorded: IntArray, played: IntArray, unknown: IntArray,
        cells: FloatArray, noise: FloatArray,
    ) -> bool:  # fmt: skip
        """Play one round per number of ``noise``; stop and return true when the reward of a cell is not known yet."""
        sum_of_gaps, checkpoint = total[0], recorded[0]
        for t in range(played[0], start + len(noise)):
            cell = unknown[0] if unknown[0] >= 0 else policy.select(state, t, rng)
            if cell < 0:
                raise IndexError("select must return the number of a cell, from 0 on")
            unknown[0] = -1
            if cell >= len(cells) or cells[cell, 0] != cells[cell, 0]:
                played[0], unknown[0], total[0], recorded[0] = t, cell, sum_of_gaps, checkpoint
                return True
            policy.update(state, cell, cells[cell, 0] + noise[t - start])
            pulls[int(cells[cell, 2])] += 1
            sum_of_gaps += cells[cell, 1]
            if t + 1 == rounds[checkpoint]:
                regret[checkpoint] = sum_of_gaps
                checkpoint += 1
        played[0], total[0], recorded[0] = start + len(noise), sum_of_gaps, checkpoint
        return False

    def complete(self, policy: Any, state: Any, record: Any) -> None:
        """Record the expected reward of the cell at which the kernel stopped."""
        cell, cells = int(record.unknown[0]), record.cells
        if cell >= len(cells):
            known = len(cells)
            cells.resize((2 * max(cell, known), 3), refcheck=False)  # in place: the record keeps this array
            cells[known:] = np.nan
        point = np.array(policy.point(state, cell), dtype=float).reshape(1, -1)
        if point.shape[1] != self.instance.dim or not ((point >= 0.0) & (point <= 1.0)).all():
            numbers = plural(self.instance.dim, "number")
            raise ValueError(f"point must return {numbers} from 0 to 1, got {point[0]!r}")
        per_side, binned = boxes(self.instance.dim)
        box = 0
        for x in point[0, :binned]:
            box = box * per_side + min(int(x * per_side), per_side - 1)
        value = float(self.instance.values(point)[0])
        cells[cell] = value, self.instance.supremum - value, box

    def initial_state(self, policy: Any, horizon: int) -> Any:
        """Return the state of a policy before its first round."""
        return policy.init(self.instance.dim, horizon)

    def blank_record(self, n_checkpoints: int) -> LipschitzRecord:
        """Return a blank record, in which no cell is known."""
        return LipschitzRecord(
            **super().blank_record(n_checkpoints)._asdict(),
            played=np.zeros(1, np.int64),
            unknown=np.array([-1]),
            cells=np.full((FIRST_CELLS, 3), np.nan),
        )

    def example_block(self) -> Block:
        """Return a block of one round."""
        return (np.zeros(1),)

    def blocks(self, seed: int, replication: int, horizon: int) -> Iterator[tuple[int, Block]]:
        """Yield the noise in blocks."""
        rng, noise = generator(stream_key(seed, self.key), replication), self.instance.begin().noises[0]
        for start in range(0, horizon, BLOCK_ROUNDS):
            yield start, (checked_draws(noise, rng, min(BLOCK_ROUNDS, horizon - start)),)
