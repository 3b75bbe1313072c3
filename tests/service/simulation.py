"""A simulation of servers on one database, in one thread and without waiting: a seed decides everything that happens.

Servers run as they are, with their lanes, readers, followers and watchdogs, on a real SQLite file; only threads and
time are virtual.  After each statement the seed decides who goes on.  Meanwhile servers are killed, restarted and
suspended, statements fail, commits succeed without saying so, clocks jump, answers are lost and requests repeated, the
log is pruned, and experiments are deleted.  Then what clients were told is compared with what is stored, and all
replicas with a replay.

``python tests/service/simulation.py 42`` plays the schedule with seed 42 and prints what happened last.
``python tests/service/simulation.py 0 --schedules 5000`` plays that many, and prints the seeds of those that fail.
"""

import argparse
import functools
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from inspection import Archive, Told, problems
from plays import KINDS, WINDOW, Play, accepted
from simulated import Disk, File, Server, Ticket, plain_python, virtual_machine
from virtual import Fiber, Lock, Scheduler, join, running, sleep

from heavybandits.algorithms.registry import policies
from heavybandits.service.events import SECOND
from heavybandits.service.experiments import deletion
from heavybandits.service.experiments.creation import create
from heavybandits.service.log.requests import UNAVAILABLE, ReadReplica
from heavybandits.service.maintenance import retention
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.spec import Experiment
from heavybandits.service.storage import Session, StorageError, Unavailable

SERVERS, CLIENTS = 2, 3
CHUNK = 50  # schedules that a process plays at a time
QUICK_POLICIES = [
    ("arms", "ucb"), ("arms", "tsallis-inf"), ("arms", "auto-mean"), ("linear", "lin-ucb"), ("lipschitz", "zooming"),
]  # fmt: skip
MOST_STEPS = 15_000  # of a schedule; one that ends takes about 500


