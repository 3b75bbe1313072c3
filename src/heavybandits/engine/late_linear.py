"""The loop for late rewards of linear bandits: like :mod:`.late`, with rows of features in place of arms.

A decision that is given up is settled: the design no longer counts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.parts.choice.pending_rows import ask, settle
from ..algorithms.parts.state.tree import find_asking
from ..protocols import FloatArray, IntArray
from ..world.delays import Delays
from ..world.linear import LinearInstance
from .late import Arrivals, draw_arrivals
from .linear import LinearGame
from .streams import generator, stream_key


class RowDecisions(NamedTuple):
    """The decisions so far, one row for each, and in ``come`` the number of rewards that have come."""

    x: FloatArray
    reward: FloatArray
    come: IntArray


class LateLinearState(NamedTuple):
    """A policy's state, the part of it that tracks pending rows, and the decisions so far."""

    inner: Any
    asking: Any
    decisions: RowDecisions


class LateLinearGame(LinearGame):
    """A :class:`.LinearInstance` whose rewards come late, as the loop sees it."""

    def __init__(self, instance: LinearInstance, delays: Delays) -> None:
        super().__init__(instance)
        self.delays = delays

    @staticmethod
    def play(  # type: ignore[override]
        policy: Any, state: LateLinearState, rng: Any, start: int, rounds: IntArray,
        regret: FloatArray, pulls: IntArray, total: FloatArray, recorded: IntArray,
        contexts: FloatArray, means: FloatArray, best: FloatArray, step: int, noise: FloatArray, arrivals: Arrivals,
    ) -> None:  # fmt: skip
        """Play one round per row of ``noise``; with a ``step`` of 0, all rounds use the first context."""
        inner, asking, x, reward = state.inner, state.asking, state.decisions.x, state.decisions.reward
        due, order, window = arrivals.due, arrivals.order, arrivals.window[0]
        lost, checkpoint, come = total[0], recorded[0], state.decisions.come[0]
        for i in range(noise.shape[0]):
            t = start + i
            while come < len(order) and due[order[come]] <= t:
                decision = order[come]
                policy.update(inner, x[decision], reward[decision])
                if due[decision] <= decision + 1 + window:  # else it has been given up
                    settle(asking, x[decision])
                come += 1
            if t > window and due[t - 1 - window] > t:
                settle(asking, x[t - 1 - window])
            features = contexts[i * step]
            row = policy.select(inner, features, come, rng)
            if not 0 <= row < features.shape[0]:
                raise IndexError("select must return the number of a row, from 0 to K - 1")
            ask(asking, features[row])
            mean = means[i * step, row]
            for j in range(features.shape[1]):  # numba needs reference counts to assign a whole row, and compiles twice
                x[t, j] = features[row, j]
            reward[t] = mean + noise[i, row]
            pulls[row] += 1
            lost += best[i * step] - mean
            if t + 1 == rounds[checkpoint]:
                regret[checkpoint] = lost
                checkpoint += 1
        total[0], recorded[0], state.decisions.come[0] = lost, checkpoint, come

    def fresh(self, policy: Any, horizon: int) -> LateLinearState:
        """Return the state of a policy before its first round."""
        inner = super().fresh(policy, horizon)
        rows = np.zeros((horizon, self.instance.n_features))
        return LateLinearState(
            inner=inner,
            asking=find_asking(inner),
            decisions=RowDecisions(x=rows, reward=np.zeros(horizon), come=np.zeros(1, np.int64)),
        )

    def example(self) -> tuple[Any, ...]:
        """Return a block of one round."""
        return *super().example(), draw_arrivals(Delays(0, 0.0, None), np.random.default_rng(0), 1)

    def deal(self, seed: int, replication: int, horizon: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield the blocks of a linear game, each with the arrivals of all rewards."""
        rng = generator(stream_key(seed, self.key, "delay"), replication)
        arrivals = draw_arrivals(self.delays, rng, horizon)
        for start, block in super().deal(seed, replication, horizon):
            yield start, (*block, arrivals)
