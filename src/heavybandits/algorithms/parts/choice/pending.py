"""Decisions as a state records them: made, settled by a reward, or given up.

A policy that takes pending decisions into account has a :class:`~.late.Late` in its state, in its tournament or on its
own.  A policy that passes one number for several rewards to a policy inside it has one too, and the policy inside
counts these numbers.  A policy that draws arms at random keeps, in ``awaited``, the probability of the decision whose
reward comes next.  For all other policies nothing is recorded, nor for a state whose ``hides_pending`` is true.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....protocols import FloatArray, IntArray, compilable, is_named_tuple
from .ftrl import Draws
from .late import Late
from .tournament import Tournament, narrow


class Pending(NamedTuple):
    """The parts of a state that concern pending decisions; ``None`` if there is no such part."""

    late: Late | None = None
    tournament: Tournament | None = None
    pulls: IntArray | None = None
    awaited: FloatArray | None = None  # per arm: probability of the decision whose reward comes next
    outer: Late | None = None  # counts of rewards, if ``late`` counts groups of them
    group: IntArray | None = None  # array of length one: rewards in a group


def find_pending(state: Any) -> Pending:
    """Return the parts of a state, or of one nested in it, that concern pending decisions.

    Examples
    --------
    >>> import heavybandits as hb
    >>> find_pending(hb.UCB().init(n_arms=2, horizon=None)).late.pending.tolist()
    [0, 0]
    """
    if not is_named_tuple(state) or getattr(state, "hides_pending", False):
        return Pending()
    tournament = getattr(state, "tournament", None)
    if isinstance(tournament, Tournament):
        return Pending(late=tournament.late, tournament=tournament, pulls=state.pulls)
    if isinstance(getattr(state, "draws", None), Draws):
        return Pending(late=state.draws.late, awaited=state.draws.awaited)
    late = getattr(state, "late", None)
    if isinstance(late, Late) and hasattr(state, "inner"):
        return find_pending(state.inner)._replace(outer=late, group=np.array([state.waiting.shape[1]]))
    if isinstance(late, Late):
        return Pending(late=late, pulls=state.pulls)
    return next((found for found in map(find_pending, state) if any(part is not None for part in found[:5])), Pending())


@compilable
def note(pending: Pending, arm: int, waiting: int, lost: int) -> None:
    """Add to the numbers of the arm's pending and lost decisions."""
    change(pending.late, pending.outer, pending.group, arm, waiting, lost)
    bring_up_to_date(pending.tournament, pending.pulls, arm)


@compilable
def change(
    late: Late | None, outer: Late | None, group: IntArray | None, arm: int, waiting: int, lost: int
) -> None:  # fmt: skip
    """Change the counts of an arm, and those of its groups if there are groups."""
    if outer is None:
        count_decisions(late, arm, waiting, lost)
        return
    count_decisions(outer, arm, waiting, lost)
    regroup(late, outer, group, arm)


@compilable
def count_decisions(late: Late | None, arm: int, waiting: int, lost: int) -> None:
    """Change the counts of an arm, if there are any."""
    if late is None:
        return
    if late.pending[arm] + waiting < 0:  # a reward without a decision settles nothing
        return
    late.pending[arm] += waiting
    late.lost[arm] += lost
    if waiting > 0:
        late.asked[arm] += waiting


@compilable
def regroup(late: Late | None, outer: Late, group: Any, arm: int) -> None:
    """Count groups: partial ones count as asked or pending, but only whole ones as given up."""
    if late is None:
        return
    late.asked[arm] = -(-outer.asked[arm] // group[0])
    late.pending[arm] = -(-outer.pending[arm] // group[0])
    late.lost[arm] = outer.lost[arm] // group[0]


@compilable
def bring_up_to_date(tournament: Tournament | None, pulls: Any, arm: int) -> None:
    """Narrow the arm's line in the tournament, if there is one."""
    if tournament is None:
        return
    narrow(tournament, arm, pulls[arm])


@compilable
def ask(pending: Pending, arm: int) -> None:
    """Note a decision for the arm.

    Examples
    --------
    >>> import heavybandits as hb
    >>> state = hb.UCB().init(n_arms=2, horizon=None)
    >>> ask(find_pending(state), 1)
    >>> state.tournament.late.pending.tolist()
    [0, 1]
    """
    note(pending, arm, 1, 0)


def move_decision(pending: Pending, arm: int, to: int) -> None:
    """Let the decision that was noted last, for an arm, be for another one instead.

    Examples
    --------
    >>> import heavybandits as hb
    >>> state = hb.UCB().init(n_arms=2, horizon=None)
    >>> ask(find_pending(state), 1)
    >>> move_decision(find_pending(state), 1, to=0)
    >>> state.tournament.late.pending.tolist(), state.tournament.late.asked.tolist()
    ([1, 0], [1, 0])
    """
    counts = pending.late if pending.outer is None else pending.outer
    if counts is not None:
        counts.asked[arm] -= 1
    note(pending, arm, -1, 0)
    ask(pending, to)


@compilable
def settle(pending: Pending, arm: int) -> None:
    """Note that the reward of one of the arm's decisions has come, if one is pending."""
    note(pending, arm, -1, 0)


@compilable
def give_up(pending: Pending, arm: int) -> None:
    """Note that the reward of one of the arm's decisions will never come."""
    note(pending, arm, -1, 1)
