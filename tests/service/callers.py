"""Both clients behind one interface, so that a test runs with either, and servers that do not behave."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import heavybandits as hb

GUARD = 60.0  # seconds after which a call that should have ended counts as stuck


class Awaited:
    """An asynchronous client whose methods block."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

        async def make() -> hb.AsyncClient:
            return hb.AsyncClient(*arguments, **named)

        self.client = asyncio.run_coroutine_threadsafe(make(), self._loop).result()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def method(*arguments: Any, **named: Any) -> Any:
            awaited = getattr(self.client, name)(*arguments, **named)
            return asyncio.run_coroutine_threadsafe(awaited, self._loop).result(GUARD)

        return method

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self.client.close(), self._loop).result(GUARD)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


KINDS: dict[str, Any] = {"blocking": hb.Client, "awaited": Awaited}


@contextmanager
def wire(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serve each connection with a function in a thread, and yield the address."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []
    connections: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connections.append(connection)
            threads.append(threading.Thread(target=_served, args=(serve, connection)))
            threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    accepting.join(GUARD)
    for connection in connections:
        with suppress(OSError):  # it is closed
            connection.shutdown(socket.SHUT_RDWR)
    for thread in (accepting, *threads):
        thread.join(GUARD)
        assert not thread.is_alive()


def silent(connection: socket.socket) -> None:
    """Read the request, and wait until the client has left."""
    while connection.recv(65536):
        pass


def in_time(work: Callable[[], Any]) -> Any:
    """Return what a function returns, unless it is stuck: the clients in the tests would wait for an hour."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(GUARD)
    assert found, "it blocks, or has failed"
    return found[0]


def requests(connection: socket.socket) -> Iterator[str]:
    """Yield the method and path of each request, once it has arrived."""
    with connection.makefile("rb") as file:
        while line := file.readline():
            length = 0
            while (header := file.readline()).strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            file.read(length)
            yield line.decode().removesuffix(" HTTP/1.1\r\n")


def _served(serve: Callable[[socket.socket], None], connection: socket.socket) -> None:
    with connection, suppress(OSError):  # the client may leave
        serve(connection)
