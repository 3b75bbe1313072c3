r"""Betting UCB: an upper confidence bound that holds at all times for symmetric noise, even without moments.

*Assumes* that each arm's noise is symmetric about zero.  The law and the scale may differ between arms, and no moment
need exist.  *Needs* no prior knowledge.  *When that fails*: for skewed noise it bounds a location that is neither the
median nor the mean and that depends on the learned scale, so arms whose noise differs are compared unfairly.  Gaps
below about a thousandth of the scale are never resolved: even the smallest bet is too large for them.

*Formula*: let :math:`\psi(z) = z/\sqrt{1 + z^2}`, and let :math:`s_j` be a scale learned from the rewards before the
j-th.  A gambler who doubts that the arm's centre is as high as :math:`\theta` splits the stake into eight accounts, and
from each keeps betting a share :math:`\lambda` on rewards below :math:`\theta`.  After n rewards the wealth is

.. math::  M_n(\theta) = \frac18 \sum_{\lambda} \prod_{j \le n} \Bigl(1 - \lambda\,\psi\Bigl(\frac{r_j - \theta}{s_j}
           \Bigr)\Bigr), \qquad \lambda \in \{0.003, 0.01, 0.03, 0.08, 0.2, 0.4, 0.7, 0.95\}.

While every arm repeats a value of its own, the scale is the range of these values.

The index is :math:`U = \inf\{\theta : M_n(\theta) \ge e^\ell\}` with :math:`\ell = c\,(\ln t + 2 \ln\ln t)`, rounded up
by at most :math:`0.02 s/\sqrt n`.  At the true centre the wealth is a martingale, so by Ville's inequality U ever falls
below it with probability at most :math:`e^{-\ell}`.  See ``docs/betting.md`` for the proof.

*Cost*: an index is recomputed, in O(n), when the arm has a sixteenth more rewards or t has grown by an eighth.  That is
O(1) amortised per reward, with a large constant, and O(K) per choice; at most 64 bytes per reward.  An old index is as
valid as a new one.

*Reference*: this library.  Betting: G. Shafer, V. Vovk (2019); I. Waudby-Smith, A. Ramdas (2024).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_within
from ...numerics import LARGEST_FLOAT, clip, saturate, small_median
from ...protocols import BoolArray, FloatArray, IntArray, compilable, rarely_called
from ..entries import register_policy
from ..parameters import Positive
from ..parts.choice.late import Late, init_late
from ..parts.state.pool import Pool, append, init_pool
from ._scan import due, scan

BETS = np.array([0.003, 0.01, 0.03, 0.08, 0.2, 0.4, 0.7, 0.95])
BLOCK = 32  # factors that are multiplied before a logarithm is taken: each is between 0.05 and 1.95
FIRST_DIFFERENCES = 9  # differences whose median starts the scale
EXTREME = 690.0  # logarithm of the largest scale, and of the inverse of the smallest: none overflows or vanishes


class Scales(NamedTuple):
    """The state of :func:`learn_scale`: logarithms of the median distance between successive rewards of an arm."""

    last: FloatArray  # per arm: its last reward
    own: FloatArray  # per arm
    learned: IntArray  # per arm: distances seen
    first: FloatArray  # the first few distances of all arms
    pooled: FloatArray
    seen: IntArray  # distances seen, of all arms

    def check(self, fresh: Scales, n_arms: int) -> None:
        """Refuse a last reward that is infinite."""
        require_within("last", self.last, -LARGEST_FLOAT, LARGEST_FLOAT)


class BettingUCBState(NamedTuple):
    """Rewards, each with the scale of the bet on it, and indices."""

    pulls: IntArray
    late: Late
    rewards: Pool
    scales: Scales
    bound: FloatArray
    size: IntArray  # per arm: pulls when its index was computed
    until: IntArray  # per arm: t up to which its index holds
    open: BoolArray
    scratch: FloatArray


@compilable
def scale_of(scales: Scales, pulls: IntArray, arm: int) -> float:
    """Return the scale for the arm's next reward; 0 if nothing is known about it yet."""
    if scales.learned[arm] > 0:
        return math.exp(clip(scales.own[arm], EXTREME))
    if scales.seen[0] > 0:
        return math.exp(clip(scales.pooled[0], EXTREME))
    return range_of_arms(scales, pulls) if pulls[arm] > 1 else 0.0


