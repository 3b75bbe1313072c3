r"""Late rewards: how pending decisions affect a choice.

A decision whose reward has not come is *pending*; it narrows the bonus of its arm as if the reward had come but left
the estimate as it was.  With n rewards seen, p pending and l given up, the bonus :math:`U - x` is multiplied by

.. math::  f = \max\Bigl(\tfrac12, \sqrt{n/(n + p\,(n+1)/(n+l+1))}\Bigr).

An arm *waits* while its first rewards are pending, or while its index is infinite and any are pending.  It is chosen
again only if it has been chosen less than four times as often as the least chosen of the other arms.  Without pending
decisions nothing changes, to the last bit.

Policies that draw arms at random have no index that could stay high, but no reward is no bad news to them either: an
arm that does not report would be drawn more and more.  So it is left out of a draw while it is *silent*: while it has
been chosen at least four times as often as the least chosen of the arms that report, and at least 4K times for each
reward that it brought.  If rewards of all arms are late alike, no arm is silent for long: of K arms between which the
policy cannot tell yet, each was chosen in 1/K of the rounds whose rewards come now, so an arm that is chosen in every
round from now on still gets a reward in K rounds.  An arm that stops reporting after n rewards gets at most 4K n
decisions, or four times as many as the least chosen arm, whatever the horizon.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ....protocols import BoolArray, IntArray, compilable

WAITING_FACTOR = 4  # an arm that waits is chosen less than this many times as often as the others
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
def answered(late: Late, arm: int) -> int:
    """Return how many of the arm's decisions have brought a reward."""
    return int(late.asked[arm] - late.pending[arm] - late.lost[arm])


@compilable
def least_asked(late: Late, open: BoolArray) -> int:
    """Return the number of decisions for the least chosen of the open arms that have brought a reward."""
    least = MANY
    for arm in range(len(open)):
        if open[arm] and answered(late, arm) > 0:
            least = min(least, late.asked[arm])
    return least


@compilable
def is_silent(late: Late, arm: int, least: int) -> bool:
    """Return whether the arm brings too few rewards to be drawn now, given :func:`least_asked`.

    Examples
    --------
    >>> late, open = init_late(2), np.ones(2, np.bool_)
    >>> late.asked[:] = late.pending[0] = 4
    >>> is_silent(late, 0, least_asked(late, open))
    False
    >>> late.asked[0] = late.pending[0] = 16
    >>> is_silent(late, 0, least_asked(late, open))
    True
    """
    asked, rewards = late.asked[arm], answered(late, arm)
    return bool(asked > rewards and asked >= WAITING_FACTOR * max(least, len(late.asked) * rewards))


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
