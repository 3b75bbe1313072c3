"""The table of endpoints, from which both the routes and the OpenAPI description are made."""

from __future__ import annotations

import functools
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from .web import check_names

Handler = Callable[[Any, Request, str | None], Awaitable[Response]]  # takes the service, the request and the token's id


class Operation(NamedTuple):
    """An endpoint: its method and path, who may use it, and what it does."""

    method: str
    path: str
    role: str | None
    handler: Handler
    form: Any  # type of the request's body, None if it has none
    answers: dict[int, Any]  # types of the bodies of answers, by status; problems have their own
    query: dict[str, Any]  # types of query parameters


OPERATIONS: list[Operation] = []
_methods: dict[re.Pattern[str], dict[str, Operation]] = {}  # by the pattern of the path


def operation(
    method: str, path: str, role: str | None, form: Any = None, answers: dict[int, Any] | None = None,
    query: dict[str, Any] | None = None,
) -> Callable[[Handler], Handler]:  # fmt: skip
    """Serve an endpoint with this function, which gets only names that something may have."""

    def add(handler: Handler) -> Handler:
        @functools.wraps(handler)
        async def checked(service: Any, request: Request, who: str | None) -> Response:
            check_names(request.path_params)
            return await handler(service, request, who)

        item = Operation(method, path, role, checked, form, answers or {200: Any}, query or {})
        OPERATIONS.append(item)
        _methods.setdefault(re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path)), {})[method] = item
        return handler

    return add


def located(path: str) -> tuple[dict[str, str], dict[str, Operation]] | None:
    """Return the parts of a path and its operations by method; None if it is not in the table.

    Examples
    --------
    >>> from heavybandits.service.http import reading
    >>> parts, methods = located("/v1/experiments/checkout/report")
    >>> parts, list(methods), located("/v1/nowhere")
    ({'experiment': 'checkout'}, ['GET'], None)
    """
    for pattern, methods in _methods.items():
        if found := pattern.fullmatch(path):
            return found.groupdict(), methods
    return None
