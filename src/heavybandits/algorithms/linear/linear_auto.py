r"""What to use for rewards that are linear in features when nothing is known of them: linear level sets.

*Assumes* that expected rewards are linear in the features, up to a constant, and noise with the same law for all rows,
whatever its tails.  *Needs* no prior knowledge: neither moments nor a scale, a bound on theta or a horizon.  *When that
fails*: it compares locations, as medians do.  If the shape of the noise depends on the row, so that the highest mean
and the highest location are of different rows, use ``linear-auto-mean``.

*Formula*: the row with the highest :math:`b + (x - \bar x)'\theta + w(h)`, where h is the leverage of x and w the half
width of the level set of :mod:`~heavybandits.algorithms.kit.linear_level_set`; how the line, the law of the noise, its
scale and the ridge are learned says :mod:`~heavybandits.algorithms.kit.linear_sets`.  Rewards that repeat, such as
coins or orders of which most are zero, have no useful location; it then compares means, by least squares.

*Cost*: O(d²) for a reward, O(K d²) for a choice, O(K d) if the rows stay the same; fits to the first 30 d rewards.

*Reference*: this library; see ``docs/linear.md``.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from ...protocols import FloatArray
from ..entries import Facts
from ..kit.linear_level_set import best_row, half_width
from ..kit.linear_sets import FITTED, LAW, LinearSets, init_linear_sets, learn, prepare, width_of
from ..kit.robust_line import approach, predict
from ..kit.two_piece_laws import LEARNED
from ..parameters import Positive, validated

NAME = "linear-auto"
EXAMPLE: dict[str, object] = {}
FACTS = Facts(
    needs="nothing",
    memory="O(d²)",
    cost="O(d²), O(K d²)",
    regret="nothing; measured in docs/linear.md",
    reference="this library",
)


@validated
class LinearAuto(NamedTuple):
    r"""Linear level-set UCB with a learned noise, and least squares where rewards repeat.

    Parameters
    ----------
    c
        How much to explore.
    compares
        ``"either"`` compares locations, or means where rewards repeat; ``"means"`` always compares means.

    Examples
    --------
    >>> import numpy as np, heavybandits as hb
    >>> rng = np.random.default_rng(0)
    >>> policy = hb.make("linear-auto")
    >>> state = policy.init(n_features=2, horizon=None)
    >>> features = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
    >>> rows = []
    >>> for t in range(100):
    ...     rows.append(policy.select(state, features, t, None))
    ...     policy.update(state, features[rows[-1]], features[rows[-1]] @ [1.0, 3.0] + 0.1 * rng.standard_cauchy())
    >>> rows.count(1) > 80
    True
    """

    c: Positive = 1.0
    compares: Literal["either", "means"] = "either"

    def init(self, n_features: int, horizon: int | None) -> LinearSets:
        """Return a fresh state."""
        return init_linear_sets(n_features, horizon, LEARNED, 0.0, self.compares == "means")

    def select(self, state: LinearSets, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest index; of infinite ones, that with the highest leverage."""
        prepare(state, features)
        model, width = state.model, width_of(state, self.c)
        if model.pending[0] > 0:
            return best_row(model.line, model.asked, state.arms, features, width, False)
        return best_row(model.line, model.inverse, state.arms, features, width, True)

    def update(self, state: LinearSets, x: FloatArray, reward: float) -> None:
        """Learn from the reward of a row."""
        learn(state, x, reward)

    def goal(self, state: LinearSets) -> str:
        """Return what rows are compared by now, ``"location"`` or ``"mean"``."""
        return "mean" if state.counts[LAW] == len(state.laws) - 1 else "location"

    def value(self, state: LinearSets, x: FloatArray) -> float:
        """Return the predicted reward of a row."""
        return predict(state.model.line, x) if state.counts[FITTED] else math.nan

    def index_of(self, state: LinearSets, x: FloatArray, t: int) -> float:
        """Return the upper end of what is not ruled out for the row."""
        model = state.model
        leverage = approach(model, model.asked if model.pending[0] > 0 else model.inverse, x)
        return predict(model.line, x) + half_width(width_of(state, self.c), leverage)
