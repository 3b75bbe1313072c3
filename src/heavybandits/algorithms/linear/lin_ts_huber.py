r"""Linear Thompson sampling around a Huber regression.

*Assumes* rewards :math:`x'\theta` plus noise of one scale that is symmetric about zero, whatever its tails.  *Must be
told* nothing but how much to explore.  *When that fails*: if v is too small, it may stay on a wrong row; under skewed
noise clipped errors do not average to zero, so regret is linear unless ``intercept`` is set.  If rows differ in size by
a factor of 10,000, it learns slowly: errors of all rows are clipped at one scale, and the largest rows bound each step
of a fit.  Divide features by their spread, or use ``linear-auto``.

*Formula*: with :math:`\hat\theta` and the scale :math:`\hat\sigma` from Huber regression (:mod:`._huber_line`) and
:math:`V = \lambda I + \sum x x'`, draw :math:`\tilde\theta \sim N(\hat\theta, v^2 \hat\sigma^2 V^{-1})` and play the
row with the highest :math:`x'\tilde\theta`.

*Cost*: O(d²) for a reward, plus 20 to 600 times O(d) as its share of the fits; d normal draws, O(d²) and O(d) per row
for a choice; at most 32 (d + 4) bytes per reward.

*Reference*: this library, after S. Agrawal, N. Goyal, ICML 2013, and P. J. Huber, Annals of Statistics 1973.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import Flag, NonNegative, Positive
from ..parts.choice.propensity import draw_row
from ._cholesky import add_to_factor, draw_around
from ._design import dot
from ._huber_line import HuberLine, init_huber_line, learn_huber_line
from ._rows import lift, row_of_highest_index, value_at


class LinTSHuberState(NamedTuple):
    """The regression, and the last draw around it."""

    line: HuberLine
    lower: FloatArray  # Cholesky factor of V
    drawn: FloatArray
    propensity: FloatArray | None = None  # per row: its probability in the last draw, if an agent asks for it


@register_policy(
    "lin-ts-huber",
    needs="how much to explore",
    memory="32 (d + 4) n bytes in all",
    cost="O(d² + K d) amortised",
    regret="none",
    reference="this library, after Agrawal, Goyal 2013",
    kind="linear",
    randomised=True,
    pinned={"scale": 0.3},
    zoo={"scale": 0.3, "intercept": True},
)
class LinTSHuber(NamedTuple):
    r"""Linear Thompson sampling around a Huber regression.

    Parameters
    ----------
    scale
        v, the scale of the draws in units of the learned scale of the noise.
    ridge
        :math:`\lambda`, the ridge penalty.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> import numpy as np
    >>> policy = LinTSHuber(scale=0.1)
    >>> state = policy.init(n_features=2, horizon=None)
    >>> for reward in (3.9, 4.0, 4.1, -1e9, 4.0):
    ...     policy.update(state, np.array([1.0, 0.0]), reward)
    >>> policy.select(state, np.eye(2), 5, np.random.default_rng(0))
    0
    """

    scale: NonNegative = 1.0
    ridge: Positive = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> LinTSHuberState:
        size = n_features + int(self.intercept)
        return LinTSHuberState(
            line=init_huber_line(n_features, self.intercept, self.ridge, horizon),
            lower=math.sqrt(self.ridge) * np.eye(size),
            drawn=np.zeros(size),
        )

    def select(self, state: LinTSHuberState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row that is best under a draw; ties go to the first."""
        return draw_row(self, state, state.propensity, features, t, rng)

    def draw_once(self, state: LinTSHuberState, features: FloatArray, t: int, rng: Any) -> int:
        """Draw around the estimate, and return the best row."""
        known = state.line.scale[0]
        draw_around(
            state.lower, state.line.huber.fit.theta, self.scale * (known if known > 0.0 else 1.0), state.drawn, rng
        )
        return row_of_highest_index(self, state, features, t)

    def update(self, state: LinTSHuberState, x: FloatArray, reward: float) -> None:
        """Update the regression with a reward, and the law of the draws."""
        learn_huber_line(state.line, x, reward)
        row = state.line.huber.fit.row
        lift(row, x)
        add_to_factor(state.lower, row)

    def value(self, state: LinTSHuberState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.line.huber.fit, x)

    def index_of(self, state: LinTSHuberState, x: FloatArray, t: int) -> float:
        """Return the value under the last draw."""
        row = state.line.huber.fit.row
        lift(row, x)
        return float(dot(state.drawn, row))
