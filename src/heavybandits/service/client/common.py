"""What both clients share: their settings, when they fall back, and how calls become methods."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, TypeVar

from ..._validate import non_negative, positive
from .calls import Answer, Call, Calls, log
from .trouble import Breaker, ServiceError

Method = TypeVar("Method", bound=Callable[..., Any])


class Settings:
    """A client's settings, and whether its service answers."""

    def __init__(self, url: str, token: str | None, timeout: float, patience: float) -> None:
        self.calls = Calls(url)
        self.url = self.calls.url
        self.timeout = positive("Client", "timeout", timeout)
        self.patience = non_negative("Client", "patience", patience)
        self.headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._breakers: dict[str, Breaker] = {}  # one per experiment: none makes the decisions of others fall back

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _guarded(self, call: Call[Answer]) -> Guarded[Answer]:
        # A call without a fallback may close a breaker, but needs none: paths of rewards have ids, so each would stay.
        find = self._breakers.get if call.fallback is None else self._breakers.setdefault
        return Guarded(call, find(call.path, Breaker()))

    def _no_answer(self, why: object) -> ServiceError:
        return ServiceError(0, f"no answer from {self.url}: {why}", temporary=True)


class Guarded(Generic[Answer]):
    """A context in which a call is sent; its errors become the fallback, if there is one.

    Parameters
    ----------
    call
        The call.
    breaker
        Says whether to send it.
    """

    answer: Answer

    def __init__(self, call: Call[Answer], breaker: Breaker) -> None:
        self._call, self._breaker = call, breaker
        known = call.known
        if known is None and call.fallback is not None and breaker.is_open(time.monotonic()):
            known = call.fallback
        if known is not None:
            self.answer = known
        self.asks = known is None

    def __enter__(self) -> Guarded[Answer]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if not self.asks or not (error is None or isinstance(error, ServiceError)):
            return False
        self._breaker.note(error is None or not error.temporary, time.monotonic())
        status = None if error is None else error.status
        if error is None or self._call.fallback is None:
            self._breaker.said = status
            return False
        if self._breaker.said != status:  # once, not with every decision of a night
            self._breaker.said = status
            log.warning("%s falls back: %s", self._call.path, error)
        self.answer = self._call.fallback
        return True


def like(describe: Callable[..., Call[Any]]) -> Callable[[Method], Method]:
    """Give a method the name, the documentation and the signature of a call; it returns the answer."""

    def dress(method: Method) -> Method:
        functools.update_wrapper(method, describe)
        signature = inspect.signature(describe)
        returned = str(signature.return_annotation).removeprefix("Call[").removesuffix("]")
        method.__signature__ = signature.replace(return_annotation=returned)  # type: ignore[attr-defined]
        return method

    return dress
