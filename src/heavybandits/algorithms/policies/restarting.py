r"""Restarts around any policy, for arms that change: when the rewards of an arm show it, and at times asked for.

*Assumes* that arms stay as they are for a while and then change abruptly, and what the policy inside assumes.  *Must be
told* what that must be told; it may be told after how many rewards an arm that is not played may have changed.  *When
that fails*: only restarts at fixed times find an arm that rises while it is not played; slow drift is found late.
Where nothing changes, every restart costs what learning costs.

*Formula*: each reward is compared with earlier ones of its arm since the last restart, by its rank, so the test needs
no law, scale or moment: see :mod:`.drift`.  After an alarm all arms start afresh: the policy gets the state it had at
the beginning, and counts rewards from there.  With ``every`` this also happens when so many rewards have come since the
last restart.

*Cost*: the policy's, and O(log n) comparisons for a reward, of which some also move up to 1024 numbers; 8.3 kB per arm,
and twice the policy's state.

*Reference*: this library.  For restarts in bandits see Y. Cao, Z. Wen, B. Kveton, Y. Xie (2019) and L. Besson,
E. Kaufmann, O.-A. Maillard, J. Seznec (2022).
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from ..._validate import count
from ...protocols import IntArray, copy_into
from ..entries import Facts
from ..kit.drift import Detectors, begin_anew, has_changed, init_detectors
from ..kit.shown import index_of, value_of
from ..kit.state import fresh_state
from ..parameters import PolicyInside, validated

NAME = "restarting"
EXAMPLE = {"policy": {"kind": "ucb"}}
FACTS = Facts(
    needs="what the policy inside needs",
    memory="8.3 kB, and the policy's twice",
    cost="O(log n), and the policy's",
    regret="nothing; measured in docs/drift.md",
    reference="this library",
)


def _every(owner: str, name: str, value: Any) -> int:
    return 0 if value is None or value == 0 else count(owner, name, value)


class RestartingState(NamedTuple):
    """The state of the policy inside, as it is and as it was at first, and what is known of changes."""

    inner: Any
    initial: Any
    detectors: Detectors
    since: IntArray  # rewards since the last restart
    restarts: IntArray


@validated
class Restarting(NamedTuple):
    """Restarts around any policy.

    Parameters
    ----------
    policy
        The policy to play.
    every
        After how many rewards to restart even if no change was seen; None if never, which is kept as 0.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.Restarting(hb.UCB()), arms=["red", "green"])
    >>> agent.update_many(["green"] * 80, [5.0 + (i % 8) / 8 for i in range(80)])
    >>> agent.update_many(["red"] * 80, [1.0 + (i % 8) / 8 for i in range(80)])
    >>> agent.select()
    'green'
    >>> agent.update_many(["green"] * 30, [0.0 + (i % 8) / 8 for i in range(30)])  # it has changed: all begins anew
    >>> agent.select()
    'red'
    """

    policy: PolicyInside
    every: Annotated[Any, _every] = None

    def init(self, n_arms: int, horizon: int | None) -> RestartingState:
        """Return a fresh state."""
        return RestartingState(
            inner=self.policy.init(n_arms, horizon),
            initial=fresh_state(self.policy, n_arms, horizon),
            detectors=init_detectors(n_arms),
            since=np.zeros(1, np.int64),
            restarts=np.zeros(1, np.int64),
        )

    def select(self, state: RestartingState, t: int, rng: Any) -> int:
        """Return the arm that the policy inside selects."""
        return self.policy.select(state.inner, state.since[0], rng)  # type: ignore[no-any-return]

    def update(self, state: RestartingState, arm: int, reward: float) -> None:
        """Pass the reward on, and restart if it is time to."""
        self.policy.update(state.inner, arm, reward)
        state.since[0] += 1
        if has_changed(state.detectors, arm, reward) or (self.every > 0 and state.since[0] >= self.every):
            copy_into(state.inner, state.initial)
            begin_anew(state.detectors)
            state.since[0] = 0
            state.restarts[0] += 1

    def value(self, state: RestartingState, arm: int) -> float:
        """Return the estimate of the policy inside."""
        return value_of(self.policy, state.inner, arm)

    def index_of(self, state: RestartingState, arm: int, t: int) -> float:
        """Return the index of the policy inside."""
        return index_of(self.policy, state.inner, arm, int(state.since[0]))
