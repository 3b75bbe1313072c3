"""The log against a model of ten lines: any requests, repeated and in any order, on any of two servers."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from services import asked, replica_of, threadless

from heavybandits.service.experiments.creation import create
from heavybandits.service.experiments.decisions import Decide
from heavybandits.service.experiments.rewards import Cancel, Observe, Reward
from heavybandits.service.log.requests import ReadReplica
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.spec import Arm, Experiment
from heavybandits.service.storage import Storage, open_storage

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


def make(storage: Storage, spec: Experiment) -> None:
    session = storage.connect()
    session.migrate()
    assert create(session, "x", spec, None, 0).status == 201
    session.close()


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 1), st.lists(REQUESTS, min_size=1, max_size=6)), max_size=12), st.booleans())
def test_any_requests_get_the_statuses_of_the_model(batches: list[Any], draws: bool) -> None:
    spec = Experiment(
        arms=[Arm(name) for name in "abc"], policy="tsallis-inf" if draws else "ucb", floor={"c": 0.2}, seed=7
    )
    with TemporaryDirectory() as folder:
        storage, model = open_storage(f"sqlite:///{Path(folder)}/log.db"), Model()
        make(storage, spec)
        with threadless(storage) as first, threadless(storage) as second:
            for server, requests in batches:
                commands = [command(*each) for each in requests] + [ReadReplica("x", Replica.view)]
                seen = [outcome.status for outcome in asked((first, second)[server], *commands)]
                assert seen == [model.status(*each) for each in requests] + [200]
            session, replica = storage.connect(), replica_of(storage)
            for log in (first, second):
                log.follow(session)
                assert asked(log, ReadReplica("x", Replica.checksum)).body == replica.checksum()
        assert [finding.ok for finding in verify(session)] == [True]
        session.close()
        learned = sum(kind in ("reward", "observe") for kind, _ in model.stored)
        assert sum(row.pulls for row in replica.learner.rows()) == learned
        decided = sum(kind == "decide" for kind, _ in model.stored)
        settled = sum(kind in ("reward", "cancel") for kind, _ in model.stored)
        assert sum(row.pending for row in replica.learner.rows()) == decided - settled
