r"""BMM: medians of several least-squares predictions (Xue, Wang, Wang, Zhang 2020).

*Assumes* rewards :math:`x'\theta` plus noise with a moment of order :math:`1 + \varepsilon`, and rows that stay the
same.  *Must be told* :math:`\varepsilon`, a bound v on the central moment, and the number of repeats.  *When that
fails*: if v is too small, a good row may be abandoned; if rows change, the nearest one is played (:mod:`._repeats`).

*Formula*: in each epoch the chosen row is played r times.  The j-th rewards of all epochs make the j-th least-squares
estimate :math:`\theta_j`, all with :math:`V = I + \sum x x'`.  After n epochs the row with the highest

.. math::  \mathrm{Med}_j\ x'\theta_j + \alpha_n\,|x|_{V^{-1}}, \qquad
           \alpha_n = (12 v)^{1/(1+\varepsilon)}\,n^{(1-\varepsilon)/(2(1+\varepsilon))}

is next.  This is the basic algorithm, as in the authors' code, which uses r = 31 and a radius of :math:`\alpha_n/600`.
The theory has :math:`r = \lfloor 8 \ln(2 K T \ln(T)/\delta) \rfloor` for K rows, and also eliminates rows in phases.

*Cost*: O(r d + d²) for every r-th reward and O(r d + d² + r²) per row for every r-th choice, O(K d) for the others;
8 (4 d² + r d) bytes.

*Reference*: B. Xue, G. Wang, Y. Wang, L. Zhang, Nearly optimal regret for stochastic linear bandits with heavy-tailed
payoffs, IJCAI 2020.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...numerics import power, small_median
from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import Count, Flag, Fraction, NonNegative, Positive
from ._design import dot, leverage
from ._repeats import Group, collect, init_group, learn_each, repeated_row
from ._rows import Fit, init_fit, lift, row_of_highest_index


class BMMState(NamedTuple):
    """Rewards of the current epoch, and one estimate for each of them."""

    group: Group
    fit: Fit  # the design that the estimates share
    thetas: FloatArray  # (r, d)
    predictions: FloatArray  # scratch


@register_policy(
    "bmm",
    needs="moment order, moment bound, number of repeats, rows that stay the same",
    memory="8 (4 d² + r d) bytes in all",
    cost="O(K d), and O(K (d² + r d + r²)) every r rounds",
    regret="none for the basic algorithm; with elimination O(sqrt(d) T^(1/(1 + eps))) up to logarithms",
    reference="Xue, Wang, Wang, Zhang 2020",
    kind="linear",
    example={"eps": 1.0, "v": 1.0},
    pinned={"eps": 0.5, "v": 2.0, "repeats": 3, "beta_scale": 0.01},
    zoo={"eps": 0.5, "v": 3.0, "beta_scale": 0.0016667},
)
class BMM(NamedTuple):
    r"""BMM.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: the moment of order :math:`1 + \varepsilon` is finite.
    v
        Upper bound on that central moment.
    repeats
        r, the number of times the chosen row is played.
    beta_scale
        Factor of the radius: 1 in the theory, 1/600 in the authors' code.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> import numpy as np
    >>> policy = BMM(eps=1.0, v=1.0, repeats=3)
    >>> state = policy.init(n_features=1, horizon=None)
    >>> for reward in (1.0, 1e9, 2.0):
    ...     policy.update(state, np.array([1.0]), reward)
    >>> policy.value(state, np.array([1.0]))  # half the median, because of the ridge
    1.0
    """

    eps: Fraction
    v: Positive
    repeats: Count = 31
    beta_scale: NonNegative = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> BMMState:
        return BMMState(
            group=init_group(n_features, self.repeats),
            fit=init_fit(n_features, self.intercept, 1.0),
            thetas=np.zeros((self.repeats, n_features + int(self.intercept))),
            predictions=np.zeros(self.repeats),
        )

    def beta(self, state: BMMState) -> float:
        """Return the radius."""
        order, n = 1.0 + self.eps, max(float(state.fit.seen[0]), 1.0)
        growth = power(n, 0.5 * (1.0 - self.eps) / order)
        return float(self.beta_scale * power(12.0 * self.v, 1.0 / order) * growth)

    def select(self, state: BMMState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest index, and repeat it until the epoch ends."""
        row = repeated_row(state.group, features)
        return row if row >= 0 else row_of_highest_index(self, state, features, t)

    def update(self, state: BMMState, x: FloatArray, reward: float) -> None:
        """Add a reward to the epoch; at the end of it, update each estimate with one of its rewards."""
        if collect(state.group, x, reward):
            learn_each(state.fit, state.thetas, state.group)

    def value(self, state: BMMState, x: FloatArray) -> float:
        """Return the median of the predictions."""
        lift(state.fit.row, x)
        for j in range(len(state.thetas)):
            state.predictions[j] = dot(state.thetas[j], state.fit.row)
        return small_median(state.predictions, len(state.predictions))

    def index_of(self, state: BMMState, x: FloatArray, t: int) -> float:
        """Return the median plus the bonus."""
        middle = self.value(state, x)
        return float(middle + self.beta(state) * math.sqrt(leverage(state.fit.design, state.fit.row)))
