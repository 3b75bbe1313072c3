"""Experiments without a server: replicas that have taken in events, and what the page draws of them."""

from typing import Any

import msgspec
import numpy as np

from heavybandits.service.dashboard.intervals import ArmBar, Picture, against_control
from heavybandits.service.dashboard.known import Known
from heavybandits.service.events import Config, Event
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.spec import Arm, Experiment

Rewards = list[tuple[str, float]]  # arms and what they paid

BEGIN = 10**15


def experiment(*names: str, **more: Any) -> Experiment:
    """Return an experiment with these arms, whose policy needs no compiling."""
    return Experiment(arms=[Arm(name) for name in names], policy="epsilon-greedy", **more)


def coins(shares: dict[str, float], rounds: int, seed: int = 0, size: float = 1.0) -> Rewards:
    """Return rewards of arms that pay in a share of the rounds, all of them one amount."""
    rng = np.random.default_rng(seed)
    return [(name, size * float(rng.random() < share)) for _ in range(rounds) for name, share in shares.items()]


def played(spec: Experiment, rewards: Rewards) -> Replica:
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


def drawn(found: Known) -> tuple[Picture, dict[str, ArmBar]]:
    """Return the picture of an experiment's arms against their control, and its bars by arm."""
    made = against_control(found)
    assert made is not None
    return made, {bar.name: bar for bar in made.bars}
