r"""KLinf-UCB (Agrawal, Juneja, Koolen 2021): asymptotically optimal when a raw moment is bounded.

*Assumes* :math:`E|X|^p \le B` for :math:`p = 1 + \varepsilon > 1`; this moment is about 0, not about the mean.  *Must
be told* :math:`\varepsilon` and B.  *When that fails*: with B too small, the index may be below the mean, without any
warning; if no law with that moment is near the rewards, the index is :math:`-B^{1/p}`, the lowest mean that such a law
can have.  Rewards are clipped to :math:`\pm 10^{250/p} B^{1/p}`.

*Formula*: the index is the largest mean of a law :math:`\kappa` with :math:`E_\kappa|X|^p \le B` that is near the
rewards, :math:`n_a\,\mathrm{KL}(\hat\nu_a, \kappa) \le g_a(t)`.  By duality it is the minimum of a convex function of
two numbers: with :math:`z_s = \lambda_1 - X_s + \lambda_2 |X_s|^p`,

.. math::  U_a = \min_{\lambda_1, \lambda_2}\ \lambda_1 + \lambda_2 B - \exp\Bigl(-\frac{g_a}{n_a} + \frac1{n_a}
           \sum_s \ln z_s\Bigr), \qquad \lambda_1 - y + \lambda_2 |y|^p \ge 0 \text{ for all } y.

Pull each arm once, then the one with the highest index for :math:`\max(1, \lceil h n_a \rceil)` pulls in a row.  In
practice :math:`g = \ln t`; the proof takes :math:`\ln t + 2 \ln\ln t + 2 \ln(1 + n_a) + 1`, and gives
:math:`E\,n_a \le (1 + h) \ln T/\mathrm{KL_{inf}}(\nu_a, \mu^*) + O((\ln T)^{2/3})`.

*Cost*: O(n) for each of about 3 to 8 Newton steps from the arm's last optimum.  At that pair, the function remains a
close upper bound on the index until the arm gets new rewards.  So the problem is solved only for an arm whose bound is
the highest, mostly the one just played: O(1/h) per pull, and O(K) per turn.  At most 64 bytes per reward.

*Reference*: S. Agrawal, S. Juneja, W. M. Koolen, Regret minimization in heavy-tailed bandits, COLT 2021.
"""

from __future__ import annotations

import functools
import math
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from ..._validate import in_range, require_within
from ...numerics import running_mean, saturate
from ...protocols import BoolArray, FloatArray, IntArray
from ..entries import register_policy
from ..parameters import Positive
from ..parts.choice.late import Late, init_late
from ..parts.state.pool import Pool, append, init_pool
from ._klinf import LAMBDA_1, LAMBDA_2, LOG_MEAN, OPTIMUM, solve
from ._scan import narrowed, unseen
from ._turns import Turn, again, begin, init_turn

LARGEST_POWER = 1e250  # of a reward, in units of B


class KLinfUCBState(NamedTuple):
    """All rewards, and the dual optimum of each arm, in units in which B is 1; means are in units of rewards."""

    pulls: IntArray
    late: Late
    mean: FloatArray
    rewards: Pool  # per arm: pairs (X, |X|^p)
    dual: FloatArray  # (arm, 4)
    solved: IntArray  # per arm: number of rewards for which the optimum was found
    solved_at: IntArray  # per arm: t for which it was found
    open: BoolArray
    turn: Turn
    theory: IntArray  # whether the threshold is the proof's

    def check(self, fresh: KLinfUCBState, n_arms: int) -> None:
        """Refuse pairs outside the domain, from which searches start."""
        for column in (LAMBDA_1, LAMBDA_2):
            require_within("dual", self.dual[:, column], 1e-300, 1e300)


