"""Checkpoints: the rounds after which regret is recorded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..protocols import IntArray

LONGEST_FOR_ALL = 10**7  # the longest horizon for "all", which keeps a number per round for each policy and replication


def checkpoint_rounds(horizon: int, checkpoints: Sequence[int] | str = "log") -> IntArray:
    """Return the rounds after which regret is recorded; see :func:`heavybandits.simulate`.

    Examples
    --------
    >>> checkpoint_rounds(5, "all").tolist()
    [1, 2, 3, 4, 5]
    >>> checkpoint_rounds(1000, [10, 100]).tolist()
    [10, 100, 1000]
    """
    if isinstance(checkpoints, str):
        if checkpoints == "all":
            if horizon > LONGEST_FOR_ALL:
                at_most = f"a horizon of at most {LONGEST_FOR_ALL:,}, got {horizon:,}"
                raise ValueError(f"simulate: checkpoints = 'all' takes {at_most}; use 'log'")
            return np.arange(1, horizon + 1)
        end = [max(1, horizon - horizon // 10), horizon]  # nine tenths, to measure the slope at the end
        if checkpoints == "end":
            return np.unique(end)
        if checkpoints != "log":
            raise ValueError(f"simulate: checkpoints must be 'log', 'all', 'end' or rounds, got {checkpoints!r}")
        return np.union1d(np.geomspace(1, horizon, 100).round().astype(np.int64), end)
    rounds = np.asarray(checkpoints)
    if (
        rounds.ndim != 1
        or rounds.dtype.kind != "i"
        or np.any(np.diff(rounds) <= 0)
        or not np.all((rounds >= 1) & (rounds <= horizon))
    ):
        raise ValueError(f"simulate: checkpoints must be increasing rounds from 1 to {horizon}, got {checkpoints!r}")
    return np.union1d(rounds.astype(np.int64), [horizon])
