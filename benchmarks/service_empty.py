"""A server whose handler does nothing but read a request and answer: what ``service.py`` compares the service with."""

from __future__ import annotations

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from heavybandits.service.forms import DecisionAnswer, DecisionRequest
from heavybandits.service.http.server import listen
from heavybandits.service.http.web import body, respond
from heavybandits.service.log.turn import Outcome

form = msgspec.json.Decoder(DecisionRequest)
answer = Outcome(201, DecisionAnswer("0" * 32, "a", None, 1.0, "policy", 1, None))


async def empty(request: Request) -> Response:
    """Read a request and answer it."""
    await body(request, form)
    return respond(answer)


if __name__ == "__main__":
    app = Starlette(routes=[Route("/v1/experiments/{experiment}/decisions", empty, methods=["POST"])])
    wire = listen("127.0.0.1", 0)
    print(f"http://127.0.0.1:{wire.getsockname()[1]}/ ", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, server_header=False)).run(sockets=[wire])
