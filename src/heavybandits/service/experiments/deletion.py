"""The end of an experiment: nobody sees it from one moment to the next, and then its rows are removed in small parts.

An experiment may have millions of rows.  To remove them at once would hold up all others for minutes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing

from ..forms import Deleted
from ..log.turn import Outcome, refusal
from ..storage import Session, Storage, StorageError
from ..storage.session import OF_EXPERIMENT

ROWS_PER_TRANSACTION = 5_000  # rows removed in one transaction

log = logging.getLogger("heavybandits.service")


def delete(session: Session, name: str, by: str | None, now: int) -> Outcome:
    """Delete an experiment: other servers notice when they next use or follow it."""
    head = session.head(name)
    with session.transaction([] if head is None else [head.id]) as found:
        for exp in found:
            session.mark_deleted(exp, now)
    if head is None or not found:
        return refusal(404, "unknown experiment", f"there is no experiment {name!r}")
    seq = found[head.id] - 1
    log.info("experiment deleted", extra={"experiment": name, "events": seq, "token": by})
    return Outcome(200, Deleted(name, seq))


def remains_removed(session: Session) -> Iterator[int]:
    """Remove what is left of deleted experiments, and yield the number of rows after each part."""
    for exp in session.deleted():
        for table in OF_EXPERIMENT:
            gone = ROWS_PER_TRANSACTION
            while gone == ROWS_PER_TRANSACTION:
                with session.transaction():
                    gone = session.remove_rows(table, exp, ROWS_PER_TRANSACTION)
                yield gone
        with session.transaction():
            session.remove_experiment(exp)


def remove_remains(storage: Storage, is_stopping: Callable[[], bool]) -> None:
    """Remove what is left of deleted experiments, on a connection of its own.

    If that fails or the server stops, the next deletion goes on with it, and so does ``heavybandits prune``.
    """
    try:
        with closing(storage.connect()) as session:
            for _ in remains_removed(session):
                if is_stopping():
                    return
    except StorageError as error:
        log.warning("deleted experiments not removed yet", extra={"error": str(error)})