@compilable
def range_of_arms(scales: Scales, pulls: IntArray) -> float:
    """Return how far apart arms are that have each paid one value only; 0 if all values are equal."""
    low, high = math.inf, -math.inf
    for arm in range(len(pulls)):
        if pulls[arm] > 0:
            low, high = min(low, scales.last[arm]), max(high, scales.last[arm])
    return math.exp(clip(math.log(saturate(high - low)), EXTREME)) if low < high else 0.0


@compilable
def learn_scale(scales: Scales, arm: int, x: float, n: int) -> None:
    """Update the medians with the n-th reward x of the arm, by stochastic approximation."""
    away = saturate(abs(x - scales.last[arm]) / math.sqrt(2.0)) if n > 1 else 0.0
    scales.last[arm] = x
    if away == 0.0:
        return
    log, seen, count = math.log(away), scales.seen[0], scales.learned[arm]
    scales.seen[0] += 1
    scales.learned[arm] += 1
    if seen < FIRST_DIFFERENCES:
        scales.first[seen] = log
        scales.pooled[0] = small_median(scales.first, seen + 1)
    else:
        scales.pooled[0] += math.copysign(2.0 / (seen + 1.0), log - scales.pooled[0])
    if count == 0:
        scales.own[arm] = scales.pooled[0]
    scales.own[arm] += math.copysign(2.0 / (count + 5.0), log - scales.own[arm])


@compilable
def psi(z: float) -> float:
    """Return z/sqrt(1 + z^2), which is odd, bounded and increasing.

    Examples
    --------
    >>> psi(0.75), psi(-math.inf)
    (0.6, -1.0)
    """
    if abs(z) > 1e9:
        return math.copysign(1.0, z)
    return z / math.sqrt(1.0 + z * z)


@rarely_called
def wealth_of_bets(rewards: Pool, scratch: FloatArray, arm: int, theta: float) -> float:
    """Return the logarithm of the wealth gained by betting on rewards of the arm below theta.

    Examples
    --------
    >>> rewards = init_pool(n_arms=1, horizon=10, width=2)
    >>> at, scratch = append(rewards, 0), np.zeros((2, len(BETS)))
    >>> rewards.records[at : at + 2] = 0.0, 1.0
    >>> [round(math.exp(wealth_of_bets(rewards, scratch, 0, theta)), 3) for theta in (-0.75, 0.0, 0.75)]
    [0.822, 1.0, 1.178]
    """
    records, start, size = rewards.records, rewards.start[arm], rewards.size[arm]
    product, log = scratch[0], scratch[1]
    for i in range(len(BETS)):
        product[i], log[i] = 1.0, 0.0
    for j in range(size):
        at = start + 2 * j
        excess = psi((records[at] - theta) / records[at + 1])
        for i in range(len(BETS)):
            product[i] *= 1.0 - BETS[i] * excess
        if j % BLOCK == BLOCK - 1 or j == size - 1:
            for i in range(len(BETS)):
                log[i] += math.log(product[i])
                product[i] = 1.0
    most, total = log[0], 0.0
    for i in range(1, len(BETS)):
        most = max(most, log[i])
    for i in range(len(BETS)):
        total += math.exp(log[i] - most)
    return float(most + math.log(total / len(BETS)))


@rarely_called
def upper_bound(rewards: Pool, scratch: FloatArray, arm: int, level: float, start: float, scale: float) -> float:
    """Return the theta at which the wealth reaches exp(level), rounded up a little; infinite if it never does.

    The search starts at ``start``.
    """
    n = rewards.size[arm]
    if n * math.log(1.95) - math.log(len(BETS)) < level:  # not even if all rewards were far below theta
        return math.inf
    if scale == 0.0:  # the other arms, from whose values it was known, are gone
        scale = rewards.records[rewards.start[arm] + 2 * n - 1]
    step = 2.0 * scale / math.sqrt(n)
    low = high = start
    if wealth_of_bets(rewards, scratch, arm, start) >= level:
        while True:
            low = saturate(high - step)
            if low == -LARGEST_FLOAT or wealth_of_bets(rewards, scratch, arm, low) < level:
                break
            high, step = low, 2.0 * step
    else:
        while True:
            high = saturate(low + step)
            if high == LARGEST_FLOAT:
                return math.inf
            if wealth_of_bets(rewards, scratch, arm, high) >= level:
                break
            low, step = high, 2.0 * step
    precise = 0.02 * scale / math.sqrt(n)
    for _ in range(60):
        if high - low <= precise:
            break
        middle = 0.5 * low + 0.5 * high
        if wealth_of_bets(rewards, scratch, arm, middle) >= level:
            high = middle
        else:
            low = middle
    return high


