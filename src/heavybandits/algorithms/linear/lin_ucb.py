r"""LinUCB: least squares with a constant radius (Li, Chu, Langford, Schapire 2010).

*Assumes* rewards :math:`x'\theta` plus light-tailed noise.  *Must be told* the radius :math:`\beta`, of the size of the
noise.  *When that fails*: like OFUL, it is ruined by a single huge reward; if the radius is too small, it may stay on a
wrong row for ever.

*Formula*: with :math:`V = \lambda I + \sum x x'` and :math:`\hat\theta = V^{-1} \sum x r`, play the row with the
highest :math:`x'\hat\theta + \beta\,|x|_{V^{-1}}`.

*Cost*: O(d²) for a reward, O(d²) per row for a choice; 8 (4 d² + 4 d) bytes.

*Reference*: L. Li, W. Chu, J. Langford, R. E. Schapire, A contextual-bandit approach to personalized news article
recommendation, WWW 2010.  There each arm has its own theta; block features do the same here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import Flag, NonNegative, Positive
from ._rows import Fit, index_at, init_fit, learn_fit, optimistic, tame, value_at


class LinUCBState(NamedTuple):
    """The least-squares estimate."""

    fit: Fit


@register_policy(
    "lin-ucb",
    needs="scale",
    memory="8 (4 d² + 4 d) bytes in all",
    cost="O(K d²)",
    regret="none with a constant radius",
    reference="Li, Chu, Langford, Schapire 2010",
    kind="linear",
    pinned={"beta": 0.5},
)
class LinUCB(NamedTuple):
    r"""LinUCB.

    Parameters
    ----------
    beta
        :math:`\beta`, the radius, in units of the rewards.
    ridge
        :math:`\lambda`, the ridge penalty.
    intercept
        Whether to append a constant 1 to the features.

    Examples
    --------
    >>> import numpy as np
    >>> policy = LinUCB(beta=0.1)
    >>> state = policy.init(n_features=2, horizon=None)
    >>> policy.update(state, np.array([1.0, 0.0]), 0.5)
    >>> policy.select(state, np.eye(2), 1, None)
    0
    """

    beta: NonNegative = 1.0
    ridge: Positive = 1.0
    intercept: Flag = False

    def init(self, n_features: int, horizon: int | None) -> LinUCBState:
        return LinUCBState(init_fit(n_features, self.intercept, self.ridge))

    def select(self, state: LinUCBState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest index."""
        return optimistic(state.fit, features, self.beta)

    def update(self, state: LinUCBState, x: FloatArray, reward: float) -> None:
        """Update the least-squares estimate with a reward."""
        learn_fit(state.fit, x, tame(reward))

    def value(self, state: LinUCBState, x: FloatArray) -> float:
        """Return the estimated value."""
        return value_at(state.fit, x)

    def index_of(self, state: LinUCBState, x: FloatArray, t: int) -> float:
        """Return the estimated value plus the bonus."""
        return index_at(state.fit, x, self.beta)
