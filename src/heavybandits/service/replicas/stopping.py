"""How an experiment ends by itself: when its stop rule is met, the log says so in an event of its own.

The server whose event meets the rule adds the end to the same transaction.  Others, and replays, find it in the log and
need not work it out again.
"""

from __future__ import annotations

import math

from ...evidence.scale import ENOUGH
from .replica import Config, Replica

LOOK_GROWTH = 1.0 + 1.0 / 16.0  # rewards grow by this factor between two looks


def is_look(n: int) -> bool:
    """Return whether to look after n rewards.

    Examples
    --------
    >>> [n for n in range(200) if is_look(n)][:12]
    [25, 27, 29, 30, 32, 34, 36, 38, 41, 43, 46, 49]
    """
    if n <= ENOUGH:
        return False
    now, before = (int(math.log(count) / math.log(LOOK_GROWTH)) for count in (n, n - 1))
    return now > before


def ending(replica: Replica, kind: str) -> Config | None:
    """Return the end of an experiment that has just taken in an event of this kind, if its stop rule is met."""
    stop = replica.spec.stop
    if stop.then == "ask" or replica.state != "running" or replica.ledger is None:
        return None
    if kind == "decision":
        if stop.budget is None or replica.decisions < stop.budget:
            return None
        why = f"the budget of {stop.budget:,} decisions was used up without a winner"
        return Config(finish=replica.control, why=why)
    if kind not in ("reward", "observe", "close") or not is_look(replica.ledger.n):
        return None
    arms = [arm for arm in replica.arms if arm in replica.agent_arms]
    found = replica.ledger.evidence(arms, replica.control, stop.delta, stop.eps, closest=1)
    if found.winner is not None:
        return Config(finish=found.winner, why=" ".join(found.sentences[:2]))
    if found.is_close and found.leader is not None:
        return Config(finish=found.leader, why=found.sentences[0])
    return None
