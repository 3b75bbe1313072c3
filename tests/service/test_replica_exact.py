"""Every policy in every kind of experiment: whatever is asked of two servers, and however often one of them forgets an
experiment and reads it again, both hold the same bits as a replay of the log, and make the same decisions.
"""

import random
from pathlib import Path
from typing import Any

import pytest
from plays import KINDS, WINDOW, Play, accepted
from services import SECOND, FakeClock, asked, follow, threadless

from heavybandits import __version__
from heavybandits.algorithms.registry import policies
from heavybandits.service.experiments.creation import create
from heavybandits.service.forms import DecisionAnswer
from heavybandits.service.log.log import Log
from heavybandits.service.log.turn import ExperimentTurn
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.replicas.read import read_replica
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.storage import Session, open_storage

pytestmark = pytest.mark.slow

BATCHES = 25  # to each experiment


def forget(log: Log, session: Session, name: str, rng: random.Random) -> None:
    """Let a server lose an experiment, most often after storing a snapshot."""
    for lane in log.lanes.values():
        if (replica := lane.replicas.pop(name, None)) is not None:
            contents = replica.snapshot()
            assert Replica.restored(replica.exp, name, contents).snapshot() == contents
            if rng.random() < 0.8:
                with session.transaction():
                    session.put_snapshot(replica.exp, replica.seq, __version__, contents)


def held(log: Log, name: str) -> Replica:
    (found,) = [lane.replicas[name] for lane in log.lanes.values() if name in lane.replicas]
    return found


def after(replica: Replica, session: Session, now: int, requests: list[Any]) -> Any:
    """Return how an experiment answers requests that are not stored, and what it holds afterwards."""
    turn = ExperimentTurn(replica, now)
    turn.prepare(session, requests)
    answers = [request.run(turn) for request in requests]
    return answers, replica.view(), repr(replica.learner.rows()), replica.snapshot()


@pytest.mark.parametrize(("kind", "policy"), [(kind, name) for kind in KINDS for name in policies(kind)])
def test_servers_restarts_and_replays_hold_the_same_bits(kind: str, policy: str, tmp_path: Path) -> None:
    play(kind, policy, 0, tmp_path)


def play(kind: str, policy: str, seed: int, folder: Path) -> None:
    rng, clock, storage = random.Random(f"{policy}{seed}"), FakeClock(), open_storage(f"sqlite:///{folder}/log.db")
    plays = [Play(name, spec, rng) for name, spec in accepted(kind, policy).items()]
    session = storage.connect()
    session.migrate()
    for each in plays:
        assert create(session, each.name, each.spec, None, clock.now).status == 201
    with threadless(storage, clock) as first, threadless(storage, clock) as second:
        for _ in range(BATCHES * len(plays)):
            jumps = [rng.expovariate(0.5), 0.0, -rng.uniform(0.0, 100.0), WINDOW, 1e8]
            clock.now += int(rng.choices(jumps, [80, 10, 5, 5, 0.2])[0] * SECOND)
            each, log = rng.choice(plays), rng.choice([first, second])
            if rng.random() < 0.1:
                forget(log, session, each.name, rng)
            if rng.random() < 0.1:
                follow(log, session)
            requests = each.requests()
            outcomes = asked(log, *requests)
            for request, outcome in zip(requests, outcomes if len(requests) > 1 else [outcomes], strict=True):
                assert outcome.status in (200, 201, 404, 409, 410, 422), (request, outcome)
                if isinstance(outcome.body, DecisionAnswer) and outcome.body.p is not None:
                    assert 0.0 < outcome.body.p <= 1.0, (request, outcome)
        for log in (first, second):
            follow(log, session)
        assert [finding.text for finding in verify(session) if not finding.ok] == []
        for each in plays:
            compare(each, [held(log, each.name) for log in (first, second)], session, clock.now)
    session.close()


def compare(each: Play, live: list[Replica], session: Session, now: int) -> None:
    """Compare the replicas of two servers with one that is read again, and with a replay of the whole log."""
    head = session.head(each.name)
    assert head is not None
    again = read_replica(session, head)
    with session.transaction():
        session.run("DELETE FROM snapshot")
    replicas = [*live, again, read_replica(session, head)]
    assert [replica.snapshot() for replica in replicas] == [replicas[-1].snapshot()] * len(replicas)
    assert [replica.checksum() for replica in replicas] == [replicas[-1].checksum()] * len(replicas)
    requests = [request for _ in range(10) for request in each.requests()]
    found = [after(replica, session, now, requests) for replica in replicas]
    assert found == [found[-1]] * len(found)
