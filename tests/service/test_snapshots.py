"""Arms keep the order in which they were created, in every kind of experiment, through restarts and on every server."""

import gzip
import json
import logging
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from services import SECOND, FakeClock, Running, replica_of, running

from heavybandits.service.maintenance.verification import verify
from heavybandits.service.replicas.learners.linear import LinearLearner
from heavybandits.service.storage import Storage, open_storage
from heavybandits.service.storage.migrations import steps

pytestmark = pytest.mark.slow

NAMES = ["small", "large", "medium"]  # not in the order of the alphabet
PAYS = {"small": 10.0, "large": 0.0, "medium": 4.0}
KINDS: dict[str, dict[str, Any]] = {
    "shared": {"context": {"shared": True, "n_features": 2}},
    "own": {"context": {}},
    "plain": {"policy": "ucb"},
    "drawn": {"policy": "tsallis-inf"},
}
MADE_BY_0_2_0 = Path(__file__).parents[1] / "golden" / "service" / "log_0_2_0.db.gz"


def context_of(kind: str, i: int) -> Any:
    if kind == "own":
        return {arm: [1.0, PAYS[arm] / 10, i % 3 / 2] for arm in PAYS}
    return [1.0, i % 3 / 2] if kind == "shared" else None


def make(server: Running, kind: str, **more: Any) -> None:
    spec = {"arms": [{"name": name} for name in NAMES], **KINDS[kind], **more}
    assert server("PUT", "/x", spec, timeout=300).status == 201


def play(server: Running, name: str, kind: str, start: int, stop: int) -> list[str]:
    """Return the arms of decisions that are rewarded by what their arm pays."""
    arms = []
    for i in range(start, stop):
        asked = {"id": f"e{i}"} | ({"context": context_of(kind, i)} if "context" in KINDS[kind] else {})
        answer = server("POST", f"/{name}/decisions", asked)
        assert answer.status == 201, answer
        arms.append(answer.body["arm"])
        server("PUT", f"/{name}/decisions/e{i}/reward", {"value": PAYS[arms[-1]] + i % 7 / 10})
    return arms


def names_in(server: Running, name: str) -> list[str]:
    return [arm["name"] for arm in server("GET", f"/{name}/report").body["arms"]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_restart_changes_neither_the_order_of_arms_nor_a_decision(
    kind: str, storage: Storage, tmp_path: Path
) -> None:
    undisturbed, seen = [], []
    with running(open_storage(f"sqlite:///{tmp_path}/undisturbed.db")) as server:
        make(server, kind)
        undisturbed = play(server, "x", kind, 0, 60)
    for part in range(3):
        with running(storage) as server:
            if part == 0:
                make(server, kind)
            else:
                assert names_in(server, "x") == NAMES
            seen += play(server, "x", kind, 20 * part, 20 * part + 20)
    assert seen == undisturbed
    session = storage.connect()
    assert [finding.ok for finding in verify(session)] == [True]
    session.close()


def test_models_of_a_shared_context_stay_with_their_arms_in_a_rolling_restart(storage: Storage) -> None:
    with running(storage) as first:
        with running(storage) as second:
            make(first, "shared")
            play(second, "x", "shared", 0, 40)
        with running(storage) as second:
            play(first, "x", "shared", 40, 50)
            arms = play(second, "x", "shared", 50, 80)
            best = [
                max(server("GET", "/x/report").body["arms"], key=lambda arm: arm["estimate"])["name"]
                for server in (first, second)
            ]
    assert best == ["small", "small"]
    assert arms.count("small") > 20


def test_a_paused_experiment_answers_the_same_arm_after_a_restart(storage: Storage) -> None:
    answered = set()
    for part in range(2):
        with running(storage) as server:
            if part == 0:
                make(server, "plain", control="small")
                server("PATCH", "/x/arms/small", {"state": "paused"})
                server("PATCH", "/x", {"state": "paused"})
            answered.add(server("POST", "/x/decisions", {"id": f"d{part}"}).body["arm"])
    assert answered == {"large"}  # the first open one


def test_exports_list_open_arms_in_the_order_of_creation(storage: Storage) -> None:
    with running(storage) as server:
        make(server, "plain")
        for state in ("paused", "running"):
            server("PATCH", "/x/arms/small", {"state": state})
        server("POST", "/x/decisions", {"id": "one"})
        last = json.loads(server("GET", "/x/export").body.splitlines()[-1])
    assert last["open"] == NAMES


def test_the_checksum_tells_replicas_apart_that_differ_in_the_order_of_arms(storage: Storage) -> None:
    with running(storage) as server:
        make(server, "shared")
        play(server, "x", "shared", 0, 10)
    replica = replica_of(storage)
    before = replica.checksum()
    assert isinstance(replica.learner, LinearLearner)
    replica.learner._arms = dict(sorted(replica.learner._arms.items()))
    assert replica.checksum() != before


@pytest.fixture
def made_by_0_2_0(storage: Storage, tmp_path: Path) -> Storage:
    """Return a database as version 0.2.0 left it."""
    copy = tmp_path / "made.db"
    with gzip.open(MADE_BY_0_2_0) as source, copy.open("wb") as target:
        shutil.copyfileobj(source, target)
    if storage.url.startswith("sqlite"):
        copy.rename(tmp_path / "log.db")
        return storage
    session, tables = storage.connect(), sqlite3.connect(copy)
    with session.transaction():
        session.run("CREATE TABLE schema_version (version BIGINT PRIMARY KEY)")
        for number in (1, 2, 3):
            for statement in filter(str.strip, steps(session.DIALECT)[number].split(";")):
                session.run(statement)
        for table in ("schema_version", "experiment", "event", "pending", "unit", "snapshot"):
            rows = tables.execute(f"SELECT * FROM {table}")
            fields = [column[0] for column in rows.description]
            for row in rows.fetchall():
                session.insert(table, fields, [row])
    tables.close()
    session.close()
    return storage


def test_a_database_of_0_2_0_is_healed_by_this_version(
    made_by_0_2_0: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock(FakeClock().now + 10 * 3600 * SECOND)
    with caplog.at_level(logging.CRITICAL), running(made_by_0_2_0, clock) as server:
        for kind in KINDS:
            assert names_in(server, kind) == NAMES
            for arm in server("GET", f"/{kind}/report").body["arms"]:
                if arm["estimate"] is not None:  # rewards are what an arm pays, and up to 0.6 more
                    assert 0.0 <= arm["estimate"] - PAYS[arm["name"]] < 0.6
            if kind != "drawn":
                assert play(server, kind, kind, 100, 120).count("small") >= 18
        for kind in ("own", "plain", "drawn"):  # pruned, but each arm's own is found by its name
            assert names_in(server, f"pruned-{kind}") == NAMES
            play(server, f"pruned-{kind}", kind, 100, 110)
        refused = server("POST", "/pruned-shared/decisions", {"context": [1.0, 0.5]})
        assert refused.status == 500
        assert "0.2.0 may have given each arm the model of another one" in refused.body["detail"]
    session = made_by_0_2_0.connect()
    findings = {str(finding.experiment): finding.ok for finding in verify(session)}
    assert [name for name, ok in findings.items() if not ok] == ["pruned-shared"]
    session.close()
    with caplog.at_level(logging.CRITICAL), running(made_by_0_2_0, clock) as server:  # now from our own snapshots
        assert all(names_in(server, name) == NAMES for name in findings if name != "pruned-shared")
