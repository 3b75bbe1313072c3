"""The decision service under load: many clients, many experiments, many arms, slow clients, and more than it can take.

Run from the repository: ``pip install '.[test]' && python benchmarks/service_load.py``.  Takes about two minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

from service import Measured, ask, measured, request, serve

from heavybandits.service.experiments import creation
from heavybandits.service.spec import Arm, Experiment
from heavybandits.service.storage import open_storage

CONCURRENCY = (1, 4, 16, 64, 256)
N_EXPERIMENTS, N_ARMS = 10_000, 10_000
ARMS_EACH = 1_000  # the most that an experiment may have
HOT_SHARE = 0.9  # of requests that go to one experiment
SLOW_CLIENTS = 200
OVERLOADING_CLIENTS, BATCH = 64, 1_000  # more items than may wait

Requests = Callable[[int, str], Iterator[bytes]]


def fill(url: str, n_experiments: int, n_arms: int) -> None:
    """Create experiments, also more than the service allows."""
    spec = Experiment(arms=[Arm(f"arm {number}") for number in range(n_arms)], policy="ucb")
    with closing(open_storage(url).connect()) as session, patch.object(creation, "MAX_EXPERIMENTS", n_experiments):
        session.migrate()
        session.run("PRAGMA synchronous = OFF")
        for number in range(n_experiments):
            assert creation.create(session, f"e{number}", spec, None, 10**15).status == 201


def spread(n_experiments: int, hot_share: float = 0.0) -> Requests:
    """Return requests to many experiments, of which the first gets a share of its own."""

    def requests(number: int, run: str) -> Iterator[bytes]:
        rng, count = random.Random(f"{run}/{number}"), 0
        while True:
            count += 1
            chosen = 0 if rng.random() < hot_share else rng.randrange(n_experiments)
            path, key = f"/v1/experiments/e{chosen}/decisions", f"{run}-{number}-{count}"
            yield request("POST", path, {"id": key})
            yield request("PUT", f"{path}/{key}/reward", {"value": float(count % 7)})

    return requests


def row(what: str, seen: Measured) -> None:
    """Print a row of the table."""
    print(f"| {what} | {seen.rate:,.0f} | {1e3 * seen.p99:.0f} ms |", flush=True)


@contextmanager
def slow_clients(port: int, count: int) -> Iterator[None]:
    """Let clients send a byte of a request every second, in a process of their own, so that they slow nobody down."""
    child = os.fork()
    if child == 0:
        with suppress(KeyboardInterrupt):
            asyncio.run(_dawdle(port, count))
        os._exit(0)
    try:
        time.sleep(2.0)
        yield
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


async def _dawdle(port: int, count: int) -> None:
    async def one() -> None:
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                for byte in request("POST", "/v1/experiments/e0/decisions", {"unit": "slow" * 100}):
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(1.0)

    await asyncio.gather(*(one() for _ in range(count)))


async def overload(port: int, seconds: float) -> Counter[int]:
    """Send batches from many clients at once, and return how often each status was the answer to an item."""
    statuses, end = Counter[int](), time.perf_counter() + seconds

    async def one(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        count = 0
        while time.perf_counter() < end:
            items = [{"decision": {"id": f"over-{number}-{count}-{item}"}} for item in range(BATCH)]
            count += 1
            writer.write(request("POST", "/v1/experiments/e0/batch", {"items": items}))
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            answer = json.loads(await reader.readexactly(length))
            if b" 200 " in head[:13]:
                statuses.update(item["status"] for item in answer["items"])
            else:
                statuses[int(head.split()[1])] += BATCH
        writer.close()

    await asyncio.gather(*(one(number) for number in range(OVERLOADING_CLIENTS)))
    return statuses


async def until_decided(port: int) -> float:
    """Return how many seconds a decision takes now."""
    start = time.perf_counter()
    await ask(port, request("POST", "/v1/experiments/e0/decisions", {}))
    return time.perf_counter() - start


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    seconds = parser.parse_args().seconds
    print("| | requests/s | p99 |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few, many, wide = (f"sqlite:///{folder}/{kind}.db" for kind in ("few", "many", "wide"))
        fill(few, 1, 4)
        fill(many, N_EXPERIMENTS, 4)
        fill(wide, N_ARMS // ARMS_EACH, ARMS_EACH)
        with serve(few, folder) as one:
            measured([one], spread(1), 1.0, "warm")
            for clients in CONCURRENCY:
                row(f"{clients} clients" if clients > 1 else "1 client",
                    measured([one], spread(1), seconds, f"c{clients}", clients))  # fmt: skip
            with slow_clients(one[0], SLOW_CLIENTS):
                row(f"64 clients beside {SLOW_CLIENTS} slow ones", measured([one], spread(1), seconds, "slow"))
            statuses = asyncio.run(overload(one[0], seconds))
            waits = [asyncio.run(until_decided(one[0])) for _ in range(20)]
            row("64 clients after the overload", measured([one], spread(1), seconds, "after"))
        with serve(wide, folder) as one:
            measured([one], spread(N_ARMS // ARMS_EACH), 1.0, "warm")
            row(f"64 clients, {N_ARMS:,} arms in {N_ARMS // ARMS_EACH} experiments",
                measured([one], spread(N_ARMS // ARMS_EACH), seconds, "wide"))  # fmt: skip
        start = time.perf_counter()
        with serve(many, folder) as one:
            ready = time.perf_counter() - start
            idle = sum(one[1].cpu_times()[:2])
            time.sleep(seconds)
            idle = (sum(one[1].cpu_times()[:2]) - idle) / seconds
            row(f"64 clients, {N_EXPERIMENTS:,} experiments", measured([one], spread(N_EXPERIMENTS), seconds, "many"))
            row(f"64 clients, {HOT_SHARE:.0%} of requests to one of them",
                measured([one], spread(N_EXPERIMENTS, HOT_SHARE), seconds, "hot"))  # fmt: skip
            memory = one[1].memory_info().rss >> 20
    answered = ", ".join(f"{count:,} with {status}" for status, count in sorted(statuses.items()))
    print(f"\n{OVERLOADING_CLIENTS} clients that sent batches of {BATCH:,} decisions were answered: {answered}. "
          f"Just afterwards a decision took {1e3 * statistics.median(waits):.0f} ms, the slowest of 20 "
          f"{1e3 * max(waits):.0f} ms.")  # fmt: skip
    print(f"With {N_EXPERIMENTS:,} experiments the server was ready after {ready:.0f} s, took {memory} MB, and kept a "
          f"processor busy for {idle:.0%} of the time when nobody asked.")  # fmt: skip
    print(f"Load average of the machine: {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
