"""Linear bandits: how rows of features are played, and the contexts and noise of a replication, drawn in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..algorithms.parts.state.tree import with_rows
from ..protocols import FloatArray, IntArray
from ..world.contexts import Held
from ..world.linear_instances import LinearInstance, draw_rounds
from .arms_game import block_length, columns, draw_noise
from .game import Block, Game
from .streams import generator, stream_key

# The most numbers of contexts drawn at once: few enough for the cache, and enough that threads rarely wait for the
# interpreter lock.  What a seed yields depends on it, so it never changes.
BLOCK_FEATURES = 262_144


class LinearGame(Game):
    """A :class:`.LinearInstance`, as the loop sees it."""

    instance: LinearInstance

    @staticmethod
    def play(
        policy: Any, state: Any, rng: Any, start: int, rounds: IntArray,
        regret: FloatArray, pulls: IntArray, total: FloatArray, recorded: IntArray,
        contexts: FloatArray, means: FloatArray, best: FloatArray, step: int, noise: FloatArray,
    ) -> None:  # fmt: skip
        """Play one round per row of ``noise``; with a ``step`` of 0, all rounds use the first context."""
        lost, checkpoint = total[0], recorded[0]
        for i in range(noise.shape[0]):
            features = contexts[i * step]
            row = policy.select(state, features, start + i, rng)
            if not 0 <= row < features.shape[0]:
                raise IndexError("select must return the number of a row, from 0 to K - 1")
            mean = means[i * step, row]
            policy.update(state, features[row], mean + noise[i, row])
            pulls[row] += 1
            lost += best[i * step] - mean
            if start + i + 1 == rounds[checkpoint]:
                regret[checkpoint] = lost
                checkpoint += 1
        total[0], recorded[0] = lost, checkpoint

    def initial_state(self, policy: Any, horizon: int) -> Any:
        """Return the state of a policy before its first round."""
        return with_rows(policy.init(self.instance.n_features, horizon), self.n_arms)

    def example_block(self) -> Block:
        """Return a block of one round."""
        return np.zeros((1, 1, 1)), np.zeros((1, 1)), np.zeros(1), 1, columns(np.zeros(1), 2)

    def blocks(self, seed: int, replication: int, horizon: int) -> Iterator[tuple[int, Block]]:
        """Yield blocks of rounds: contexts, the expected rewards of their rows, the best of these, step and noise."""
        noise_rng = generator(stream_key(seed, self.key), replication)
        context_rng = generator(stream_key(seed, self.key, "contexts"), replication)
        instance = self.instance.begin()
        theta, rows = instance.theta_and_rows(context_rng)
        block = block_length(instance)
        if rows is None:
            block = min(block, max(1, BLOCK_FEATURES // (instance.n_arms * instance.n_features)))
            held = instance.contexts.rounds if isinstance(instance.contexts, Held) else 1
            block = held * max(1, block // held)
        else:
            contexts = np.array(rows)[None]
            _, means = draw_rounds(rows, theta, context_rng, 1)
        for start in range(0, horizon, block):
            size = min(block, horizon - start)
            if rows is None:
                contexts, means = draw_rounds(instance.contexts, theta, context_rng, size)
            noise = draw_noise(instance, noise_rng, size)
            yield start, (contexts, means, means.max(axis=1), int(rows is None), noise)
