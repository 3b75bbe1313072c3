r"""MENU: median of means under OFU (Shao, Yu, King, Lyu 2018).

*Assumes* rewards :math:`x'\theta` plus noise with a moment of order :math:`1 + \varepsilon`, and rows that stay the
same.  *Must be told* :math:`\varepsilon`, a bound v on the central moment, a bound S on :math:`|\theta|`, and either
the horizon T or the number of repeats.  *When that fails*: if v is too small, a good row may be abandoned; if rows
change, the nearest one is played (:mod:`._repeats`).

*Formula*: in each epoch the chosen row is played :math:`k = \lceil 24 \ln(eT/\delta) \rceil` times.  The j-th rewards
of all epochs make the j-th least-squares estimate :math:`\theta_j`, all with :math:`V = \lambda I + \sum x x'`.  After
n epochs the most central estimate is used,

.. math::  j^* = \arg\min_j \mathrm{Med}_{s \ne j} |\theta_j - \theta_s|_V, \qquad
           \beta_n = 3 \bigl((9 d v)^{1/(1+\varepsilon)} n^{(1-\varepsilon)/(2(1+\varepsilon))} + \sqrt\lambda S\bigr),

and the row with the highest :math:`x'\theta_{j^*} + \beta_n\,|x|_{V^{-1}}` is next.  The radius and the selector agree
with public reimplementations, which use k = 51, divide the radius by 50, and include the distance of an estimate to
itself in the median.  The logarithm in k could not be checked against the paper; a comment in one reimplementation has
:math:`24 + 24 \ln(T/\delta)`, which agrees.

*Cost*: O(k d² + k² d) for every k-th reward and O(d²) per row for every k-th choice, O(K d) for the others;
8 (5 d² + 2 k d) bytes.

*Reference*: H. Shao, X. Yu, I. King, M. R. Lyu, Almost optimal algorithms for linear stochastic bandits with
heavy-tailed payoffs, NeurIPS 2018.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import required_horizon
from ...numerics import power
from ...protocols import FloatArray, rarely_called
from ..entries import register_policy
from ..parameters import Flag, Fraction, NonNegative, Positive, Whole
from ..parts.means.median import median_in_place
from ._cholesky import add_to_factor
from ._repeats import Group, collect, init_group, learn_each, repeated_row
from ._rows import Fit, index_at, init_fit, optimistic, value_at


class MENUState(NamedTuple):
    """Rewards of the current epoch, and one estimate for each of them; ``fit`` has the most central one."""

    group: Group
    fit: Fit
    thetas: FloatArray  # (k, d)
    lower: FloatArray  # Cholesky factor of V
    turned: FloatArray  # scratch: (k, d), the estimates in coordinates where the norm of V is Euclidean
    distances: FloatArray  # scratch


@rarely_called
def most_central(turned: FloatArray, distances: FloatArray) -> int:
    """Return the row with the least median distance to the others; ties go to the first.

    Examples
    --------
    >>> rows = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [5.0, 5.0], [0.05, 0.05]])
    >>> most_central(rows, np.zeros(5))
    4
    """
    n, best, least = len(turned), 0, math.inf
    for j in range(n):
        others = 0
        for s in range(n):
            if s != j:
                square = 0.0
                for i in range(turned.shape[1]):
                    difference = turned[j, i] - turned[s, i]
                    square += difference * difference
                distances[others] = math.sqrt(square)
                others += 1
        middle = median_in_place(distances, others)
        if middle < least:
            best, least = j, middle
    return best


@register_policy(
    "menu",
    needs="horizon, moment order, moment bound, bound on theta, rows that stay the same",
    memory="8 (5 d² + 2 k d) bytes in all",
    cost="O(K d), and O(K d² + k d² + k² d) every k rounds",
    regret="O(d^(1/2 + 1/(1 + eps)) T^(1/(1 + eps))) up to logarithms, if the moment of order 1 + eps is at most v",
    reference="Shao, Yu, King, Lyu 2018",
    kind="linear",
    example={"eps": 1.0, "v": 1.0},
    pinned={"eps": 0.5, "v": 2.0, "repeats": 3, "beta_scale": 0.02},
    zoo={"eps": 0.5, "v": 3.0, "repeats": 51, "beta_scale": 0.02},
)
class MENU(NamedTuple):
    r"""MENU.

    Parameters
    ----------
    eps
        :math:`\varepsilon`: the moment of order :math:`1 + \varepsilon` is finite.
    v
        Upper bound on that central moment.
    bound
        S, an upper bound on the norm of theta.
    ridge
        :math:`\lambda`, the ridge penalty.
    repeats
        k, the number of times the chosen row is played: 51 in the public experiments; 0 for the theory's number, which
        depends on the horizon.
    delta
        :math:`\delta`, the failure probability of the bound; only the theory's number of repeats depends on it.
    beta_scale
        Factor of the radius: 1 in the theory, 1/50 in the public experiments.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> policy = MENU(eps=1.0, v=3.0)
    >>> state = policy.init(n_features=10, horizon=10_000)
    >>> len(state.group.rewards), round(policy.beta(state), 9)
    (356, 52.295030175)
    """

    eps: Fraction
    v: Positive
    bound: NonNegative = 1.0
    ridge: Positive = 1.0
    repeats: Whole = 0
    delta: Fraction = 0.01
    beta_scale: NonNegative = 1.0
    intercept: Flag = False

    def check(self) -> None:
        """Refuse too few repeats for a median."""
        if 0 < self.repeats < 3:
            raise ValueError(f"MENU: repeats must be 0 or at least 3, got {self.repeats}")

    def init(self, n_features: int, horizon: int | None) -> MENUState:
        size, repeats = n_features + int(self.intercept), self.repeats
        if repeats == 0:
            rounds = required_horizon("MENU", horizon, "number of repeats")
            repeats = math.ceil(24.0 * (1.0 + math.log(rounds / self.delta)))
        return MENUState(
            group=init_group(n_features, repeats),
            fit=init_fit(n_features, self.intercept, self.ridge),
            thetas=np.zeros((repeats, size)),
            lower=math.sqrt(self.ridge) * np.eye(size),
            turned=np.zeros((repeats, size)),
            distances=np.zeros(repeats),
        )

    def beta(self, state: MENUState) -> float:
        """Return the radius."""
        order, n, d = 1.0 + self.eps, max(float(state.fit.seen[0]), 1.0), float(len(state.fit.theta))
        growth = power(n, 0.5 * (1.0 - self.eps) / order)
        width = power(9.0 * d * self.v, 1.0 / order) * growth + math.sqrt(self.ridge) * self.bound
        return float(self.beta_scale * 3.0 * width)

    def select(self, state: MENUState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest index, and repeat it until the epoch ends."""
        row = repeated_row(state.group, features)
        return row if row >= 0 else optimistic(state.fit, features, self.beta(state))

    def update(self, state: MENUState, x: FloatArray, reward: float) -> None:
        """Add a reward to the epoch; at the end of it, update the estimates and choose the most central one."""
        if not collect(state.group, x, reward):
            return
        thetas, turned, lower = state.thetas, state.turned, state.lower
        learn_each(state.fit, thetas, state.group)
        add_to_factor(lower, state.fit.row)
        n, size = thetas.shape
        for j in range(n):
            for i in range(size):
                turned[j, i] = 0.0
                for k in range(i, size):
                    turned[j, i] += lower[k, i] * thetas[j, k]
        best = most_central(turned, state.distances)
        for i in range(size):
            state.fit.theta[i] = thetas[best, i]

    def value(self, state: MENUState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.fit, x)

    def index_of(self, state: MENUState, x: FloatArray, t: int) -> float:
        """Return the upper end of the confidence interval."""
        return index_at(state.fit, x, self.beta(state))
