"""A new experiment: its row, and its first event."""

from __future__ import annotations

import msgspec

from ..events import Config, Event
from ..log.turn import Outcome, refusal
from ..replicas.links import first_link, next_link
from ..spec import MAX_EXPERIMENTS, Experiment
from ..storage import Session
from .changes import as_created


def create(session: Session, name: str, spec: Experiment, by: str | None, now: int) -> Outcome:
    """Create an experiment, unless there is one with this name; the answer does not show it yet."""
    asked, spec = spec, as_created(spec)
    text = msgspec.json.encode(spec, order="deterministic").decode()
    with session.transaction():
        session.lock_experiments()
        head = session.head(name)
        if head is None:
            if len(session.progress()) >= MAX_EXPERIMENTS:
                return refusal(409, "too many experiments", f"a database holds at most {MAX_EXPERIMENTS} experiments")
            new = session.add_experiment(name, text)
            body = msgspec.json.encode(Config(create=spec, by=by)).decode()
            event = Event(new.id, 1, "config", None, None, None, None, None, now, None, body)
            session.append([event])
            session.set_last(new.id, 1, next_link(first_link(new.id, name), event))
    # One that was made when defaults were never provisional is the same if nothing is said about that.
    if head is not None and head.spec not in (text, msgspec.json.encode(asked, order="deterministic").decode()):
        return refusal(409, "experiment differs", f"experiment {name!r} exists with a different description")
    return Outcome(201 if head is None else 200, None)
