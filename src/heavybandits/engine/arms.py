"""K arms: how they are played, and the noise of a replication, drawn in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..protocols import FloatArray, IntArray
from ..world.instances import Instance
from ..world.linear import LinearInstance
from .game import Game, Record, blank_record
from .streams import draw, generator, stream_key

# Rounds of noise drawn at once, and the most numbers drawn at once if each arm has its own law.  Blocks are long enough
# that threads rarely wait for the interpreter lock, and short enough for the cache.  What a seed yields depends on
# these sizes, so they never change.
BLOCK, NUMBERS = 131_072, 4_194_304


class ArmsGame(Game):
    """An :class:`.Instance`, as the loop sees it."""

    kind = Instance.kind

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.key, self.n_arms = instance.key, instance.n_arms

    @staticmethod
    def play(
        policy: Any, state: Any, rng: Any, start: int, rounds: IntArray,
        regret: FloatArray, pulls: IntArray, total: FloatArray, recorded: IntArray,
        means: FloatArray, noise: FloatArray, gaps: FloatArray,
    ) -> None:  # fmt: skip
        """Play one round per row of ``noise``."""
        sum_of_gaps, checkpoint = total[0], recorded[0]
        for i in range(noise.shape[0]):
            arm = policy.select(state, start + i, rng)
            if not 0 <= arm < len(means):
                raise IndexError("select must return the number of an arm, from 0 to K - 1")
            policy.update(state, arm, means[arm] + noise[i, arm])
            pulls[arm] += 1
            sum_of_gaps += gaps[arm]
            if start + i + 1 == rounds[checkpoint]:
                regret[checkpoint] = sum_of_gaps
                checkpoint += 1
        total[0], recorded[0] = sum_of_gaps, checkpoint

    def fresh(self, policy: Any, horizon: int) -> Any:
        """Return the state of a policy before its first round."""
        return policy.init(self.n_arms, horizon)

    def record(self, n_checkpoints: int) -> Record:
        """Return a blank record."""
        return blank_record(n_checkpoints, self.n_arms)

    def example(self) -> tuple[Any, ...]:
        """Return a block of one round."""
        return np.zeros(1), columns(np.zeros(1), 2), np.zeros(1)

    def deal(self, seed: int, replication: int, horizon: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield stretches of rounds in which no arm changes: shifts, noise, gaps."""
        pieces = [(first, end, np.array(shifts, dtype=float), np.array(gaps, dtype=float))
                  for first, end, shifts, gaps in self.instance.pieces(horizon)]  # fmt: skip
        rng, fresh = generator(stream_key(seed, self.key), replication), self.instance.begin()
        block = block_length(self.instance)
        for start in range(0, horizon, block):
            noise = draw_noise(fresh, rng, min(block, horizon - start))
            for first, end, shifts, gaps in pieces:
                part = noise[max(first - start, 0) : max(end - start, 0)]
                if len(part):
                    yield max(first, start), (shifts, part, gaps)


def block_length(instance: Instance | LinearInstance) -> int:
    """Return how many rounds of noise to draw at once, so that memory stays small however many laws there are."""
    return BLOCK if instance.shared_noise else min(BLOCK, max(1, NUMBERS // instance.n_arms))


def draw_noise(instance: Instance | LinearInstance, rng: np.random.Generator, size: int) -> FloatArray:
    """Draw the noise of ``size`` rounds, a column per arm; a law that all arms share is drawn once per round."""
    if instance.shared_noise:
        return columns(draw(instance.noises[0], rng, size), instance.n_arms)
    return np.stack([draw(noise, rng, size) for noise in instance.noises], axis=1)


def columns(drawn: FloatArray, n_arms: int) -> FloatArray:
    """Return the same column for every arm, without a copy."""
    return np.ndarray((len(drawn), n_arms), drawn.dtype, drawn, strides=(drawn.itemsize, 0))
