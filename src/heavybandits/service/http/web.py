"""Requests and answers in HTTP: bodies of limited size, checked JSON, and problems in one form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ..forms import Problem
from ..log.turn import Outcome
from ..spec import PARTS

LARGEST_BODY_BYTES = 1 << 20  # bytes
_encoder = msgspec.json.Encoder()
Form = TypeVar("Form")


class Refused(Exception):
    """A request that is answered without asking the log; temporary problems say when to try again."""

    def __init__(self, status: int, title: str, detail: str = "", *, retry_seconds: int = 1) -> None:
        super().__init__(detail or title)
        self.problem, self.retry_seconds = Problem(title, status, detail), retry_seconds


def body_of(outcome: Outcome) -> Any:
    """Return the body of an answer; a problem is raised."""
    if isinstance(outcome.body, Problem):
        raise Refused(outcome.status, outcome.body.title, outcome.body.detail)
    return outcome.body


def respond(outcome: Outcome) -> Response:
    """Return the response for an outcome."""
    if isinstance(outcome.body, Problem):
        return refuse(outcome.body)
    return Response(_encoder.encode(outcome.body), outcome.status, media_type="application/json")


def refuse(problem: Problem, retry_seconds: int = 1) -> Response:
    """Return the response for a problem; temporary ones say when to try again."""
    headers = {"Retry-After": str(retry_seconds)} if problem.status in (429, 503) else {}
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(_encoder.encode(problem), problem.status, headers, media_type="application/problem+json")


async def body(request: Request, form: msgspec.json.Decoder[Form]) -> Form:
    """Return the body of a request, checked.

    It must be declared as JSON, which browsers do not let pages of other sites do without asking.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "not JSON", f"content-type must be application/json, got {kind!r}")
    try:
        return form.decode(await contents(request))
    except msgspec.ValidationError as error:
        raise Refused(422, "invalid", said(error, form.type)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, "malformed JSON", str(error)) from None


async def contents(request: Request) -> bytearray:
    """Return the bytes of a request, up to a limit."""
    read = bytearray()
    try:
        async for chunk in request.stream():
            read += chunk
            if len(read) > LARGEST_BODY_BYTES:
                raise Refused(413, "too large", f"a body may have at most {LARGEST_BODY_BYTES} bytes")
    except ClientDisconnect:  # nobody sees this answer, but it is counted
        raise Refused(499, "client closed request") from None
    return read


def has_two_lengths(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request says in two ways where it ends, so that a proxy may believe the other one.

    Examples
    --------
    >>> has_two_lengths([(b"content-length", b"2"), (b"host", b"localhost")])
    False
    >>> has_two_lengths([(b"content-length", b"2"), (b"transfer-encoding", b"chunked")])
    True
    """
    return {b"content-length", b"transfer-encoding"} <= {name for name, _ in headers}


def check_names(parts: Mapping[str, str]) -> None:
    """Refuse a path with a name that nothing can have, before it reaches the database.

    Examples
    --------
    >>> check_names({"experiment": "checkout", "decision": "visit-1"})
    >>> check_names({"experiment": "a\\0b"})
    Traceback (most recent call last):
        ...
    heavybandits.service.http.web.Refused: experiment: Expected 1 to 64 characters without slashes or control characters
    """
    for name, form in PARTS.items():
        if name in parts:
            try:
                msgspec.convert(parts[name], form)
            except msgspec.ValidationError as error:
                raise Refused(404, "no such address", f"{name}: {said(error, form)}") from None


def said(error: msgspec.ValidationError, form: Any) -> str:
    """Return what is wrong with a body of this form, with the rule for names in words and the allowed values.

    Examples
    --------
    >>> from heavybandits.service.forms import ExperimentChange
    >>> try:
    ...     msgspec.convert({"state": "asleep"}, ExperimentChange)
    ... except msgspec.ValidationError as error:
    ...     said(error, ExperimentChange)
    "Invalid enum value 'asleep' - at `$.state`; must be one of 'finished', 'paused', 'running', 'stopped'"
    """
    rule = r"1 to \1 characters without slashes or control characters"
    text = re.sub(r"`str` matching regex '.*\{1,(\d+)\}\$.*'", rule, str(error))
    text = re.sub(r"`str` matching regex '.*\*\$'", "text without control characters", text)
    if re.fullmatch(r"Expected `object \| array`.* - at `\$\.context\[...\]`", text):
        return f'{text}; what is known by name must be {{"attributes": {{...}}}} in the context'
    path = re.fullmatch(r"Invalid enum value .* - at `\$(.*)`", text, re.DOTALL)
    if path is None:
        return text
    steps = re.findall(r"\.(\w+)|\[(.*?)\]", path[1])
    return f"{text}; must be one of {', '.join(map(repr, _allowed(msgspec.inspect.type_info(form), steps)))}"


def _allowed(form: msgspec.inspect.Type, steps: list[tuple[str, str]]) -> list[Any]:
    """Return the texts allowed where these steps lead: names of fields, and positions in lists and mappings."""
    if isinstance(form, msgspec.inspect.UnionType):
        return [value for each in form.types for value in _allowed(each, steps)]
    if not steps:
        return list(form.values) if isinstance(form, msgspec.inspect.LiteralType) else []
    if isinstance(form, msgspec.inspect.StructType):
        return [value for field in form.fields if field.encode_name == steps[0][0]
                for value in _allowed(field.type, steps[1:])]  # fmt: skip
    inner = getattr(form, "item_type", None) or getattr(form, "value_type", None)
    return [] if inner is None else _allowed(inner, steps[1:])
