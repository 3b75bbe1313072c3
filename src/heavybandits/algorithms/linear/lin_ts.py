r"""Linear Thompson sampling with a normal model (Agrawal, Goyal 2013).

*Assumes* rewards :math:`x'\theta` plus normal noise.  *Must be told* its scale v.  *When that fails*: the estimate is
least squares, so heavy tails make regret linear; if v is too small, it may stay on a wrong row.

*Formula*: with :math:`V = \lambda I + \sum x x'` and :math:`\hat\theta = V^{-1} \sum x r`, draw
:math:`\tilde\theta \sim N(\hat\theta, v^2 V^{-1})` and play the row with the highest :math:`x'\tilde\theta`.

*Cost*: V is kept as its Cholesky factor L, and :math:`\tilde\theta = \hat\theta + v (L')^{-1} g` with normal g.  This
takes O(d²) for a reward, and d normal draws, O(d²) and O(d) per row for a choice; 8 (d² + 4 d) bytes.

*Reference*: S. Agrawal, N. Goyal, Thompson sampling for contextual bandits with linear payoffs, ICML 2013; their v is
:math:`R \sqrt{9 d \ln(T/\delta)}`, far larger than works well.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...numerics import clip
from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import Flag, NonNegative, Positive
from ..parts.choice.propensity import draw_row
from ._cholesky import LARGEST_SOLUTION, add_to_factor, draw_around, solve_lower, solve_upper
from ._design import dot
from ._rows import lift, row_of_highest_index, tame


class LinTSState(NamedTuple):
    """The posterior and the last draw from it."""

    lower: FloatArray  # Cholesky factor of V
    theta: FloatArray
    drawn: FloatArray
    row: FloatArray  # scratch: the current features
    direction: FloatArray  # scratch
    propensity: FloatArray | None = None  # per row: its probability in the last draw, if an agent asks for it


@register_policy(
    "lin-ts",
    needs="scale",
    memory="8 (d² + 4 d) bytes in all",
    cost="O(d² + K d)",
    regret="O(d^1.5 sqrt(T) ln T), for sub-Gaussian noise and v = R sqrt(9 d ln(T/delta))",
    reference="Agrawal, Goyal 2013",
    kind="linear",
    randomised=True,
    pinned={"scale": 0.3},
    zoo={"scale": 0.3},
)
class LinTS(NamedTuple):
    r"""Linear Thompson sampling.

    Parameters
    ----------
    scale
        v, the scale of the draws: that of the noise, or less.
    ridge
        :math:`\lambda`: the prior is :math:`N(0, v^2/\lambda)`.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> import numpy as np
    >>> policy = LinTS(scale=0.1)
    >>> state = policy.init(n_features=2, horizon=None)
    >>> policy.update(state, np.array([1.0, 0.0]), 4.0)
    >>> round(policy.value(state, np.array([1.0, 0.0])), 12)
    2.0
    >>> policy.select(state, np.eye(2), 1, np.random.default_rng(0))
    0
    """

    scale: NonNegative = 1.0
    ridge: Positive = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> LinTSState:
        """Return the prior."""
        size = n_features + int(self.intercept)
        return LinTSState(
            lower=math.sqrt(self.ridge) * np.eye(size),
            theta=np.zeros(size),
            drawn=np.zeros(size),
            row=np.ones(size),
            direction=np.zeros(size),
        )

    def select(self, state: LinTSState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row that is best under a draw from the posterior; ties go to the first."""
        return draw_row(self, state, state.propensity, features, t, rng)

    def draw_once(self, state: LinTSState, features: FloatArray, t: int, rng: Any) -> int:
        """Draw from the posterior, and return the best row."""
        draw_around(state.lower, state.theta, self.scale, state.drawn, rng)
        return row_of_highest_index(self, state, features, t)

    def update(self, state: LinTSState, x: FloatArray, reward: float) -> None:
        """Apply Bayes' rule."""
        lower, theta, row, direction = state.lower, state.theta, state.row, state.direction
        lift(row, x)
        error = tame(reward) - dot(theta, row)
        lift(direction, row)
        add_to_factor(lower, row)
        solve_lower(lower, direction)
        solve_upper(lower, direction)
        lift(row, x)
        leverage = dot(row, direction)  # from 0 to 1, unless rounding takes over: then the error must not grow
        length = error / max(leverage, 1.0) if leverage >= 0.0 else 0.0
        for i in range(len(theta)):
            theta[i] = clip(theta[i] + length * direction[i], LARGEST_SOLUTION)

    def value(self, state: LinTSState, x: FloatArray) -> float:
        """Return the posterior mean."""
        lift(state.row, x)
        return float(dot(state.theta, state.row))

    def index_of(self, state: LinTSState, x: FloatArray, t: int) -> float:
        """Return the value under the last draw."""
        lift(state.row, x)
        return float(dot(state.drawn, state.row))
