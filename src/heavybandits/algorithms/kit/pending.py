"""What a state is told of decisions and of what becomes of them: asked for, settled by a reward, or given up.

A policy that heeds pending decisions has a :class:`~.late.Late` in its state, in its tournament or by itself.  One that
draws arms by chance has in ``awaited`` the probability of the decision whose reward is taken in next.  Others know of
neither, and nothing is noted for them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...protocols import FloatArray, IntArray, compilable, is_named_tuple
from .ftrl import Draws
from .late import Late
from .tournament import Tournament, narrow


class Pending(NamedTuple):
    """The parts of a state that have to do with pending decisions; ``None`` if there is no such part."""

    late: Late | None = None
    tournament: Tournament | None = None
    pulls: IntArray | None = None
    awaited: FloatArray | None = None  # per arm: probability of the decision whose reward comes next


def find_pending(state: Any) -> Pending:
    """Return the parts of a state, or of one nested in it, that have to do with pending decisions.

    Examples
    --------
    >>> import heavybandits as hb
    >>> find_pending(hb.UCB().init(n_arms=2, horizon=None)).late.pending.tolist()
    [0, 0]
    """
    if not is_named_tuple(state):
        return Pending()
    tournament = getattr(state, "tournament", None)
    if isinstance(tournament, Tournament):
        return Pending(late=tournament.late, tournament=tournament, pulls=state.pulls)
    if isinstance(getattr(state, "late", None), Late):
        return Pending(late=state.late, pulls=state.pulls)
    if isinstance(getattr(state, "draws", None), Draws):
        return Pending(awaited=state.draws.awaited)
    return next((found for found in map(find_pending, state) if any(part is not None for part in found)), Pending())


@compilable
def note(late: Late | None, tournament: Tournament | None, pulls: IntArray, arm: int, pending: int, lost: int) -> None:
    """Add to the arm's pending decisions, and to those that were given up."""
    if late is None:
        return
    if late.pending[arm] + pending < 0:  # a reward that nobody asked for settles nothing
        return
    late.pending[arm] += pending
    late.lost[arm] += lost
    if pending > 0:
        late.asked[arm] += pending
    bring_up_to_date(tournament, pulls, arm)


@compilable
def bring_up_to_date(tournament: Tournament | None, pulls: IntArray, arm: int) -> None:
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
    note(pending.late, pending.tournament, pending.pulls, arm, 1, 0)


@compilable
def settle(pending: Pending, arm: int) -> None:
    """Note that the reward of one of the arm's decisions has come, if one is pending."""
    note(pending.late, pending.tournament, pending.pulls, arm, -1, 0)


@compilable
def give_up(pending: Pending, arm: int) -> None:
    """Note that the reward of one of the arm's decisions will never come."""
    note(pending.late, pending.tournament, pending.pulls, arm, -1, 1)
