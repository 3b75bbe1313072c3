r"""Restarts around any policy, for arms that change: when an arm's rewards show a change, and at set intervals.

*Assumes* that arms stay as they are for a while and then change abruptly, and what the policy inside assumes.  *Must be
told* what that policy must be told; it may be told how often to restart in any case.  *When that fails*: slow drift is
found late; where nothing changes, every restart means learning all over again.

*Formula*: each reward is compared with earlier ones of its arm since the last restart, by its rank, so the test needs
no law, scale or moment, and is nearly as good where rewards tie: see :mod:`..parts.state.drift`.  After an alarm all
arms start afresh: the policy returns to its initial state, and counts rewards from there.  With ``every`` this also
happens when that many rewards have come since the last restart.  An arm that improves while it is not played would go
unnoticed, so arms are probed now and then: see :mod:`._probes`.  A policy that draws arms at random is not interrupted
by probes, because it weights rewards by its own probabilities.

*Cost*: the policy's, and O(log n) comparisons per reward, some of which also move up to 1024 numbers; 8.3 kB per arm,
and twice the policy's state.

*Reference*: this library.  For restarts in bandits see Y. Cao, Z. Wen, B. Kveton, Y. Xie (2019) and L. Besson,
E. Kaufmann, O.-A. Maillard, J. Seznec (2022).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..._validate import count
from ...protocols import IntArray, copy_into
from ..entries import register_policy
from ..parameters import PolicyInside
from ..parts.choice.estimates import index_of, value_of
from ..parts.state.drift import Detectors, begin_anew, has_changed, init_detectors
from ..parts.state.tree import find_draws, find_open, fresh_state, open_only
from ._probes import Probes, arm_to_probe, forget_probes, init_probes, judge_probe


def _every(owner: str, name: str, value: Any) -> int:
    return 0 if value is None or value == 0 else count(owner, name, value)


class RestartingState(NamedTuple):
    """The current and the initial state of the policy inside, and what is known about changes."""

    inner: Any
    initial: Any
    detectors: Detectors
    since: IntArray  # rewards since the last restart
    restarts: IntArray
    probes: Probes | None  # None if the policy draws arms at random

    @property
    def restrict(self) -> Callable[[IntArray | None], None] | None:
        """The function that restricts choices and probes to some arms; None if the policy inside cannot do that."""
        inner, probes = find_open(self.inner), self.probes
        if inner is None or probes is None:
            return inner

        def restrict(among: IntArray | None) -> None:
            inner(among)
            open_only(probes.open, among)

        return restrict


@register_policy(
    "restarting",
    needs="what the policy inside needs",
    memory="8.3 kB, and the policy's twice",
    cost="O(log n), and the policy's",
    regret="none; measured in docs/drift.md",
    reference="this library",
    example={"policy": {"kind": "ucb"}},
    pinned={"policy": {"kind": "ucb"}, "every": 50},
    zoo={"policy": {"kind": "auto"}},
    look="orange long",
)
class Restarting(NamedTuple):
    """Restarts around any policy.

    Parameters
    ----------
    policy
        The policy to play.
    every
        After how many rewards to restart even if no change was seen; None, stored as 0, for never.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.Restarting(hb.UCB()), arms=["red", "green"])
    >>> agent.update_many(["green"] * 80, [5.0 + (i % 8) / 8 for i in range(80)])
    >>> agent.update_many(["red"] * 80, [1.0 + (i % 8) / 8 for i in range(80)])
    >>> agent.select()
    'green'
    >>> agent.update_many(["green"] * 30, [0.0 + (i % 8) / 8 for i in range(30)])  # it has changed: all start afresh
    >>> agent.select()
    'red'
    """

    policy: PolicyInside
    every: Annotated[Any, _every] = None

    def init(self, n_arms: int, horizon: int | None) -> RestartingState:
        inner = self.policy.init(n_arms, horizon)
        return RestartingState(
            inner=inner,
            initial=fresh_state(self.policy, n_arms, horizon),
            detectors=init_detectors(n_arms),
            since=np.zeros(1, np.int64),
            restarts=np.zeros(1, np.int64),
            probes=init_probes(n_arms) if find_draws(inner) is None else None,
        )

    def select(self, state: RestartingState, t: int, rng: Any) -> int:
        """Return the arm that the policy inside selects, unless another is to be probed."""
        arm = arm_to_probe(state.probes, state.detectors, state.since[0])
        if arm >= 0:
            return arm
        return self.policy.select(state.inner, state.since[0], rng)  # type: ignore[no-any-return]

    def update(self, state: RestartingState, arm: int, reward: float) -> None:
        """Pass the reward on, and restart if an arm has changed or a restart is due."""
        self.policy.update(state.inner, arm, reward)
        state.since[0] += 1
        changed = has_changed(state.detectors, arm, reward)
        judge_probe(state.probes, state.detectors, arm, reward, state.since[0])
        if changed or (self.every > 0 and state.since[0] >= self.every):
            copy_into(state.inner, state.initial)
            begin_anew(state.detectors)
            forget_probes(state.probes)
            state.since[0] = 0
            state.restarts[0] += 1

    def value(self, state: RestartingState, arm: int) -> float:
        """Return the estimate of the policy inside."""
        return value_of(self.policy, state.inner, arm)

    def index_of(self, state: RestartingState, arm: int, t: int) -> float:
        """Return the index of the policy inside."""
        return index_of(self.policy, state.inner, arm, int(state.since[0]))
