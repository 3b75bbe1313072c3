r"""Restarts around any linear policy, for rewards whose dependence on the features changes.

*Assumes* that theta stays as it is for a while and then changes abruptly, and what the policy inside assumes.  *Must be
told* what that policy must be told.  *When that fails*: slow drift is found late.  A change after which the rows that
are played pay as predicted is not noticed, nor is one before there are five rewards per parameter.  Where the law of
the noise depends on the row, as with coins, there are false alarms.

*Formula*: each reward is compared with what the policy predicts for its row, and this residual with earlier ones, by
its rank: see :mod:`..parts.state.drift`.  Rows are played because they are predicted to pay most, so after a change
they pay less than predicted; only residuals that fall raise an alarm.  Those that rise are no sign of change, because
the rows that seem best early on are the overestimated ones.  After an alarm the policy returns to its initial state.
It then no longer knows which rows are pending, and their rewards settle later ones, so that fewer rows count as pending
than are, until none is.

*Cost*: the policy's, and O(log n) comparisons per reward, some of which also move up to 1024 numbers; 8.3 kB, and twice
the policy's state.

*Reference*: this library.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...protocols import FloatArray, IntArray, copy_into
from ..entries import register_policy
from ..parameters import PolicyInside
from ..parts.state.drift import FALLS, Detectors, begin_anew, has_changed, init_detectors

SETTLING = 5  # rewards per parameter before residuals are compared: they shrink as long as the policy learns


class LinearRestartingState(NamedTuple):
    """The current and the initial state of the policy inside, and what is known about changes."""

    inner: Any
    initial: Any
    detectors: Detectors  # of one arm: all residuals, whatever their rows
    since: IntArray  # rewards since the last restart
    restarts: IntArray


@register_policy(
    "linear-restarting",
    needs="what the policy inside needs",
    memory="8.3 kB, and the policy's twice",
    cost="O(log n), and the policy's",
    regret="none; measured in docs/drift.md",
    reference="this library",
    kind="linear",
    example={"policy": {"kind": "lin-ucb"}},
    zoo={"policy": {"kind": "linear-auto"}},
)
class LinearRestarting(NamedTuple):
    """Restarts around a linear policy.

    Parameters
    ----------
    policy
        The linear policy to play; it must tell the estimate of a row by a method ``value``.

    Examples
    --------
    >>> import numpy as np, heavybandits as hb
    >>> policy = LinearRestarting(hb.make("lin-ucb"))
    >>> state = policy.init(n_features=1, horizon=None)
    >>> for t in range(120):
    ...     policy.update(state, np.array([1.0]), (5.0 if t < 80 else 1.0) + t % 8 / 8)
    >>> int(state.restarts[0]), round(policy.value(state, np.array([1.0])), 1)
    (1, 1.4)
    """

    policy: PolicyInside

    def init(self, n_features: int, horizon: int | None) -> LinearRestartingState:
        return LinearRestartingState(
            inner=self.policy.init(n_features, horizon),
            initial=self.policy.init(n_features, horizon),
            detectors=init_detectors(1),
            since=np.zeros(1, np.int64),
            restarts=np.zeros(1, np.int64),
        )

    def select(self, state: LinearRestartingState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row that the policy inside selects."""
        return self.policy.select(state.inner, features, state.since[0], rng)  # type: ignore[no-any-return]

    def update(self, state: LinearRestartingState, x: FloatArray, reward: float) -> None:
        """Pass the reward on, and restart if it lies below its prediction as no earlier ones did."""
        changed = False
        if state.since[0] >= SETTLING * (len(x) + 1):
            changed = has_changed(state.detectors, 0, reward - self.policy.value(state.inner, x), FALLS)
        self.policy.update(state.inner, x, reward)
        state.since[0] += 1
        if changed:
            copy_into(state.inner, state.initial)
            begin_anew(state.detectors)
            state.since[0] = 0
            state.restarts[0] += 1

    def value(self, state: LinearRestartingState, x: FloatArray) -> float:
        """Return the estimate of the policy inside."""
        return float(self.policy.value(state.inner, x))

    def index_of(self, state: LinearRestartingState, x: FloatArray, t: int) -> float:
        """Return the index of the policy inside."""
        return float(self.policy.index_of(state.inner, x, state.since[0]))
