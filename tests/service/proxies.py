"""A wire between a server and its PostgreSQL that can be cut, silenced, or cut just after a commit."""

import contextlib
import socket
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit


class Proxy:
    """A proxy that forwards connections to the socket of a PostgreSQL server."""

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        self._target = str(Path(parse_qs(parts.query)["host"][0]) / ".s.PGSQL.5432")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgresql://postgres@127.0.0.1:{self._listener.getsockname()[1]}{parts.path}"
        self.refusing = self.silent = self.cut_after_commit = False
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.refusing:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                self._pairs.append((client, server))
                for arguments in ((client, server, False), (server, client, True)):
                    self._threads.append(threading.Thread(target=self._forward, args=arguments))
                    self._threads[-1].start()

    def _forward(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if answers and self.cut_after_commit and b"COMMIT\x00" in data:
                    self.cut_after_commit = False  # it is stored, but nobody will know
                    break
                if self.silent and answers:
                    continue
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)  # ends the thread that reads from it
        source.close()

    def cut(self) -> None:
        """End all connections."""
        for pair in self._pairs:
            for each in pair:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self.cut()
        for thread in self._threads:
            thread.join(10)
        self._listener.close()
