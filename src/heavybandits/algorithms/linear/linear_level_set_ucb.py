r"""Level sets of a linear model: the K-armed level-set UCB with leverages in place of counts.

*Assumes* that expected rewards are linear in the features, up to a constant, and noise with the same law for all rows.
*Must be told* the degrees of freedom of a Student law that resembles the noise, and its scale; both can be learned, as
in ``linear-auto``.  *When that fails*: if the tails of the law are too light, single rewards count too much.

*Formula*: play the row with the highest :math:`b + (x - \bar x)'\theta + w(h)`, where h is the leverage of x and w the
half width of the level set of :mod:`._level_set.half_widths`.  How the line, the law of the noise, its scale and the
ridge are learned is described in :mod:`._level_set.learning`.

*Cost*: O(d²) for a reward, O(K d²) for a choice, or O(K d) if the rows stay the same; also fits to the first 30 d
rewards, but at least 300, and at most 600 or 10 d, whichever is more.

*Reference*: this library; see ``docs/linear.md``.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from ...protocols import FloatArray
from ..entries import register_policy, register_preset
from ..parameters import NonNegative, Positive
from ._level_set.half_widths import half_width
from ._level_set.learning import learn_line, prepare_rows
from ._level_set.level_set import best_row
from ._level_set.robust_line import leverage_with_pending, predict
from ._level_set.sets import LinearSets, compares_means, init_linear_sets, unexplored_row, width_of
from ._level_set.two_piece_laws import LEARNED


@register_policy(
    "linear-level-set-ucb",
    needs="noise, or nothing",
    memory="O(d²)",
    cost="O(d²), O(K d²)",
    regret="none; measured in docs/linear.md",
    reference="this library",
    kind="linear",
    pinned={"degrees": 2.0, "c": 2.0},
)
class LinearLevelSetUCB(NamedTuple):
    r"""Linear level-set UCB.

    Parameters
    ----------
    degrees
        Degrees of freedom of the Student law whose negative log density is the loss.  1 is the Cauchy law; 0 means
        that the law is learned, skewed laws included.
    scale
        Scale of that law; 0 means that it is learned.
    c
        How much to explore.
    compares
        ``"either"`` compares locations, or means where rewards repeat; ``"means"`` always compares means.

    Examples
    --------
    >>> import numpy as np, heavybandits as hb
    >>> rng = np.random.default_rng(0)
    >>> policy = hb.make("linear-level-set-ucb", degrees=1)
    >>> state = policy.init(n_features=2, horizon=None)
    >>> features = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
    >>> rows = []
    >>> for t in range(100):
    ...     rows.append(policy.select(state, features, t, None))
    ...     policy.update(state, features[rows[-1]], features[rows[-1]] @ [1.0, 3.0] + 0.1 * rng.standard_cauchy())
    >>> rows.count(1) > 80
    True
    """

    degrees: NonNegative = 1.0
    scale: NonNegative = 0.0
    c: Positive = 1.0
    compares: Literal["either", "means"] = "either"

    def init(self, n_features: int, horizon: int | None) -> LinearSets:
        laws = LEARNED if self.degrees == 0.0 else ((self.degrees, self.degrees, 1.0),)
        return init_linear_sets(n_features, horizon, laws, self.scale, self.compares == "means")

    def select(self, state: LinearSets, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row with the highest index; among infinite indices, the one with the highest leverage.

        With many features and few rewards, rows with features that were never played come first.
        """
        prepare_rows(state, features)
        row = unexplored_row(state, features)
        return row if row >= 0 else best_row(state.model, state.arms, features, width_of(state, self.c))

    def update(self, state: LinearSets, x: FloatArray, reward: float) -> None:
        """Learn from the reward of a row."""
        learn_line(state, x, reward)

    def goal(self, state: LinearSets) -> str:
        """Return what rows are compared by at present, ``"location"`` or ``"mean"``."""
        return "mean" if compares_means(state) else "location"

    def value(self, state: LinearSets, x: FloatArray) -> float:
        """Return the predicted reward of a row."""
        return predict(state.model.line, x) if state.numbers[0].clock > 0 else math.nan

    def index_of(self, state: LinearSets, x: FloatArray, t: int) -> float:
        """Return the highest value that is not ruled out for a row."""
        leverage = leverage_with_pending(state.model, x)
        return predict(state.model.line, x) + half_width(width_of(state, self.c), leverage)


@register_preset(
    "linear-auto",
    LinearLevelSetUCB,
    lambda policy: policy[:2] == (0.0, 0.0) and policy.compares == "either",
    needs="nothing",
    look="hero dash-dot",
)
def LinearAuto(c: float = 1.0) -> LinearLevelSetUCB:
    r"""For rewards that are linear in features, when nothing else is known about them: linear level sets.

    *Assumes* that expected rewards are linear in the features, up to a constant, and noise with the same law for all
    rows, whatever its tails.  *Needs* no prior knowledge: no moments, scale, bound on theta or horizon.  *When that
    fails*: it compares locations, as medians do.  If the shape of the noise depends on the row, so that the row with
    the highest mean is not the one with the highest location, use ``linear-auto-mean``.

    *Formula*: that of :mod:`.linear_level_set_ucb` with a learned law and scale.  Rewards that repeat, such as coin
    tosses or orders that are mostly zero, have no useful location; it then compares means, by least squares.

    *Cost*: that of :mod:`.linear_level_set_ucb`.

    *Reference*: this library; see ``docs/linear.md``.

    Examples
    --------
    >>> import numpy as np
    >>> policy, rows = LinearAuto(), np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    >>> state = policy.init(n_features=2, horizon=None)
    >>> for t, reward in enumerate([1.0, 1.1, 1e9, 5.0, 3.1, 5.1, 3.0, 4.9, -1e9, 0.9]):
    ...     policy.update(state, rows[(0, 0, 0, 1, 2, 1, 2, 1, 1, 0)[t]], reward)
    >>> policy.goal(state), [round(policy.value(state, x)) for x in rows]
    ('location', [1, 5, 3])
    """
    return LinearLevelSetUCB(degrees=0.0, c=c)


@register_preset(
    "linear-auto-mean",
    LinearLevelSetUCB,
    lambda policy: policy[:2] == (0.0, 0.0) and policy.compares == "means",
    needs="nothing",
)
def LinearAutoMean(c: float = 1.0) -> LinearLevelSetUCB:
    r"""For mean rewards that are linear in features: linear level sets by least squares.

    *Assumes* that expected rewards are linear in the features, up to a constant, and noise with a variance; its law
    may depend on the row.  *Needs* no prior knowledge.  *When that fails*: under noise without a variance, least
    squares follow the largest rewards, and a single infinite reward ruins them.  Use ``linear-auto`` instead.

    *Formula*: that of ``linear-auto``, always with means.

    *Cost*: that of ``linear-auto``.

    *Reference*: this library; see ``docs/linear.md``.

    Examples
    --------
    >>> LinearAutoMean().compares
    'means'
    """
    return LinearLevelSetUCB(degrees=0.0, c=c, compares="means")
