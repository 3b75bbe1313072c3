"""Units are stored as hashes that only the database's owner can connect with guesses."""

import hashlib
import json
import re

import pytest
from services import ARMS, call, running

from heavybandits.service.experiments.decisions import unit_hash
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.storage import Storage

pytestmark = pytest.mark.slow
STICKY = {"arms": ARMS, "policy": "ucb", "sticky": True}


def hash_without_salt(name: str, unit: str) -> str:
    return hashlib.sha256(f"unit/0/{name}/{unit}".encode()).hexdigest()[:32]


def test_a_new_experiment_hashes_units_with_a_salt_that_is_never_shown(storage: Storage) -> None:
    shown: list[str] = []
    with running(storage) as server:
        for name in ("x", "y"):
            server("PUT", f"/{name}", STICKY)
            server("POST", f"/{name}/decisions", {"id": "one", "unit": "visitor-42317"})
        shown += [json.dumps(server("GET", path).body) for path in ("", "/x", "/x/report", "/x/audit")]
        shown += [server("GET", f"/x/export?format={form}").body.decode() for form in ("ndjson", "csv")]
        pages = ("/", "/experiments/x", "/metrics", "/openapi.json")
        shown += [str(call(server.address, "GET", path).body) for path in pages]
    session = storage.connect()
    heads = session.heads()
    salts = [str(head.salt) for head in heads]
    assert len(set(salts)) == 2
    assert all(re.fullmatch("[0-9a-f]{64}", salt) for salt in salts)
    shown += [str(session.events(head.id, 0)) for head in heads]
    snapshots = session.run("SELECT bytes FROM snapshot")
    assert len(snapshots) == 2
    for salt in salts:
        assert not any(salt in text for text in shown)
        assert not any(salt.encode() in bytes(row[0]) or bytes.fromhex(salt) in bytes(row[0]) for row in snapshots)
    hashes = {row[0] for row in session.run("SELECT hash FROM unit")}
    assert len(hashes) == 2
    assert hashes.isdisjoint(hash_without_salt(name, "visitor-42317") for name in ("x", "y"))
    session.close()


def test_units_are_recognised_after_a_restart_and_by_other_servers(storage: Storage) -> None:
    with running(storage) as first, running(storage) as second:
        first("PUT", "/x", STICKY)
        arms = [first("POST", "/x/decisions", {"unit": f"u{i}"}).body["arm"] for i in range(4)]
        assert [second("POST", "/x/decisions", {"unit": f"u{i}"}).body["arm"] for i in range(4)] == arms
    with running(storage) as again:  # from a snapshot, which has no salt
        answers = [again("POST", "/x/decisions", {"unit": f"u{i}"}).body for i in range(4)]
    assert [(each["arm"], each["reason"]) for each in answers] == [(arm, "sticky") for arm in arms]


def test_experiments_from_before_salts_keep_their_hashes(storage: Storage) -> None:
    with running(storage) as server:
        server("PUT", "/x", STICKY)
    session = storage.connect()
    with session.transaction():
        session.run("UPDATE experiment SET salt = NULL")
    with running(storage) as server:
        server("POST", "/x/decisions", {"unit": "me"})
    assert [row[0] for row in session.run("SELECT hash FROM unit")] == [hash_without_salt("x", "me")]
    session.close()


def test_hashes_differ_by_salt_and_unit() -> None:
    replica = Replica(1, "x")
    found = {unit_hash(replica, "me")}
    for salt in ("00" * 32, "01" * 32):
        replica.salt = salt
        found |= {unit_hash(replica, "me"), unit_hash(replica, "you")}
    assert len(found) == 5
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in found)
