"""Experiments with named attributes, on both databases: replicas agree on columns, and replays are exact."""

import json
import random
from typing import Any

import pytest
from services import ARMS, FakeClock, call, running
from test_linear_learner import replayed

import heavybandits as hb
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.storage import Storage

pytestmark = pytest.mark.slow


def made(server: Any, attributes: Any = True, **more: Any) -> None:
    body = {"arms": ARMS, "policy": "lin-ucb", "context": {"attributes": attributes}, **more}
    answer = server("PUT", "/x", body)
    assert answer.status == 201, answer


def visitor(rng: random.Random) -> dict[str, Any]:
    made = {"plan": rng.choice(["free", "paid", "team"]), "age": rng.randint(18, 80), "back": rng.random() < 0.5}
    return dict(rng.sample(list(made.items()), rng.randint(1, 3)))


def test_an_experiment_decides_as_an_agent_does_and_a_replay_is_exact(storage: Storage) -> None:
    rng = random.Random(1)
    agent = hb.LinearAgent(hb.make("lin-ucb"), arms=[arm["name"] for arm in ARMS], seed=0)
    with running(storage) as server:
        made(server)
        for i in range(40):
            attributes = visitor(rng)
            ordered = dict(sorted(attributes.items()))
            arm = agent.select(ordered)
            answer = server("POST", "/x/decisions", {"id": f"d{i}", "context": {"attributes": attributes}})
            assert (answer.status, answer.body["arm"]) == (201, arm)
            if i % 4 == 0:
                assert server("DELETE", f"/x/decisions/d{i}").status == 201
                agent.cancel(arm, context=ordered)
            elif i % 4 < 3:
                reward = float(arm == "a") + rng.gauss(0.0, 0.1)
                agent.update(arm, reward, context=ordered)
                assert server("PUT", f"/x/decisions/d{i}/reward", {"value": reward}).body["learned"]
        seen = {"arm": "b", "value": 2.0, "context": {"attributes": {"age": 99}}}
        assert server("POST", "/x/observations", seen).body["learned"]
        agent.update("b", 2.0, context={"age": 99}, selected=False)
        assert server("POST", "/x/decisions", {"id": "d0", "context": {"attributes": {"age": 1}}}).status == 409
        shown = server("GET", "/x").body["context"]
        exported = [json.loads(line) for line in server("GET", "/x/export").body.splitlines()]
        first = next(row for row in exported if row["kind"] == "decision")
        assert first["open"] == [arm["name"] for arm in ARMS]
        assert first["context"].keys() == {"attributes"}
        report = server("GET", "/x/report").body
    assert shown == {"attributes": True, "schema": agent.schema}
    assert report["pending"] == agent.pending == 10
    replica = replayed(storage)
    assert replica.learner.agent.dumps() == agent.dumps()  # type: ignore[union-attr]
    assert Replica.restored(replica.exp, "x", replica.snapshot()).snapshot() == replica.snapshot()
    session = storage.connect()
    assert [finding.ok for finding in verify(session)] == [True]
    session.close()


def test_another_server_goes_on_with_the_same_columns(storage: Storage) -> None:
    rng, asked = random.Random(2), []
    with running(storage) as first, running(storage) as second:
        made(first)
        for i in range(30):
            attributes = visitor(rng)
            server = (first, second)[rng.randint(0, 1)]
            answer = server("POST", "/x/decisions", {"id": f"d{i}", "context": {"attributes": attributes}})
            asked.append((attributes, answer.body["arm"]))
            server("PUT", f"/x/decisions/d{i}/reward", {"value": rng.gauss(0.0, 1.0)})
        assert first("GET", "/x").body["context"] == second("GET", "/x").body["context"]


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (None, "because the experiment was made with attributes"),
        ([1.0], "because the experiment was made with attributes"),
        ({"a": [1.0]}, "because the experiment was made with attributes"),
        ({"age": 31}, 'known by name must be {"attributes": {...}}'),
        ({"attributes": {}, "more": {}}, "because the experiment was made with attributes"),
        ({"attributes": {"age": "old"}}, "attribute 'age' must be a number"),
        ({"attributes": {"plan": "x" * 201}}, "length <= 200"),
        ({"attributes": {"plan": ["x"]}}, "Expected"),
        ({"attributes": {"height": 3}}, "must be in the schema, got 'height'"),
        ({"attributes": {"age": 1e16}}, "<= 1"),
    ],
)
def test_what_does_not_fit_is_refused(storage: Storage, context: Any, words: str) -> None:
    with running(storage) as server:
        made(server, {"age": "number", "plan": ["free", "paid"]})
        answer = server("POST", "/x/decisions", {"id": "d", "context": context})
        assert answer.status == 422
        assert words in answer.body["detail"]
        assert server("GET", "/x").body["seq"] == 1


