"""A new experiment: its row, and its first event."""

from __future__ import annotations

import msgspec

from .events import Event
from .replica import Config
from .replicas import Replicas
from .spec import MAX_EXPERIMENTS, Experiment
from .storage import Session
from .turn import Outcome, problem


def create(session: Session, replicas: Replicas, name: str, spec: Experiment, by: str | None, now: int) -> Outcome:
    """Create an experiment, unless there is one with this name."""
    text = msgspec.json.encode(spec, order="deterministic").decode()
    with session.transaction():
        session.lock_experiments()
        head = session.head(name)
        if head is None:
            if len(session.next_seqs()) >= MAX_EXPERIMENTS:
                return problem(409, "too many experiments", f"a database holds at most {MAX_EXPERIMENTS} experiments")
            new = session.add_experiment(name, text)
            body = msgspec.json.encode(Config(create=spec, by=by)).decode()
            session.append([Event(new.id, 1, "config", None, None, None, None, None, now, None, body)])
            session.set_next_seq(new.id, 2)
    if head is not None and head.spec != text:
        return problem(409, "experiment differs", f"experiment {name!r} exists with a different description")
    replica = replicas.load(session, name)
    assert replica is not None  # it was stored just now or before
    return Outcome(201 if head is None else 200, replica.view())
