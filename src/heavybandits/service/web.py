"""Requests and answers in HTTP: bodies of limited size, JSON that is checked, problems in one form."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from .spec import Problem
from .turn import Outcome

LARGEST_BODY = 1 << 20  # bytes
_encoder = msgspec.json.Encoder()
Form = TypeVar("Form")


class Refused(Exception):
    """A request that is answered without asking the log."""

    def __init__(self, status: int, title: str, detail: str = "") -> None:
        super().__init__(detail or title)
        self.problem = Problem(title, status, detail)


def respond(outcome: Outcome) -> Response:
    """Return an outcome as an answer."""
    if isinstance(outcome.body, Problem):
        return refuse(outcome.body)
    return Response(_encoder.encode(outcome.body), outcome.status, media_type="application/json")


def refuse(problem: Problem) -> Response:
    """Return a problem as an answer; those that pass say when to come again."""
    headers = {"Retry-After": "1"} if problem.status in (429, 503) else {}
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(_encoder.encode(problem), problem.status, headers, media_type="application/problem+json")


async def body(request: Request, form: msgspec.json.Decoder[Form]) -> Form:
    """Return the body of a request, checked.

    It must say that it is JSON, which pages of other sites cannot without being asked.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "not JSON", f"content-type must be application/json, got {kind!r}")
    try:
        return form.decode(await contents(request))
    except msgspec.ValidationError as error:
        raise Refused(422, "invalid", said(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, "malformed JSON", str(error)) from None


async def contents(request: Request) -> bytearray:
    """Return the bytes of a request, which are limited."""
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > LARGEST_BODY:
            raise Refused(413, "too large", f"a body has at most {LARGEST_BODY} bytes")
    return read


def parameter(request: Request, name: str, form: Any) -> Any:
    """Return a part of the address, checked."""
    try:
        return msgspec.convert(request.path_params[name], form)
    except msgspec.ValidationError as error:
        raise Refused(404, "no such address", f"{name}: {said(error)}") from None


def said(error: msgspec.ValidationError) -> str:
    """Return what is wrong, with the rule of names in words."""
    rule = r"1 to \1 characters, and neither slashes nor control characters"
    return re.sub(r"`str` matching regex '.*\{1,(\d+)\}\$'", rule, str(error))
