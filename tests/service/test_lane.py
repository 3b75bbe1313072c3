"""Whatever is wrong with one request, one experiment or one server stays with it: all others are served."""

import logging
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from services import (
    ARMS,
    SECOND,
    FakeClock,
    Process,
    asked,
    call,
    eventually,
    new_database,
    running,
    threadless,
)  # fmt: skip

from heavybandits.service.experiments.creation import create
from heavybandits.service.experiments.decisions import Decide
from heavybandits.service.experiments.rewards import Observe
from heavybandits.service.log import lane, log, turn
from heavybandits.service.log.requests import ReadReplica
from heavybandits.service.maintenance.retention import prune
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.replicas.learners.linear import LinearLearner
from heavybandits.service.spec import Arm, Experiment, RewardRule
from heavybandits.service.storage import Session, Storage, open_storage

pytestmark = pytest.mark.slow


def make(server: Any, *names: str, **more: Any) -> None:
    for name in names:
        assert server("PUT", f"/{name}", {"arms": ARMS, "policy": "ucb", **more}, timeout=300).status == 201


def run(storage: Storage, statement: str) -> None:
    with closing(storage.connect()) as session, session.transaction():
        session.run(statement)


def test_values_that_the_database_refuses_are_no_outage(storage: Storage) -> None:
    with closing(storage.connect()) as session:
        session.migrate()
        assert create(session, "x", Experiment(arms=[Arm("a"), Arm("b")], policy="ucb"), None, 0).status == 201
    with threadless(storage) as served:
        commands = [Decide("x", "before", False), Decide("x", "n\0ul", False), Decide("x", "after", False)]
        statuses = [outcome.status for outcome in asked(served, *commands)]
        assert statuses == [201, 422 if storage.url.startswith("postgres") else 201, 201]
        assert served.available
        assert asked(served, Decide("x", "before", False)).status == 200


def test_a_server_that_is_behind_when_the_log_is_pruned_reads_it_again(storage: Storage) -> None:
    with closing(storage.connect()) as session, threadless(storage) as behind, threadless(storage) as other:
        session.migrate()
        assert create(session, "x", Experiment(arms=[Arm("a"), Arm("b")], policy="ucb"), None, 0).status == 201
        assert asked(behind, Decide("x", "first", False)).status == 201
        for value in range(5):
            assert asked(other, Observe("x", f"o{value}", False, "a", float(value))).status == 201
        assert all(finding.ok for finding in prune(session, other.clock()))
        assert asked(behind, Decide("x", "first", False)).status == 200
        assert behind.problems == {}
        assert all(finding.ok for finding in verify(session))


@pytest.mark.parametrize(
    "damage", ["body = '{\"create\": 1}'", "kind = 'of the future'", "arm = 'unknown', kind = 'late'"]
)
def test_an_experiment_that_cannot_be_read_holds_up_no_other(
    storage: Storage, damage: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "READ_AGAIN_SECONDS", 0.3)
    clock = FakeClock()
    with running(storage, clock) as server:
        make(server, "broken", "sound", reward={"window": 60})
        assert server("POST", "/broken/decisions", {"id": "d"}).status == 201
        assert server("POST", "/sound/decisions", {"id": "d"}).status == 201
    run(storage, "DELETE FROM snapshot")
    run(storage, f"UPDATE event SET {damage} WHERE exp = 1 AND seq = {1 if 'body' in damage else 2}")
    with caplog.at_level(logging.CRITICAL), running(storage, clock) as server:
        refused = server("POST", "/broken/decisions", {"id": "e"})
        assert (refused.status, refused.body["title"]) == (500, "experiment not readable")
        assert refused.body["detail"].startswith("broken: event ")
        ready = call(server.address, "GET", "/ready")
        assert ready.status == 200
        assert [each.split(":")[0] for each in ready.body["problems"]] == ["broken"]
        assert server("GET", "/broken/report").status == 500
        assert [each["name"] for each in server("GET", "").body["experiments"]] == ["sound"]
        clock.now += 100 * SECOND  # the windows of both are over
        eventually(lambda: bool(server("GET", "/sound/report").body["arms"][0]["given_up"]))
        assert server("PUT", "/sound/decisions/d/reward", {"value": 1}).status == 410
    with closing(storage.connect()) as session:
        assert [finding.ok for finding in verify(session)] == [False, True]


