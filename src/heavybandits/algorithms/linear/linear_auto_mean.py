r"""For mean rewards that are linear in features: linear level sets by least squares.

*Assumes* that expected rewards are linear in the features, up to a constant, and noise with a variance; its law may
depend on the row.  *Needs* no prior knowledge.  *When that fails*: under noise without a variance, least squares follow
the largest rewards, and a single infinite reward ruins them.  Use ``linear-auto`` instead.

*Formula*: that of :mod:`.linear_auto`, always with means.

*Cost*: that of ``linear-auto``.

*Reference*: this library; see ``docs/linear.md``.
"""

from __future__ import annotations

from ..entries import Facts
from .linear_level_set_ucb import LinearLevelSetUCB

NAME = "linear-auto-mean"
EXAMPLE: dict[str, object] = {}
FACTS = Facts(
    needs="nothing",
    memory="O(d²)",
    cost="O(d²), O(K d²)",
    regret="none; measured in docs/linear.md",
    reference="this library",
)


def linear_auto_mean(c: float = 1.0) -> LinearLevelSetUCB:
    """Return linear level-set UCB that always compares means.

    Examples
    --------
    >>> linear_auto_mean().compares
    'means'
    """
    return LinearLevelSetUCB(degrees=0.0, c=c, compares="means")
