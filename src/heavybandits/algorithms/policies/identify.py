r"""Identify: find the best arm with a promise, then play it.

*Assumes* nothing about the law of rewards.  They count up to a cap, which is stated or decided by the first rewards.
*Must be told* nothing; without ``eps`` or ``budget`` it never stops looking among arms that tie.  *When that fails*:
where the tail beyond the cap decides which arm is best, it finds the best arm of what counts.

*Formula*: eliminate an arm once there is enough evidence that the leader, the open arm with the highest mean, beats it:

.. math::  E(\text{leader} > a) \ge K/(0.8\,\delta).

Of the open arms play the leader as long as its decisions are below :math:`\sqrt{R}` times the mean of its R rivals,
else the rival with the fewest.  Play the last open arm for good.  The best arm is ever eliminated with a probability of
at most :math:`\delta` (docs/evidence.md).  Evidence is computed each time the rewards have grown by a sixty-fourth.

*Cost*: O(1) per reward and O(K) per choice, and 0.05 ms per rival and look; 859 bytes per arm, and 70 kB in all.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...evidence.bets import HIGHER, SIZED_UP, STATED, Bets, Border, Claim, Work, log_evidence, new_work
from ...evidence.scale import CAPS, CELLS, LOW, RUNGS, SPREADS, TAIL, WIDE, Clip
from ...evidence.tally import Tally, learn, new_tally
from ...protocols import BoolArray, FloatArray, IntArray, rarely_called
from ..entries import register_policy
from ..parameters import Fraction, NonNegative, Whole
from ..parts.choice.late import Late, init_late

GROWTH = 64  # one look each time that rewards have grown by a GROWTH-th
FIRST_SHARE = 0.8  # of delta: `hb.compare` gives the rest to wider clips, and so says the same of the same rewards
# Compiled code reads numbers and arrays, not the tuples that they are in.
LEARNED_STEEPEST, JOINT, SINGLE = SIZED_UP.steepest, SIZED_UP.joint, SIZED_UP.single
STATED_STEEPEST, STATED_SKIPPED, STATED_JOINT, STATED_SINGLE = STATED


class IdentifyState(NamedTuple):
    """What rewards show, and which arms are out."""

    pulls: IntArray
    late: Late
    open: BoolArray
    tally: Tally
    work: Work
    counted: IntArray  # rewards of each arm since the scale is settled
    sums: FloatArray  # of these, clipped, in units of the clip
    out: BoolArray  # shown to be worse than another arm
    named: BoolArray  # the winner
    looked: IntArray  # rewards at the last look


@register_policy(
    "identify",
    needs="nothing",
    memory="859 bytes",
    cost="O(K)",
    regret="none; the best arm, as far as rewards count, is eliminated with probability at most delta",
    reference="this library",
    example={"delta": 0.05},
    look="blue long",
)
class Identify(NamedTuple):
    """Find the best arm, then play it.

    Parameters
    ----------
    delta
        How often the best arm may be eliminated: in this share of experiments.
    eps
        A difference that does not matter: the leader is named once no open arm is better by more.
    budget
        After so many rewards play the leader for good; 0 for none.
    cap
        The amount up to which rewards count, from 0 on; 0 lets the first rewards decide.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.make("identify", cap=1.0), n_arms=2)
    >>> for _ in range(300):
    ...     arm = agent.select()
    ...     agent.update(arm, 0.9 if arm == 1 else 0.1)
    >>> int(agent.estimates["pulls"][0]) < 50
    True
    """

    delta: Fraction = 0.05
    eps: NonNegative = 0.0
    budget: Whole = 0
    cap: NonNegative = 0.0

    def init(self, n_arms: int, horizon: int | None) -> IdentifyState:
        """Return a fresh state."""
        return IdentifyState(
            pulls=np.zeros(n_arms, np.int64),
            late=init_late(n_arms),
            open=np.ones(n_arms, np.bool_),
            tally=new_tally(n_arms, limits=(0.0, self.cap) if self.cap > 0.0 else None),
            work=new_work(STATED if self.cap > 0.0 else SIZED_UP),
            counted=np.zeros(n_arms, np.int64),
            sums=np.zeros(n_arms),
            out=np.zeros(n_arms, np.bool_),
            named=np.zeros(n_arms, np.bool_),
            looked=np.zeros(1, np.int64),
        )

    def select(self, state: IdentifyState, t: int, rng: Any) -> int:
        """Return the winner if there is one, else the leader or the rival with the fewest decisions."""
        if t >= state.looked[0] + max(1, state.looked[0] // GROWTH) and state.tally.scale[WIDE] > 0.0:
            take_stock(self, state)
            state.looked[0] = t
        leader, rival = -1, -1
        n_rivals, decided = 0, 0
        for arm in range(len(state.pulls)):
            if state.open[arm] and (leader < 0 or is_before(self, state, arm, leader)):
                leader = arm
        if state.named[leader] or (0 < self.budget <= t):
            return leader
        for arm in range(len(state.pulls)):
            if arm != leader and state.open[arm] and not state.out[arm]:
                n_rivals += 1
                decided += decisions(state, arm)
                if rival < 0 or decisions(state, arm) < decisions(state, rival):
                    rival = arm
        if n_rivals == 0 or decisions(state, leader) < math.sqrt(n_rivals) * decided / n_rivals:
            return leader
        return rival

    def update(self, state: IdentifyState, arm: int, reward: float) -> None:
        """Keep the reward, and count it if the scale is settled."""
        scale = state.tally.scale
        state.pulls[arm] += 1
        if scale[WIDE] > 0.0:
            state.counted[arm] += 1
            state.sums[arm] += min(max((reward - scale[LOW]) / scale[WIDE], 0.0), 1.0)
        learn(state.tally, arm, reward)

    def value(self, state: IdentifyState, arm: int) -> float:
        """Return the mean of what counts; NaN before the first reward that does."""
        if state.counted[arm] == 0:
            return math.nan
        return float(state.tally.scale[LOW] + state.tally.scale[WIDE] * state.sums[arm] / state.counted[arm])


@rarely_called
def decisions(state: IdentifyState, arm: int) -> int:
    """Return how often an arm was chosen, whether or not rewards have come."""
    return int(max(state.late.asked[arm], state.pulls[arm]))


@rarely_called
def is_before(policy: Identify, state: IdentifyState, arm: int, other: int) -> bool:
    """Return whether an arm is more likely to be the best: named, not out, or with a higher mean."""
    if state.named[arm] != state.named[other]:
        return bool(state.named[arm])
    if state.out[arm] != state.out[other]:
        return bool(state.out[other])
    mine = state.sums[arm] / max(state.counted[arm], 1)
    theirs = state.sums[other] / max(state.counted[other], 1)
    return bool(mine > theirs or (mine == theirs and decisions(state, arm) < decisions(state, other)))


@rarely_called
def take_stock(policy: Identify, state: IdentifyState) -> None:
    """Eliminate arms that the leader is shown to beat, and name it if it is the last, or good enough."""
    scale, n_arms = state.tally.scale, len(state.pulls)
    is_sized_up = scale[RUNGS] == CAPS
    need = math.log(n_arms / (policy.delta * (FIRST_SHARE if is_sized_up else 1.0)))
    clip = Clip(TAIL, TAIL + CELLS, scale[SPREADS])
    bets = Bets(LEARNED_STEEPEST, 0, JOINT, SINGLE)
    if not is_sized_up:
        bets = Bets(STATED_STEEPEST, STATED_SKIPPED, STATED_JOINT, STATED_SINGLE)
    leader = 0
    for arm in range(1, n_arms):
        if is_before(policy, state, arm, leader):
            leader = arm
    n_open, is_close = 0, policy.eps > 0.0
    border = Border(1.0, -policy.eps / scale[WIDE])
    claim, shifted = HIGHER, Claim(border, border, border, 0.0)
    for arm in range(n_arms):
        if arm == leader or state.out[arm]:
            continue
        log = log_evidence(bets, state.work, state.tally.rows, clip, leader, arm, claim, 1.0, False, need, need)
        if log >= need:
            state.out[arm] = True
            continue
        n_open += 1
        if is_close:
            log = log_evidence(bets, state.work, state.tally.rows, clip, leader, arm, shifted, 1.0, False, need, need)
            is_close = log >= need
    if n_open == 0 or is_close:
        state.named[leader] = True