@pytest.mark.parametrize("attributes", [{"age": "int"}, {"age": []}, {"age": 0}, {}, 3])
def test_a_schema_that_means_nothing_is_refused(storage: Storage, attributes: Any) -> None:
    with running(storage) as server:
        asked = {"arms": ARMS, "context": {"attributes": attributes}}
        assert server("PUT", "/x", asked).status == 422


def test_policies_without_room_for_features_are_refused(storage: Storage) -> None:
    with running(storage) as server:
        answer = server("PUT", "/x", {"arms": ARMS, "policy": "greedy-huber", "context": {"attributes": True}})
        assert answer.status == 422
        assert "features can be added" in answer.body["detail"]


def test_vectors_are_not_attributes(storage: Storage) -> None:
    with running(storage) as server:
        server("PUT", "/x", {"arms": ARMS, "policy": "lin-ucb", "context": {}})
        answer = server("POST", "/x/decisions", {"context": {"attributes": {"age": 3}}})
        assert answer.status == 422
        assert "must be a mapping of arms to vectors, got attributes" in answer.body["detail"]


def test_arms_come_and_go(storage: Storage) -> None:
    with running(storage) as server:
        made(server)
        server("POST", "/x/decisions", {"id": "d", "context": {"attributes": {"age": 3}}})
        assert server("PUT", "/x/arms/new", {}).status == 201
        among = {"among": ["new"], "context": {"attributes": {"age": 4}}}
        assert server("POST", "/x/decisions", {"id": "e", **among}).body["arm"] == "new"
        assert server("DELETE", "/x/arms/new").status == 200
        assert server("PUT", "/x/decisions/e/reward", {"value": 1.0}).status == 201
        names = [arm["name"] for arm in server("GET", "/x/report").body["arms"]]
        assert "new" in names
    assert replayed(storage).learner.agent.pending == 1  # type: ignore[union-attr]


OFFERS: dict[str, dict[str, Any]] = {
    "a": {"words": 310, "topic": "sport"},
    "b": {"topic": "arts", "words": 950},
    "c": {"words": None},
}


def arms_with(offers: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "attributes": attributes} for name, attributes in offers.items()]