class World:
    """Servers, their database, their clients, and what happens to them.

    Parameters
    ----------
    seed
        Of everything.
    file
        The database, which is empty.
    requests
        How many batches of requests clients send.
    """

    def __init__(self, seed: int, file: File, requests: int = 10) -> None:
        self.rng = Random(seed)
        self.scheduler = Scheduler(self.rng)
        self.file = file
        self.writing = Lock(self.scheduler)
        self.skews, self._jumped = [0] * SERVERS, 10**15
        self.told, self.archive = Told(), Archive(file.connection)
        self.plays = [Play(name, spec, self.rng) for name, spec in self._experiments(seed).items()]
        self.servers = list[Server]()
        self._left, self._tickets = requests, list[Ticket]()
        self._wanted = dict[Fiber, list[Any]]()  # what clients repeat until they have an answer
        self._fault_rate = self.rng.choice([0.0, 0.003, 0.02])

    def _experiments(self, seed: int) -> dict[str, Experiment]:
        """Return one or two experiments: every third schedule is for the next of all policies that are accepted."""
        pairs = [(kind, name) for kind in KINDS for name in policies(kind)]
        first = seed // 3
        if seed % 3:
            pairs, first = QUICK_POLICIES, self.rng.randrange(len(QUICK_POLICIES))
        with plain_python():
            turns = (accepted_once(*pairs[number % len(pairs)]) for number in itertools.count(first))
            possible = next(found for found in turns if found)
        names = self.rng.sample(sorted(possible), min(len(possible), self.rng.choice([1, 1, 2])))
        return {name: possible[name] for name in names}

    def now(self) -> int:
        """Return the true time, in microseconds."""
        return self._jumped + int(self.scheduler.now * SECOND)

    def perhaps_fail(self, when: str) -> None:
        """Raise now and then, as a database does that is cut off."""
        if self.rng.random() < self._fault_rate:
            self.scheduler.say(f"fails {when}")
            raise Unavailable("cut off") if when == "on connecting" else StorageError("cut off")

    # What happens

    def play(self) -> list[str]:
        """Let everything happen, and return what is wrong."""
        for each in self.plays:
            assert create(self.file.session, each.name, each.spec, None, self.now()).status == 201
        self.servers = [Server(self, number) for number in range(SERVERS)]
        conductor = self.scheduler.spawn("conductor", None, self._conduct)
        try:
            if not self.scheduler.run(conductor, MOST_STEPS):
                return ["not all requests were answered, or not all servers came to know all events"]
            held = [server.replicas() for server in self.servers]
        finally:
            self.scheduler.end()
            for server in self.servers:
                server.disk.close()
        return problems(self.file.session, self.told, self.archive, held)

    def _conduct(self) -> None:
        for server in self.servers:
            self._begin(server, server.start)
        clients = [self.scheduler.spawn(f"client {number}", None, self._client) for number in range(CLIENTS)]
        quiet = self.rng.choice([2, 8, 30])
        happenings: list[Callable[[], None]] = [
            self._pass, self._jump, self._freeze, self._kill, self._restart, self._prune, self._delete,
        ]  # fmt: skip
        while self._left:
            self.rng.choices(happenings, [10, 1, 3, 1, 1, 2, 0.5])[0]()
            self.scheduler.rest(self.rng.randrange(2 * quiet))
        self._fault_rate = 0.0
        self.scheduler.frozen.clear()
        join(self.scheduler, clients)
        while not self._is_settled():
            sleep(self.scheduler, 0.1)

    def _begin(self, server: Server, work: Callable[[], None]) -> Fiber:
        return self.scheduler.spawn(f"{server} main", server, work)

    def _pass(self) -> None:
        self._jumped += int(self.rng.choice([1.0, WINDOW]) * self.rng.expovariate(1.0) * SECOND)

    def _jump(self) -> None:
        """Let one clock jump, or all."""
        by = int(self.rng.choice([WINDOW, -self.rng.uniform(0.0, 100.0), 0.0, 1e8]) * SECOND)
        who = self.rng.randrange(-1, SERVERS)
        self.scheduler.say(f"clock {who} jumps by {by}")
        if who < 0:
            self._jumped += by
        else:
            self.skews[who] += by

    def _freeze(self) -> None:
        """Suspend the machine of a server, and let those go on that were suspended before."""
        server = self.rng.choice([None, *self.servers])
        self.scheduler.say(f"suspends {server}")
        self.scheduler.frozen[:] = [] if server is None else [server]

    def _kill(self) -> None:
        server = self.rng.choice(self.servers)
        server.is_alive = False
        self._replace(server)

    def _restart(self) -> None:
        server = self.rng.choice(self.servers)
        self.scheduler.frozen.clear()
        join(self.scheduler, [self._begin(server, server.stop)])
        self._replace(server)

    def _replace(self, server: Server) -> None:
        self.scheduler.kill(server)
        server.disk.close()
        new = self.servers[server.number] = Server(self, server.number)
        self._begin(new, new.start)

    def _prune(self) -> None:
        """Prune what nobody asks about any more."""
        self.archive.copy(self.file.session.heads())
        self._tickets = [ticket for ticket in self._tickets if ticket.server.is_alive and not ticket.done()]
        waiting = [ticket.request for ticket in self._tickets] + list(itertools.chain(*self._wanted.values()))
        used = {(request.experiment, key) for request in waiting for key in keys_of(request)}
        for each in self.plays:
            del each.asked[: self.rng.randint(0, len(each.asked))]
            used |= {(each.name, key) for key in each.asked}
        cuts = []
        for name, rows in self.archive.events.items():
            in_use = [row for row in rows if (name, str(row.key).partition("/")[0]) in used]
            # Of the events that are known, one is of this time or later: nothing that comes after those is removed.
            cuts.append((in_use[0] if in_use else rows[-1]).t)
        self._operate(lambda session: retention.prune(session, min(cuts), self.now))

    def _delete(self) -> None:
        """Delete an experiment, unless it is the only one."""
        if len(self.plays) > 1:
            gone = self.plays.pop(self.rng.randrange(len(self.plays)))
            self._operate(lambda session: [deletion.delete(session, gone.name, None, self.now()),
                                           *deletion.remains_removed(session)])  # fmt: skip

    def _operate(self, work: Callable[[Session], object]) -> None:
        """Let an operator do some work, in a process that may be killed."""
        disk = Disk(self)

        def operate() -> None:
            with suppress(StorageError), closing(disk.connect()) as session:
                work(session)

        fiber = self.scheduler.spawn("operator", disk, operate)
        self.scheduler.rest(self.rng.choice([5, 50, 500]), until=fiber)
        self.scheduler.kill(disk)
        disk.close()

    def _is_settled(self) -> bool:
        heads = self.file.session.heads()
        return all(
            head.name in server.replicas() and server.replicas()[head.name].seq == head.next_seq - 1
            for server in self.servers if server.log is not None for head in heads
        ) and not any(server.log is None or server.log.waiting for server in self.servers)  # fmt: skip

    # Clients

    def _client(self) -> None:
        while self._left:
            self._left -= 1
            each = self.rng.choice(self.plays)
            requests = each.requests()
            if self.rng.random() < 0.3:
                requests.append(ReadReplica(each.name, checksum))
            while requests:
                self._wanted[running()] = requests
                requests = self._send(requests)

    def _send(self, requests: list[Any]) -> list[Any]:
        """Send requests to any server, and return those that must be repeated."""
        server = self.rng.choice(self.servers)
        tickets = [Ticket(self.scheduler, request, server) for request in requests]
        again = []
        self.scheduler.say(f"sends {len(requests)} requests to {server}")
        for ticket in tickets:
            self._tickets.append(ticket)
            if server.log is None or not server.is_alive or not server.log.submit(ticket.request, ticket):
                ticket.set_result(UNAVAILABLE)
        for ticket in tickets:
            ticket.come.wait(self.rng.choice([0.05, 1.0, 15.0]))
            outcome = ticket.outcome
            is_lost = self.rng.random() < 0.1
            if outcome is None or outcome.status == 503 or is_lost:
                again.append(ticket.request)
            elif outcome.status not in (200, 201, 404, 409, 410, 422):
                self.told.problems.append(f"{ticket.request}: {outcome}")
        if again and self.rng.random() < 0.5:
            sleep(self.scheduler, self.rng.expovariate(1.0))
        return again


