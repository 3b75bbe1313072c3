"""The client that blocks; it needs nothing but the standard library."""

from __future__ import annotations

import http.client
import io
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any, Concatenate, ParamSpec

from .calls import Answer, Call, Calls, refusal
from .common import Settings, like
from .trouble import Retries, ServiceError

P = ParamSpec("P")


def _method(describe: Callable[Concatenate[Calls, P], Call[Answer]]) -> Callable[Concatenate[Client, P], Answer]:
    @like(describe)
    def method(self: Client, /, *arguments: P.args, **named: P.kwargs) -> Answer:
        return self.send(describe(self.calls, *arguments, **named))

    return method


class Client(Settings):
    """A client that asks a service for decisions and reports rewards.

    A request that fails on the way is retried.  That is safe: each has an id, and the service counts an id once.
    Threads may share a client.

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
    >>> import heavybandits as hb
    >>> client = hb.Client("http://127.0.0.1:1", patience=0)
    >>> client.decide("checkout")
    Traceback (most recent call last):
        ...
    heavybandits.service.client.trouble.ServiceError: no answer from http://127.0.0.1:1: ...
    >>> decision = client.decide("checkout", fallback="blue", timeout=0.2)
    >>> decision.arm, decision.reason
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
        self._idle: list[http.client.HTTPConnection] = []
        self._process = os.getpid()

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

    def send(self, call: Call[Answer]) -> Answer:
        """Send a call, retrying while that may help, and return the answer or the fallback."""
        with self._guarded(call) as guarded:
            if guarded.asks:
                guarded.answer = self._patiently(call, self.patience) if call.seconds is None else self._in_time(call)
        return guarded.answer

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            with suppress(IndexError):  # another thread took it
                self._idle.pop().close()

    def _in_time(self, call: Call[Answer]) -> Answer:
        """Let another thread ask: nothing else bounds how long it takes to look up a name."""
        future: Future[Answer] = Future()
        threading.Thread(target=self._deliver, args=(call, future), daemon=True).start()
        try:
            return future.result(call.seconds)
        except TimeoutError:
            if future.cancel():
                raise self._no_answer(f"waited for {call.seconds:g} s") from None
            return future.result()  # it came just now

    def _deliver(self, call: Call[Answer], future: Future[Answer]) -> None:
        """Ask for an answer; if it is late or lost, take back what the service may have stored."""
        try:
            answer = self._patiently(call, call.seconds or 0.0)
        except ServiceError as error:
            lost = error.temporary
            with suppress(InvalidStateError):
                future.set_exception(error)
        else:
            lost = False
            try:
                future.set_result(answer)
            except InvalidStateError:  # nobody waits any more
                lost = True
        if lost and call.undo is not None:
            with suppress(ServiceError):
                self._patiently(call.undo, self.patience)

    def _patiently(self, call: Call[Answer], seconds: float) -> Answer:
        retries = Retries(seconds)
        while True:
            try:
                return call.read(self._once(call))
            except ServiceError as error:
                time.sleep(retries.pause_after(error))

    def _once(self, call: Call[Any]) -> bytes:
        connection, is_new = self._connection()
        connection.response_class = partial(_Response, time.monotonic() + self.timeout)  # type: ignore[assignment]
        try:
            connection.request(call.method, call.path, call.content, self.headers)
            response = connection.getresponse()
            text = response.read()
        except BaseException as error:
            connection.close()
            if isinstance(error, ConnectionError) and not is_new:  # the service closed it while it was idle
                self.close()
                return self._once(call)
            if isinstance(error, (OSError, http.client.HTTPException)):
                raise self._no_answer(error) from None
            raise
        self._idle.append(connection)
        if response.status < 300:
            return text
        raise refusal(response.status, response.reason, text)

    def _connection(self) -> tuple[http.client.HTTPConnection, bool]:
        """Return a connection that nobody uses, and whether it is new."""
        if self._process != os.getpid():  # a fork: the connections are the parent's
            self._process, self._idle = os.getpid(), []
        with suppress(IndexError):
            return self._idle.pop(), False
        parts = self.calls.parts
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        return kind(str(parts.hostname), parts.port, timeout=self.timeout), True


class _Response(http.client.HTTPResponse):
    """An answer that must be complete at a point in time; a socket's own timeout begins anew with every byte."""

    def __init__(self, end: float, wire: socket.socket, *arguments: Any, **named: Any) -> None:
        super().__init__(wire, *arguments, **named)
        self.fp = io.BufferedReader(_Until(end, wire, self.fp.detach()))


class _Until(io.RawIOBase):
    def __init__(self, end: float, wire: socket.socket, raw: io.RawIOBase) -> None:
        self._end, self._wire, self._raw = end, wire, raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._wire.settimeout(max(self._end - time.monotonic(), 1e-3))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
