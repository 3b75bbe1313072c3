"""Linear bandits with late rewards: like :mod:`.late_arms_game`, with rows of features in place of arms.

A decision that is given up is settled: the design no longer counts it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algorithms.parts.choice.pending_rows import ask, settle
from ..algorithms.parts.state.tree import find_asking
from ..protocols import FloatArray, IntArray
from .arrivals import Arrivals, LateGame
from .linear_game import LinearGame


class RowDecisions(NamedTuple):
    """The decisions so far, one row for each, and in ``arrived`` the number of rewards that have come."""

    x: FloatArray
    reward: FloatArray
    arrived: IntArray


class LateLinearState(NamedTuple):
    """A policy's state, the part of it that tracks pending rows, and the decisions so far."""

    inner: Any
    pending: Any
    decisions: RowDecisions


class LateLinearGame(LateGame, LinearGame):
    """A :class:`.LinearInstance` whose rewards come late, as the loop sees it."""

    @staticmethod
    def play(  # type: ignore[override]
        policy: Any, state: LateLinearState, rng: Any, start: int, rounds: IntArray,
        regret: FloatArray, pulls: IntArray, total: FloatArray, recorded: IntArray,
        contexts: FloatArray, means: FloatArray, best: FloatArray, step: int, noise: FloatArray, arrivals: Arrivals,
    ) -> None:  # fmt: skip
        """Play one round per row of ``noise``; with a ``step`` of 0, all rounds use the first context."""
        inner, pending, x, reward = state.inner, state.pending, state.decisions.x, state.decisions.reward
        due, order, window = arrivals.due, arrivals.order, arrivals.window[0]
        lost, checkpoint, arrived = total[0], recorded[0], state.decisions.arrived[0]
        for i in range(noise.shape[0]):
            t = start + i
            while arrived < len(order) and due[order[arrived]] <= t:
                decision = order[arrived]
                policy.update(inner, x[decision], reward[decision])
                if due[decision] <= decision + 1 + window:  # else it has been given up
                    settle(pending, x[decision])
                arrived += 1
            if t > window and due[t - 1 - window] > t:
                settle(pending, x[t - 1 - window])
            features = contexts[i * step]
            row = policy.select(inner, features, arrived, rng)
            if not 0 <= row < features.shape[0]:
                raise IndexError("select must return the number of a row, from 0 to K - 1")
            ask(pending, features[row])
            mean = means[i * step, row]
            for j in range(features.shape[1]):  # numba needs reference counts to assign a whole row, and compiles twice
                x[t, j] = features[row, j]
            reward[t] = mean + noise[i, row]
            pulls[row] += 1
            lost += best[i * step] - mean
            if t + 1 == rounds[checkpoint]:
                regret[checkpoint] = lost
                checkpoint += 1
        total[0], recorded[0], state.decisions.arrived[0] = lost, checkpoint, arrived

    def initial_state(self, policy: Any, horizon: int) -> LateLinearState:
        """Return the state of a policy before its first round."""
        inner = super().initial_state(policy, horizon)
        rows = np.zeros((horizon, self.instance.n_features))
        return LateLinearState(
            inner=inner,
            pending=find_asking(inner),
            decisions=RowDecisions(x=rows, reward=np.zeros(horizon), arrived=np.zeros(1, np.int64)),
        )
