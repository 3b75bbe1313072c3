r"""AdaR-UCB: adapts to unknown tails under a sign condition (Genalti, Marsigli, Gatti, Metelli 2024).

*Assumes* that the best arm's rewards beyond any threshold are not positive on average: :math:`E[X\,1\{|X| > M\}] \le 0`
for every :math:`M \ge 0`.  With M = 0 this says that the mean is at most 0.  If it may be positive, first subtract an
upper bound on it from all rewards; symmetric noise then satisfies the assumption.  *Needs* no prior knowledge beyond
that.  *When that fails*, large rewards that are cut off make the best arm look worse than it is, and regret may be
linear.  An arm whose rewards are mostly exactly 0 is played until enough of them are not.

*Formula*: round :math:`\tau = 1, 2, \dots` pulls one arm twice; the first reward joins :math:`X`, the second
:math:`X'`.  Let N be the arm's number of pairs, :math:`L = 3 \ln \tau` and :math:`c = (1 + \sqrt 2)^2`.  The index is
infinite while at most cL of the :math:`X'_j` differ from 0.  After that, with M the root of
:math:`\sum_j \min(X_j'^2/M^2, 1) = cL`, and :math:`\hat\mu` and V the mean and the variance of the
:math:`X_j\,1\{|X_j| \le M\}`,

.. math::  A_\tau = \arg\max_a\ \hat\mu_a + \sqrt{2 V_a L/N_a} + 10 M_a L/N_a.

So every arm is played about 2cL times, however bad it is: 298 pulls at T = 10,000.

*Cost*: while M lies between two neighbouring magnitudes, the index follows a closed formula.  So at each choice an arm
that was not played costs O(1), and the one that was costs a search among ranked rewards: O(K + log n).  L grows no
further than its value at the horizon, or :math:`3 \ln 2^{63}` without one.  Rewards below the M of that L will never be
cut off, so only their sums are kept.  That leaves about cL pairs per arm, 150 at T = 10,000 and never many more than
760, and inserting one moves few others.  Magnitudes are capped at :math:`10^{150}`, and those below :math:`10^{-150}`
count as 0.

*Reference*: G. Genalti, L. Marsigli, N. Gatti, A. M. Metelli, (ε, u)-adaptive regret minimization in heavy-tailed
bandits, COLT 2024.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_same
from ...protocols import BoolArray, FloatArray, IntArray, compilable
from ..entries import register_policy
from ..parameters import Positive
from ..parts.choice.late import Late, init_late
from ._ranked import Ranked, init_ranked, insert, inside, magnitude, settle, sums
from ._scan import scan
from ._turns import Turn, again, begin, init_turn

C = 3.0 + 2.0 * math.sqrt(2.0)
_PAST = -1.0  # below every L


class Piece(NamedTuple):
    """For each arm, the numbers that its index is made of while L is at most ``until``."""

    mean: FloatArray
    spread: FloatArray  # sqrt(2V/N)
    squares: FloatArray  # sum of the squared X' inside
    outside: FloatArray  # X' outside
    until: FloatArray


class AdarUCBState(NamedTuple):
    """Ranked rewards, and for each arm the current piece of its index."""

    pulls: IntArray
    waiting: FloatArray  # per arm: the first reward of a pair
    first: Ranked  # X
    second: Ranked  # X'
    filled: IntArray  # per arm: how many X' are not 0
    limit: FloatArray  # per arm: magnitude up to which rewards are settled
    settled: FloatArray  # per arm: number of pairs when they were
    piece: Piece
    open: BoolArray
    late: Late
    turn: Turn
    most: FloatArray  # the largest L there will be

    def check(self, fresh: AdarUCBState, n_arms: int) -> None:
        """Refuse a state made for another horizon."""
        require_same(self, fresh, "most")


@register_policy(
    "adar-ucb",
    needs="bound on the best mean",
    memory="O(log T)",
    cost="O(K + log n)",
    regret="O(sum_a (u/Delta_a)^(1/(p-1)) ln T) for every p and u with E|X|^p <= u, "
    "if E[X 1(|X| > M)] <= 0 for the best arm",
    reference="Genalti, Marsigli, Gatti, Metelli 2024",
    look="vermilion dashed",
)
class AdarUCB(NamedTuple):
    """AdaR-UCB.

    Parameters
    ----------
    bonus
        Factor of the last term: 10 as published and proved; smaller values explore less.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(AdarUCB(), n_arms=2)
    >>> agent.update_many([0] * 2000 + [1] * 2000, [-3.0] * 2000 + [-1.0] * 2000)
    >>> agent.select()
    1
    """

    bonus: Positive = 10.0

    def init(self, n_arms: int, horizon: int | None) -> AdarUCBState:
        return AdarUCBState(
            pulls=np.zeros(n_arms, np.int64),
            waiting=np.zeros(n_arms),
            first=init_ranked(n_arms, horizon),
            second=init_ranked(n_arms, horizon),
            filled=np.zeros(n_arms, np.int64),
            limit=np.zeros(n_arms),
            settled=np.zeros(n_arms),
            piece=Piece(**{name: np.full(n_arms, _PAST) for name in Piece._fields}),
            open=np.ones(n_arms, np.bool_),
            late=init_late(n_arms),
            turn=init_turn(),
            most=np.array([3.0 * math.log(2**63 if horizon is None else max((horizon + 1) // 2, 2))]),
        )

    def log_of(self, state: AdarUCBState, t: int) -> float:
        """Return L in the round that begins after t rewards."""
        return min(3.0 * math.log(t // 2 + 1), float(state.most[0]))

    def height_of(self, state: AdarUCBState, arm: int, log_term: float) -> float:
        """Return the arm's index, and bring its piece up to date if needed."""
        if state.filled[arm] <= C * log_term:
            return math.inf
        pairs, piece = state.pulls[arm] // 2, state.piece
        if log_term > piece.until[arm]:
            fit(state, arm, log_term)
        threshold = math.sqrt(piece.squares[arm] / (C * log_term - piece.outside[arm]))
        wide = math.sqrt(log_term) * piece.spread[arm]
        return float(piece.mean[arm] + wide + self.bonus * threshold * log_term / pairs)

    def select(self, state: AdarUCBState, t: int, rng: Any) -> int:
        """Return the arm with the highest index, twice in a row."""
        arm = again(state.turn, state.open)
        if arm >= 0:
            return arm
        return begin(state.turn, scan(self, state, t), 2)

    def update(self, state: AdarUCBState, arm: int, reward: float) -> None:
        """Wait for the second reward of a pair, then rank both."""
        state.pulls[arm] += 1
        x = min(max(float(reward), -1e150), 1e150)
        if abs(x) < 1e-150:
            x = 0.0
        if state.pulls[arm] % 2 == 1:
            state.waiting[arm] = x
            return
        pairs, limit = state.pulls[arm] // 2, state.limit
        insert(state.first, arm, state.waiting[arm], limit[arm])
        insert(state.second, arm, x, limit[arm])
        if x != 0.0:
            state.filled[arm] += 1
        most = C * state.most[0]
        if state.filled[arm] > most and pairs >= 1.25 * state.settled[arm]:
            n = rank_of_threshold(state.second, arm, most)
            outside = state.second.pool.size[arm] - n
            limit[arm] = max(limit[arm], math.sqrt(sums(state.second, arm, n)[1] / (most - outside)))
            state.settled[arm] = pairs
            settle(state.first, arm, limit[arm])
            settle(state.second, arm, limit[arm])
        state.piece.until[arm] = _PAST

    def value(self, state: AdarUCBState, arm: int) -> float:
        """Return the truncated mean as of when the arm's index was last computed; NaN before that."""
        return float(state.piece.mean[arm]) if state.piece.spread[arm] >= 0.0 else math.nan

    def index_of(self, state: AdarUCBState, arm: int, t: int) -> float:
        """Return the truncated mean plus its bonus."""
        return self.height_of(state, arm, self.log_of(state, t))


