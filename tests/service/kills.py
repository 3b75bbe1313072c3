"""Servers that are killed, paused, restarted and cut off under load, and a count: nothing acknowledged is lost, nothing
counts twice, and all servers and a replay hold the same bits.

By hand: ``python tests/service/kills.py --kills 100 --pauses 20 --db sqlite`` (or ``postgres``).
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import psycopg
from loads import Load
from oracle import Verdict, heads, select
from services import Process, eventually, new_database, postgres_server

from heavybandits.service.maintenance.verification import verify
from heavybandits.service.replicas.read import catch_up
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.storage import open_storage

SERVERS = 2
LONGEST_PAUSE = 6.0  # seconds: more than anybody waits for a server that does not go on


class Tally(NamedTuple):
    """What a storm did, and what was found afterwards."""

    kills: int
    pauses: int
    restarts: int
    cuts: int
    decisions: int
    rewards: int
    repeats: int
    lost: list[str]
    doubled: list[str]
    changed: list[str]
    differing: list[str]  # experiments of which servers and a replay hold different bits
    refuted: list[str]  # what a replay of the log finds wrong
    failures: list[str]  # answers that no client should get, and errors in the servers' logs

    def is_good(self) -> bool:
        return not any([self.lost, self.doubled, self.changed, self.differing, self.refuted, self.failures])


class Storm:
    """Servers under load to which things happen.

    Parameters
    ----------
    url
        Their database.
    folder
        Where their logs go.
    seed
        Of what happens.
    """

    def __init__(self, url: str, folder: Path, seed: int) -> None:
        self.url, self._folder, self._rng = url, folder, random.Random(seed)
        self.servers = [Process(url, folder) for _ in range(SERVERS)]
        for server in self.servers:
            server.wait_until_ready()
        self.load = Load(self.servers, seed)

    def rage(self, events: list[Callable[[int], None]]) -> None:
        """Let things happen to servers, in any order."""
        self._rng.shuffle(events)
        for happen in events:
            time.sleep(self._rng.uniform(0.1, 1.0))
            happen(self._rng.randrange(SERVERS))
        time.sleep(1.0)
        self.load.stop()

    def kill(self, victim: int) -> None:
        self.servers[victim].kill()
        self._start(victim)

    def restart(self, victim: int) -> None:
        status = self.servers[victim].end()
        if status != 0:
            self.load.failures.append(f"a server that was told to stop exited with status {status}")
        self._start(victim)

    def _start(self, victim: int) -> None:
        self.servers[victim] = Process(self.url, self._folder)
        if self._rng.random() < 0.75:  # otherwise the next thing may happen while this server is still starting
            self.servers[victim].wait_until_ready()

    def pause(self, victim: int) -> None:
        self.servers[victim].process.send_signal(signal.SIGSTOP)
        time.sleep(self._rng.uniform(0.2, LONGEST_PAUSE))
        self.servers[victim].process.send_signal(signal.SIGCONT)

    def cut(self, victim: int) -> None:
        """Have the database end all connections but this one."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    def settle(self) -> dict[str, list[dict[str, Any]]]:
        """Wait until all windows are over and all servers know it; return their reports by experiment, and stop."""
        for server in self.servers:
            server.wait_until_ready()
        eventually(lambda: not select(self.url, "SELECT key FROM pending"))
        reports = {}
        for name, (_, next_seq) in heads(self.url).items():
            for server in self.servers:
                eventually(lambda: server("GET", f"/{name}").body["seq"] == next_seq - 1)  # noqa: B023
            reports[name] = [server("GET", f"/{name}/report").body for server in self.servers]
        assert [server.end() for server in self.servers] == [0] * SERVERS
        return reports

    def end(self) -> None:
        """Leave nothing running, whatever happened."""
        self.load.stop()
        for server in self.servers:
            if server.process.poll() is None:
                server.kill()

    def errors(self) -> list[str]:
        """Return what servers wrote about failures of their own."""
        lines = (line for file in self._folder.glob("errors-*") for line in file.read_text().splitlines())
        return [line for line in lines if "Traceback" in line]


def storm(url: str, folder: Path, kills: int, pauses: int, seed: int = 0) -> Tally:
    """Run servers under load, let things happen to them, and count."""
    raging = Storm(url, folder, seed)
    restarts, cuts = -(-kills // 4), kills // 2 if url.startswith("postgres") else 0
    happen = {raging.kill: kills, raging.pause: pauses, raging.restart: restarts, raging.cut: cuts}
    try:
        raging.rage([each for each, times in happen.items() for _ in range(times)])
        reports, load = raging.settle(), raging.load
    finally:
        raging.end()
    verdict, differing = Verdict(url, load.acknowledged), []
    with closing(open_storage(url).connect()) as session:
        for name, (exp, next_seq) in heads(url).items():
            replayed = Replica(exp, name)
            catch_up(session, replayed, next_seq)
            if {report["checksum"] for report in reports[name]} != {replayed.checksum()}:
                differing.append(name)
            for report in reports[name]:
                verdict.compare(name, report["arms"])
        refuted = [finding.text for finding in verify(session) if not finding.ok]
    kinds = [act.kind for act in load.acknowledged]
    return Tally(
        kills, pauses, restarts, cuts, kinds.count("decision"), kinds.count("reward"), load.repeats, verdict.lost,
        verdict.doubled, verdict.changed + load.changed, differing, refuted, load.failures + raging.errors(),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--pauses", type=int, default=20)
    parser.add_argument("--db", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if chosen.db == "sqlite":
            tally = storm(f"sqlite:///{folder}/log.db", folder, chosen.kills, chosen.pauses, chosen.seed)
        else:
            with postgres_server(folder) as uri:
                tally = storm(new_database(uri), folder, chosen.kills, chosen.pauses, chosen.seed)
    print(tally)
    sys.exit(0 if tally.is_good() else 1)


if __name__ == "__main__":
    main()
