r"""Late rewards: how pending decisions affect a choice.

A decision whose reward has not come is *pending*; it narrows the bonus of its arm as if the reward had come but left
the estimate as it was.  With n rewards seen, p pending and l given up, the bonus :math:`U - x` is multiplied by

.. math::  f = \max\Bigl(\tfrac12, \sqrt{n/(n + p\,(n+1)/(n+l+1))}\Bigr).

An arm *waits* while its first rewards are pending, or while its index is infinite and any are pending.  It is chosen
again only if it has been chosen less than four times as often as the least chosen of the other arms.  Without pending
decisions nothing changes, to the last bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...protocols import IntArray, compilable

PATIENCE = 4  # an arm that waits is chosen less than this many times as often as the others
MANY = 2**40  # more decisions than there ever are


class Late(NamedTuple):
    """The number of decisions for each arm, and what became of them."""

    asked: IntArray  # decisions, whether or not their rewards have come
    pending: IntArray  # decisions whose rewards have not come
    lost: IntArray  # decisions whose rewards were given up


def init_late(n_arms: int) -> Late:
    """Return counts of zero."""
    return Late(asked=np.zeros(n_arms, np.int64), pending=np.zeros(n_arms, np.int64), lost=np.zeros(n_arms, np.int64))


@compilable
def is_due(late: Late, pulls: IntArray, arm: int, initial: int) -> bool:
    """Return whether the arm still lacks one of its ``initial`` pulls.

    Pending decisions count as pulls, and so do rewards without a decision.

    Examples
    --------
    >>> late, pulls = init_late(2), np.array([0, 1])
    >>> is_due(late, pulls, 0, 1), is_due(late, pulls, 1, 1)
    (True, False)
    >>> late.asked[0] = 1
    >>> is_due(late, pulls, 0, 1)
    False
    """
    return bool(late.asked[arm] < initial and pulls[arm] < initial)


@compilable
def bonus_factor(late: Late, arm: int, n: int) -> float:
    """Return the factor of the bonus of an arm with n rewards; 1 if nothing is pending.

    Examples
    --------
    >>> late = init_late(1)
    >>> bonus_factor(late, 0, 3)
    1.0
    >>> late.pending[0] = 3
    >>> round(bonus_factor(late, 0, 3), 3), bonus_factor(late, 0, 1)
    (0.707, 0.5)
    """
    pending = late.pending[arm]
    if pending == 0:
        return 1.0
    return max(0.5, math.sqrt(n / (n + pending * ((n + 1.0) / (n + late.lost[arm] + 1.0)))))
