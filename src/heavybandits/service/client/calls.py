"""The calls of the service's interface, each described once: what is sent, and how the answer is read."""

from __future__ import annotations

import functools
import json
import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from reprlib import repr as brief
from typing import Any, Generic, Literal, NamedTuple, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from ..._validate import positive
from .encoding import Object, batch_item, json_attributes, json_context, json_reward, json_vector
from .trouble import ServiceError

FALLBACK_SECONDS = 1.0  # after which a decision falls back, unless its timeout says otherwise
EXPERIMENTS_PATH = "/v1/experiments"
FALLBACK_ID = "fallback:"  # how the ids of fallbacks begin, which the service never sees

Answer = TypeVar("Answer")
log = logging.getLogger("heavybandits.client")


class Decision(NamedTuple):
    """A decision of the service, or a fallback (``reason == "fallback"``) because it did not answer in time."""

    id: str
    arm: str
    payload: Any
    p: float | None
    reason: str
    seq: int
    deadline: str | None
    point: dict[str, float] | None = None  # of an experiment whose decisions are points


@dataclass(frozen=True)
class Call(Generic[Answer]):
    """A request, and what its answer means."""

    method: str
    path: str
    content: bytes | None
    read: Callable[[bytes], Answer]
    seconds: float | None = None  # for everything, retries included; None is the client's patience
    fallback: Answer | None = None  # the answer if the service gives none
    undo: Call[Object] | None = None  # what to send if the service may have stored a request that fell back
    known: Answer | None = None  # the answer, if there is nothing to send


