"""Random and damaged requests to the whole interface, while honest clients go on and must not notice.

By hand: ``python tests/service/fuzz.py --requests 100000 --seed 1 --db sqlite`` (or ``postgres``).
"""

import argparse
import contextlib
import json
import logging
import random
import socket
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[1]))

from nasty import Nasty, nasty
from oracle import select
from services import SECOND, FakeClock, Running, call, eventually, new_database, postgres_server, running

from heavybandits.service.http.connections import DEFAULT_LIMITS
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.storage import Storage, open_storage

FUZZERS = 4
ARMS = ["zeta", "Alpha", "mid"]  # in no order that sorting gives
HONEST: dict[str, dict[str, Any]] = {
    "plain": {"policy": "ucb"},
    "sticky": {"policy": "thompson-gaussian", "sticky": True, "floor": {"mid": 0.1}},
    "shared": {"policy": "lin-ucb", "context": {"shared": True, "n_features": 2}},
    "windows": {"policy": "tsallis-inf", "reward": {"window": 1e6}},
    "named": {"policy": "lin-ucb", "context": {"attributes": True}},
    "points": {"points": {"price": [5, 25]}},
}
DUE = (
    "SELECT key FROM pending JOIN experiment ON experiment.id = pending.exp "
    "WHERE deadline <= {} AND experiment.deleted IS NULL"
)


class Tally(NamedTuple):
    """What was sent, and what should not have happened."""

    requests: int
    honest: int
    statuses: dict[int, int]
    wrong: list[str]

    def is_good(self) -> bool:
        return not self.wrong


