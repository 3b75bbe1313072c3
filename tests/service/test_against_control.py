"""Experiments with contexts say whether their policy earns more than its control, by decisions that might have been."""

import io
import random
from typing import Any

import msgspec
import numpy as np
import pytest
from services import SECOND, FakeClock, eventually, replica_of, running

import heavybandits as hb
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.replicas.snapshots import opened, sealed
from heavybandits.service.storage import Storage

pytestmark = pytest.mark.slow
SPEC = {"arms": [{"name": "old"}, {"name": "new"}], "policy": "lin-ucb", "context": {"shared": True, "n_features": 1},
        "floor": {"old": 0.1, "new": 0.1}}  # fmt: skip


def made(server: Any, **more: Any) -> None:
    answer = server("PUT", "/x", SPEC | more)
    assert answer.status == 201, answer


def play(
    server: Any, rng: random.Random, name: str, n: int, gap: float = 1.0, rewarded: bool = True, **more: Any
) -> None:
    """Make decisions and report rewards: heavy-tailed, and higher for the new arm."""
    asked = [{"decision": {"id": f"{name}{i}", "context": [1.0]} | more} for i in range(n)]
    made = server("POST", "/x/batch", {"items": asked}, timeout=300).body["items"]
    items = []
    for answer in made:
        assert answer["status"] == 201, answer
        value = rng.paretovariate(1.5) + gap * (answer["body"]["arm"] == "new")
        items.append({"reward": {"decision": answer["body"]["id"], "value": value}})
    if rewarded:
        answers = server("POST", "/x/batch", {"items": items}, timeout=300).body["items"]
        assert {answer["status"] for answer in answers} == {201}


def lead_of(server: Any) -> Any:
    return server("GET", "/x/report").body["evidence"]["lead"]


def test_a_policy_is_compared_with_its_control_as_the_export_is(storage: Storage) -> None:
    rng = random.Random(1)
    with running(storage) as server:
        made(server)
        for part in range(4):
            play(server, rng, f"p{part}-", 500)
        found = server("GET", "/x/report").body["evidence"]
        page = server("GET", "/x/export?format=csv").body
    lead, sentence = found["lead"], found["sentences"][0]
    assert sentence.startswith("The policy earns at least ")
    assert " more than always old would, counting at most " in sentence
    assert f"per decision (by {lead['decisions']:,} decisions in which old had a chance of at least 10%; " in sentence
    assert sentence.endswith("however often you look, wrong in at most 5% of experiments).")
    assert lead["decisions"] > 1900
    assert lead["low"] > 0.0
    assert lead["lift"] > 0.0
    assert found["winner"] is None
    value = hb.evaluate(io.BytesIO(page), arm="old", cap=tuple(lead["cap"]), floor=0.1)
    assert value.lead is not None
    assert lead["low"] < -value.lead.estimate < lead["high"]
    assert max(lead["low"], -value.lead.high) < min(lead["high"], -value.lead.low)
    session = storage.connect()
    assert [finding.ok for finding in verify(session)] == [True]
    session.close()


def test_only_decisions_that_might_have_been_for_the_control_count(storage: Storage) -> None:
    rng = random.Random(2)
    with running(storage) as server:
        made(server, sticky=True)
        play(server, rng, "first", 60)
        play(server, rng, "again", 30, unit="u")  # of which the unit's first counts
        play(server, rng, "without", 30, among=["new"])
        assert server("PATCH", "/x", {"state": "paused"}).status == 200
        play(server, rng, "paused", 10)
        assert server("PATCH", "/x", {"state": "running"}).status == 200
        assert lead_of(server)["decisions"] == 61 - 24
        play(server, rng, "before", 20, rewarded=False)
        assert server("PATCH", "/x/arms/old", {"state": "paused"}).status == 200
        play(server, rng, "closed", 10)
        assert server("PATCH", "/x/arms/old", {"state": "running"}).status == 200
        for i in range(20):
            assert server("PUT", f"/x/decisions/before{i}/reward", {"value": 1.0}).status == 201
        play(server, rng, "open", 10)
        assert lead_of(server)["decisions"] == 61 - 24 + 10
        assert server("PATCH", "/x", {"control": "new"}).status == 200
        assert lead_of(server) is None
        play(server, rng, "other", 40)
        assert lead_of(server) == lead_of(server) | {"control": "new", "decisions": 40 - 24}


def test_rewards_count_when_windows_end_and_costs_are_told_as_costs(storage: Storage) -> None:
    clock, rng = FakeClock(), random.Random(3)
    with running(storage, clock) as server:
        made(server, minimise=True, reward={"window": 60, "default": 0})
        play(server, rng, "d", 300, gap=-0.9)
        assert lead_of(server) is None
        clock.now += 61 * SECOND
        server("PUT", "/x/decisions/d0/reward", {"value": 3.0})
        eventually(lambda: not server("GET", "/x/report").body["pending"])
        lead = lead_of(server)
        assert lead["decisions"] == 300 - 24
        assert lead["cap"][0] == 0.0 < lead["cap"][1]
        said = server("GET", "/x/report").body["evidence"]["sentences"][0]
        assert said.startswith(("Whether the policy costs less than always old would is open", "The policy costs at l"))


def test_policies_that_draw_need_no_floor_and_others_say_that_they_do(storage: Storage) -> None:
    rng = random.Random(4)
    with running(storage) as server:
        made(server, policy="lin-ts", floor={})
        play(server, rng, "d", 60)
        assert lead_of(server)["floor"] == 0.0
        said = server("GET", "/x/report").body["evidence"]["sentences"][0]
        assert "in which old might have been drawn" in said
        assert server("PUT", "/y", SPEC | {"floor": {"new": 0.1}}).status == 201
        server("POST", "/y/decisions", {"id": "d", "context": [1.0]})
        server("PUT", "/y/decisions/d/reward", {"value": 1.0})
        assert server("GET", "/y/report").body["evidence"]["sentences"] == [
            "Nothing can be told about the policy: no decision had a known chance to be for the control, old; a floor "
            "for old makes it possible."
        ]


def test_snapshots_hold_it_and_those_without_begin_there(storage: Storage) -> None:
    rng = random.Random(5)
    with running(storage) as server:
        made(server)
        play(server, rng, "d", 80)
    replica = replica_of(storage)
    again = Replica.restored(replica.exp, "x", replica.snapshot())
    assert again.snapshot() == replica.snapshot()
    held = opened(replica.snapshot())
    held.against_control = b""
    former = Replica.restored(replica.exp, "x", sealed(held))
    assert former.against_control is not None
    assert former.against_control.lead() is None
    assert former.against_control.since == replica.seq
    fields = msgspec.msgpack.decode(replica.snapshot()[16:])
    del fields["against_control"]
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(fields), type=type(held)).against_control == b""
    assert np.array_equal(former.learner.dumps(), replica.learner.dumps())