class Calls:
    """The calls to a service.

    Parameters
    ----------
    url
        The address of the service.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"Client: url must be like http://127.0.0.1:8765, got {url!r}")
        self.url, self.parts, self._base = url.rstrip("/"), parts, parts.path.rstrip("/")
        self._said_dropped = False

    def create(
        self,
        /,
        experiment: str,
        arms: Iterable[str] | Mapping[str, Any] = (),
        attributes: Mapping[str, Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> Call[Object]:
        """Create an experiment; ``arms`` may map names to payloads, ``options`` are further fields of the request.

        If decisions come with attributes, arms may have some as well: ``attributes`` maps names of arms to them.
        Without arms, ``points={"price": [5, 25]}`` lets decisions be points.
        """
        if isinstance(arms, str):
            raise TypeError(f"Client: arms must be a list or a mapping, got {arms!r}")
        pairs = arms.items() if isinstance(arms, Mapping) else ((arm, None) for arm in arms)
        listed = [{"name": name, "payload": payload} for name, payload in pairs]
        of_arms = dict(attributes or {})
        for arm in listed:
            if arm["name"] in of_arms:
                arm["attributes"] = json_attributes(of_arms.pop(arm["name"]))
        if of_arms:
            raise ValueError(f"Client: attributes must be of arms, got {brief(list(of_arms))}")
        body = ({"arms": listed} if listed else {}) | options
        return self._call("PUT", _of(experiment), body, read=self._object)

    def experiments(self) -> Call[list[Object]]:
        """Return all experiments as they are now."""
        return self._call("GET", EXPERIMENTS_PATH, read=functools.partial(self._list, "experiments"))

    def show(self, experiment: str) -> Call[Object]:
        """Return an experiment as it is now."""
        return self._call("GET", _of(experiment), read=self._object)

    def change(self, experiment: str, state: Literal["running", "paused", "stopped"]) -> Call[Object]:
        """Run, pause or stop an experiment; while it is not running, decisions are for the control arm."""
        return self._call("PATCH", _of(experiment), {"state": state}, read=self._object)

    def finish(self, experiment: str, arm: str) -> Call[Object]:
        """Finish an experiment: from now on, all decisions are for this arm."""
        return self._call("PATCH", _of(experiment), {"state": "finished", "arm": arm}, read=self._object)

    def change_control(self, experiment: str, arm: str) -> Call[Object]:
        """Let another arm be the control."""
        return self._call("PATCH", _of(experiment), {"control": arm}, read=self._object)

    def delete(self, experiment: str) -> Call[Object]:
        """Delete an experiment with everything that is stored about it."""
        return self._call("DELETE", _of(experiment), read=self._object)

    def add_arm(
        self, experiment: str, arm: str, payload: Any = None, attributes: Mapping[str, Any] | None = None
    ) -> Call[Object]:
        """Add an arm, with attributes if decisions come with attributes."""
        body = {"payload": payload} | ({} if attributes is None else {"attributes": json_attributes(attributes)})
        return self._call("PUT", _of(experiment, "arms", arm), body, read=self._object)

    def change_arm(self, experiment: str, arm: str, state: Literal["running", "paused"]) -> Call[Object]:
        """Pause or resume an arm; rewards of a paused arm still count."""
        return self._call("PATCH", _of(experiment, "arms", arm), {"state": state}, read=self._object)

    def retire_arm(self, experiment: str, arm: str) -> Call[Object]:
        """Retire an arm for good: its late rewards are logged, but not learned."""
        return self._call("DELETE", _of(experiment, "arms", arm), read=self._object)

    def decide(
        self,
        experiment: str,
        *,
        unit: str | None = None,
        among: Iterable[str] | None = None,
        context: Iterable[float] | Mapping[str, Iterable[float]] | None = None,
        attributes: Mapping[str, Any] | None = None,
        id: str | None = None,
        fallback: str | None = None,
        timeout: float | None = None,
    ) -> Call[Decision]:
        """Ask for a decision.

        Parameters
        ----------
        experiment
            The name of the experiment.
        unit
            Who or what it is for.
        among
            The arms that are available now.
        context
            A vector that arms share, or one for each arm.
        attributes
            Named attributes, such as ``{"country": "CA", "age": 31}``, if the experiment was made with
            ``context={"attributes": True}``.
        id
            An id of your own, with which the request may be repeated.
        fallback
            The arm to use if the service refuses or does not answer: the decision then has ``reason == "fallback"`` and
            no payload.  It is not logged, and rewards for it are dropped.  While the service does not answer, most
            decisions fall back at once.
        timeout
            Seconds to wait, retries included; with a fallback 1 by default, otherwise the client's patience.
        """
        if id is not None and id.startswith(FALLBACK_ID):
            raise ValueError(f"Client: id must not begin with {FALLBACK_ID!r}, got {id!r}")
        seconds = FALLBACK_SECONDS if timeout is None else positive("Client", "timeout", timeout)
        key = id or uuid.uuid4().hex
        asked: Object = {"id": key, "unit": unit, "among": None if among is None else list(among)}
        if isinstance(context, Mapping):
            asked["context"] = {arm: json_vector(f"context of {arm!r}", vector) for arm, vector in context.items()}
        elif context is not None:
            asked["context"] = json_vector("context", context)
        if attributes is not None:
            asked["context"] = json_context(context, attributes)
        call = self._call("POST", _of(experiment, "decisions"), asked, read=self._decision)
        if fallback is None:
            return call if timeout is None else replace(call, seconds=seconds)
        instead = Decision(FALLBACK_ID + key, fallback, None, None, "fallback", 0, None)
        undo = self.cancel(experiment, key) if id is None else None  # with an id of their own, they may ask again
        return replace(call, seconds=seconds, fallback=instead, undo=undo)

    def reward(
        self, experiment: str, decision: Decision | str, value: float, *, id: str | None = None,
        name: str | None = None,
    ) -> Call[Object]:  # fmt: skip
        """Report the reward of a decision; if rewards add up, each needs an ``id``; ``name`` is for named rewards."""
        key, plain = _key(decision), {"value": json_reward(value)} | ({} if name is None else {"name": name})
        if key.startswith(FALLBACK_ID):
            self._say_dropped(key)
        end = ("reward",) if id is None else ("rewards", id)
        return self._about("PUT", experiment, key, *end, body=plain)

    def retract(self, experiment: str, decision: Decision | str) -> Call[Object]:
        """Take back the reward of a decision, while its window is open and the service has not learned it."""
        return self._about("DELETE", experiment, _key(decision), "reward")

    def cancel(self, experiment: str, decision: Decision | str) -> Call[Object]:
        """Cancel a decision that was never shown."""
        return self._about("DELETE", experiment, _key(decision))

    def observe(
        self,
        experiment: str,
        arm: str | Mapping[str, float],
        value: float,
        *,
        context: Iterable[float] | None = None,
        attributes: Mapping[str, Any] | None = None,
        id: str | None = None,
    ) -> Call[Object]:
        """Report a reward of an arm, or of a point such as ``{"price": 12}``, that no decision led to.

        ``context`` is the arm's vector, or the one that arms share; ``attributes`` are as in :meth:`decide`.
        """
        where: Object = {"arm": arm} if isinstance(arm, str) else {"point": dict(arm)}
        seen: Object = {**where, "value": json_reward(value), "id": id or uuid.uuid4().hex}
        if context is not None:
            seen["context"] = json_vector("context", context)
        if attributes is not None:
            seen["context"] = json_context(context, attributes)
        return self._call("POST", _of(experiment, "observations"), seen, read=self._object)

    def batch(self, experiment: str, items: Iterable[Mapping[str, Any]]) -> Call[list[Object]]:
        """Send many requests at once, such as ``{"decision": {}}``; return a ``status`` and a ``body`` for each."""
        body, read = {"items": [batch_item(item) for item in items]}, functools.partial(self._list, "items")
        return self._call("POST", _of(experiment, "batch"), body, read=read)

    def report(self, experiment: str) -> Call[Object]:
        """Return an experiment's totals and estimates."""
        return self._call("GET", _of(experiment, "report"), read=self._object)

    def audit(self, experiment: str, *, after: int = 0) -> Call[list[Object]]:
        """Return who changed what: up to a thousand changes after a sequence number."""
        path = f"{_of(experiment, 'audit')}?{urlencode({'after': after})}"
        return self._call("GET", path, read=functools.partial(self._list, "changes"))

    def export(
        self, experiment: str, *, after: int = 0, format: Literal["ndjson", "csv", "parquet"] = "ndjson"
    ) -> Call[bytes]:
        """Return the events after a sequence number, as a file."""
        path = f"{_of(experiment, 'export')}?{urlencode({'after': after, 'format': format})}"
        return self._call("GET", path, read=bytes)

    def health(self) -> Call[Object]:
        """Return whether the server is alive, and its version."""
        return self._call("GET", "/health", read=self._object)

    def ready(self) -> Call[Object]:
        """Return which experiments a server that is ready cannot read."""
        return self._call("GET", "/ready", read=self._object)

    def metrics(self) -> Call[str]:
        """Return metrics in the format of Prometheus."""
        return self._call("GET", "/metrics", read=bytes.decode)

    def describe(self) -> Call[Object]:
        """Return the OpenAPI description of the interface."""
        return self._call("GET", "/openapi.json", read=self._object)

    def _about(self, method: str, experiment: str, key: str, *end: str, body: Any = None) -> Call[Object]:
        """Return a call about a decision; the service knows nothing of fallbacks, so nothing is sent for one."""
        if key.startswith(FALLBACK_ID):
            return Call("", "", None, self._object, known={"id": key, "seq": 0, "learned": False})
        return self._call(method, _of(experiment, "decisions", key, *end), body, read=self._object)

    def _call(self, method: str, path: str, body: Any = None, *, read: Callable[[bytes], Answer]) -> Call[Answer]:
        content = None if body is None else json.dumps(body, allow_nan=False).encode()  # JSON has no NaN
        return Call(method, self._base + path, content, read)

    def _object(self, text: bytes) -> Object:
        answer = parsed(text)
        if not isinstance(answer, dict):
            raise ServiceError(0, f"the answer of {self.url} must be a JSON object, got {brief(text)}")
        return answer

    def _fields(self, text: bytes, names: Sequence[str]) -> list[Any]:
        answer = self._object(text)
        if missing := [name for name in names if name not in answer]:
            raise ServiceError(0, f"the answer of {self.url} must have {', '.join(missing)}, got {brief(answer)}")
        return [answer[name] for name in names]  # a newer service may answer more

    def _list(self, name: str, text: bytes) -> list[Object]:
        (found,) = self._fields(text, [name])
        return list(found)

    def _decision(self, text: bytes) -> Decision:
        answer = self._object(text)
        known = Decision(*self._fields(text, Decision._fields[:-1]))
        return known._replace(point=answer.get("point"))  # which earlier services do not answer

    def _say_dropped(self, key: str) -> None:
        if not self._said_dropped:
            self._said_dropped = True
            log.warning("the reward of %s is dropped, and so are further ones: the service did not decide this", key)


def refusal(status: int, reason: str, text: bytes) -> ServiceError:
    """Return the error for an answer that is not a success."""
    answer = parsed(text)
    if isinstance(answer, dict) and "title" in answer:
        return ServiceError(status, ": ".join(str(answer[part]) for part in ("title", "detail") if answer.get(part)))
    return ServiceError(status, f"{reason}: {text[:200].decode(errors='replace')}")


def parsed(text: bytes) -> Any:
    """Return what JSON says; None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _of(experiment: str, *parts: str) -> str:
    return "/".join([EXPERIMENTS_PATH, *(quote(part, safe="") for part in (experiment, *parts))])


def _key(decision: Decision | str) -> str:
    return decision if isinstance(decision, str) else decision.id
