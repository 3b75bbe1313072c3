r"""What linear policies share: an estimate with its design, features with a 1 appended, the row of highest index.

A policy that learns an *intercept* sees every row of features with a constant 1 appended.  Rows are copied to a scratch
array before anything is computed, and any entry of that array beyond the row is set to 1.  So the formulas of a policy
need not know whether there is an intercept.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_within
from ...numerics import LARGEST_FLOAT, clip
from ...protocols import FloatArray, IntArray, compilable
from ._design import Design, add_row, dot, init_design, leverage

LARGEST_REWARD = 1e150  # its square is still finite


class Fit(NamedTuple):
    """A linear estimate and the design that it is based on."""

    design: Design
    theta: FloatArray
    row: FloatArray  # scratch: the current features
    seen: IntArray  # number of rewards so far

    def check(self, fresh: Fit, n_arms: int) -> None:
        """Refuse an estimate that is infinite."""
        require_within("theta", self.theta, -LARGEST_FLOAT, LARGEST_FLOAT)

    def ask(self, x: FloatArray) -> None:
        """Note that the reward of a row is pending."""
        lift(self.row, x)
        self.design.ask(self.row)

    def settle(self, x: FloatArray) -> None:
        """Note that a row is no longer pending."""
        lift(self.row, x)
        self.design.settle(self.row)


def init_fit(n_features: int, intercept: bool, ridge: float) -> Fit:
    """Return an estimate of 0, with this ridge on every coefficient.

    Examples
    --------
    >>> init_fit(n_features=2, intercept=True, ridge=1.0).theta
    array([0., 0., 0.])
    """
    size = n_features + int(intercept)
    return Fit(design=init_design(size, ridge), theta=np.zeros(size), row=np.ones(size), seen=np.zeros(1, np.int64))


@compilable
def tame(reward: float) -> float:
    """Return the reward, clipped so that its square is finite."""
    return clip(reward, LARGEST_REWARD)


@compilable
def lift(row: FloatArray, x: FloatArray) -> None:
    """Copy features into a scratch array, and set any further entries to 1.

    Examples
    --------
    >>> row = np.zeros(3)
    >>> lift(row, np.array([5.0, 7.0]))
    >>> row
    array([5., 7., 1.])
    """
    for i in range(len(x)):
        row[i] = x[i]
    for i in range(len(x), len(row)):
        row[i] = 1.0


@compilable
def value_at(fit: Fit, x: FloatArray) -> float:
    """Return the estimated value of a row of features."""
    lift(fit.row, x)
    return float(dot(fit.theta, fit.row))


@compilable
def index_at(fit: Fit, x: FloatArray, beta: float) -> float:
    """Return the estimated value of a row of features plus ``beta`` times the root of its leverage."""
    lift(fit.row, x)
    return float(dot(fit.theta, fit.row) + beta * math.sqrt(leverage(fit.design, fit.row)))


@compilable
def optimistic(fit: Fit, features: FloatArray, beta: float) -> int:
    """Return the row of highest index; ties go to the first.

    Examples
    --------
    >>> fit = init_fit(n_features=2, intercept=False, ridge=1.0)
    >>> learn_fit(fit, np.array([1.0, 0.0]), 0.4)
    >>> optimistic(fit, np.eye(2), 0.0), optimistic(fit, np.eye(2), 1.0)
    (0, 1)
    """
    best, highest = 0, -math.inf
    for a in range(len(features)):
        index = index_at(fit, features[a], beta)
        if index > highest:
            best, highest = a, index
    return best


@compilable
def row_of_highest_index(policy: Any, state: Any, features: FloatArray, t: int) -> int:
    """Return the row with the highest ``policy.index_of(state, row, t)``; ties go to the first."""
    best, highest = 0, -math.inf
    for a in range(len(features)):
        index = policy.index_of(state, features[a], t)
        if index > highest:
            best, highest = a, index
    return best


@compilable
def step(fit: Fit, error: float, weight: float) -> None:
    """Add ``fit.row`` with this weight, and move the estimate by the inverse of the design times ``error`` x.

    Examples
    --------
    >>> fit = init_fit(n_features=2, intercept=False, ridge=1.0)
    >>> lift(fit.row, np.array([1.0, 0.0]))
    >>> step(fit, error=3.0, weight=2.0)
    >>> fit.theta
    array([1., 0.])
    """
    theta, product = fit.theta, fit.design.product
    length = error / (1.0 + weight * add_row(fit.design, fit.row, weight))
    for i in range(len(theta)):
        theta[i] += length * product[i]
    fit.seen[0] += 1


@compilable
def learn_fit(fit: Fit, x: FloatArray, y: float) -> None:
    """Update the least-squares estimate with a row and its reward."""
    lift(fit.row, x)
    step(fit, y - dot(fit.theta, fit.row), 1.0)
