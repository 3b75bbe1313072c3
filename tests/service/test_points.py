"""Experiments whose decisions are points, such as prices: named ranges outside, the cube's coordinates in the log."""

import json
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
from services import SECOND, FakeClock, call, running

import heavybandits as hb
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.replicas.report import POINTS_SHOWN
from heavybandits.service.storage import Storage, open_storage

PRICES = {"points": {"price": [5, 25]}}


@pytest.fixture
def sqlite(tmp_path: Path) -> Storage:
    return open_storage(f"sqlite:///{tmp_path}/log.db")


def replayed(storage: Storage) -> Replica:
    """Return the experiment x, read from the log alone."""
    session = storage.connect()
    head = session.head("x")
    assert head is not None
    replica = Replica(head.id, "x")
    for event in session.events(head.id, 0):
        replica.apply(event)
    assert [finding.text for finding in verify(session) if not finding.ok] == []
    session.close()
    return replica


def earned(price: float, rng: random.Random) -> float:
    """Return what a visitor pays, most of all on average at a price of 13."""
    return price if rng.random() < (26.0 - price) / 25.0 else 0.0


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["smooth-auto", "lipschitz-auto"])
def test_an_experiment_decides_as_an_agent_does(storage: Storage, policy: str) -> None:
    rng, clock, waiting = random.Random(1), FakeClock(), list[Any]()
    agent = hb.LipschitzAgent(hb.make(policy), dim=2, seed=0)
    ranges = {"price": [5, 25], "discount": [0, 0.5]}
    with running(storage, clock=clock) as server:
        made = {"points": ranges, "policy": policy, "reward": {"window": 60}}
        assert server("PUT", "/x", made).status == 201
        for i in range(40):
            x = agent.select()
            answer = server("POST", "/x/decisions", {"id": f"d{i}"}).body
            assert (answer["arm"], answer["reason"], answer["p"]) == ("point", "policy", 1.0)
            assert answer["point"] == {"price": 5.0 + 20.0 * x[0], "discount": 0.5 * x[1]}
            if i % 5 == 1:
                assert server("DELETE", f"/x/decisions/d{i}").status == 201
                agent.cancel(x)
            elif i % 5 == 0:
                waiting.append(x)
            else:
                reward = earned(answer["point"]["price"], rng)
                assert server("PUT", f"/x/decisions/d{i}/reward", {"value": reward}).body["learned"]
                agent.update(x, reward)
        seen = {"id": "seen", "point": {"price": 10, "discount": 0.25}, "value": 7}
        assert [server("POST", "/x/observations", seen).status for _ in range(2)] == [201, 200]
        agent.update([0.25, 0.5], 7, selected=False)
        assert server("GET", "/x/report").body["pending"] == agent.pending == 8
        clock.now += 60 * SECOND
        assert server("PUT", "/x/decisions/d0/reward", {"value": 1}).status == 410
        while (report := server("GET", "/x/report").body)["pending"]:  # the server ends windows by itself
            time.sleep(0.02)
    for x in waiting:
        agent.cancel(x)
    learner: Any = replayed(storage).learner
    assert learner.agent.dumps() == agent.dumps()
    with running(storage, clock=clock) as restarted:  # from a snapshot
        assert restarted("GET", "/x/report").body["checksum"] == report["checksum"]


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ({}, "arms must be given, or the ranges of points"),
        ({"points": {"price": [5, 5]}}, "points must have ranges from a lower to a higher finite number, got 5 to 5"),
        ({"points": {"price": [-1e308, 1e308]}}, "points must have ranges from a lower to a higher finite number"),
        ({"points": {}}, "Expected `object` of length >= 1 - at `$.points`"),
        ({"points": {"price": [1, 2, 3]}}, "Expected `array` of length <= 2 - at `$.points[...]`"),
        ({"arms": [{"name": "a"}], **PRICES}, "arms must be left out if the decisions are points"),
        ({"floor": {"point": 0.5}, **PRICES}, "floor must not be given if the decisions are points"),
        ({"context": {}, **PRICES}, "context must not be given if the decisions are points"),
        ({"drift": True, **PRICES}, "drift must not be given if the decisions are points"),
        ({"stop": {"then": "winner"}, **PRICES}, "stop must not be given if the decisions are points"),
        ({"policy": "auto", **PRICES}, "policy must be one for points, such as 'lipschitz-auto', got 'auto'"),
        ({"policy": "smooth-auto", "arms": [{"name": "a"}]}, "got 'smooth-auto', which is for points"),
    ],
)
def test_experiments_that_make_no_sense_are_refused(sqlite: Storage, given: Any, detail: str) -> None:
    with running(sqlite) as server:
        refused = server("PUT", "/x", given)
        assert refused.status == 422
        assert detail in refused.body["detail"]


