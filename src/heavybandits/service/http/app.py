"""The decision service as an ASGI application: it admits requests, asks the log, and serves the pages."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..dashboard.pages import Pages
from ..events import Clock, system_clock
from ..forms import Problem
from ..log.log import Log, log
from ..log.requests import FAILED, UNAVAILABLE, Answers
from ..log.turn import Outcome, refusal
from ..storage import Storage
from . import openfeature as openfeature  # which adds to the table of endpoints
from .auth import LOOPBACK, RateLimit, Tokens, allows
from .downloads import Downloads
from .table import Operation, located
from .telemetry import Metrics, Spans
from .web import Refused, has_two_lengths, refuse

ANSWER_SECONDS = 15.0  # seconds for which a request waits for the database
TWO_LENGTHS = Problem("two lengths", 400, "a request must not have both content-length and transfer-encoding")
NOSNIFF = (b"x-content-type-options", b"nosniff")
TOKEN_SECONDS = 1.0  # seconds between reads of the tokens


class Service:
    """The decision service as an ASGI application, ``service.app``.

    Parameters
    ----------
    storage
        The database; its schema is brought up to date.
    clock
        Tells the time, in microseconds since 1970.
    rate
        Requests per second for each token, where a batch counts with all its items; unlimited by default.
    loopback
        Whether only this machine can reach the server, in which case tokens are optional.
    """

    def __init__(
        self, storage: Storage, *, clock: Clock = system_clock, rate: float | None = None, loopback: bool = True
    ) -> None:
        self.storage, self.clock, self.loopback = storage, clock, loopback
        self.limit = None if rate is None else RateLimit(rate)
        self.log = Log(storage, clock)
        self.tokens = Tokens([])
        self.metrics = Metrics(self.log)
        self.spans = Spans()
        self.downloads = Downloads()
        self.draining = False
        self.pages = Pages(self)
        self._asked: deque[tuple[float, asyncio.Future[Outcome]]] = deque()
        self._site = Starlette(
            routes=list(self.pages.routes()), lifespan=self._lifespan,
            exception_handlers={HTTPException: _no_such_address},
        )  # fmt: skip

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the endpoints of the table directly, which halves the cost of a request, and pages by Starlette."""
        if scope["type"] == "http" and has_two_lengths(scope["headers"]):
            response = refuse(TWO_LENGTHS)
            response.headers["Connection"] = "close"  # whatever follows may be part of this request, or hidden in it
            await response(scope, receive, send)
            return
        found = located(scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await self._site(scope, receive, send)
            return
        scope["path_params"], methods = found
        item = methods.get("GET" if scope["method"] == "HEAD" else scope["method"])
        if item is None:
            response = refuse(Problem("method not allowed", 405))
            response.headers["Allow"] = ", ".join(methods)
        else:
            response = await self._handle(item, Request(scope, receive))
        await response(scope, receive, send)

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        self.log.deliver = lambda answers: self._hand_over(loop, answers)
        self.tokens = await run_in_threadpool(self._begin)
        beside = (self._watch_tokens(), self._watch_patience(), self._prepare_pages())
        tasks = [asyncio.create_task(each) for each in beside]
        yield
        self.draining = True
        for task in tasks:
            task.cancel()
        self.pages.close()
        await run_in_threadpool(self.log.stop)

    def _begin(self) -> Tokens:
        with contextlib.closing(self.storage.connect()) as session:
            session.migrate()
            tokens = Tokens.read(session)
        self.log.start()
        return tokens

    @staticmethod
    def _hand_over(loop: asyncio.AbstractEventLoop, answers: Answers) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody is waiting any more
            loop.call_soon_threadsafe(_settle, answers)

    async def _watch_tokens(self) -> None:
        while True:
            await asyncio.sleep(TOKEN_SECONDS)
            outcome = await self.ask(lambda session: Outcome(200, Tokens.read(session)))
            if outcome.status == 200:
                self.tokens = outcome.body

    async def _watch_patience(self) -> None:
        """Answer requests that have waited too long; checking once a second costs less than a timer for each."""
        while True:
            await asyncio.sleep(1.0)
            late = time.monotonic() - ANSWER_SECONDS
            while self._asked and (self._asked[0][1].done() or self._asked[0][0] < late):
                _settle([(self._asked.popleft()[1], UNAVAILABLE)])

    async def _prepare_pages(self) -> None:
        """Import what pages need once decisions can be made, so that the first visitor does not wait for it."""
        while not self.log.ready.is_set():
            await asyncio.sleep(0.1)
        await run_in_threadpool(self.pages.prepare)

    async def ask(self, command: Any) -> Outcome:
        """Queue a command, and return its outcome."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        if not self.log.submit(command, future):
            return refusal(503, "shutting down" if self.draining else "too many waiting requests", "try again")
        self._asked.append((time.monotonic(), future))
        return await future

    async def _handle(self, item: Operation, request: Request) -> Response:
        started = time.perf_counter()
        with self.spans.begin(item, request) as span:
            response = await self._answered(item, request)
            self.spans.answered(span, response.status_code)
        response.raw_headers.append(NOSNIFF)
        self.metrics.observe(item.method, item.path, response.status_code, time.perf_counter() - started)
        return response

    async def _answered(self, item: Operation, request: Request) -> Response:
        try:
            authorization = request.headers.get("authorization")
            return await item.handler(self, request, self.admit(request, authorization, item.role))
        except Refused as refused:
            return refuse(refused.problem, refused.retry_seconds)
        except Exception:
            log.exception("request failed")
            return refuse(FAILED.body)

    def admit(self, request: Request, authorization: str | None, role: str | None) -> str | None:
        """Return the id of the token, None if none is needed; refuse requests that are not allowed."""
        if role is None:
            return None
        if self.loopback and not self.tokens.any_made:
            given = request.headers.get("host", "")
            host = given.rpartition(":")[0] or given
            if host not in LOOPBACK:  # another site's name that was made to point here
                raise Refused(
                    403, "wrong host", f"without tokens the host must be 127.0.0.1 or localhost, got {host!r}"
                )
            return None
        found = self.tokens.role_of(authorization)
        if found is None:
            raise Refused(401, "no valid token", "send a token: 'Authorization: Bearer hb_...'")
        if not allows(found[0], role):
            raise Refused(403, "not allowed", f"this needs a token with role {role}, got one with role {found[0]}")
        self.charge(found[1])
        return found[1]

    def charge(self, who: str | None, cost: int = 1, paid: int = 0) -> None:
        """Refuse a request above the token's rate; it costs as much as this many requests, some of them paid for."""
        if self.limit is None or who is None:
            return
        if wait := self.limit.take(who, cost, paid):
            detail = f"a token may make {self.limit.rate:g} requests per second; each item of a batch counts as one"
            raise Refused(429, "too many requests", detail, retry_seconds=math.ceil(wait))


async def _no_such_address(request: Request, error: Exception) -> Response:
    """Answer a request for a path, or with a method, that is not served."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    detail = "nothing is served here; names must not contain slashes, not even as %2F" if status == 404 else ""
    refused = refuse(Problem(str(getattr(error, "detail", "not found")).lower(), status, detail))
    refused.headers.update(getattr(error, "headers", None) or {})
    return refused


def _settle(answers: Answers) -> None:
    for future, outcome in answers:
        if not future.done():
            future.set_result(outcome)
