"""Exports of a running service are read by `hb.compare`, `hb.diagnose` and `hb.evaluate`, in every format."""

import random
from pathlib import Path
from typing import Any

import pytest
from services import SECOND, FakeClock, eventually, running

import heavybandits as hb
from heavybandits.service.storage import open_storage

pytestmark = pytest.mark.slow
ARMS = [{"name": "1"}, {"name": "2"}]  # which are names, even if they look like numbers
FLOOR = {"1": 0.2, "2": 0.2}
KINDS: dict[str, dict[str, Any]] = {
    "at once": {},
    "with a default": {"reward": {"window": 60, "default": 0}},
    "that add up": {"reward": {"window": 60, "combine": "sum", "default": 0}},
    "that are costs": {"minimise": True},
    "of units that keep their arm": {"sticky": True},
}


def play(server: Any, adds_up: bool) -> None:
    """Make decisions; some get no reward, some are cancelled, and some rewards come without a decision."""
    rng = random.Random(1)
    for part in range(4):
        asked = [{"decision": {"id": str(10**18 + 100 * part + i)}} for i in range(100)]
        made = server("POST", "/x/batch", {"items": asked}, timeout=300).body["items"]
        items: list[dict[str, Any]] = [{"observation": {"arm": "2", "value": 2.0}}]
        for n, answer in enumerate(made):
            key, value = answer["body"]["id"], rng.paretovariate(1.5) + (answer["body"]["arm"] == "2")
            if n % 10 == 0:
                items.append({"cancel": key})
            elif n % 10 < 8 and adds_up:
                items += [{"reward": {"decision": key, "value": value, "id": f"r{k}"}} for k in range(2)]
            elif n % 10 < 8:
                items.append({"reward": {"decision": key, "value": value}})
        answers = server("POST", "/x/batch", {"items": items}, timeout=300).body["items"]
        assert {answer["status"] for answer in answers} == {201}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_says_what_the_service_says(kind: str, tmp_path: Path) -> None:
    clock, files = FakeClock(), {}
    with running(open_storage(f"sqlite:///{tmp_path}/log.db"), clock) as server:
        spec = {"arms": ARMS, "policy": "ucb", "floor": FLOOR, "control": "1", **KINDS[kind]}
        assert server("PUT", "/x", spec).status == 201
        play(server, kind == "that add up")
        assert server("PATCH", "/x", {"state": "paused"}).status == 200
        server("POST", "/x/decisions", {"id": "not drawn"})
        assert server("PATCH", "/x", {"state": "running"}).status == 200
        clock.now += 61 * SECOND
        if "reward" in KINDS[kind]:
            eventually(lambda: not server("GET", "/x/report").body["pending"])
        report = server("GET", "/x/report").body
        for form in ("csv", "ndjson", "parquet"):
            files[form] = tmp_path / f"log.{form}"
            files[form].write_bytes(server("GET", f"/x/export?format={form}").body)
    values = []
    for file in files.values():
        found = hb.compare(file, control="1")
        assert list(found.sentences) == report["evidence"]["sentences"]
        assert found.table.set_index("arm")["n"].to_dict() == {arm["name"]: arm["rewards"] for arm in report["arms"]}
        assert hb.diagnose(file, goal="mean").evidence.sentences == hb.compare(file).sentences
        values.append(hb.evaluate(file, arm="2", cap=(0.0, 20.0), floor=0.2))
    first = values[0]
    assert "1 decision of a paused or finished experiment" in str(first)
    assert first.decisions == 360 if "reward" in KINDS[kind] else first.decisions == 280
    assert first.low < first.estimate < first.high
    assert {(value.estimate, value.low, value.high) for value in values} == {(first.estimate, first.low, first.high)}


def test_a_file_without_rewards_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("kind,id,arm,value,p\ndecision,d,a,,0.5\n")
    with pytest.raises(ValueError, match=r"log.csv: must have at least one reward, got none"):
        hb.compare(file)
