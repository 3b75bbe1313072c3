"""The client that awaits; it needs httpx."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Concatenate, ParamSpec

try:
    import httpx
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("AsyncClient needs httpx: pip install 'heavybandits[async]'", name="httpx") from error

from .calls import Answer, Call, Calls, refusal
from .common import Settings, like
from .trouble import Retries, ServiceError

P = ParamSpec("P")


def _method(
    describe: Callable[Concatenate[Calls, P], Call[Answer]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, Answer]]:
    @like(describe)
    async def method(self: AsyncClient, /, *arguments: P.args, **named: P.kwargs) -> Answer:
        return await self.send(describe(self.calls, *arguments, **named))

    return method


class AsyncClient(Settings):
    """A :class:`Client` whose methods are awaited; ``pip install 'heavybandits[async]'``.

    Parameters
    ----------
    url
        The address of the service.
    token
        A token, if the service needs one.
    timeout
        Seconds to wait for an answer.
    patience
        Seconds for which requests are retried before the client gives up.

    Examples
    --------
    >>> import asyncio
    >>> import heavybandits as hb
    >>> async def page():
    ...     client = hb.AsyncClient("http://127.0.0.1:1")
    ...     decision = await client.decide("checkout", fallback="blue", timeout=0.2)
    ...     await client.close()
    ...     return decision.arm, decision.reason
    >>> asyncio.run(page())
    ('blue', 'fallback')
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8765",
        token: str | None = None,
        *,
        timeout: float = 20.0,
        patience: float = 30.0,
    ) -> None:
        super().__init__(url, token, timeout, patience)
        self._root = f"{self.calls.parts.scheme}://{self.calls.parts.netloc}"
        self._http = httpx.AsyncClient(
            headers=self.headers, timeout=None, limits=httpx.Limits(max_connections=None), trust_env=False
        )
        self._late: set[asyncio.Task[None]] = set()

    create = _method(Calls.create)
    experiments = _method(Calls.experiments)
    show = _method(Calls.show)
    change = _method(Calls.change)
    finish = _method(Calls.finish)
    change_control = _method(Calls.change_control)
    delete = _method(Calls.delete)
    add_arm = _method(Calls.add_arm)
    change_arm = _method(Calls.change_arm)
    retire_arm = _method(Calls.retire_arm)
    decide = _method(Calls.decide)
    reward = _method(Calls.reward)
    retract = _method(Calls.retract)
    cancel = _method(Calls.cancel)
    observe = _method(Calls.observe)
    batch = _method(Calls.batch)
    report = _method(Calls.report)
    audit = _method(Calls.audit)
    export = _method(Calls.export)
    health = _method(Calls.health)
    ready = _method(Calls.ready)
    metrics = _method(Calls.metrics)
    describe = _method(Calls.describe)

    async def send(self, call: Call[Answer]) -> Answer:
        """Send a call, retrying while that may help, and return the answer or the fallback."""
        with self._guarded(call) as guarded:
            if guarded.asks:
                guarded.answer = await (
                    self._patiently(call, self.patience) if call.seconds is None else self._in_time(call)
                )
        return guarded.answer

    async def close(self) -> None:
        """Close all connections."""
        for task in self._late:
            task.cancel()
        await asyncio.gather(*self._late, return_exceptions=True)
        await self._http.aclose()

    async def _in_time(self, call: Call[Answer]) -> Answer:
        """Return the answer in time; if it is late, lost or unwanted, take back what the service may have stored."""
        asking = asyncio.create_task(self._patiently(call, call.seconds or 0.0))
        try:
            await asyncio.wait({asking}, timeout=call.seconds)
        except asyncio.CancelledError:  # such as by a visitor who has left
            self._take_back(call, asking)
            raise
        if asking.done() and asking.exception() is None:
            return asking.result()
        self._take_back(call, asking)
        if asking.done():
            return asking.result()  # raises
        raise self._no_answer(f"waited for {call.seconds:g} s")

    def _take_back(self, call: Call[Any], asking: asyncio.Task[Any]) -> None:
        task = asyncio.create_task(self._undo(call, asking))
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def _undo(self, call: Call[Any], asking: asyncio.Task[Any]) -> None:
        try:
            await asking
        except ServiceError as error:
            if not error.temporary:
                return
        if call.undo is not None:
            with suppress(ServiceError):
                await self._patiently(call.undo, self.patience)

    async def _patiently(self, call: Call[Answer], seconds: float) -> Answer:
        retries = Retries(seconds)
        while True:
            try:
                return call.read(await self._once(call))
            except ServiceError as error:
                await asyncio.sleep(retries.pause_after(error))

    async def _once(self, call: Call[Any]) -> bytes:
        try:
            async with asyncio.timeout(self.timeout):
                response = await self._http.request(call.method, self._root + call.path, content=call.content)
        except (httpx.HTTPError, TimeoutError) as error:
            raise self._no_answer(repr(error)) from None
        if response.status_code < 300:
            return response.content
        raise refusal(response.status_code, response.reason_phrase, response.content)
