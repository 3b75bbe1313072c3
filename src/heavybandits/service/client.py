"""A client for the decision service; it needs nothing but the standard library."""

from __future__ import annotations

import http.client
import json
import math
import random
import threading
import time
import uuid
from collections.abc import Iterable, Mapping
from reprlib import repr as brief
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

PASSING = (429, 502, 503, 504)  # statuses of temporary problems


class ServiceError(Exception):
    """The service refused a request, could not be reached in time, or gave an answer that cannot be understood.

    ``status`` is 0 unless the service refused.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}" if status else message)
        self.status = status


class Decision(NamedTuple):
    """A decision of the service."""

    id: str
    arm: str
    payload: Any
    p: float | None
    reason: str
    seq: int
    deadline: str | None


class Client:
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
    heavybandits.service.client.ServiceError: no answer from http://127.0.0.1:1: ...
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8765",
        token: str | None = None,
        *,
        timeout: float = 20.0,
        patience: float = 30.0,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"Client: url must be like http://127.0.0.1:8765, got {url!r}")
        self.url, self.timeout, self.patience = url.rstrip("/"), timeout, patience
        self._parts, self._path = parts, parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._own = threading.local()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def create(self, experiment: str, arms: Iterable[str] | Mapping[str, Any], **options: Any) -> dict[str, Any]:
        """Create an experiment; ``arms`` may map names to payloads, ``options`` are further fields of the request."""
        pairs = arms.items() if isinstance(arms, Mapping) else ((arm, None) for arm in arms)
        listed = [{"name": name, "payload": payload} for name, payload in pairs]
        return self.send("PUT", ("experiments", experiment), {"arms": listed, **options})

    def decide(
        self,
        experiment: str,
        *,
        unit: str | None = None,
        among: Iterable[str] | None = None,
        context: Iterable[float] | Mapping[str, Iterable[float]] | None = None,
        id: str | None = None,
    ) -> Decision:
        """Ask for a decision; ``context`` is a vector that arms share, or maps arms to vectors of their own."""
        asked: dict[str, Any] = {
            "id": id or uuid.uuid4().hex,
            "unit": unit,
            "among": None if among is None else list(among),
        }
        if isinstance(context, Mapping):
            asked["context"] = {arm: _vector(f"context of {arm!r}", vector) for arm, vector in context.items()}
        elif context is not None:
            asked["context"] = _vector("context", context)
        answer = self.send("POST", ("experiments", experiment, "decisions"), asked)
        if missing := [name for name in Decision._fields if name not in answer]:
            raise ServiceError(0, f"the answer of {self.url} must have {', '.join(missing)}, got {brief(answer)}")
        return Decision(*(answer[name] for name in Decision._fields))  # a newer service may answer more

    def reward(
        self, experiment: str, decision: Decision | str, value: float, *, id: str | None = None
    ) -> dict[str, Any]:
        """Report the reward of a decision; if rewards add up, each needs an ``id``."""
        key = decision if isinstance(decision, str) else decision.id
        end = ("reward",) if id is None else ("rewards", id)
        return self.send("PUT", ("experiments", experiment, "decisions", key, *end), {"value": _plain(value)})

    def retract(self, experiment: str, decision: Decision | str) -> dict[str, Any]:
        """Take back the reward of a decision, while its window is open and the service has not learned it."""
        key = decision if isinstance(decision, str) else decision.id
        return self.send("DELETE", ("experiments", experiment, "decisions", key, "reward"))

    def cancel(self, experiment: str, decision: Decision | str) -> dict[str, Any]:
        """Cancel a decision that was never shown."""
        key = decision if isinstance(decision, str) else decision.id
        return self.send("DELETE", ("experiments", experiment, "decisions", key))

    def observe(
        self,
        experiment: str,
        arm: str,
        value: float,
        *,
        context: Iterable[float] | None = None,
        id: str | None = None,
    ) -> dict[str, Any]:
        """Report a reward that no decision led to; ``context`` is the arm's vector, or the one that arms share."""
        seen: dict[str, Any] = {"arm": arm, "value": _plain(value), "id": id or uuid.uuid4().hex}
        if context is not None:
            seen["context"] = _vector("context", context)
        return self.send("POST", ("experiments", experiment, "observations"), seen)

    def report(self, experiment: str) -> dict[str, Any]:
        """Return an experiment's totals and estimates."""
        return self.send("GET", ("experiments", experiment, "report"))

    def send(self, method: str, path: tuple[str, ...], body: Any = None) -> dict[str, Any]:
        """Send a request, retrying while that may help, and return the answer."""
        address = "/".join([f"{self._path}/v1", *(quote(part, safe="") for part in path)])
        content = None if body is None else json.dumps(body).encode()
        end, pause = time.monotonic() + self.patience, 0.05
        while True:
            try:
                status, answer = self._once(method, address, content)
                if status < 300:
                    return answer
                failure = ServiceError(status, f"{answer.get('title')}: {answer.get('detail')}")
                if status not in PASSING:
                    raise failure
            except (OSError, http.client.HTTPException) as error:
                self._forget()
                failure = ServiceError(0, f"no answer from {self.url}: {error}")
            if time.monotonic() + pause > end:
                raise failure
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(2.0 * pause, 2.0)

    def _once(self, method: str, address: str, content: bytes | None) -> tuple[int, dict[str, Any]]:
        connection = getattr(self._own, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
            connection = self._own.connection = kind(str(self._parts.hostname), self._parts.port, timeout=self.timeout)
        connection.request(method, address, content, self._headers)
        response = connection.getresponse()
        text = response.read()
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if isinstance(answer, dict):
            return response.status, answer
        if response.status < 300:
            raise ServiceError(0, f"the answer of {self.url} must be a JSON object, got {brief(text)}")
        return response.status, {"title": response.reason, "detail": text[:200].decode(errors="replace")}

    def _forget(self) -> None:
        connection = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
        self._own.connection = None

    def close(self) -> None:
        """Close this thread's connection."""
        self._forget()


def _vector(name: str, values: Iterable[float]) -> list[float]:
    """Return features in JSON's form."""
    vector = [_number(f"{name} must contain only numbers", value) for value in values]
    for value in vector:
        if not math.isfinite(value):
            raise ValueError(f"Client: {name} must be finite, got {value}")
    return vector


def _number(rule: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"Client: {rule}, got {value!r}") from None


def _plain(value: float) -> Any:
    """Return a reward in JSON's form."""
    value = _number("value must be a number", value)
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if math.isnan(value):
        raise ValueError("Client: value must not be NaN (leave out missing rewards), got nan")
    return value