def test_arms_have_attributes_of_their_own(storage: Storage) -> None:
    rng = random.Random(3)
    ordered = {name: dict(sorted(attributes.items())) for name, attributes in OFFERS.items()}
    agent = hb.LinearAgent(hb.make("lin-ucb"), arms=ordered, seed=0)
    new = {"words": 500, "topic": "arts"}
    with running(storage) as server, running(storage) as second:
        made(server, arms=arms_with(OFFERS))
        turned = arms_with({name: dict(reversed(attributes.items())) for name, attributes in OFFERS.items()})
        again = {"arms": turned, "policy": "lin-ucb", "context": {"attributes": True}}
        assert server("PUT", "/x", again).status == 200
        for i in range(30):
            if i == 10:
                added = server("PUT", "/x/arms/new", {"attributes": new})
                assert (added.status, added.body["attributes"]) == (201, new)
                assert second("PUT", "/x/arms/new", {"attributes": new}).status == 200
                assert server("PUT", "/x/arms/new", {"attributes": {"words": 501}}).status == 409
                agent.add_arm("new", dict(sorted(new.items())))
            attributes = dict(sorted(visitor(rng).items()))
            arm = agent.select(attributes)
            asked = {"id": f"d{i}", "context": {"attributes": attributes}}
            assert (server, second)[i % 2]("POST", "/x/decisions", asked).body["arm"] == arm
            reward = OFFERS.get(arm, new)["words"] or 600
            agent.update(arm, reward, context=attributes)
            server("PUT", f"/x/decisions/d{i}/reward", {"value": reward})
        shown = server("GET", "/x").body
        assert shown["arms"] == second("GET", "/x").body["arms"]
    assert [arm.get("attributes") for arm in shown["arms"]] == [*OFFERS.values(), new]
    assert shown["context"]["schema"] == agent.schema
    assert {"words", "topic"} < agent.schema.keys()
    replica = replayed(storage)
    assert replica.learner.agent.dumps() == agent.dumps()  # type: ignore[union-attr]
    restored = Replica.restored(replica.exp, "x", replica.snapshot())
    assert restored.snapshot() == replica.snapshot()
    assert restored.view() == replica.view()
    session = storage.connect()
    assert [finding.ok for finding in verify(session)] == [True]
    session.close()


@pytest.mark.parametrize(
    ("context", "offers", "words"),
    [
        (None, OFFERS, "arms must not have attributes unless decisions come with attributes"),
        ({"shared": True}, OFFERS, "arms must not have attributes unless decisions come with attributes"),
        ({"attributes": {"words": "number"}}, OFFERS, "attributes of arms must be in the schema, got 'topic'"),
        ({"attributes": {"words": "number"}}, {"a": {"words": "few"}}, "'words' must be a number"),
        ({"attributes": True}, {"a": {"words": 3}, "b": {"words": "few"}}, "'words' must be a number"),
        ({"attributes": True}, {"a": {"words": "few"}, "b": {"words": 3.5}}, "'words' must be text"),
        ({"attributes": True}, {"a": {"words": [3]}}, "Expected"),
        ({"attributes": True}, {"a": {"words": 1e16}}, "<= 1"),
    ],
)
def test_arms_whose_attributes_do_not_fit_are_refused(storage: Storage, context: Any, offers: Any, words: str) -> None:
    with running(storage) as server:
        answer = server("PUT", "/x", {"arms": arms_with(offers)} | ({} if context is None else {"context": context}))
        assert (answer.status, words in answer.body["detail"]) == (422, True), answer
        assert server("GET", "/x").status == 404


def test_new_arms_whose_attributes_do_not_fit_are_refused(storage: Storage) -> None:
    with running(storage) as server:
        made(server, arms=arms_with(OFFERS))
        server("PUT", "/plain", {"arms": ARMS})
        for name, attributes, words in (
            ("x", {"words": "few"}, "'words' must be a number"),
            ("x", 3, "Expected"),
            ("plain", {"words": 3}, "arms must not have attributes"),
        ):
            answer = server("PUT", f"/{name}/arms/new", {"attributes": attributes})
            assert (answer.status, words in answer.body["detail"]) == (422, True), answer
            assert server("GET", f"/{name}").body["seq"] == 1


def test_attributes_of_arms_have_room_together_with_payloads(storage: Storage) -> None:
    with running(storage) as server:
        made(server)
        many = {f"note {i}": "x" * 200 for i in range(100)}
        statuses = [server("PUT", f"/x/arms/{i}", {"payload": "y" * 500_000, "attributes": many}).status for i in "123"]
    assert statuses == [201, 201, 422]


