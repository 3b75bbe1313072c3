"""The HTTP interface: each address, who may use it, and the command that it stands for."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from . import operations as operations  # they fill the table
from . import reading as reading
from .auth import LOOPBACK, RateLimit, Tokens, allows
from .dashboard.pages import Pages
from .events import Clock, system_clock
from .log import FAILED, UNAVAILABLE, Answers, Log, log
from .metrics import Metrics
from .spec import Problem
from .storage import Storage
from .table import OPERATIONS, Operation
from .turn import Outcome, problem
from .web import Refused, refuse

PATIENCE = 15.0  # seconds for which a request waits for the database
TOKENS_EVERY = 1.0  # seconds between looks at the tokens


class Service:
    """The decision service as an ASGI application, ``service.app``.

    Parameters
    ----------
    storage
        The database; its schema is brought up to date.
    clock
        What time it is.
    rate
        Requests per second and token; by default any number.
    loopback
        Whether only this machine can reach the server, which then may do without tokens.
    """

    def __init__(
        self, storage: Storage, *, clock: Clock = system_clock, rate: float | None = None, loopback: bool = True
    ) -> None:
        self.storage, self.clock, self.loopback = storage, clock, loopback
        self.limit = None if rate is None else RateLimit(rate)
        self.log = Log(storage, clock)
        self.tokens = Tokens([])
        self.metrics = Metrics(self.log)
        self.draining = False
        self.pages = Pages(self)
        self.app = Starlette(
            routes=list(self._routes()), lifespan=self._lifespan, exception_handlers={HTTPException: _no_such_address}
        )

    def _routes(self) -> Iterator[Route]:
        for item in OPERATIONS:
            yield Route(item.path, functools.partial(self._handle, item), methods=[item.method])
        yield from self.pages.routes()

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        self.log.deliver = lambda answers: self._hand_over(loop, answers)
        self.tokens = await run_in_threadpool(self._begin)
        watching = asyncio.create_task(self._watch_tokens())
        yield
        self.draining = True
        watching.cancel()
        self.pages.close()
        await run_in_threadpool(self.log.stop)

    def _begin(self) -> Tokens:
        session = self.storage.connect()
        try:
            session.migrate()
            tokens = Tokens.read(session)
        finally:
            session.close()
        self.log.start()
        return tokens

    @staticmethod
    def _hand_over(loop: asyncio.AbstractEventLoop, answers: Answers) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(_settle, answers)

    async def _watch_tokens(self) -> None:
        while True:
            await asyncio.sleep(TOKENS_EVERY)
            outcome = await self.ask(lambda session, replicas: Outcome(200, Tokens.read(session)))
            if outcome.status == 200:
                self.tokens = outcome.body

    async def ask(self, command: Any) -> Outcome:
        """Let a command wait for its turn, and return its outcome."""
        future = asyncio.get_running_loop().create_future()
        if not self.log.submit(command, future):
            return problem(503, "too many requests wait" if not self.draining else "shutting down", "come again")
        timer = asyncio.get_running_loop().call_later(PATIENCE, _give_up, future)
        try:
            return await future  # type: ignore[no-any-return]
        finally:
            timer.cancel()

    async def _handle(self, item: Operation, request: Request) -> Response:
        started = time.perf_counter()
        try:
            authorization = request.headers.get("authorization")
            response = await item.handler(self, request, self.admit(request, authorization, item.role))
        except Refused as refused:
            response = refuse(refused.problem)
        except Exception:
            log.exception("request failed")
            response = refuse(FAILED.body)
        response.headers["X-Content-Type-Options"] = "nosniff"
        self.metrics.observe(item.method, item.path, response.status_code, time.perf_counter() - started)
        return response

    def admit(self, request: Request, authorization: str | None, role: str | None) -> str | None:
        """Return the id of the token, None if there is none; refuse those who may not."""
        if role is None:
            return None
        if self.loopback and not self.tokens.any_made:
            host = request.headers.get("host", "").rpartition(":")[0] or request.headers.get("host", "")
            if host not in LOOPBACK:  # a page elsewhere whose name was made to point here
                raise Refused(
                    403, "wrong host", f"without tokens the host must be 127.0.0.1 or localhost, got {host!r}"
                )
            return None
        found = self.tokens.role_of(authorization)
        if found is None:
            raise Refused(401, "no valid token", "send a token: 'Authorization: Bearer hb_...'")
        if not allows(found[0], role):
            raise Refused(403, "not allowed", f"this needs a token of role {role}, got one of role {found[0]}")
        if self.limit is not None and not self.limit.admits(found[1]):
            raise Refused(429, "too many requests", f"a token has {self.limit.rate:g} requests a second")
        return found[1]


async def _no_such_address(request: Request, error: Exception) -> Response:
    """Answer a request to an address, or with a method, that is not served."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    refused = refuse(Problem(str(getattr(error, "detail", "not found")).lower(), status))
    refused.headers.update(getattr(error, "headers", None) or {})
    return refused


def _settle(answers: Answers) -> None:
    for future, outcome in answers:
        if not future.done():
            future.set_result(outcome)


def _give_up(future: asyncio.Future[Outcome]) -> None:
    if not future.done():
        future.set_result(UNAVAILABLE)
