"""Experiments that are deleted: gone on every server at once, and from the database soon."""

import json
import logging
from typing import Any

import pytest
from services import ARMS, FakeClock, Running, asked, running, threadless

from heavybandits.service.experiments import deletion
from heavybandits.service.experiments.deletion import remains_removed
from heavybandits.service.log.requests import ReadReplica
from heavybandits.service.maintenance import verification
from heavybandits.service.maintenance.retention import prune
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.storage import Session, Storage
from heavybandits.service.storage.session import OF_EXPERIMENT

pytestmark = pytest.mark.slow
STICKY = {"arms": ARMS, "policy": "ucb", "sticky": True, "reward": {"window": 60, "default": 0}}


def play(server: Running, name: str, n: int) -> None:
    for i in range(n):
        assert server("POST", f"/{name}/decisions", {"id": f"d{i}", "unit": f"u{i}"}).status == 201


def remove_all(session: Session) -> list[int]:
    return list(remains_removed(session))


def rows_of(session: Session, exp: int) -> dict[str, int]:
    counts = {table: session.run(f"SELECT count(*) FROM {table} WHERE exp = ?", (exp,)) for table in OF_EXPERIMENT}
    return {table: rows[0][0] for table, rows in counts.items()}


def test_nothing_is_left_and_others_are_untouched(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(deletion, "ROWS_PER_TRANSACTION", 3)
    monkeypatch.setattr("heavybandits.service.http.operations.remove_remains", lambda *_: None)  # the test does it
    with running(storage, FakeClock()) as server:
        for name in ("x", "y"):
            assert server("PUT", f"/{name}", STICKY).status == 201
            play(server, name, 10)
    session = storage.connect()  # the server has left snapshots
    head = session.head("x")
    assert head is not None
    assert all(rows_of(session, head.id).values())
    with running(storage, FakeClock()) as server:
        before = server("GET", "/y/report").body
        with caplog.at_level(logging.INFO, "heavybandits.service"):
            gone = server("DELETE", "/x")
        assert (gone.status, gone.body) == (200, {"name": "x", "seq": 11})
        (line,) = [record for record in caplog.records if record.message == "experiment deleted"]
        assert (line.experiment, line.token) == ("x", None)  # type: ignore[attr-defined]
        assert server("POST", "/x/decisions", {}).status == 404
        for method, path in [("GET", "/x"), ("DELETE", "/x"), ("GET", "/x/export"), ("GET", "/x/audit")]:
            assert server(method, path).status == 404
        assert [each["name"] for each in server("GET", "").body["experiments"]] == ["y"]
        assert all(rows_of(session, head.id).values())
        with session.transaction([head.id]) as found:  # nobody can add to it
            assert found == {}
        assert remove_all(session) == [3, 3, 3, 2, 3, 3, 3, 1, 3, 3, 3, 1, 1]  # events, pending, units, a snapshot
        assert not any(rows_of(session, head.id).values())
        assert session.deleted() == []
        assert server("GET", "/y/report").body == before
    assert [finding.experiment for finding in verification.verify(session)] == ["y"]
    assert all(finding.ok for finding in verification.verify(session))
    session.close()


def test_the_server_removes_the_rows_itself(storage: Storage) -> None:
    with running(storage) as server:
        server("PUT", "/x", STICKY)
        play(server, "x", 3)
        server("DELETE", "/x")
    session = storage.connect()  # the server has stopped, which it does after what it does in the background
    assert session.run("SELECT count(*) FROM event")[0] == (0,)
    assert session.run("SELECT count(*) FROM experiment")[0] == (0,)
    session.close()


def test_a_name_is_used_again_but_never_an_id(storage: Storage) -> None:
    with running(storage) as first, running(storage) as second:
        first("PUT", "/x", STICKY)
        for server in (first, second):
            assert server("GET", "/x").status == 200
        ids = []
        for round_number in range(3):
            play(second, "x", 2)
            session = storage.connect()
            ids.append(session.head("x").id)  # type: ignore[union-attr]
            assert first("DELETE", "/x").status == 200
            remove_all(session)
            session.close()
            assert second("POST", "/x/decisions", {"id": "late"}).status == 404  # it held the experiment until now
            made = {**STICKY, "seed": round_number + 1}
            assert first("PUT", "/x", made).status == 201
            assert second("GET", "/x").body["seed"] == round_number + 1
        assert len(set(ids)) == 3
        assert sorted(ids) == ids


def test_a_server_drops_what_another_has_deleted(storage: Storage) -> None:
    with running(storage) as server:
        server("PUT", "/x", STICKY)
        with threadless(storage) as other:
            assert asked(other, ReadReplica("x", Replica.view)).body.seed == STICKY.get("seed", 0)
            server("DELETE", "/x")
            server("PUT", "/x", {**STICKY, "seed": 7})
            session = storage.connect()
            other.follow(session)
            session.close()
            assert asked(other, ReadReplica("x", Replica.view)).body.seed == 7


def test_an_interrupted_removal_is_finished_by_prune(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "ROWS_PER_TRANSACTION", 2)
    with running(storage) as server:
        server("PUT", "/x", STICKY)
        play(server, "x", 6)
        server.service.draining = True  # the server is stopping, so it removes one part only
        server("DELETE", "/x")
    session = storage.connect()
    assert len(session.deleted()) == 1
    prune(session, 0)
    assert session.deleted() == []
    assert session.run("SELECT count(*) FROM event")[0] == (0,)
    session.close()


def test_deleted_experiments_make_room_for_others(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heavybandits.service.experiments.creation.MAX_EXPERIMENTS", 1)
    spec: dict[str, Any] = {"arms": ARMS, "policy": "ucb"}
    with running(storage) as server:
        assert server("PUT", "/x", spec).status == 201
        assert server("PUT", "/y", spec).status == 409
        assert server("DELETE", "/x").status == 200
        assert server("PUT", "/y", spec).status == 201


def exported(server: Running, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server("GET", f"/{name}/export").body.splitlines()]


def test_an_experiment_under_an_old_name_starts_afresh(storage: Storage) -> None:
    with running(storage) as server:
        server("PUT", "/x", STICKY)
        play(server, "x", 4)
        server("DELETE", "/x")
        server("PUT", "/x", STICKY)
        assert [row["kind"] for row in exported(server, "x")] == ["config"]
        play(server, "x", 4)  # the same ids and units are new
        assert server("GET", "/x/report").body["decisions"] == 4
