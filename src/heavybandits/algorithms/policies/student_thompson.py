r"""Thompson sampling with a Student model; with one degree of freedom, a Cauchy model.

*Assumes* noise that is s times a Student t variable with d degrees of freedom.  *Must be told* d and s.  *When that
fails*: with d too large or s too small, it trusts outliers too much; with d too small or s too large, it explores too
long.  For any symmetric noise the mode still finds the centre.

*Formula*: with a flat prior the posterior density of an arm's location is

.. math::  \pi(\mu) \propto \prod_{j=1}^n \Bigl(1 + \frac{z_j^2}{d}\Bigr)^{-(d+1)/2}, \qquad
           z_j = \frac{X_j - \mu}{s}.

Draws come instead from a Student t law with the same mode, the same curvature J there and the same tails, that is,
:math:`\nu = n(d + 1) - 1` degrees of freedom and scale :math:`\sqrt{(\nu + 1)/(\nu J)}`.  For one reward this is the
posterior itself, and for many both become normal.  In between, where a posterior may have several modes, the one near
the median counts.  Pull each arm once; then draw one number for each arm and play the largest.

*Cost*: K Student t numbers per choice.  The mode is found anew in O(n) when n has grown by 5%; *in between, each new
reward moves it by one Newton step*.  That is about 50 additions and divisions per reward; at most 32 bytes per reward.

*Reference*: W. R. Thompson (1933); the approximation is our own.
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
from ..parts.choice.late import Late, bonus_factor, init_late
from ..parts.choice.propensity import draw_arm
from ..parts.state.pool import Pool, append, init_pool
from ._scan import waiting

REFIT_GROWTH = 1.05  # of n, until the mode is found anew
FEW_REWARDS = 16  # up to this many rewards the search begins at their median
LARGEST_Z = 1e70  # |z| is clipped to this, so that its fourth power stays finite


class StudentThompsonState(NamedTuple):
    """All rewards, and the mode of each arm's posterior."""

    pulls: IntArray
    late: Late
    rewards: Pool
    mode: FloatArray
    curvature: FloatArray
    anchor: IntArray  # n when the mode was found
    scratch: FloatArray
    open: BoolArray
    propensity: FloatArray | None = None  # per arm: its probability in the last draw, if an agent asks for it

    def check(self, fresh: StudentThompsonState, n_arms: int) -> None:
        """Refuse a posterior without a peak."""
        require_within("curvature", self.curvature[self.pulls > 0], 5e-324, LARGEST_FLOAT)


@register_policy(
    "student-thompson",
    needs="tail index, scale",
    memory="32 n bytes",
    cost="O(1) amortised, O(K)",
    regret="none",
    reference="Thompson 1933",
    randomised=True,
    example={"df": 1.0, "scale": 1.0},
    zoo={"df": 1.0, "scale": 1.0},
    look="green dashed",
)
class StudentThompson(NamedTuple):
    """Thompson sampling with a Student model.

    Parameters
    ----------
    df
        d, the degrees of freedom; the noise has moments of every order below d.
    scale
        s, the scale of the noise.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(StudentThompson(df=1, scale=1), n_arms=2, seed=0)
    >>> agent.update_many([0] * 20 + [1] * 20, [0.0, 1.0] * 10 + [5.0, 1e9, 6.0, 4.0] * 5)
    >>> agent.select()
    1
    """

    df: Positive
    scale: Positive

    def init(self, n_arms: int, horizon: int | None) -> StudentThompsonState:
        return StudentThompsonState(
            pulls=np.zeros(n_arms, np.int64),
            late=init_late(n_arms),
            rewards=init_pool(n_arms, horizon, 1),
            mode=np.zeros(n_arms),
            curvature=np.zeros(n_arms),
            anchor=np.zeros(n_arms, np.int64),
            scratch=np.zeros(FEW_REWARDS),
            open=np.ones(n_arms, np.bool_),
        )

    def select(self, state: StudentThompsonState, t: int, rng: Any) -> int:
        """Return the arm with the largest draw; an arm without rewards comes first."""
        arm = waiting(state, 1)
        return arm if arm >= 0 else draw_arm(self, state, state.propensity, 1, rng)

    def draw_of(self, state: StudentThompsonState, arm: int, rng: Any) -> float:
        """Draw from the approximate posterior; NaN while the arm's first reward is pending."""
        n = state.pulls[arm]
        if n == 0:
            return math.nan
        freedom = n * (self.df + 1.0) - 1.0
        spread = math.sqrt((freedom + 1.0) / (freedom * state.curvature[arm]))
        spread *= bonus_factor(state.late, arm, n)
        return float(state.mode[arm] + self.scale * spread * rng.standard_t(freedom))

    def update(self, state: StudentThompsonState, arm: int, reward: float) -> None:
        """Store the reward, and move the mode."""
        x = saturate(float(reward))
        state.rewards.records[append(state.rewards, arm)] = x
        n = state.rewards.size[arm]
        state.pulls[arm] = n
        if n >= REFIT_GROWTH * state.anchor[arm]:
            find_mode(state, arm, self.df, self.scale)
            state.anchor[arm] = n
            return
        pull, bend, _ = terms(x, state.mode[arm], self.df, self.scale)
        state.curvature[arm] = max(state.curvature[arm] + bend, least_curvature(n, self.df))
        state.mode[arm] = saturate(state.mode[arm] + self.scale * pull / state.curvature[arm])

    def value(self, state: StudentThompsonState, arm: int) -> float:
        """Return the mode of the posterior."""
        return float(state.mode[arm]) if state.pulls[arm] > 0 else math.nan


@compilable
def terms(x: float, mode: float, df: float, scale: float) -> tuple[float, float, float]:
    """Return a reward's part in the slope and curvature of the log posterior, and its weight, in units of the scale.

    Examples
    --------
    >>> terms(x=3.0, mode=2.0, df=1.0, scale=1.0)
    (1.0, 0.0, 1.0)
    """
    z = clip((x - mode) / scale, LARGEST_Z)
    inverse = 1.0 / (df + z * z)
    weight = (df + 1.0) * inverse
    return weight * z, weight * (df - z * z) * inverse, weight


@compilable
def least_curvature(n: int, df: float) -> float:
    """Return a tenth of the curvature expected of n rewards; less means a dent between two modes."""
    return 0.1 * n * (df + 1.0) / (df + 3.0)


@rarely_called
def find_mode(state: StudentThompsonState, arm: int, df: float, scale: float) -> None:
    """Climb to a mode from the last one or, if there are few rewards, from their median."""
    records, start, n = state.rewards.records, state.rewards.start[arm], state.rewards.size[arm]
    mode = float(state.mode[arm])
    if n <= FEW_REWARDS:
        for i in range(n):
            state.scratch[i] = records[start + i]
        mode = small_median(state.scratch, n)
    least, curvature = least_curvature(n, df), 0.0
    for _ in range(50):
        slope, curvature, weights = 0.0, 0.0, 0.0
        for i in range(start, start + n):
            pull, bend, weight = terms(records[i], mode, df, scale)
            slope += pull
            curvature += bend
            weights += weight
        # A step to the reweighted mean always climbs; Newton's is quicker near the top, but must not be much longer.
        step = slope / weights
        if curvature > least:
            step = clip(slope / curvature, 4.0 * abs(step))
        mode = saturate(mode + scale * step)
        if abs(step) <= 1e-7:
            break
    state.mode[arm], state.curvature[arm] = mode, max(curvature, least)