class Reply(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes


class Wire:
    """A connection that is kept open from request to request, and takes any bytes.

    Parameters
    ----------
    address
        The server's host and port.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket: socket.socket | None = None

    def ask(self, sent: bytes) -> Reply | None:
        """Send a request and return its answer, None if the connection was closed without one."""
        if self._socket is None:
            host, _, port = self.address.rpartition(":")
            self._socket = socket.create_connection((host, int(port)), timeout=60)
        try:
            with contextlib.suppress(ConnectionError):  # a request that is refused early need not be read to its end
                self._socket.sendall(sent)
            answer = HTTPResponse(self._socket, method=sent.partition(b" ")[0].decode("latin-1"))
            answer.begin()
            found = Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
            if answer.will_close:
                self.close()
            answer.close()
            return found
        except (HTTPException, ConnectionError):
            self.close()
            return None

    def leave(self, sent: bytes) -> None:
        """Send something, and close the connection without waiting for an answer."""
        self.close()
        host, _, port = self.address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=60) as left, contextlib.suppress(ConnectionError):
            left.sendall(sent)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None


class Noted(logging.Handler):
    """Keeps the errors that are logged, and whatever comes with a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info or record.levelno >= logging.ERROR:
            self.lines.append(logging.Formatter().format(record))


class Fuzz:
    """Clients, honest and other, of one server.

    Parameters
    ----------
    server
        The server.
    clock
        Its clock.
    requests
        How many nasty requests to send.
    seed
        Of all clients.
    """

    def __init__(self, server: Running, clock: FakeClock, requests: int, seed: int) -> None:
        self.server, self.clock, self.seed = server, clock, seed
        self.wrong: list[str] = []
        self.statuses: Counter[int] = Counter()
        self.honest = 0
        self._left = requests
        self._done = threading.Event()
        # Replays take a process of their own, and so long that little else would be tested.
        routes = [route for route in server.service.pages.routes() if not route.path.endswith("/rivals")]
        self._pages = [(method, route.path) for route in routes for method in sorted(route.methods or ())]

    def run(self) -> None:
        """Let all clients play until enough nasty requests were sent."""
        for name, more in HONEST.items():
            spec = more if "points" in more else {"arms": [{"name": arm} for arm in ARMS], **more}
            assert self.server("PUT", f"/{name}", spec, timeout=300).status == 201
        fuzzers = [threading.Thread(target=self._guarded, args=(self._fuzz, i)) for i in range(FUZZERS)]
        honest = [threading.Thread(target=self._guarded, args=(self._be_honest, i)) for i in range(2)]
        for thread in fuzzers + honest:
            thread.start()
        for thread in fuzzers:
            thread.join()
        self._done.set()
        for thread in honest:
            thread.join()

    def _guarded(self, play: Callable[[random.Random, Wire, int], None], number: int) -> None:
        with contextlib.closing(Wire(self.server.address)) as wire:
            try:
                play(random.Random(f"{self.seed}/{play.__name__}/{number}"), wire, number)
            except Exception as error:
                self.wrong.append(f"{play.__name__}: {error!r}")

    def _fuzz(self, rng: random.Random, wire: Wire, number: int) -> None:
        while self._left > 0 and len(self.wrong) < 20:
            self._left -= 1
            request = nasty(rng, self.server.address, self._pages)
            if request.is_left:
                wire.leave(request.sent)
                continue
            reply = wire.ask(request.sent)
            if reply is None and request.is_sound:  # perhaps the connection was closed after the request before
                reply = wire.ask(request.sent)
            if problem := self._judged(request, reply):
                self.wrong.append(f"{problem}: {request.sent[:2_000]!r} got {reply}")

    def _judged(self, request: Nasty, reply: Reply | None) -> str:
        """Return what is wrong with an answer."""
        if reply is None:
            return "no answer" if request.is_sound else ""
        self.statuses[reply.status] += 1
        if reply.status >= 500 and not (reply.status == 503 and "retry-after" in reply.headers):
            return "failure"
        if "json" in reply.headers.get("content-type", "").replace("ndjson", "") and reply.body:
            try:
                json.loads(reply.body)
            except ValueError:
                return "no JSON"
        return ""

    def _be_honest(self, rng: random.Random, wire: Wire, number: int) -> None:
        """Decide and reward, and check every answer."""
        count = 0
        while not self._done.is_set():
            count += 1
            name, key = rng.choice(list(HONEST)), f"h{number}-{count}"
            asked: dict[str, Any] = {"id": key, "unit": f"u{rng.randrange(20)}"}
            if name == "shared":
                asked["context"] = [1.0, rng.random()]
            elif name == "named":
                asked["context"] = {"attributes": {"age": rng.randint(18, 80), "plan": rng.choice(["free", "paid"])}}
            first = self._ask(wire, 201, "POST", f"/v1/experiments/{name}/decisions", asked)
            assert first["id"] == key, (asked, first)
            assert first["arm"] in (["point"] if name == "points" else ARMS), (asked, first)
            assert self._ask(wire, 200, "POST", f"/v1/experiments/{name}/decisions", asked) == first
            path, value = f"/v1/experiments/{name}/decisions/{key}/reward", {"value": rng.gauss()}
            stored = self._ask(wire, 201, "PUT", path, value)
            assert self._ask(wire, 200, "PUT", path, value) == stored
            self._ask(wire, 200, "GET", "/ready")
            if count % 20 == 0:
                self._ask(wire, 200, "GET", f"/v1/experiments/{name}/report")
                self.clock.now += SECOND

    def _ask(self, wire: Wire, status: int, method: str, path: str, body: Any = None) -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.server.address}\r\nContent-Type: application/json\r\n"
        reply = wire.ask(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        self.honest += 1
        assert reply is not None, (method, path, body)
        assert reply.status == status, (method, path, body, reply)
        return json.loads(reply.body)


def fuzz(storage: Storage, requests: int, seed: int = 0) -> Tally:
    """Send requests to a server, and look at everything that it serves, now and after a restart."""
    noted, clock = Noted(), FakeClock()
    logging.getLogger().addHandler(noted)
    try:
        with running(storage, clock, limits=DEFAULT_LIMITS._replace(head_seconds=2.0, body_seconds=2.0)) as server:
            played = Fuzz(server, clock, requests, seed)
            played.run()
            eventually(lambda: not select(storage.url, DUE.format(clock.now)))
            checksums = looked_at(server, storage.url, played.wrong)
        with contextlib.closing(storage.connect()) as session:
            played.wrong += [finding.text for finding in verify(session) if not finding.ok]
        with running(storage, clock) as server:
            if looked_at(server, storage.url, played.wrong) != checksums:
                played.wrong.append("a restart changed an experiment")
    finally:
        logging.getLogger().removeHandler(noted)
    return Tally(requests, played.honest, dict(sorted(played.statuses.items())), played.wrong + noted.lines)


def looked_at(server: Running, url: str, wrong: list[str]) -> dict[str, str]:
    """Look at everything that is served about every experiment, and return their checksums."""
    names = {name for (name,) in select(url, "SELECT name FROM experiment WHERE deleted IS NULL")}
    listed = {each["name"] for each in server("GET", "").body["experiments"]}
    if names != listed:
        wrong.append(f"the list lacks {names - listed}, and has {listed - names} too many")
    checksums = {}
    for name in sorted(names):
        address = quote(name, safe="")
        paths = [f"/v1/experiments/{address}{part}" for part in ("", "/audit", "/export", "/export?format=csv")]
        for path in [*paths, f"/experiments/{address}", f"/experiments/{address}/live", "/"]:
            answer = call(server.address, "GET", path)
            if answer.status != 200:
                wrong.append(f"{path}: {answer}")
        report = server("GET", f"/{address}/report")
        checksums[name] = str(report.body.get("checksum", report))
    return checksums


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--db", choices=["sqlite", "postgres"], default="sqlite")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        url = f"sqlite:///{name}/log.db"
        if chosen.db == "postgres":
            url = new_database(stack.enter_context(postgres_server(Path(name))))
        tally = fuzz(open_storage(url), chosen.requests, chosen.seed)
    print(*tally.wrong, tally._replace(wrong=[]), sep="\n")
    sys.exit(0 if tally.is_good() else 1)


if __name__ == "__main__":
    main()
