"""K arms: how they are played, and the noise of a replication, drawn in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..protocols import FloatArray, IntArray
from ..world.instances import Instance
from ..world.linear_instances import LinearInstance
from .game import Block, Game
from .streams import checked_draws, generator, stream_key

# The most rounds of noise drawn at once, and the most numbers if each arm has its own law.  Blocks are long enough that
# threads rarely wait for the interpreter lock, and short enough for the cache.  What a seed yields depends on these
# sizes, so they never change.
BLOCK_ROUNDS, BLOCK_DRAWS = 131_072, 4_194_304


class ArmsGame(Game):
    """An :class:`.Instance`, as the loop sees it."""

    instance: Instance

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

    def initial_state(self, policy: Any, horizon: int) -> Any:
        """Return the state of a policy before its first round."""
        return policy.init(self.n_arms, horizon)

    def example_block(self) -> Block:
        """Return a block of one round."""
        return np.zeros(1), columns(np.zeros(1), 2), np.zeros(1)

    def blocks(self, seed: int, replication: int, horizon: int) -> Iterator[tuple[int, Block]]:
        """Yield stretches of rounds in which no arm changes: shifts, noise, gaps."""
        pieces = [(first, end, np.array(shifts, dtype=float), np.array(gaps, dtype=float))
                  for first, end, shifts, gaps in self.instance.pieces(horizon)]  # fmt: skip
        rng, instance = generator(stream_key(seed, self.key), replication), self.instance.begin()
        block = block_length(instance)
        for start in range(0, horizon, block):
            noise = draw_noise(instance, rng, min(block, horizon - start))
            for first, end, shifts, gaps in pieces:
                part = noise[max(first - start, 0) : max(end - start, 0)]
                if len(part):
                    yield max(first, start), (shifts, part, gaps)


def block_length(instance: Instance | LinearInstance) -> int:
    """Return how many rounds of noise to draw at once, so that memory stays small however many laws there are."""
    return BLOCK_ROUNDS if instance.shared_noise else min(BLOCK_ROUNDS, max(1, BLOCK_DRAWS // instance.n_arms))


def draw_noise(instance: Instance | LinearInstance, rng: np.random.Generator, size: int) -> FloatArray:
    """Draw the noise of ``size`` rounds, a column per arm; a law that all arms share is drawn once per round."""
    if instance.shared_noise:
        return columns(checked_draws(instance.noises[0], rng, size), instance.n_arms)
    return np.stack([checked_draws(noise, rng, size) for noise in instance.noises], axis=1)


def columns(drawn: FloatArray, n_arms: int) -> FloatArray:
    """Return the same column for every arm, without a copy."""
    return np.ndarray((len(drawn), n_arms), drawn.dtype, drawn, strides=(drawn.itemsize, 0))
