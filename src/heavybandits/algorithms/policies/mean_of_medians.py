r"""Mean of medians: any policy, fed with medians of repeated pulls (Zhong, Huang, Yang, Wang 2021).

*Assumes* noise that is symmetric about zero, or the same for all arms; no moment need exist.  *Must be told* how many
pulls to take the median of, and what the policy inside must be told, but about medians.  *When that fails*: if
:math:`P\{|\xi| > y\}` falls like :math:`y^{-\alpha}`, medians of 2m + 1 rewards have a variance for
:math:`\alpha (m + 1) > 2` (Cauchy noise: m = 2) and a mean for :math:`\alpha (m + 1) > 1`; with a smaller m, a policy
that averages remains as fragile as before.

*Formula*: the arm that the policy selects is pulled 2m + 1 times in a row, and the policy gets the median as a single
reward; its clock and its horizon count medians.

*Cost*: the policy's, once per 2m + 1 pulls, and 8 (2m + 2) bytes per arm on top of its own.

*Reference*: H. Zhong, J. Huang, L. F. Yang, L. Wang, Breaking the moments condition barrier: no-regret algorithm for
bandits with super heavy-tailed payoffs, NeurIPS 2021.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...numerics import small_median
from ...protocols import BoolArray, FloatArray, IntArray
from ..entries import register_policy
from ..parameters import Count, PolicyInside
from ..parts.choice.late import Late, init_late
from ..parts.state.tree import find_open, open_only
from ._turns import Turn, again, begin, init_turn


class MeanOfMediansState(NamedTuple):
    """Rewards that wait for their median, and the state of the policy inside."""

    pulls: IntArray
    waiting: FloatArray  # (arm, 2m + 1)
    medians: IntArray  # how many the policy has seen
    inner: Any
    late: Late  # in pulls; the policy inside counts in medians
    open: BoolArray
    turn: Turn

    def restrict(self, among: IntArray | None) -> None:
        """Restrict the choice to these arms; ``None`` lifts the restriction."""
        restrict = find_open(self.inner)
        if restrict is None:
            raise TypeError("MeanOfMedians: among must be None: the policy inside cannot choose among some arms")
        restrict(among)
        open_only(self.open, among)


@register_policy(
    "mean-of-medians",
    needs="symmetry, and what the policy inside needs",
    memory="8 (2m + 2) bytes, and the policy's",
    cost="O(m), and the policy's divided by 2m + 1",
    regret="the policy's for noise with the law of the medians, times 2m + 1",
    reference="Zhong, Huang, Yang, Wang 2021",
    example={"policy": {"kind": "ucb"}},
    zoo={"policy": {"kind": "ucb"}},
    look="orange dash-dot-dot",
)
class MeanOfMedians(NamedTuple):
    """Mean of medians.

    Parameters
    ----------
    policy
        The policy that gets the medians.
    m
        Medians are taken over 2m + 1 rewards.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.MeanOfMedians(hb.UCB(), m=1), n_arms=2)
    >>> [agent.select() for _ in range(6)]
    [0, 0, 0, 1, 1, 1]
    >>> agent.update_many([0, 0, 0, 1, 1, 1], [0.0, 1e9, 0.1, 2.0, 3.0, -1e9])
    >>> agent.select()
    1
    """

    policy: PolicyInside
    m: Count = 1

    def init(self, n_arms: int, horizon: int | None) -> MeanOfMediansState:
        size = 2 * self.m + 1
        return MeanOfMediansState(
            pulls=np.zeros(n_arms, np.int64),
            waiting=np.zeros((n_arms, size)),
            medians=np.zeros(1, np.int64),
            inner=self.policy.init(n_arms, None if horizon is None else max(1, horizon // size)),
            late=init_late(n_arms),
            open=np.ones(n_arms, np.bool_),
            turn=init_turn(),
        )

    def select(self, state: MeanOfMediansState, t: int, rng: Any) -> int:
        """Return the arm that the policy selects, 2m + 1 times in a row."""
        arm = again(state.turn, state.open)
        if arm >= 0:
            return arm
        return begin(state.turn, self.policy.select(state.inner, state.medians[0], rng), 2 * self.m + 1)

    def update(self, state: MeanOfMediansState, arm: int, reward: float) -> None:
        """Store the reward, and pass the median on to the policy once there is one."""
        size = 2 * self.m + 1
        state.waiting[arm, state.pulls[arm] % size] = reward
        state.pulls[arm] += 1
        if state.pulls[arm] % size == 0:
            state.medians[0] += 1
            self.policy.update(state.inner, arm, small_median(state.waiting[arm], size))
