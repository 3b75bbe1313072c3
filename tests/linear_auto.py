"""Plays linear-auto, compiled, on rows and rewards made by a test."""

from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.algorithms.linear._level_set.two_piece_laws import LEARNED, LEAST_SQUARES, two_piece_table
from heavybandits.algorithms.parts.state.tree import with_rows
from heavybandits.jit.compiled import compiled, without_text
from heavybandits.protocols import FloatArray, IntArray

AUTO, MEAN = hb.make("linear-auto"), hb.make("linear-auto-mean")


def play(
    policy: Any, state: Any, rng: Any, contexts: FloatArray, means: FloatArray, noise: FloatArray, rows: IntArray
) -> None:
    for t in range(len(noise)):
        i = t % len(contexts)
        rows[t] = policy.select(state, contexts[i], t, rng)
        policy.update(state, contexts[i, rows[t]], means[i, rows[t]] + noise[t])


def played(policy: Any, contexts: FloatArray, means: FloatArray, noise: FloatArray) -> tuple[IntArray, Any]:
    """Return the rows that the compiled policy plays, and its state; contexts are one, or one for each round."""
    state = with_rows(policy.init(contexts.shape[2], len(noise)), contexts.shape[1])
    bare, rows = without_text(policy), np.zeros(len(noise), np.int64)
    arguments = (bare, state, None, np.ascontiguousarray(contexts), np.ascontiguousarray(means), noise, rows)
    compiled(play, *arguments)(*arguments)
    return rows, state


def regret(rows: IntArray, means: FloatArray) -> float:
    """Return the regret of the rows; means are those of one context, or of one for each round."""
    means = np.broadcast_to(means, (len(rows), means.shape[1]))
    return float((means.max(axis=1) - means[np.arange(len(rows)), rows]).sum())


def problem(seed: int, n_rounds: int, n_rows: int = 6, d: int = 3) -> tuple[FloatArray, FloatArray]:
    """Return contexts and the mean rewards of their rows; one round means rows that stay the same."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(n_rounds, n_rows, d))
    return contexts, contexts @ rng.normal(size=d)


def finite(state: Any) -> bool:
    """Return whether the line and its inverse are finite and the scale is not NaN."""
    model = state.model
    parts = (*model.line, model.inverse, model.ridge)
    return all(np.isfinite(part).all() for part in parts) and not np.isnan(state.numbers[0].scale)


LAWS = two_piece_table((*LEARNED, LEAST_SQUARES))
