r"""LB-SDA: duels with the last block of the leader's rewards (Baudry, Russac, Cappé 2021), also with limited memory.

*Assumes* that the arms' laws belong to one family with one parameter (coins, normal noise of one scale, Poisson
counts).  *Needs* no prior knowledge, not even the family.  *When that fails*: a best arm that is noisier than the
others, or has rare bad rewards, loses its duels and is locked out for long; with heavy tails the means do not settle.

*Formula*: play in rounds r = 1, 2, ....  The *leader* is the arm with the most rewards and, among equals, the highest
mean.  A challenger with n rewards, fewer than the leader has, is pulled in this round if

.. math::  n \le \sqrt{\ln r} \quad\text{or}\quad
           \text{mean of its rewards} \ge \text{mean of the leader's last } n \text{ rewards};

if there is no such challenger, the leader is pulled.  With *limited memory* only the last :math:`\max\{10, m \ln^2 r\}`
rewards of an arm are kept, and duels use only these.

Arms whose first reward is late wait, as described in :mod:`.late`.  Other pending decisions change nothing: there is no
bonus to narrow, and all arms that win their duels are pulled in turn.

*Cost*: O(n) per duel, and one duel per challenger and round; at most 32 bytes per reward, or with limited memory
:math:`64\,m \ln^2 r` bytes per arm.  Challengers are pulled in order of their numbers; the authors shuffle them.

*Reference*: D. Baudry, Y. Russac, O. Cappé, On limited-memory subsampling strategies for bandits, ICML 2021.  The
minimum memory of 10 is from the authors' code, which explores with :math:`\ln^{1/3} r` by default.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...numerics import SUMMABLE, clip
from ...protocols import BoolArray, FloatArray, IntArray, compilable, rarely_called
from ..entries import register_policy, register_preset
from ..parameters import PositiveOrInfinite
from ..parts.choice.late import Late, init_late
from ..parts.state.pool import Pool, append, init_pool
from ._scan import waiting


class LBSDAState(NamedTuple):
    """Rewards in order of arrival, and what is left of the round."""

    pulls: IntArray
    late: Late
    due: BoolArray  # per arm: to be pulled in this round
    total: FloatArray  # sum of all rewards
    rewards: Pool
    open: BoolArray
    round: IntArray
    leader: IntArray


@compilable
def sum_of_last(rewards: Pool, arm: int, n: int) -> float:
    """Return the sum of the last n rewards of the arm."""
    end, total = rewards.start[arm] + rewards.size[arm], 0.0
    for i in range(end - n, end):
        total += rewards.records[i]
    return total


@rarely_called
def forget(rewards: Pool, arm: int, n: int) -> None:
    """Keep only the last n rewards of the arm."""
    start, size = rewards.start[arm], rewards.size[arm]
    for i in range(n):
        rewards.records[start + i] = rewards.records[start + size - n + i]
    rewards.size[arm] = n


@register_policy(
    "lb-sda",
    needs="nothing",
    memory="32 n bytes",
    cost="O(n K)",
    regret="sum_a Delta_a ln T/KL_a asymptotically, for one-parameter exponential families: optimal",
    reference="Baudry, Russac, Cappé 2021",
    look="brown dash-dot",
)
class LBSDA(NamedTuple):
    """LB-SDA.

    Parameters
    ----------
    memory
        m: how many rewards to keep, in units of the squared logarithm of the round; infinite keeps all.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(LBSDA(), n_arms=2)
    >>> agent.update_many([0, 0, 1], [0.2, 0.8, 0.5])
    >>> [agent.select() for _ in range(3)]  # each arm once; then the duel of 0.5 with 0.8, which arm 1 loses
    [0, 1, 0]
    """

    memory: PositiveOrInfinite = math.inf

    def init(self, n_arms: int, horizon: int | None) -> LBSDAState:
        """Return a fresh state, in which all arms are due."""
        return LBSDAState(
            pulls=np.zeros(n_arms, np.int64),
            late=init_late(n_arms),
            due=np.ones(n_arms, np.bool_),
            total=np.zeros(n_arms),
            rewards=init_pool(n_arms, horizon, 1),
            open=np.ones(n_arms, np.bool_),
            round=np.zeros(1, np.int64),
            leader=np.zeros(1, np.int64),
        )

    def limit(self, state: LBSDAState) -> float:
        """Return how many rewards of an arm may count."""
        log = math.log(max(state.round[0], 1))
        return max(10.0, math.floor(self.memory * log * log)) if self.memory < math.inf else math.inf

    def wins(self, state: LBSDAState, arm: int, leader: int) -> bool:
        """Return whether the arm wins its duel with the leader."""
        limit, rewards = self.limit(state), state.rewards
        n = int(min(rewards.size[arm], rewards.size[leader], limit))
        own = float(state.total[arm]) if n == state.pulls[arm] else sum_of_last(rewards, arm, n)
        return own >= sum_of_last(rewards, leader, n)  # sums of whole numbers are exact, so coins can tie

    def find_leader(self, state: LBSDAState) -> int:
        """Return the open arm with the most rewards; ties go to the highest mean, then to the last leader."""
        best = -1
        for arm in range(len(state.pulls)):
            if not state.open[arm]:
                continue
            more = 0 if best < 0 else state.pulls[arm] - state.pulls[best]
            higher = 0.0 if best < 0 else state.total[arm] - state.total[best]
            again = higher == 0.0 and arm == state.leader[0]
            if best < 0 or more > 0 or (more == 0 and (higher > 0.0 or again)):
                best = arm
        return best

    def select(self, state: LBSDAState, t: int, rng: Any) -> int:
        """Return an arm that is due in this round; if there is none, begin the next round."""
        for arm in range(len(state.due)):
            if state.due[arm] and state.open[arm]:
                state.due[arm] = False
                return arm
        arm = waiting(state, 1)
        if arm >= 0:
            return arm
        state.round[0] += 1
        leader = self.find_leader(state)
        state.leader[0] = leader
        forced = math.sqrt(math.log(state.round[0]))
        first = -1
        for arm in range(len(state.pulls)):
            n = state.pulls[arm]
            if not state.open[arm] or not 0 < n < state.pulls[leader]:
                continue
            if n <= forced or self.wins(state, arm, leader):
                state.due[arm] = first >= 0  # the first of them is pulled at once
                if first < 0:
                    first = arm
        return first if first >= 0 else leader

    def update(self, state: LBSDAState, arm: int, reward: float) -> None:
        """Store the reward, and forget older ones that no longer count."""
        state.pulls[arm] += 1
        x = clip(reward, SUMMABLE)
        state.total[arm] += x
        state.rewards.records[append(state.rewards, arm)] = x
        limit = self.limit(state)
        if state.rewards.size[arm] >= 2.0 * limit:
            forget(state.rewards, arm, int(limit))

    def value(self, state: LBSDAState, arm: int) -> float:
        """Return the mean of all rewards; NaN before the first."""
        return float(state.total[arm] / state.pulls[arm]) if state.pulls[arm] > 0 else math.nan


@register_preset(
    "lb-sda-limited",
    LBSDA,
    lambda policy: policy.memory < math.inf,
    memory="O(ln^2 T)",
    cost="O(K ln^2 T)",
    look="brown long",
)
def lb_sda_limited(memory: float = 1.0) -> LBSDA:
    """Make LB-SDA with limited memory.

    Examples
    --------
    >>> lb_sda_limited()
    LBSDA(memory=1.0)
    """
    return LBSDA(memory)
