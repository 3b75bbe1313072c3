r"""MoM: least squares on medians of means of repeated plays (Medina, Yang 2016).

*Assumes* rewards :math:`x'\theta` plus noise with a moment of order :math:`1 + \varepsilon`, :math:`|x| \le 1`,
:math:`|\theta| \le 1`, and rows that stay the same.  *Must be told* :math:`\varepsilon`, a bound v on the central
moment, and the horizon T.  *When that fails*: if v is too small, a good row may be abandoned; if rows change, the
nearest one is played (:mod:`._repeats`).

*Formula*: the chosen row is played :math:`r = \lceil T/m \rceil` times, where m is
:math:`T^{2\varepsilon/(1+3\varepsilon)}` rounded to a whole number.  The median of the means of
:math:`k = \min(r, \lfloor 8 \ln(2m/\delta) \rfloor)` equal blocks of its rewards counts as one reward in least squares
with :math:`V = I + \sum x x'`.  After i such medians the row with the highest
:math:`x'\hat\theta + \beta_i\,|x|_{V^{-1}}` is next,

.. math::  \beta_i = (12 v)^{1/(1+\varepsilon)} \Bigl(\frac{8 \ln(2m/\delta)}{r}\Bigr)^{\varepsilon/(1+\varepsilon)}
           \Bigl(\sqrt{2 \ln(m \sqrt{\det V}/\delta)} + \sqrt i\Bigr) + 1.

The public reimplementation uses :math:`k = \lfloor 8 \ln(2/\delta) \rfloor` blocks and divides the radius by 40.

*Cost*: O(d²) for every r-th reward and O(d²) per row for every r-th choice, O(K d) for the others;
8 (4 d² + 5 d + r + k) bytes.

*Reference*: A. M. Medina, S. Yang, No-regret algorithms for heavy-tailed linear bandits, ICML 2016.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_same, required_horizon
from ...numerics import small_median
from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import Flag, Fraction, NonNegative, Positive
from ._repeats import Group, collect, init_group, repeated_row
from ._rows import Fit, index_at, init_fit, learn_fit, optimistic, value_at


class MomLinState(NamedTuple):
    """Rewards waiting for their median of means, and the estimate from earlier medians."""

    group: Group
    blocks: FloatArray  # scratch: means of blocks
    fit: Fit
    factor: FloatArray  # the factor of the radius that depends on the horizon
    log_groups: FloatArray  # ln m

    def check(self, fresh: MomLinState, n_arms: int) -> None:
        """Refuse a state made for another horizon."""
        require_same(self, fresh, "factor", "log_groups")


@register_policy(
    "mom-lin",
    needs="horizon, moment order, moment bound, rows that stay the same",
    memory="8 (4 d² + 5 d + r + k) bytes in all",
    cost="O(K d), and O(K d²) every r rounds",
    regret="O(T^((1 + 2 eps)/(1 + 3 eps))) up to logarithms, if the moment of order 1 + eps is at most v",
    reference="Medina, Yang 2016",
    kind="linear",
    example={"eps": 1.0, "v": 1.0},
    pinned={"eps": 0.5, "v": 2.0, "beta_scale": 0.02},
    zoo={"eps": 0.5, "v": 3.0, "beta_scale": 0.025},
)
class MomLin(NamedTuple):
    r"""MoM for linear rewards.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: the moment of order :math:`1 + \varepsilon` is finite.
    v
        Upper bound on that central moment.
    delta
        :math:`\delta`, the failure probability of the bound.
    beta_scale
        Factor of the radius: 1 in the theory, 1/40 in the public experiments.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> policy = MomLin(eps=1.0, v=1.0)
    >>> state = policy.init(n_features=2, horizon=10_000)
    >>> len(state.group.rewards), len(state.blocks)  # plays in a row, and blocks
    (100, 79)
    """

    eps: Fraction
    v: Positive
    delta: Fraction = 0.01
    beta_scale: NonNegative = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> MomLinState:
        rounds = required_horizon("MomLin", horizon, "number of repeats")
        m = max(1, round(rounds ** (2.0 * self.eps / (1.0 + 3.0 * self.eps))))
        repeats = math.ceil(rounds / m)
        level = 8.0 * math.log(2.0 * m / self.delta)
        order = 1.0 + self.eps
        factor = (12.0 * self.v) ** (1.0 / order) * (level / repeats) ** (self.eps / order)
        return MomLinState(
            group=init_group(n_features, repeats),
            blocks=np.zeros(min(repeats, int(level))),
            fit=init_fit(n_features, self.intercept, 1.0),
            factor=np.array([factor]),
            log_groups=np.array([math.log(m)]),
        )

    def beta(self, state: MomLinState) -> float:
        """Return the radius."""
        level = state.log_groups[0] + 0.5 * state.fit.design.log_det[0] - math.log(self.delta)
        width = state.factor[0] * (math.sqrt(2.0 * level) + math.sqrt(state.fit.seen[0])) + 1.0
        return float(self.beta_scale * width)

    def select(self, state: MomLinState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest index, and repeat it until its group is full."""
        row = repeated_row(state.group, features)
        return row if row >= 0 else optimistic(state.fit, features, self.beta(state))

    def update(self, state: MomLinState, x: FloatArray, reward: float) -> None:
        """Add a reward to the group, and learn from the median of means once the group is full."""
        rewards, blocks = state.group.rewards, state.blocks
        if not collect(state.group, x, reward):
            return
        length = len(rewards) // len(blocks)
        for k in range(len(blocks)):
            blocks[k] = 0.0
            for i in range(k * length, (k + 1) * length):
                blocks[k] += rewards[i] / length
        learn_fit(state.fit, state.group.mean, small_median(blocks, len(blocks)))

    def value(self, state: MomLinState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.fit, x)

    def index_of(self, state: MomLinState, x: FloatArray, t: int) -> float:
        """Return the upper end of the confidence interval."""
        return index_at(state.fit, x, self.beta(state))
