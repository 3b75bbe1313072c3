"""Experiments without a server: replicas that have taken in events."""

import msgspec

from heavybandits.service.events import Config, Event
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.spec import Experiment

BEGIN = 10**15


def played(spec: Experiment, rewards: list[tuple[str, float]]) -> Replica:
    """Return an experiment after decisions, each with its reward."""
    replica = Replica(1, "x")
    replica.apply(event(replica, "config", None, None, body=msgspec.json.encode(Config(create=spec)).decode()))
    for arm, value in rewards:
        play(replica, arm, value)
    return replica


def play(replica: Replica, arm: str, value: float, t: int = BEGIN) -> None:
    """Make a decision for an arm, and learn its reward."""
    replica.apply(event(replica, "decision", arm, None, t))
    replica.apply(event(replica, "reward", arm, value, t))


def event(
    replica: Replica, kind: str, arm: str | None, value: float | None, t: int = BEGIN, body: str | None = None
) -> Event:  # fmt: skip
    """Return the replica's next event."""
    seq = replica.seq + 1
    return Event(replica.exp, seq, kind, f"k{seq // 2}", arm, value, 1.0, "policy", t, None, body)
