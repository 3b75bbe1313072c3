"""The process behind ``heavybandits serve``: a socket, the application, and a shutdown that loses nothing."""

from __future__ import annotations

import contextlib
import functools
import gc
import ipaddress
import logging
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, cast

import uvicorn

from ..storage import Storage, open_storage
from .app import Service
from .auth import Tokens
from .connections import DEFAULT_LIMITS, Connection, Crowd, Limits, files_allowed
from .telemetry import write_to_stderr

SWITCH_SECONDS = 0.001  # seconds for which one thread may hold up the others
GRACE_SECONDS = 20  # seconds in which requests under way may finish when the server is told to stop

log = logging.getLogger("heavybandits.service")


class Server(uvicorn.Server):
    """A server that limits what clients may take up, and exits with status 0 when it is told to stop.

    Parameters
    ----------
    config
        What uvicorn is told.
    crowd
        The connections.
    """

    def __init__(self, config: uvicorn.Config, crowd: Crowd) -> None:
        super().__init__(config)
        self._crowd = crowd

    async def on_tick(self, counter: int) -> bool:
        """End connections that are late, ten times a second; return whether to stop."""
        self._crowd.end_late()
        return await super().on_tick(counter)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Finish what is under way on SIGTERM and Ctrl-C; the second Ctrl-C does not wait."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.handle_exit(number, frame)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("localhost")
    (True, False, True)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at a host and port; whoever connects before the server runs waits for it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Declared as TCP: otherwise asyncio would not disable Nagle's algorithm, and answers would take 40 ms.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen()
    except OSError as error:
        found.close()
        raise OSError(error.errno, f"cannot listen on {host} port {port}: {error.strerror}") from None
    return found


def make_server(service: Service, limits: Limits = DEFAULT_LIMITS) -> Server:
    """Return a server for an application."""
    files = files_allowed()  # half of them for connections, half for databases and connections not yet turned away
    crowd = Crowd(limits._replace(connections=min(limits.connections, files // 2)))
    config = uvicorn.Config(
        service.app, interface="asgi3", lifespan="on", log_config=None, access_log=False, server_header=False,
        http=cast(Any, functools.partial(Connection, crowd)), ws="none", timeout_keep_alive=limits.idle_seconds,
        # asyncio accepts a whole backlog before any of it can be turned away, and by then up to three more.
        timeout_graceful_shutdown=GRACE_SECONDS, backlog=min(2048, files // 8),
    )  # fmt: skip
    return Server(config, crowd)


def prepare_database(storage: Storage, host: str) -> bool:
    """Bring the schema up to date, and return whether there are tokens; a host other than loopback requires them."""
    with contextlib.closing(storage.connect()) as session:
        session.migrate()
        has_tokens = Tokens.read(session).any_made
    if not has_tokens and not is_loopback(host):
        raise ValueError(f"serve: host must be 127.0.0.1 while there are no tokens, got {host!r}; "
                         f"create one first: heavybandits token create --role admin --db {storage.shown}")  # fmt: skip
    return has_tokens


def serve(url: str, host: str, port: int, rate: float | None) -> None:
    """Serve until told to stop."""
    write_to_stderr()
    storage = open_storage(url)
    has_tokens = prepare_database(storage, host)
    service = Service(storage, rate=rate, loopback=is_loopback(host))
    with listen(host, port) as wire:
        shown = f"[{host}]" if ":" in host else host
        print(f"Page and API: http://{shown}:{wire.getsockname()[1]}/  (events in {storage.shown})")
        if not has_tokens:
            command = f"heavybandits token create --role admin --db {storage.shown}"
            print(f"Anyone on this machine may use it.  To require tokens: {command}")
        sys.stdout.flush()
        server = make_server(service)
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.freeze()  # what is loaded by now stays, so collections need not scan it while requests wait
        server.run(sockets=[wire])
    log.info("stopped")
    if not server.started:
        raise OSError("the server could not start; see above")
