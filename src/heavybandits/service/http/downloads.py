"""Answers that are made while they are sent: few at a time, and everything is given back when the client goes away."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.concurrency import iterate_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ..storage import StorageError
from .web import Refused

MOST_DOWNLOADS = 8  # at a time; each may use a connection to the database, and PostgreSQL has 100 for all servers
PART_BYTES = 65_536  # sent at once, because every part is made in another thread, which takes a while to ask
RETRY_SECONDS = 10

log = logging.getLogger("heavybandits.service")


class Downloads:
    """How many downloads are under way."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a download; refuse one that is too many."""
        if self.count >= MOST_DOWNLOADS:
            detail = f"a server sends at most {MOST_DOWNLOADS} exports at a time"
            raise Refused(503, "too many exports", detail, retry_seconds=RETRY_SECONDS)
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1


class Download(StreamingResponse):
    """A download.

    Parameters
    ----------
    parts
        What to send, made while it is sent.
    media_type
        Its type.
    finish
        Called when all is sent, or nobody reads it any more.
    """

    def __init__(self, parts: Iterator[bytes], media_type: str, finish: Callable[[], None]) -> None:
        super().__init__(iterate_in_threadpool(joined(parts)), media_type=media_type)
        self._finish = finish

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it as long as somebody reads it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._finish()

    async def stream_response(self, send: Send) -> None:
        """Send the parts; if the database fails, the answer has no end, so that the client notices."""
        try:
            await super().stream_response(send)
        except StorageError as error:
            log.warning("an export was not finished", extra={"error": str(error)})


def joined(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the parts, small ones joined to larger ones.

    Examples
    --------
    >>> [len(part) for part in joined(iter([bytes(30_000)] * 4))]
    [90000, 30000]
    """
    held = bytearray()
    for part in parts:
        held += part
        if len(held) >= PART_BYTES:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)
