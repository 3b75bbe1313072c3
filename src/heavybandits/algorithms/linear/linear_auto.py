r"""For rewards that are linear in features, when nothing else is known about them: linear level sets.

*Assumes* that expected rewards are linear in the features, up to a constant, and noise with the same law for all rows,
whatever its tails.  *Needs* no prior knowledge: no moments, scale, bound on theta or horizon.  *When that fails*: it
compares locations, as medians do.  If the shape of the noise depends on the row, so that the row with the highest mean
is not the one with the highest location, use ``linear-auto-mean``.

*Formula*: that of :mod:`.linear_level_set_ucb` with a learned law and scale.  Rewards that repeat, such as coin tosses
or orders that are mostly zero, have no useful location; it then compares means, by least squares.

*Cost*: that of :mod:`.linear_level_set_ucb`.

*Reference*: this library; see ``docs/linear.md``.
"""

from __future__ import annotations

from ..entries import Facts
from .linear_level_set_ucb import LinearLevelSetUCB

NAME = "linear-auto"
EXAMPLE: dict[str, object] = {}
FACTS = Facts(
    needs="nothing",
    memory="O(d²)",
    cost="O(d²), O(K d²)",
    regret="none; measured in docs/linear.md",
    reference="this library",
)


def linear_auto(c: float = 1.0) -> LinearLevelSetUCB:
    """Return linear level-set UCB that learns the law of the noise, and uses least squares where rewards repeat.

    Examples
    --------
    >>> import numpy as np
    >>> policy, rows = linear_auto(), np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    >>> state = policy.init(n_features=2, horizon=None)
    >>> for t, reward in enumerate([1.0, 1.1, 1e9, 5.0, 3.1, 5.1, 3.0, 4.9, -1e9, 0.9]):
    ...     policy.update(state, rows[(0, 0, 0, 1, 2, 1, 2, 1, 1, 0)[t]], reward)
    >>> policy.goal(state), [round(policy.value(state, x)) for x in rows]
    ('location', [1, 5, 3])
    """
    return LinearLevelSetUCB(degrees=0.0, c=c)
