"""What an experiment does by itself: it ends when its stop rule is met, and pauses an arm that breaks a guardrail.

The log says so in an event of its own.  The server whose event leads to it adds it to the same transaction.  Others,
and replays, find it in the log and need not work it out again.
"""

from __future__ import annotations

import math

from ...evidence.scale import ENOUGH
from ..events import Config, Event
from .replica import Replica

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


def consequence(replica: Replica, event: Event) -> Config | None:
    """Return what follows from an event that an experiment has just taken in."""
    return pausing(replica, event) if event.kind == "named" else ending(replica, event.kind)


def pausing(replica: Replica, event: Event) -> Config | None:
    """Return the pause of an arm whose named reward shows that it breaks a guardrail.

    The control is never paused, nor an arm again that people have resumed.
    """
    arm, name = str(event.arm), str(event.key).rpartition("/")[2]
    if replica.state != "running" or arm not in replica.open or arm in (replica.control, *replica.paused_because):
        return None
    if not is_look(replica.named_rewards.of(name).n_of(arm)):
        return None
    found = replica.named_rewards.guarded(arm, replica.control, replica.spec.stop.delta, name)
    return next((Config(pause=arm, why=one.sentence) for one in found if one.state == "broken"), None)


def ending(replica: Replica, kind: str) -> Config | None:
    """Return the end of an experiment that has just taken in an event of this kind, if its stop rule is met."""
    stop = replica.spec.stop
    if stop.then == "ask" or replica.state != "running" or replica.ledger is None:
        return None
    is_used_up = kind == "decision" and stop.budget is not None and replica.decisions >= stop.budget
    if not is_used_up and not (kind in ("reward", "observe", "close") and is_look(replica.ledger.n)):
        return None
    arms = [arm for arm in replica.arms if arm in replica.agent_arms and not replica.is_ruled_out(arm)]
    found = replica.ledger.evidence(arms, replica.control, stop.delta, stop.eps, closest=1)
    if found.winner is not None:
        return Config(finish=found.winner, why=" ".join(found.sentences[:2]))
    if found.is_close and found.leader is not None:
        return Config(finish=found.leader, why=found.sentences[0])
    if is_used_up:
        why = f"the budget of {stop.budget:,} decisions was used up without a winner"
        return Config(finish=replica.control, why=why)
    return None