def keys_of(request: Any) -> set[str]:
    """Return the keys that a request is about."""
    keys = () if isinstance(request, ReadReplica) else request.keys(Replica(0, request.experiment))
    return {key.partition("/")[0] for key in keys}


def checksum(replica: Replica) -> tuple[int, str]:
    """Return how far a replica is, and a digest of what it holds."""
    return replica.seq, replica.checksum()


accepted_once = functools.cache(accepted)


class Played:
    """A schedule that was played."""

    def __init__(self, seed: int, file: File) -> None:
        self.seed = seed
        file.clear()
        world = World(seed, file)
        with virtual_machine(world) as complaints:
            self.problems = world.play() + complaints.found
        self.steps = world.scheduler.steps
        self.trace, self.digest = world.scheduler.trace(), world.scheduler.digest()


@contextmanager
def new_file() -> Iterator[File]:
    """Yield an empty database, in memory if the machine has a file system there."""
    memory = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder,
        closing(File(Path(folder))) as file,
    ):
        yield file


def played(seeds: range) -> list[Played]:
    """Play schedules on a database of their own."""
    with new_file() as file:
        return [Played(seed, file) for seed in seeds]


def main() -> None:
    """Play schedules."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int, help="of the first schedule")
    parser.add_argument("--schedules", type=int, default=1, help="how many to play")
    parser.add_argument("--processes", type=int, default=2, help="how many processes play them")
    chosen = parser.parse_args()
    start, failed = time.perf_counter(), list[int]()
    seeds = range(chosen.seed, chosen.seed + chosen.schedules)
    chunks = [seeds[first : first + CHUNK] for first in range(0, len(seeds), CHUNK)]
    with ProcessPoolExecutor(min(chosen.processes, len(chunks))) as pool:
        for each in itertools.chain.from_iterable(pool.map(played, chunks)):
            if chosen.schedules == 1:
                print(*each.trace, f"{each.steps} steps, digest {each.digest}", sep="\n")
            if each.problems:
                failed.append(each.seed)
                print(f"seed {each.seed}:", *each.problems, sep="\n  ", flush=True)
    took = time.perf_counter() - start
    pace = f"{took:.1f} s, {60 * chosen.schedules / took:,.0f} a minute"
    print(f"{chosen.schedules:,} schedules in {pace}; failed: {failed}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
