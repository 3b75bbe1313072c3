"""The promise, with real processes: servers are killed, paused, restarted and cut off under load on both databases."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from kills import storm
from loads import Act, Said
from oracle import Verdict
from services import FakeClock, Running, running

from heavybandits.service.storage import Storage, open_storage

pytestmark = pytest.mark.slow


def test_nothing_is_lost_doubled_or_changed_in_a_storm(storage: Storage, tmp_path: Path) -> None:
    tally = storm(storage.url, tmp_path, kills=3, pauses=2)
    assert tally.is_good(), tally
    assert tally.decisions > 20
    assert tally.repeats > 0


def played(server: Running) -> dict[Act, Said]:
    """Return what a small experiment acknowledged."""
    acknowledged: dict[Act, Said] = {}
    more = {"sticky": True, "reward": {"window": 60, "combine": "sum"}}
    server("PUT", "/x", {"arms": [{"name": "zeta"}, {"name": "Alpha"}], "policy": "ucb", **more}, timeout=300)
    for i in range(4):
        answer = server("POST", "/x/decisions", {"id": f"d{i}", "unit": f"u{i % 2}"}).body
        acknowledged[Act("x", "decision", f"d{i}")] = Said(answer["arm"], None, answer["seq"])
        accepted = server("PUT", f"/x/decisions/d{i}/rewards/r", {"value": float(i)}).body
        acknowledged[Act("x", "reward", f"d{i}/r")] = Said(answer["arm"], float(i), accepted["seq"])
    return acknowledged


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("SELECT 1", (False, False, False)),
        ("DELETE FROM event WHERE key = 'd3/r'", (True, False, True)),
        ("INSERT INTO event (exp, seq, kind, key, arm, value, t, since) "
         "SELECT exp, 10, kind, key, arm, value, t, since FROM event WHERE key = 'd1/r'", (True, True, True)),
        ("UPDATE event SET value = 7 WHERE key = 'd2/r'", (False, False, True)),
        ("UPDATE event SET arm = 'zeta' WHERE kind = 'decision'", (False, False, True)),
        ("UPDATE pending SET total = 1.5 WHERE key = 'd0'", (False, False, True)),
        ("DELETE FROM unit", (False, False, True)),
    ],
)  # fmt: skip
def test_the_oracle_notices(damage: str, found: tuple[bool, bool, bool], tmp_path: Path) -> None:
    storage = open_storage(f"sqlite:///{tmp_path}/log.db")
    with running(storage, FakeClock()) as server:
        acknowledged = played(server)
        arms = server("GET", "/x/report").body["arms"]
    with closing(sqlite3.connect(tmp_path / "log.db")) as file, file:
        file.execute("DROP INDEX event_key")
        file.execute(damage)
    verdict = Verdict(storage.url, acknowledged)
    verdict.compare("x", arms)
    assert (bool(verdict.lost), bool(verdict.doubled), bool(verdict.changed)) == found
