"""Connections of clients: how many there may be, and how long each may keep the server waiting.

Nobody needs a token to open a connection, and each takes a file and some memory.  So a connection that waits for its
client has a deadline, and while there is no room for another one, or for more bytes, those that have waited longest for
their clients are ended.  What the server itself is working on is never ended for others.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections import Counter
from enum import Enum
from http import HTTPStatus
from typing import Any, NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..forms import Problem
from .web import refuse

WANTED_FILES = 16_384  # files that the process tries to be allowed: more than enough for the limits below
REPORT_SECONDS = 10.0  # between lines in the log about connections that were ended, which clients can cause at will
CLOSE_HEADER = (b"connection", b"close")
FULL = Problem("no room", 503, "there are too many connections or unfinished requests; try again")
STOPPING = Problem("shutting down", 503, "the request had not arrived when the server was told to stop; try again")

log = logging.getLogger("heavybandits.service")


class Limits(NamedTuple):
    """What clients may take up before they are turned away.

    Examples
    --------
    >>> Limits(connections=10).body_seconds
    30.0
    """

    connections: int = 1_000  # as many as a server has been measured with; idle ones make room for others
    head_seconds: float = 10.0  # for all of a request's head, which fits into one packet
    body_seconds: float = 30.0  # for all of a request's body: the largest at 35 kB per second
    answer_seconds: float = 30.0  # for which a client may leave an answer unread
    idle_seconds: int = 75  # between requests: longer than the 60 for which proxies keep a connection in their pool
    request_bytes: int = 64 << 20  # of all requests that are being received or worked on: 64 of the largest


DEFAULT_LIMITS = Limits()


class AwaitedOfClient(Enum):
    """What a connection waits for its client to do."""

    REQUEST = "the next request"
    HEAD = "the rest of a request's head"
    BODY = "the rest of a request's body"
    READING = "the client to read its answer"


class Connection(H11Protocol):
    """A connection that knows what it waits for, and can be ended while it does.

    Parameters
    ----------
    crowd
        All connections of the server.
    arguments
        What uvicorn makes a connection of.
    """

    def __init__(self, crowd: Crowd, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._crowd = crowd
        self.awaited: AwaitedOfClient | None = None  # None while it is the server's turn
        self.held = 0  # bytes of the request that is being received or worked on

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        if self._crowd.admit(self):
            self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.awaited is AwaitedOfClient.REQUEST:
            self._await(AwaitedOfClient.HEAD)
        if self._crowd.hold(self, self.held + len(data)):
            super().data_received(data)
            self._look()

    def on_response_complete(self) -> None:
        self._crowd.hold(self, len(self.conn.trailing_data[0]))  # all that is left is the beginning of the next request
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def shutdown(self) -> None:
        if self.awaited in (AwaitedOfClient.HEAD, AwaitedOfClient.BODY):
            self.end(STOPPING)
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        self.end(Problem("malformed request", 400, msg))

    def end(self, problem: Problem) -> None:
        """Close the connection now; a client that expects an answer, and has had none of it yet, is told why."""
        self._crowd.forget(self)
        is_told = self.awaited not in (AwaitedOfClient.REQUEST, AwaitedOfClient.READING)
        if is_told and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            answer = refuse(problem)
            reason = HTTPStatus(problem.status).phrase
            head = h11.Response(status_code=problem.status, headers=[*answer.raw_headers, CLOSE_HEADER], reason=reason)
            events = (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage())
            self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
        if self.cycle is not None:
            self.cycle.disconnected = True  # whatever its handler still sends is dropped
        self.transport.abort()  # what was written has been sent, unless the client does not read

    def _look(self) -> None:
        """Notice whether the connection waits for something else than before."""
        if self.conn.our_state is h11.DONE:  # answered already, so the rest of the body is thrown away
            self._crowd.hold(self, 0)
        awaited = self._found_awaited()
        if awaited is not self.awaited:
            self._await(awaited)

    def _await(self, awaited: AwaitedOfClient | None) -> None:
        self.awaited = awaited
        self._crowd.set_deadline(self)

    def _found_awaited(self) -> AwaitedOfClient | None:
        if self.flow.write_paused or self.transport.is_closing():
            return AwaitedOfClient.READING
        if self.conn.their_state is h11.SEND_BODY:
            return AwaitedOfClient.BODY
        if self.conn.their_state is h11.IDLE:
            return AwaitedOfClient.HEAD if self.conn.trailing_data[0] else AwaitedOfClient.REQUEST
        return None


class Crowd:
    """The connections of a server, within limits.

    Parameters
    ----------
    limits
        What clients may take up.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._members: set[Connection] = set()
        self._waiting: dict[Connection, float] = {}  # their deadlines; the one that has waited longest is the first
        self._bytes = 0
        self._ended: Counter[str] = Counter()
        self._report_at = 0.0
        self._seconds = {
            AwaitedOfClient.REQUEST: limits.idle_seconds, AwaitedOfClient.HEAD: limits.head_seconds,
            AwaitedOfClient.BODY: limits.body_seconds, AwaitedOfClient.READING: limits.answer_seconds,
        }  # fmt: skip

    def admit(self, newcomer: Connection) -> bool:
        """Make room for a connection, and return whether there is any."""
        if len(self._members) >= self.limits.connections:
            self._end(next(iter(self._waiting), newcomer), FULL)
        if newcomer.transport.is_closing():
            return False
        self._members.add(newcomer)
        return True

    def forget(self, connection: Connection) -> None:
        """Take a connection out: it has ended."""
        self._members.discard(connection)
        self._waiting.pop(connection, None)
        self._bytes -= connection.held
        connection.held = 0

    def hold(self, connection: Connection, size: int) -> bool:
        """Note the size of a connection's request, make room for it, and return whether there is any."""
        self._bytes += size - connection.held
        connection.held = size
        while self._bytes > self.limits.request_bytes and not connection.transport.is_closing():
            others = (other for other in self._waiting if other.held and other is not connection)
            self._end(next(others, connection), FULL)
        return not connection.transport.is_closing()

    def set_deadline(self, connection: Connection) -> None:
        """Note that from now on a connection waits for something else, or for nothing."""
        self._waiting.pop(connection, None)
        if connection.awaited is not None and connection in self._members:
            self._waiting[connection] = time.monotonic() + self._seconds[connection.awaited]

    def end_late(self) -> None:
        """End the connections whose clients took too long, and log how many were ended for which reason."""
        now = time.monotonic()
        for connection in [each for each, deadline in self._waiting.items() if deadline <= now]:
            assert connection.awaited is not None  # or it would not be waiting
            self._end(connection, Problem("too slow", 408, f"waited too long for {connection.awaited.value}"))
        if self._ended and now >= self._report_at:
            log.warning("connections ended by limits", extra={"reasons": dict(self._ended)})
            self._ended.clear()
            self._report_at = now + REPORT_SECONDS

    def _end(self, connection: Connection, problem: Problem) -> None:
        if connection.awaited is not AwaitedOfClient.REQUEST:  # idle ones are closed as a matter of course
            self._ended[problem.title] += 1
        connection.end(problem)


def files_allowed() -> int:
    """Let this process open as many files as it can use, and return how many it may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return WANTED_FILES
    if soft < WANTED_FILES:
        soft = WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, WANTED_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft
