"""Servers killed under load again and again, and a count: nothing acknowledged is lost, and nothing counts twice.

By hand: ``python tests/service/kills.py --kills 100 --db sqlite`` (or ``postgres``).
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from services import Process, call, new_database, postgres_server

from heavybandits.service.replica import Replica
from heavybandits.service.storage import open_storage
from heavybandits.service.verification import verify

CLIENTS = 8
SERVERS = 2


class Tally(NamedTuple):
    """What a storm did, and what was found afterwards."""

    kills: int
    cuts: int
    decisions: int
    rewards: int
    repeats: int
    lost: list[str]
    doubled: list[str]
    changed: list[str]
    checksums: set[str]
    verified: bool

    def is_good(self) -> bool:
        return not (self.lost or self.doubled or self.changed) and len(self.checksums) == 1 and self.verified


class Load:
    """Clients that ask, repeat, and write down what was acknowledged."""

    def __init__(self, servers: list[Process], seed: int) -> None:
        self.servers, self.seed = servers, seed
        self.decided: dict[str, tuple[str, int]] = {}
        self.rewarded: dict[str, float] = {}
        self.changed: list[str] = []
        self.repeats = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._client, args=(number,)) for number in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _send(self, rng: random.Random, method: str, path: str, body: Any) -> Any:
        """Send until a server gives a final answer; return None if the storm ends first."""
        while True:
            server = rng.choice(self.servers)
            try:
                answer = call(server.address, method, f"/v1/experiments/x{path}", body, timeout=20)
                if answer.status in (200, 201):
                    return answer.body
                assert answer.status == 503, answer
            except (OSError, ValueError):
                pass
            except Exception as error:  # a reply cut short
                if type(error).__module__ != "http.client":
                    raise
            if self._stop.is_set():
                return None
            time.sleep(0.02)

    def _client(self, number: int) -> None:
        rng, count = random.Random(self.seed * 1000 + number), 0
        while not self._stop.is_set():
            count += 1
            key = f"c{number}-{count}"
            body = {"id": key, "unit": f"u{rng.randrange(100)}"}
            for _ in range(1 + (rng.random() < 0.3)):  # often sent twice
                answer = self._send(rng, "POST", "/decisions", body)
                if answer is None:
                    return
                seen = self.decided.setdefault(key, (answer["arm"], answer["seq"]))
                if seen != (answer["arm"], answer["seq"]):
                    self.changed.append(key)
            if rng.random() < 0.1:
                continue
            value = rng.gauss(1.0 if self.decided[key][0] == "a" else 0.0, 1.0)
            for repeat in range(1 + (rng.random() < 0.3)):
                if self._send(rng, "PUT", f"/decisions/{key}/reward", {"value": value}) is None:
                    return
                self.rewarded[key] = value
                self.repeats += repeat


def cut_connections(url: str) -> None:
    """Have the database end all connections but this one."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def storm(url: str, folder: Path, kills: int, seed: int = 0) -> Tally:
    """Run servers under load, kill them one by one, and count."""
    rng, is_postgres = random.Random(seed), url.startswith("postgres")
    servers = [Process(url, folder) for _ in range(SERVERS)]
    for server in servers:
        server.wait_until_ready()
    arms = [{"name": name} for name in "abc"]
    assert servers[0]("PUT", "/x", {"arms": arms, "policy": "ucb", "sticky": True, "floor": {"b": 0.05}}).status == 201
    load, cuts = Load(servers, seed), 0
    try:
        for number in range(kills):
            time.sleep(rng.uniform(0.1, 1.0))
            if is_postgres and number % 2:
                cut_connections(url)
                cuts += 1
            victim = rng.randrange(SERVERS)
            servers[victim].kill()
            servers[victim] = Process(url, folder)
            if number % 4:  # every fourth time the next kill may come while this server is still starting
                servers[victim].wait_until_ready()
        time.sleep(1.0)
    finally:
        load.stop()
    for server in servers:
        server.wait_until_ready()
    time.sleep(1.0)  # so that each has read what the other has stored
    checksums = {server("GET", "/x/report").body["checksum"] for server in servers}
    assert [server.end() for server in servers] == [0] * SERVERS
    return counted(url, load, kills, cuts, checksums)


def counted(url: str, load: Load, kills: int, cuts: int, checksums: set[str]) -> Tally:
    """Compare what was acknowledged with the log."""
    session = open_storage(url).connect()
    head = session.head("x")
    assert head is not None
    replica, decisions, rewards = Replica(head.id, "x"), dict[str, Any](), dict[str, Any]()
    lost, doubled, changed = [], [], list(load.changed)
    while replica.seq < head.next_seq - 1:
        for event in session.events(head.id, replica.seq):
            replica.apply(event)
            kept = decisions if event.kind == "decision" else rewards if event.kind == "reward" else {}
            key = str(event.key)
            if key in kept:
                doubled.append(key)
            kept[key] = event
    for key, (arm, seq) in load.decided.items():
        if key not in decisions:
            lost.append(key)
        elif (decisions[key].arm, decisions[key].seq) != (arm, seq):
            changed.append(key)
    for key, value in load.rewarded.items():
        if key not in rewards:
            lost.append(f"{key}/reward")
        elif rewards[key].value != value:
            changed.append(f"{key}/reward")
    if sum(row.pulls for row in replica.learner.rows()) != len(rewards):
        doubled.append("the agent has not learned as many rewards as the log holds")
    verified = all(finding.ok for finding in verify(session))
    session.close()
    return Tally(
        kills, cuts, len(load.decided), len(load.rewarded), load.repeats, lost, doubled, changed,
        checksums | {replica.checksum()}, verified,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--db", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if chosen.db == "sqlite":
            tally = storm(f"sqlite:///{folder}/log.db", folder, chosen.kills, chosen.seed)
        else:
            with postgres_server(folder) as uri:
                tally = storm(new_database(uri), folder, chosen.kills, chosen.seed)
    print(tally)
    sys.exit(0 if tally.is_good() else 1)


if __name__ == "__main__":
    main()