def test_an_event_that_a_newer_server_stored_stops_only_its_experiment(
    storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.CRITICAL), running(storage) as server:
        make(server, "x", "y")
        with closing(storage.connect()) as session, session.transaction():
            session.run("INSERT INTO event (exp, seq, kind, t) VALUES (1, 2, 'of the future', 0)")
            session.run("UPDATE experiment SET next_seq = 3 WHERE id = 1")
        eventually(lambda: bool(server.service.log.problems))
        assert server("POST", "/x/decisions", {"id": "d"}).status == 500
        assert server("POST", "/y/decisions", {"id": "d"}).status == 201
        assert call(server.address, "GET", "/ready").status == 200


@contextmanager
def held_up(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> Iterator[threading.Event]:
    """Make a function wait while this lasts; yield an event that is set once something waits for it."""
    original, reached, go_on = getattr(owner, name), threading.Event(), threading.Event()

    def waiting(*arguments: Any, **named: Any) -> Any:
        reached.set()
        assert go_on.wait(60)
        return original(*arguments, **named)

    monkeypatch.setattr(owner, name, waiting)
    try:
        yield reached
    finally:
        go_on.set()
        monkeypatch.setattr(owner, name, original)


def test_what_takes_long_to_read_holds_up_no_other(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that another server uses first is compiled here, too, when its experiment is first read."""
    with running(storage) as server, running(storage) as other, ThreadPoolExecutor(1) as pool:
        make(server, "y")
        with held_up(monkeypatch, lane, "read_replica") as reached:
            with closing(storage.connect()) as session:
                assert create(session, "x", Experiment(arms=[Arm("a"), Arm("b")], policy="ucb"), None, 0).status == 201
            assert reached.wait(60)
            early = pool.submit(server, "POST", "/x/decisions", {"id": "d"})
            assert server("POST", "/y/decisions", {"id": "d"}).status == 201
            assert call(server.address, "GET", "/ready").status == 200
            assert not early.done()
        assert early.result().status == 201
        assert other("POST", "/x/decisions", {"id": "d"}).status == 200


def test_a_policy_that_computes_for_long_holds_up_no_other(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(storage) as server, ThreadPoolExecutor(1) as pool:
        make(server, "plain")
        make(server, "linear", policy="lin-ucb", context={"shared": True, "n_features": 2})
        asked = {"id": "d", "context": [1, 2]}
        assert server("POST", "/linear/decisions", asked).status == 201
        with held_up(monkeypatch, LinearLearner, "learn") as reached:
            reward = pool.submit(server, "PUT", "/linear/decisions/d/reward", {"value": 1})
            assert reached.wait(60)
            assert server("POST", "/plain/decisions", {"id": "d"}).status == 201
            assert server("PUT", "/plain/decisions/d/reward", {"value": 1}).status == 201
            assert not reward.done()
        assert reward.result().status == 201
    with closing(storage.connect()) as session:
        assert all(finding.ok for finding in verify(session))


def test_two_servers_that_compute_before_they_lock_lose_nothing(storage: Storage) -> None:
    with running(storage) as first, running(storage) as second, ThreadPoolExecutor(8) as pool:
        make(first, "x", policy="lin-ucb", context={"shared": True, "n_features": 2})

        def play(i: int) -> int:
            server = (first, second)[i % 2]
            for _ in range(200):
                status: int = server("POST", "/x/decisions", {"id": f"d{i}", "context": [1, i % 5]}).status
                if status != 503:
                    break
            assert status in (200, 201)
            return int(server("PUT", f"/x/decisions/d{i}/reward", {"value": i % 7}).status)

        assert set(pool.map(play, range(60))) <= {200, 201, 503}
    with closing(storage.connect()) as session:
        assert all(finding.ok for finding in verify(session))
        assert len({event.key for event in session.events(1, 0) if event.kind == "decision"}) == 60


def test_a_batch_ends_when_it_has_taken_long_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "BATCH_SECONDS", 0.0)
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        make(server, "x")
        before = server.service.log.batches
        items = [{"decision": {"id": f"d{i}"}} for i in range(30)]
        answered = server("POST", "/x/batch", {"items": items}).body["items"]
        assert [each["status"] for each in answered] == [201] * 30
        assert [each["body"]["seq"] for each in answered] == list(range(2, 32))  # in the order in which they came
        assert server.service.log.batches - before == 30


def test_windows_of_all_experiments_take_one_statement(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(storage.connect()) as session:
        session.migrate()
        for i in range(20):
            spec = Experiment(arms=[Arm("a"), Arm("b")], policy="ucb", reward=RewardRule(window=60))
            assert create(session, f"x{i}", spec, None, 0).status == 201
        with threadless(storage) as served:
            served.follow(session)
            asked(served, *(Decide(f"x{i}", "d", False) for i in range(20)))
            statements = []
            run_one = type(session).run

            def counting(self: Session, statement: str, parameters: Any = ()) -> Any:
                statements.append(statement)
                return run_one(self, statement, parameters)

            monkeypatch.setattr(type(session), "run", counting)
            served.clock = lambda: 2**60
            served.follow(session)
            assert len(statements) == 2
            for each in served.lanes.values():
                each.step()
            late = asked(served, *(ReadReplica(f"x{i}", lambda replica: replica.totals) for i in range(20)))
            assert [sum(arm.given_up for arm in outcome.body.arms.values()) for outcome in late] == [1] * 20


@pytest.mark.parametrize("has_transaction_timeout", [True, False])
def test_a_lock_that_is_held_for_too_long_is_lost(
    postgres: str, has_transaction_timeout: bool, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    from heavybandits.service.storage import postgres as module

    monkeypatch.setattr(module, "TRANSACTION_SECONDS", 1)
    monkeypatch.setattr(module, "BLOCKING_SECONDS", 0)
    if not has_transaction_timeout:
        monkeypatch.setattr(module, "HAS_TRANSACTION_TIMEOUT", 10**9)
    storage = open_storage(new_database(postgres))
    with closing(storage.connect()) as frozen, closing(storage.connect()) as other, ThreadPoolExecutor(1) as pool:
        frozen.migrate()
        assert create(frozen, "x", Experiment(arms=[Arm("a")], policy="ucb"), None, 0).status == 201
        assert frozen.begin([1]) == {1: 2}
        waiting = pool.submit(other.begin, [1])
        if not has_transaction_timeout:
            while not waiting.done():
                other.unblock()
                time.sleep(0.05)
        assert waiting.result() == {1: 2}
        other.roll_back()


def test_a_server_that_is_frozen_in_a_transaction_stops_no_other(postgres: str, tmp_path: Path) -> None:
    url = new_database(postgres)
    servers = [Process(url, tmp_path) for _ in range(2)]
    frozen, other = servers
    for server in servers:
        server.wait_until_ready()
    make(frozen, "x", "y")
    stop = threading.Event()

    def load() -> None:
        i = 0
        while not stop.is_set():
            i += 1
            try:
                frozen("POST", "/x/decisions", {"id": f"d{i}"}, timeout=5)
            except OSError:
                stop.wait(0.1)

    clients = [threading.Thread(target=load) for _ in range(4)]
    for client in clients:
        client.start()
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            holds = (
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE state = 'idle in transaction' AND datname = current_database()"
            )
            for _ in range(500):
                frozen.process.send_signal(signal.SIGSTOP)
                time.sleep(0.05)  # what it has sent arrives
                if connection.execute(holds).fetchone() == (1,):
                    break
                frozen.process.send_signal(signal.SIGCONT)
                time.sleep(0.003)
            else:
                raise AssertionError("it was never frozen inside a transaction")
        for name in ("x", "y"):
            assert other("POST", f"/{name}/decisions", {"id": "while frozen"}).status == 201
        frozen.process.send_signal(signal.SIGCONT)
    finally:
        stop.set()
        for client in clients:
            client.join()
    frozen.wait_until_ready()
    assert frozen("POST", "/x/decisions", {"id": "while frozen"}).status == 200
    assert [server.end() for server in servers] == [0, 0]
    with closing(open_storage(url).connect()) as session:
        assert all(finding.ok for finding in verify(session))
