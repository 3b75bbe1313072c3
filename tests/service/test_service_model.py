"""The log against a model of ten lines: any requests, repeated and in any order, on any of two servers."""

from concurrent.futures import Future
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heavybandits.service.creation import create
from heavybandits.service.decisions import Decide
from heavybandits.service.log import Log
from heavybandits.service.replica import Replica
from heavybandits.service.rewards import Cancel, Observe, Reward
from heavybandits.service.spec import Arm, Experiment
from heavybandits.service.storage import Storage, open_storage
from heavybandits.service.turn import Outcome
from heavybandits.service.verification import verify

KEYS = st.sampled_from(["k1", "k2", "k3", "k4"])
VALUES = st.sampled_from([0.0, 1.0, -2.5, float("inf")])
REQUESTS = st.one_of(
    st.tuples(st.just("decide"), KEYS, st.sampled_from([None, ("a",), ("b", "c")])),
    st.tuples(st.just("reward"), KEYS, VALUES),
    st.tuples(st.just("cancel"), KEYS, st.none()),
    st.tuples(st.just("observe"), KEYS, VALUES),
)


class Model:
    """What the service promises."""

    def __init__(self) -> None:
        self.stored: dict[tuple[str, str], Any] = {}

    def status(self, kind: str, key: str, what: Any) -> int:
        if kind in ("reward", "cancel"):
            if ("decide", key) not in self.stored:
                return 404
            if kind == "reward" and ("cancel", key) in self.stored:
                return 410
            if kind == "cancel" and ("reward", key) in self.stored:
                return 409
        if (kind, key) in self.stored:
            return 200 if self.stored[kind, key] == what else 409
        self.stored[kind, key] = what
        return 201


def command(kind: str, key: str, what: Any) -> Any:
    if kind == "decide":
        return Decide("x", key, False, None, None if what is None else list(what))
    if kind == "reward":
        return Reward("x", key, what)
    return Cancel("x", key) if kind == "cancel" else Observe("x", key, False, "b", what)


def started(storage: Storage, spec: Experiment) -> list[Log]:
    """Return the logs of two servers; the test plays the part of their threads."""
    logs = [Log(storage) for _ in range(2)]
    for log in logs:
        log._session = storage.connect()
        log._session.migrate()
        assert create(log._session, log.replicas, "x", spec, None, 0).status in (200, 201)
    return logs


def answers(log: Log, commands: list[Any]) -> list[Outcome]:
    waiting = [(each, Future[Outcome]()) for each in commands]
    log.answer(waiting)
    return [future.result() for _, future in waiting]


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 1), st.lists(REQUESTS, min_size=1, max_size=6)), max_size=12), st.booleans())
def test_any_requests_get_the_statuses_of_the_model(batches: list[Any], draws: bool) -> None:
    spec = Experiment(
        arms=[Arm(name) for name in "abc"], policy="tsallis-inf" if draws else "ucb", floor={"c": 0.2}, seed=7
    )
    with TemporaryDirectory() as folder:
        storage, model = open_storage(f"sqlite:///{Path(folder)}/log.db"), Model()
        logs = started(storage, spec)
        for server, requests in batches:
            seen = [outcome.status for outcome in answers(logs[server], [command(*each) for each in requests])]
            assert seen == [model.status(*each) for each in requests]
        for log in logs:
            assert log._session is not None
            log.replicas.follow(log._session)
        replicas: list[Replica] = [replica for log in logs for replica in log.replicas]
        session = storage.connect()
        logs[0].replicas.snapshot_all(session)
        assert len({replica.checksum() for replica in replicas}) == 1
        assert [finding.ok for finding in verify(session)] == [True]
        learned = sum(kind in ("reward", "observe") for kind, _ in model.stored)
        assert sum(row.pulls for row in replicas[0].learner.rows()) == learned
        decided = sum(kind == "decide" for kind, _ in model.stored)
        settled = sum(kind in ("reward", "cancel") for kind, _ in model.stored)
        assert sum(row.pending for row in replicas[0].learner.rows()) == decided - settled
        for each in [session, *(log._session for log in logs)]:
            assert each is not None
            each.close()
