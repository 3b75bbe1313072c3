"""The database as one thread uses it: connected when it is first needed, given up when it fails, and watched."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from ..storage import Overtaken, Rejected, Session, Storage, StorageError, Unavailable

log = logging.getLogger("heavybandits.service")


class Database:
    """A connection of one thread, opened when needed and replaced when it fails.

    Parameters
    ----------
    storage
        The database.
    note_failure
        Called when the database cannot be reached, or fails.
    computes_unlocked
        Whether transactions compute before they take locks that everybody needs.
    """

    def __init__(
        self, storage: Storage, note_failure: Callable[[StorageError], None], computes_unlocked: bool = False
    ) -> None:
        self._storage, self._note_failure, self._computes_unlocked = storage, note_failure, computes_unlocked
        self.session: Session | None = None
        self.busy_since: float | None = None

    def work(self, work: Callable[..., Any], *of: Any) -> Any:
        """Work with the database; return None if it cannot be reached or fails, the exception for any other error."""
        for attempt in range(2):
            was_open = self.session is not None
            try:
                self.busy_since = time.monotonic()
                if self.session is None:
                    self.session = self._storage.connect()
                    # Once another server was faster, the next transactions lock before they compute.
                    self.session.computes_unlocked = self._computes_unlocked and attempt == 0
                return work(self.session, *of)
            except StorageError as error:
                self.close()
                if attempt == 0 and (isinstance(error, Overtaken) or (isinstance(error, Unavailable) and was_open)):
                    continue  # another server was faster, or the connection had gone stale, and nothing was stored
                self._note_failure(error)
                return None
            except Rejected as error:
                return error
            except Exception as error:
                self.close()
                log.exception("request failed")
                return error
            finally:
                self.busy_since = None
        return None

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        if self.session is not None:
            self.session.close()
        self.session = None
