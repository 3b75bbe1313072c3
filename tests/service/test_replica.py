"""Replicas, restarts, snapshots, versions and migrations: the log is the truth, on both databases."""

import json
import logging
import re
import time
from pathlib import Path
from typing import Any

import pytest
from services import ARMS, Running, asked, call, replica_of, running, threadless

import heavybandits
from heavybandits.service.events import Event, system_clock
from heavybandits.service.log import lane
from heavybandits.service.log.requests import ReadReplica
from heavybandits.service.maintenance import verification
from heavybandits.service.maintenance.retention import prune
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.replicas.totals import Totals
from heavybandits.service.storage import Storage
from heavybandits.service.storage.migrations import steps
from heavybandits.service.storage.session import CHANGES

pytestmark = pytest.mark.slow


def play(server: Running, start: int, count: int) -> None:
    items = [{"decision": {"id": f"d{i}", "unit": f"u{i % 9}"}} for i in range(start, start + count)]
    arms = [each["body"]["arm"] for each in server("POST", "/x/batch", {"items": items}).body["items"]]
    rewards = [
        {"reward": {"decision": f"d{start + i}", "value": i % 5 + (arm == "b")}} for i, arm in enumerate(arms) if i % 4
    ]
    server("POST", "/x/batch", {"items": rewards})


def make(server: Running, policy: str = "ucb") -> None:
    spec = {"arms": ARMS, "policy": policy, "floor": {"a": 0.1}, "sticky": True, "seed": 3}
    assert server("PUT", "/x", spec).status == 201


def settled(server: Running, seq: int) -> str:
    """Return the checksum of a server once it has seen this many events."""
    for _ in range(400):
        report = server("GET", "/x/report").body
        if report["experiment"]["seq"] >= seq:
            return str(report["checksum"])
        time.sleep(0.05)
    raise AssertionError("the server does not follow")


@pytest.mark.parametrize("policy", ["ucb", "thompson-gaussian", "tsallis-inf"])
def test_servers_and_restarts_hold_the_same_bits(storage: Storage, policy: str) -> None:
    with running(storage) as first, running(storage) as second:
        make(first, policy)
        for i in range(4):
            play((first, second)[i % 2], 25 * i, 25)
        first("PUT", "/x/arms/c", {})
        first("PATCH", "/x/arms/a", {"state": "paused"})
        play(second, 100, 25)
        seq = second("GET", "/x/report").body["experiment"]["seq"]  # it played last
        before = settled(first, seq)
        assert settled(second, seq) == before
    session = storage.connect()  # both have left a snapshot
    findings = verification.verify(session)
    assert [finding.ok for finding in findings] == [True]
    assert "1 snapshot equal" in findings[0].text
    session.close()
    with running(storage) as again:
        assert settled(again, seq) == before


def test_a_snapshot_that_differs_is_found(storage: Storage) -> None:
    with running(storage) as server:
        make(server)
        play(server, 0, 10)
    session = storage.connect()
    head = session.head("x")
    assert head is not None
    replica = replica_of(storage)
    replica.learner.learn(Event(1, 0, "observe", None, "a", 1.0, None, None, 0, None, None))
    with session.transaction():
        session.run("DELETE FROM snapshot")
        session.put_snapshot(head.id, replica.seq, heavybandits.__version__, replica.snapshot())
    assert [finding.ok for finding in verification.verify(session)] == [False]
    session.close()