@register_policy(
    "klinf-ucb",
    needs="moment order, moment bound",
    memory="64 n bytes",
    cost="O(1/h) amortised, O(K) per batch",
    regret="(1 + h) times the limit for E|X|^p <= B, asymptotically",
    reference="Agrawal, Juneja, Koolen 2021",
    example={"eps": 0.5, "bound": 4.0},
    zoo={"eps": 0.5, "bound": 10.0},
    look="grey dash-dot",
)
class KLinfUCB(NamedTuple):
    r"""KLinf-UCB.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: the moment of order :math:`1 + \varepsilon` is bounded.
    bound
        B, the bound on it.
    h
        Length of a turn as a share of the arm's pulls; with 0 every pull is decided anew, in O(n) time.
    threshold
        ``"practical"``, ln t, or ``"theory"``, with the terms that the proof needs.

    Examples
    --------
    >>> import heavybandits as hb
    >>> policy = KLinfUCB(eps=0.5, bound=4.0)
    >>> state = policy.init(n_arms=1, horizon=None)
    >>> for reward in (-1.0, 0.0, 0.5, 2.0):
    ...     policy.update(state, 0, reward)
    >>> round(policy.index_of(state, 0, t=10), 9)
    2.103245394
    """

    eps: Positive
    bound: Positive
    h: Annotated[float, functools.partial(in_range, low=0, high=1)] = 0.1
    threshold: Literal["practical", "theory"] = "practical"

    def init(self, n_arms: int, horizon: int | None) -> KLinfUCBState:
        p = 1.0 + self.eps
        return KLinfUCBState(
            pulls=np.zeros(n_arms, np.int64),
            late=init_late(n_arms),
            mean=np.zeros(n_arms),
            rewards=init_pool(n_arms, horizon, 2),
            dual=np.tile([self.eps / p, 1.0 / p, math.nan, math.inf], (n_arms, 1)),
            solved=np.zeros(n_arms, np.int64),
            solved_at=np.zeros(n_arms, np.int64),
            open=np.ones(n_arms, np.bool_),
            turn=init_turn(),
            theory=np.array([int(self.threshold == "theory")]),
        )

    def unit(self) -> float:
        """Return the mean that no law of the class exceeds."""
        return float(self.bound ** (1.0 / (1.0 + self.eps)))

    def budget(self, state: KLinfUCBState, arm: int, t: int) -> float:
        """Return the allowed divergence g/n; it is positive, because t counts as at least 2."""
        n, log = state.pulls[arm], math.log(max(t, 2))
        if state.theory[0] == 1:
            log += 2.0 * math.log(max(log, 1.0)) + 2.0 * math.log(1.0 + n) + 1.0
        return log / float(n)

    def upper(self, state: KLinfUCBState, arm: int, t: int) -> float:
        """Return an upper bound on the index from the arm's last optimum; infinite if rewards have come since."""
        if state.pulls[arm] == 0 or state.solved[arm] < state.pulls[arm]:
            return math.inf
        dual = state.dual
        if state.solved_at[arm] == t:
            return float(dual[arm, OPTIMUM])
        gain = math.exp(min(dual[arm, LOG_MEAN] - self.budget(state, arm, t), 700.0))
        return float(min(max(dual[arm, LAMBDA_1] + dual[arm, LAMBDA_2] - gain, -1.0), 1.0))

    def select(self, state: KLinfUCBState, t: int, rng: Any) -> int:
        """Return each arm once, then the one with the highest index, a batch at a time."""
        arm = again(state.turn, state.open)
        if arm >= 0:
            return arm
        arm = unseen(state, 1)
        if arm >= 0:
            return arm
        while True:
            best, highest = -1, -math.inf
            for arm in range(len(state.pulls)):
                if state.open[arm] and state.pulls[arm] > 0:
                    bound = self.upper(state, arm, t)
                    bound = narrowed(state, arm, min(state.mean[arm] / self.unit(), bound), bound)
                    if best < 0 or bound > highest:
                        best, highest = arm, bound
            n = state.pulls[best]
            if state.solved[best] == n and state.solved_at[best] == t:
                return begin(state.turn, best, max(1, math.ceil(self.h * n)))
            solve(state.rewards, best, state.dual, self.budget(state, best, t), self.eps)
            state.solved[best], state.solved_at[best] = n, t

    def update(self, state: KLinfUCBState, arm: int, reward: float) -> None:
        """Store the reward."""
        n, p = state.pulls[arm] + 1, 1.0 + self.eps
        state.pulls[arm] = n
        state.mean[arm] = running_mean(state.mean[arm], n, reward)
        limit = LARGEST_POWER ** (1.0 / p)
        x = min(max(saturate(reward / self.unit()), -limit), limit)
        at = append(state.rewards, arm)
        state.rewards.records[at], state.rewards.records[at + 1] = x, abs(x) ** p

    def value(self, state: KLinfUCBState, arm: int) -> float:
        """Return the mean reward."""
        return float(state.mean[arm]) if state.pulls[arm] > 0 else math.nan

    def index_of(self, state: KLinfUCBState, arm: int, t: int) -> float:
        """Return the largest mean of a law that has the moment and is near the arm's rewards."""
        if state.pulls[arm] == 0:
            return math.inf
        dual = state.dual.copy()
        solve(state.rewards, arm, dual, self.budget(state, arm, t), self.eps)
        return float(self.unit() * dual[arm, OPTIMUM])