def test_flags_of_openfeature_bring_attributes(storage: Storage) -> None:
    clock = FakeClock()
    with running(storage, clock=clock) as server:
        made(server, {"plan": "category", "age": "number"})

        def flag(**fields: Any) -> Any:
            return call(
                server.address, "POST", "/ofrep/v1/evaluate/flags/x", {"context": {"targetingKey": "u", **fields}}
            )

        first = flag(plan="free", age=30, roles=["admin"], ip="::1")
        assert first.status == 200
        assert flag(plan="free", age=30).body["metadata"]["decision"] != first.body["metadata"]["decision"]
        again = flag(plan="free", age=30, roles=["admin"], ip="::1")
        assert again.body["metadata"]["decision"] == first.body["metadata"]["decision"]
        wrong = flag(plan="free", age="old")
        assert (wrong.status, wrong.body["errorCode"]) == (400, "INVALID_CONTEXT")
        assert server("GET", "/x").body["context"]["schema"] == {"plan": ["free"], "age": "number"}


def test_decisions_know_when_they_were_made(storage: Storage) -> None:
    rule = {"attributes": {"plan": "category"}, "time_zone": "Europe/Berlin"}
    clock = FakeClock(1_779_042_600_000_000)  # 18:30 UTC on a Sunday
    with running(storage, clock) as server:
        made(server, context=rule)
        asked = {"id": "d", "context": {"attributes": {"plan": "free"}}}
        first = server("POST", "/x/decisions", asked)
        clock.now += 3_600_000_000
        assert server("POST", "/x/decisions", asked).body == first.body
        assert server("PUT", "/x/decisions/d/reward", {"value": 1.0}).body["learned"]
        own = {"id": "own", "context": {"attributes": {"time": "2026-05-18T07:00"}}}
        assert [server("POST", "/x/decisions", own).status for _ in range(2)] == [201, 200]
        more = {"id": "more", "context": {"attributes": {}, "more": {}}}
        assert server("POST", "/x/decisions", more).status == 422
        shown = server("GET", "/x").body["context"]
        exported = [json.loads(line) for line in server("GET", "/x/export").body.splitlines()]
    times = [row["context"]["attributes"]["time"] for row in exported if row["kind"] == "decision"]
    assert times == ["2026-05-17T20:30", "2026-05-18T07:00"]
    assert shown == {**rule, "schema": {"time": "datetime", "plan": ["free"]}}
    assert replayed(storage).learner.agent.pending == 1  # type: ignore[union-attr]
    session = storage.connect()
    assert [finding.ok for finding in verify(session)] == [True]
    session.close()


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({"attributes": True, "time_zone": "Mars/Base"}, "time_zone must be a known one"),
        ({"shared": True, "time_zone": "UTC"}, "time_zone must be left out"),
        ({"attributes": True, "shared": True}, "context must not have shared or n_features beside attributes"),
        ({"attributes": True, "n_features": 2}, "context must not have shared or n_features beside attributes"),
        ({"attributes": {"zip": [f"z{i}" for i in range(300)]}}, "schema must need at most 512 features"),
    ],
)
def test_a_context_that_cannot_be_kept_is_refused(storage: Storage, context: Any, words: str) -> None:
    with running(storage) as server:
        answer = server("PUT", "/x", {"arms": ARMS, "policy": "lin-ucb", "context": context})
        assert answer.status == 422
        assert words in answer.body["detail"]


def test_attributes_without_room_are_in_the_notes(storage: Storage) -> None:
    with running(storage) as server:
        made(server)
        server("POST", "/x/decisions", {"context": {"attributes": {f"a{i}": True for i in range(100)}}})
        server("POST", "/x/decisions", {"context": {"attributes": {f"b{i}": True for i in range(100)}}})
        notes = server("GET", "/x").body["notes"]
    assert any("is ignored: attributes and arms need more than 512 features" in note and "b" in note for note in notes)


def test_times_in_json_are_no_levels(storage: Storage) -> None:
    with running(storage) as server:
        made(server)
        server("POST", "/x/decisions", {"context": {"attributes": {"when": "2026-05-17T18:30:00+02:00"}}})
        assert server("GET", "/x").body["context"]["schema"] == {"when": "datetime"}
        answer = server("POST", "/x/decisions", {"context": {"attributes": {"when": "soon"}}})
    assert (answer.status, "must be a datetime" in answer.body["detail"]) == (422, True)