def test_another_version_of_the_library_replays_the_log(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(storage) as server:
        make(server)
        play(server, 0, 20)
        before = settled(server, 0)
    session = storage.connect()
    with session.transaction():
        session.run("UPDATE snapshot SET library_version = ?, bytes = ?", ("0.0.1", b"of another time"))
    session.close()
    with running(storage) as server:
        assert settled(server, 0) == before
        assert server("POST", "/x/decisions", {"id": "d0", "unit": "u0"}).status == 200


def test_a_log_that_was_pruned_needs_a_snapshot_that_can_be_read(
    storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    with running(storage) as server:
        make(server)
        play(server, 0, 20)
    session = storage.connect()
    with session.transaction():
        session.run("UPDATE snapshot SET library_version = ?, bytes = ?", ("9.9.9", b"of another time"))
        session.run("UPDATE experiment SET first_seq = 10")
    session.close()
    with caplog.at_level(logging.CRITICAL), running(storage) as server:
        refused = server("POST", "/x/decisions", {"id": "one"})
        assert refused.status == 500
        assert "no snapshot can stand for them" in refused.body["detail"]
        assert server("PUT", "/y", {"arms": ARMS, "policy": "ucb"}).status == 201  # others are served
        assert server("POST", "/y/decisions", {"id": "one"}).status == 201


@pytest.mark.parametrize("missing", ["seq = 5", "seq > 5"])
def test_a_log_with_a_gap_is_refused_and_others_are_served(
    storage: Storage, missing: str, caplog: pytest.LogCaptureFixture
) -> None:
    with running(storage) as server:
        make(server)
        play(server, 0, 20)
    session = storage.connect()
    with session.transaction():
        session.run("DELETE FROM snapshot")
        session.run(f"DELETE FROM event WHERE {missing}")
    with caplog.at_level(logging.CRITICAL), running(storage) as server:
        refused = server("POST", "/x/decisions", {"id": "one"})
        assert refused.status == 500
        assert "x: events are missing from the log after event" in refused.body["detail"]
        assert server("PUT", "/y", {"arms": ARMS, "policy": "ucb"}).status == 201
        assert call(server.address, "GET", "/ready").status == 200
    findings = verification.verify(session)
    assert [finding.ok for finding in findings] == [False, True]
    assert "events are missing" in findings[0].text
    session.close()


def test_an_event_that_fails_half_way_is_not_taken_in_twice(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(storage) as server:
        make(server)
        play(server, 0, 20)
    session, totals = storage.connect(), Totals.rewarded
    with session.transaction():
        session.run("DELETE FROM snapshot")

    def failing(self: Totals, event: Event, estimates: Any) -> None:
        monkeypatch.setattr(Totals, "rewarded", totals)  # it works the next time
        raise ZeroDivisionError

    monkeypatch.setattr(Totals, "rewarded", failing)
    session.close()
    with threadless(storage) as log:
        assert asked(log, ReadReplica("x", Replica.checksum)).status == 500
        log.problems.clear()
        assert asked(log, ReadReplica("x", Replica.checksum)).body == replica_of(storage).checksum()


def test_snapshots_are_taken_as_the_log_grows(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "EVENTS_PER_SNAPSHOT", 20)
    session = storage.connect()
    with running(storage) as server:
        make(server)
        for i in range(3):
            play(server, 20 * i, 20)
            for _ in range(400):  # the server looks every tenth of a second
                if len(session.snapshots(1)) > i:
                    break
                time.sleep(0.05)
    taken = [seq for seq, _ in session.snapshots(1)]
    assert len(taken) >= 3
    findings = verification.verify(session)
    assert findings[0].ok
    assert f"{len(taken)} snapshots equal" in findings[0].text
    contents = session.snapshot(1, taken[-1], heavybandits.__version__)
    assert contents is not None
    assert Replica.restored(1, "x", contents).seq == taken[-1]
    session.close()


def test_few_snapshots_are_kept_and_what_a_pruned_log_begins_with(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "EVENTS_PER_SNAPSHOT", 1)
    monkeypatch.setattr(lane, "SNAPSHOTS_KEPT", 2)
    with running(storage) as server:
        make(server)
        play(server, 0, 20)
    session = storage.connect()
    assert len(session.snapshots(1)) <= 2
    assert [finding.ok for finding in prune(session, system_clock())] == [True]
    head = session.head("x")
    assert head is not None
    with running(storage) as server:
        for i in range(5):
            play(server, 100 * i + 100, 1)
    taken = [seq for seq, _ in session.snapshots(1)]
    assert taken[-1] == head.first_seq - 1
    assert len(taken) == 3
    assert [finding.ok for finding in verification.verify(session)] == [True]
    session.close()


def test_changes_are_read_without_the_rest_of_the_log(storage: Storage) -> None:
    session = storage.connect()
    session.migrate()
    change = Event(1, 1, "config", None, None, None, None, None, 0, None, "{}")
    decisions = [change._replace(seq=seq, kind="decision", key=f"k{seq}") for seq in range(2, 5000)]
    last = change._replace(seq=5000)
    with session.transaction():
        session.add_experiment("x", "")
        session.append([change, *decisions, last])
    explain = {"sqlite": "EXPLAIN QUERY PLAN", "postgres": "EXPLAIN"}[session.DIALECT]
    for statement in ("SELECT 1", "ANALYZE"):  # before the database knows the table, and after
        session.run(statement)
        plan = str(session.run(f"{explain} {CHANGES}", (1, 0, 1000)))
        assert "event_key" in plan
        assert not re.search("event_pkey|autoindex|SCAN event|Seq Scan", plan)
    assert session.changes(1, 0, 1000) == [change, last]
    assert session.changes(1, 1, 1000) == [last]
    assert session.changes(1, 0, 1) == [change]
    session.close()


def test_migrations_bring_an_empty_database_up_to_date_once(storage: Storage) -> None:
    session = storage.connect()
    assert session.migrate() == list(steps(session.DIALECT))
    assert session.migrate() == []
    assert session.schema_version() == max(steps(session.DIALECT))
    with session.transaction():
        session.run("INSERT INTO schema_version (version) VALUES (999)")
    with pytest.raises(ValueError, match=re.escape("the database has schema 999")):
        session.migrate()
    session.close()


@pytest.mark.parametrize("schema", [1])
def test_a_database_of_each_released_schema_is_brought_up_to_date(storage: Storage, schema: int) -> None:
    tables = json.loads((Path(__file__).parents[1] / "golden" / "service" / f"schema_{schema}.json").read_text())
    session, now = storage.connect(), max(row[8] for row in tables["event"]["rows"])
    with session.transaction():
        session.run("CREATE TABLE schema_version (version BIGINT PRIMARY KEY)")
        for number in range(1, schema + 1):
            for statement in filter(str.strip, steps(session.DIALECT)[number].split(";")):
                session.run(statement)
        for name, table in tables.items():
            session.insert(name, table["columns"], [tuple(row) for row in table["rows"]])
    assert session.migrate() == [number for number in steps(session.DIALECT) if number > schema]
    with running(storage, lambda: now) as server:
        report = server("GET", "/shop/report").body
        assert (report["decisions"], report["rewards"], report["pending"]) == (6, 4, 2)
        kept = server("POST", "/shop/decisions", {"id": "d6", "unit": "u0"}).body
        assert (kept["arm"], kept["reason"], kept["p"]) == ("a", "sticky", None)  # its probability was not stored
        assert server("POST", "/shop/decisions", {"id": "d0", "unit": "u0"}).status == 200
        for key in ("d3", "d6"):
            assert server("PUT", f"/shop/decisions/{key}/reward", {"value": 1}).status == 201
    assert [finding.ok for finding in verification.verify(session)] == [True]
    session.close()


def test_a_backup_of_the_file_is_a_whole_log(tmp_path: Path) -> None:
    import sqlite3

    from heavybandits.service.storage import open_storage

    storage = open_storage(f"sqlite:///{tmp_path}/log.db")
    with running(storage) as server:
        make(server)
        play(server, 0, 20)
        source, target = sqlite3.connect(tmp_path / "log.db"), sqlite3.connect(tmp_path / "copy.db")
        source.backup(target)
        before = settled(server, 0)
        source.close()
        target.close()
        play(server, 20, 20)
    with running(open_storage(f"sqlite:///{tmp_path}/copy.db")) as restored:
        assert settled(restored, 0) == before