@register_policy(
    "betting-ucb",
    needs="symmetry",
    memory="64 n bytes",
    cost="O(1) amortised, O(K)",
    regret="17/16 sum_a Delta_a ln T/max_lambda E ln(1 - lambda psi((r_a - mu*)/s_a)) asymptotically; see "
    "docs/betting.md",
    reference="this library",
    example={"c": 0.5},
    look="purple long",
)
class BettingUCB(NamedTuple):
    """Betting UCB.

    Parameters
    ----------
    c
        How much to explore: the proof needs 1; 0.5 does better in practice.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.BettingUCB(), arms=["red", "green"])
    >>> agent.update_many(["red"] * 41, [1.0, 1.2, 0.9, 1.3, 1.1] * 8 + [1e9])
    >>> agent.update_many(["green"] * 41, [5.0, 4.8, 5.2, 5.1, 5.3] * 8 + [-1e9])
    >>> agent.select()
    'green'
    """

    c: Positive = 1.0

    def init(self, n_arms: int, horizon: int | None) -> BettingUCBState:
        scales = Scales(
            last=np.zeros(n_arms),
            own=np.zeros(n_arms),
            learned=np.zeros(n_arms, np.int64),
            first=np.zeros(FIRST_DIFFERENCES),
            pooled=np.zeros(1),
            seen=np.zeros(1, np.int64),
        )
        return BettingUCBState(
            pulls=np.zeros(n_arms, np.int64),
            late=init_late(n_arms),
            rewards=init_pool(n_arms, horizon, 2),
            scales=scales,
            bound=np.full(n_arms, math.inf),
            size=np.zeros(n_arms, np.int64),
            until=np.zeros(n_arms, np.int64),
            open=np.ones(n_arms, np.bool_),
            scratch=np.zeros((2, len(BETS))),
        )

    def log_term(self, t: int) -> float:
        """Return the level after t rewards."""
        log = math.log(max(t, 3))
        return self.c * (log + 2.0 * math.log(log))

    def select(self, state: BettingUCBState, t: int, rng: Any) -> int:
        """Recompute the indices that are too old, and return the arm with the highest."""
        arm = due(state, 1)
        if arm >= 0:
            return arm
        for arm in range(len(state.pulls)):
            n, before = state.pulls[arm], state.size[arm]
            if state.open[arm] and n > 0 and (t >= state.until[arm] or 16 * (n - before) >= before):
                until = t + t // 8 + 1
                begin = state.bound[arm] if abs(state.bound[arm]) < math.inf else state.scales.last[arm]
                scale = scale_of(state.scales, state.pulls, arm)
                state.bound[arm] = upper_bound(state.rewards, state.scratch, arm, self.log_term(until), begin, scale)
                state.size[arm], state.until[arm] = n, until
        return scan(self, state, t)

    def update(self, state: BettingUCBState, arm: int, reward: float) -> None:
        """Bet on the reward, and learn the scale for the next."""
        x, scale = saturate(reward), scale_of(state.scales, state.pulls, arm)
        state.pulls[arm] += 1
        if scale > 0.0:
            at = append(state.rewards, arm)
            state.rewards.records[at] = x
            state.rewards.records[at + 1] = scale
        learn_scale(state.scales, arm, x, state.pulls[arm])

    def value(self, state: BettingUCBState, arm: int) -> float:
        """Return NaN: betting gives bounds but no estimate, so there is no bonus for late rewards to narrow."""
        return math.nan

    def index_of(self, state: BettingUCBState, arm: int, t: int) -> float:
        """Return the bound as it was last computed."""
        return float(state.bound[arm])