def test_pages_show_points_as_points_and_always_the_best(sqlite: Storage) -> None:
    with running(sqlite) as server:
        assert server("PUT", "/x", PRICES).status == 201
        for number in range(POINTS_SHOWN + 4):
            for _ in range(1 if number < 3 else 2):  # the first ones are played least, and are the best
                seen = {"point": {"price": 5 + number / 2}, "value": 100.0 if number < 3 else 1.0}
                assert server("POST", "/x/observations", seen).status == 201
        points = server("GET", "/x/report").body["points"]
        assert points["best"]["point"] not in [one["point"] for one in points["most_played"]]
        page = call(server.address, "GET", "/experiments/x").body.decode()
        assert re.findall('<tr class="best"><th scope="row">(.*?)</th>', page) == [
            f"{points['best']['point']['price']:.2f}"
        ]
        assert "Created with price from 5 to 25." in page
        assert "<small>points</small>" in call(server.address, "GET", "/").body.decode()


def test_what_does_not_fit_points_is_refused_and_changes_nothing(sqlite: Storage) -> None:
    with running(sqlite) as server:
        assert [server("PUT", "/x", PRICES).status for _ in range(2)] == [201, 200]
        for path, body, detail in [
            ("/x/decisions", {"among": ["point"]}, "among must be left out"),
            ("/x/decisions", {"context": [1.0]}, "context must be left out"),
            ("/x/observations", {"value": 1, "point": {"price": 3}}, "point must have a price from 5 to 25, got 3"),
            ("/x/observations", {"value": 1, "point": {"cost": 7}}, "point must have exactly price, got cost"),
            ("/x/observations", {"value": 1, "arm": "point"}, "point must be given instead of an arm"),
            ("/x/observations", {"value": 1}, "an observation must have either an arm or a point"),
        ]:
            refused = server("POST", path, body)
            assert refused.status == 422
            assert detail in refused.body["detail"]
        assert server("PUT", "/x/arms/other", {}).body["title"] == "arms are fixed"
        assert server("DELETE", "/x/arms/point").body["title"] == "arms are fixed"
        assert server("PATCH", "/x/arms/point", {"state": "paused"}).status == 409
        assert server("GET", "/x").body["seq"] == 1
        server("PUT", "/y", {"arms": [{"name": "a"}]})
        refused = server("POST", "/y/observations", {"value": 1, "point": {"price": 7}})
        assert "point must be left out, because the experiment has arms" in refused.body["detail"]


@pytest.mark.slow
def test_visitors_keep_their_price_and_pauses_use_the_best_one(storage: Storage) -> None:
    rng = random.Random(3)
    with running(storage) as server:
        server("PUT", "/x", {**PRICES, "sticky": True})
        first: dict[str, Any] = {}
        for i in range(80):
            asked = {"id": f"d{i}", "unit": f"u{i % 50}"}
            made, again = (server("POST", "/x/decisions", asked).body for _ in range(2))
            assert made == again
            assert made["reason"] == ("policy" if i < 50 else "sticky")
            assert made["point"] == first.setdefault(asked["unit"], made["point"])
            server("PUT", f"/x/decisions/d{i}/reward", {"value": earned(made["point"]["price"], rng)})
        assert server("POST", "/x/decisions", {"id": "d0", "unit": "someone else"}).status == 409
        best = server("GET", "/x/report").body["points"]["best"]["point"]
        server("PATCH", "/x", {"state": "paused"})
        paused = server("POST", "/x/decisions", {"unit": "new"}).body
        assert (paused["reason"], paused["point"]) == ("paused", best)
        server("PATCH", "/x", {"state": "finished", "arm": "point"})
        assert server("POST", "/x/decisions", {"unit": "newer"}).body["point"] == best
    replayed(storage)


@pytest.mark.slow
def test_costs_reports_the_page_exports_and_flags(sqlite: Storage) -> None:
    with running(sqlite) as server:
        client = hb.Client(f"http://{server.address}", patience=5)
        client.create("x", points={"threshold": [0.0, 1.0]}, minimise=True)
        for _ in range(100):
            decision = client.decide("x")
            assert decision.point is not None
            client.reward("x", decision, 3.0 + (decision.point["threshold"] - 0.7) ** 2)
        client.observe("x", {"threshold": 0.1}, 3.36)
        points = client.report("x")["points"]
        client.close()
        assert points["best"]["point"]["threshold"] == pytest.approx(0.7, abs=0.05)
        assert points["best"]["low"] <= points["best"]["estimate"] == pytest.approx(3.0, abs=0.02)
        assert sum(one["rewards"] for one in points["most_played"]) > 50
        lines = call(server.address, "GET", "/v1/experiments/x/export").body.splitlines()
        contexts = [json.loads(line)["context"] for line in lines]
        assert contexts[:4] == [None, [0.5], [0.5], [0.25]]
        assert contexts[-1] == [0.1]
        page = call(server.address, "GET", "/experiments/x").body.decode()
        assert "chooses threshold" in page
        assert "Best so far: threshold 0.7" in page
        assert "Points played most, after 100 decisions and 101 rewards" in page
        assert "What the policy expects at the best point" in page
        assert "compared with point" not in page
        assert "It looks for the threshold from 0 to 1 with the lowest mean." in page
        assert "chooses threshold" in call(server.address, "GET", "/").body.decode()
        flag = call(server.address, "POST", "/ofrep/v1/evaluate/flags/x", {"context": {"targetingKey": "u"}}).body
        assert set(flag["value"]) == {"threshold"}