@compilable
def rank_of_threshold(second: Ranked, arm: int, target: float) -> int:
    """Return how many records of X' lie inside the root M of the equation whose right side is ``target``."""
    low, high, size = 0, second.pool.size[arm], second.pool.size[arm]
    while low < high:  # at M equal to a magnitude the left side is known; it falls as M grows
        middle = (low + high) // 2
        m = magnitude(second, arm, middle)
        if sums(second, arm, middle + 1)[1] / (m * m) + (size - middle - 1) >= target:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compilable
def fit(state: AdarUCBState, arm: int, log_term: float) -> None:
    """Find the piece of the arm's index that holds at L = ``log_term``."""
    pairs, piece, target = state.pulls[arm] // 2, state.piece, C * log_term
    n = rank_of_threshold(state.second, arm, target)
    outside, squares = state.second.pool.size[arm] - n, sums(state.second, arm, n)[1]
    m = inside(state.first, arm, math.sqrt(squares / (target - outside)))
    total, own_squares = sums(state.first, arm, m)
    mean = total / pairs
    variance = max(own_squares - total * mean, 0.0) / max(pairs - 1, 1)
    lowest = magnitude(state.second, arm, n - 1) if n > 0 else 0.0
    lowest = max(lowest, magnitude(state.first, arm, m - 1) if m > 0 else 0.0)
    piece.mean[arm], piece.spread[arm] = mean, math.sqrt(2.0 * variance / pairs)
    piece.squares[arm], piece.outside[arm] = squares, outside
    piece.until[arm] = (outside + squares / (lowest * lowest)) / C if lowest > 0.0 else math.inf
