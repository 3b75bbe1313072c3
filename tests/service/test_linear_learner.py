"""Experiments with contexts, on both databases: features are stored with decisions and learned with rewards."""

import json
import math
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from services import ARMS, SECOND, FakeClock, Process, call, running

import heavybandits as hb
from heavybandits.online import pending
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.storage import Storage, open_storage

pytestmark = pytest.mark.slow


def made(server: Any, **more: Any) -> None:
    answer = server("PUT", "/x", {"arms": ARMS, "policy": "lin-ucb", "context": {}, **more})
    assert answer.status == 201, answer


def features(rng: random.Random, names: str = "ab") -> dict[str, list[float]]:
    return {name: [1.0, rng.uniform(-1.0, 1.0)] for name in names}


def replayed(storage: Storage, name: str = "x") -> Replica:
    """Return the experiment, read from the log alone."""
    session = storage.connect()
    head = session.head(name)
    assert head is not None
    replica = Replica(head.id, name)
    for event in session.events(head.id, 0):
        replica.apply(event)
    session.close()
    return replica


def test_an_experiment_decides_as_an_agent_with_the_same_features_does(storage: Storage) -> None:
    rng, agent = random.Random(1), hb.LinearAgent(hb.make("lin-ucb"), n_features=2)
    with running(storage) as server:
        made(server)
        for i in range(30):
            context = features(rng)
            arm = agent.select(context)
            answer = server("POST", "/x/decisions", {"id": f"d{i}", "context": context})
            assert (answer.status, answer.body["arm"], answer.body["p"]) == (201, arm, 1.0)
            if i % 3:  # one in three stays pending and counts as such
                reward = 2.0 * context[arm][1] + rng.gauss(0.0, 0.1)
                agent.update(context[arm], reward)
                assert server("PUT", f"/x/decisions/d{i}/reward", {"value": reward}).body["learned"]
        report = server("GET", "/x/report").body
        assert report["pending"] == agent.pending == 10
        assert [arm["pending"] + arm["rewards"] for arm in report["arms"]] == [a["decisions"] for a in report["arms"]]
    learner: Any = replayed(storage).learner
    assert learner.agent.dumps() == agent.dumps()


def test_a_shared_context_has_a_model_per_arm(storage: Storage) -> None:
    rng, agent = random.Random(2), hb.LinearAgent(hb.make("lin-ucb"), n_features=6)
    arms = [{"name": name} for name in "abc"]
    with running(storage) as server:
        made(server, arms=arms, context={"shared": True, "n_features": 2})
        assert server("PATCH", "/x/arms/b", {"state": "paused"}).status == 200
        for i in range(12):
            context = [1.0, rng.uniform(-1.0, 1.0)]
            a, _, c = hb.blocks(context, 3)
            arm = agent.select({"a": a, "c": c})
            assert server("POST", "/x/decisions", {"id": f"d{i}", "context": context}).body["arm"] == arm
            agent.update({"a": a, "c": c}[arm], context[1])
            server("PUT", f"/x/decisions/d{i}/reward", {"value": context[1]})
        refused = server("POST", "/x/decisions", {"context": [1.0]})
        assert refused.body["detail"] == "context must have 2 numbers, as declared, got 1"
        refused = server("PUT", "/x/arms/d", {})
        assert (refused.status, refused.body["title"]) == (409, "arms are fixed")
        assert server("DELETE", "/x/arms/b").status == 200
        assert server("POST", "/x/decisions", {"context": [1.0, 0.0]}).body["arm"] in "ac"


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        (None, "context must be given"),
        ([1, 2], "context must be a mapping of arms to vectors, got a vector"),
        ({"a": [1, 2], "b": [1]}, "context of arm 'b' must have 2 numbers, like those before, got 1"),
        ({"a": [1, 2, 3], "b": [1, 2, 3]}, "context of arm 'a' must have 2 numbers, like those before, got 3"),
        ({"a": [1, 2], "nobody": [1, 2]}, "context must name arms of the experiment, got 'nobody'"),
        ({"a": [1, "NaN"]}, "Expected `float`, got `str` - at `$.context[...][1]`"),
        ({"a": [1, 1e7]}, "Expected `float` <= 1000000.0 - at `$.context[...][1]`"),
        ({"a": []}, "Expected `array` of length >= 1 - at `$.context[...]`"),
        ({"a": [0.0] * 513}, "Expected `array` of length <= 512 - at `$.context[...]`"),
        (b'{"id": "bad", "context": {"a": [1, NaN]}}', "malformed"),
        (b'{"id": "bad", "context": {"a": [1, 1e999]}}', "Number out of range - at `$.context[...][1]`"),
    ],
)
def test_features_that_do_not_fit_are_refused_and_change_nothing(tmp_path: Path, given: Any, detail: str) -> None:
    storage = open_storage(f"sqlite:///{tmp_path}/log.db")
    with running(storage) as server:
        made(server)
        server("POST", "/x/decisions", {"id": "one", "context": {"a": [1, 2], "b": [2, 1]}})
        before = server("GET", "/x/report").body["checksum"]
        body = given if isinstance(given, bytes) else {"id": "bad", "context": given}
        refused = server("POST", "/x/decisions", body)
        assert refused.status in (400, 422)
        assert detail in refused.body["detail"]
        assert server("GET", "/x/report").body["checksum"] == before
        assert server("PUT", "/x/decisions/bad/reward", {"value": 1}).status == 404


def test_contexts_are_only_for_experiments_made_with_one(tmp_path: Path) -> None:
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        for spec, word in (
            ({"policy": "lin-ucb"}, "policy must be one without features unless there is a context, got 'lin-ucb'"),
            ({"policy": "ucb", "context": {}}, "policy must be one for features"),
            ({"policy": "lin-ucb", "context": {"n_features": 600}}, "<= 512"),
            ({"policy": "lin-ucb", "context": {"n_features": 300, "shared": True}}, "at most 512 features, got 600"),
            ({"policy": "lin-ucb", "context": {"dim": 2}}, "dim"),
        ):
            refused = server("PUT", "/x", {"arms": ARMS, **spec})
            assert refused.status == 422
            assert word in refused.body["detail"]
        assert server("PUT", "/x", {"arms": ARMS, "policy": "ucb"}).status == 201
        refused = server("POST", "/x/decisions", {"context": [1.0]})
        assert (refused.status, "made without one" in refused.body["detail"]) == (422, True)
        made_with = server("PUT", "/y", {"arms": ARMS, "policy": "lin-ucb", "context": {"n_features": 3}})
        assert made_with.body["context"] == {"shared": False, "n_features": 3}
        short = server("POST", "/y/decisions", {"context": {"a": [1.0]}})
        assert "must have 3 numbers" in short.body["detail"]


def test_arms_without_features_cannot_be_chosen_and_new_ones_may_come(storage: Storage) -> None:
    with running(storage) as server:
        made(server, sticky=True, control="b")
        first = server("POST", "/x/decisions", {"id": "one", "unit": "u", "context": {"b": [1, 1]}}).body
        assert (first["arm"], first["reason"]) == ("b", "only")
        assert server("PUT", "/x/arms/c", {}).status == 201
        everything = {"a": [5, 5], "b": [0, 1], "c": [9, 9]}
        again = server("POST", "/x/decisions", {"unit": "u", "context": everything}).body
        assert (again["arm"], again["reason"]) == ("b", "sticky")
        assert server("POST", "/x/decisions", {"context": everything}).body["arm"] == "c"
        assert server("POST", "/x/decisions", {"context": everything, "among": ["a"]}).body["arm"] == "a"
        assert server("POST", "/x/decisions", {"context": {"a": [1, 1]}, "among": ["b"]}).status == 409
        changed = server("POST", "/x/decisions", {"id": "one", "unit": "u", "context": {"b": [1, 2]}})
        assert (changed.status, "another context" in changed.body["detail"]) == (409, True)
        server("PATCH", "/x", {"state": "paused"})
        assert server("POST", "/x/decisions", {"context": everything}).body["arm"] == "b"
        server("PATCH", "/x", {"state": "running"})
        late = server("POST", "/x/decisions", {"id": "late", "context": {"c": [1, 1]}}).body
        assert late["arm"] == "c"
        before = server("GET", "/x/report").body["pending"]
        server("DELETE", "/x/arms/c")
        assert server("PUT", "/x/decisions/late/reward", {"value": 1}).body["learned"] is False
        assert server("GET", "/x/report").body["pending"] == before - 2  # both of the arm's decisions are gone
    session = storage.connect()
    assert [finding.ok for finding in verify(session)] == [True]
    session.close()


@pytest.mark.parametrize("rule", [{"window": 10}, {"window": 10, "default": 0}, {"window": 10, "combine": "sum"}])
def test_windows_cancellations_and_observations_learn_from_features(storage: Storage, rule: dict[str, Any]) -> None:
    clock, agent = FakeClock(), hb.LinearAgent(hb.make("lin-ucb"), n_features=2)
    context = {"a": [1.0, 0.5], "b": [0.5, 1.0]}
    end, at_once = "rewards/r" if "combine" in rule else "reward", len(rule) == 1
    with running(storage, clock) as server:
        made(server, reward=rule)
        chosen = [server("POST", "/x/decisions", {"id": f"d{i}", "context": context}).body["arm"] for i in range(3)]
        assert chosen == [agent.select(context) for _ in range(3)]
        assert server("PUT", f"/x/decisions/d0/{end}", {"value": 3}).body["learned"] is at_once
        if at_once:
            agent.update(context[chosen[0]], 3)
        assert server("DELETE", "/x/decisions/d1").status == 201
        agent.cancel(context[chosen[1]])
        seen = {"id": "seen", "arm": "a", "value": 7, "context": [2, 2]}
        assert [server("POST", "/x/observations", seen).status for _ in range(2)] == [201, 200]
        assert server("POST", "/x/observations", {**seen, "context": [2, 3]}).status == 409
        assert server("POST", "/x/observations", {"arm": "a", "value": 7, "context": [2]}).status == 422
        assert server("POST", "/x/observations", {"arm": "a", "value": 7}).status == 422
        agent.update([2, 2], 7, selected=False)
        clock.now += 10 * SECOND
        while server("GET", "/x/report").body["pending"]:  # the server ends windows by itself, in the order of keys
            time.sleep(0.02)
        assert server("PUT", f"/x/decisions/d2/{end}", {"value": 1}).status == 410
    if not at_once:
        agent.update(context[chosen[0]], 3)
    if "default" in rule:
        agent.update(context[chosen[2]], 0)
    else:
        agent.cancel(context[chosen[2]])
    learner: Any = replayed(storage).learner
    assert learner.agent.dumps() == agent.dumps()
    session = storage.connect()
    assert [finding.ok for finding in verify(session)] == [True]
    session.close()


def answered(server: Process, method: str, path: str, body: Any) -> Any:
    """Return the final answer: while the server compiles the policy, it asks to try again."""
    while (answer := server(method, path, body)).status == 503:
        time.sleep(0.1)
    assert answer.status in (200, 201), answer
    return answer.body


def test_servers_snapshots_and_a_kill_leave_the_same_bits(storage: Storage, tmp_path: Path) -> None:
    rng, servers = random.Random(3), [Process(storage.url, tmp_path) for _ in range(2)]
    try:
        for server in servers:
            server.wait_until_ready()
        made(servers[0], floor={"a": 0.2}, sticky=True)
        for i in range(40):
            if i == 20:
                servers[0].kill()
                servers[0] = Process(storage.url, tmp_path)
                servers[0].wait_until_ready()
            server = servers[i % 2]
            decision = {"id": f"d{i}", "unit": f"u{i % 15}", "context": features(rng)}
            first, again = (answered(server, "POST", "/x/decisions", decision) for _ in range(2))
            assert first == again
            if i % 4:
                answered(server, "PUT", f"/x/decisions/d{i}/reward", {"value": rng.random()})
        last = servers[1]("GET", "/x/report").body
        while (other := servers[0]("GET", "/x/report").body)["experiment"]["seq"] < last["experiment"]["seq"]:
            time.sleep(0.05)
        assert other["checksum"] == last["checksum"]
    except BaseException:
        for server in servers:
            server.kill()
        raise
    assert [server.end() for server in servers] == [0, 0]
    session = storage.connect()
    findings = verify(session)
    session.close()
    assert findings[0].ok
    assert "1 snapshot equal" in findings[0].text
    with running(storage) as restarted:  # from the snapshot
        assert restarted("GET", "/x/report").body["checksum"] == last["checksum"]


def test_the_client_exports_reports_and_the_page_know_contexts(tmp_path: Path) -> None:
    storage = open_storage(f"sqlite:///{tmp_path}/log.db")
    with running(storage) as server:
        client = hb.Client(f"http://{server.address}", patience=5)
        client.create("x", ["a", "b"], policy="lin-ucb", context={"n_features": 2})
        decision = client.decide("x", context={"a": np.array([1.0, 0.0]), "b": np.array([0.0, 3.0])})
        assert decision.arm == "b"
        client.reward("x", decision, 1.5)
        client.observe("x", "a", 0.5, context=(1, 0))
        client.create("s", ["a", "b"], policy="lin-ucb", context={"shared": True})
        assert client.decide("s", context=range(3)).arm in "ab"
        with pytest.raises(ValueError, match="context of 'a' must be finite, got nan"):
            client.decide("x", context={"a": [1.0, math.nan]})
        with pytest.raises(ValueError, match="context must be finite, got inf"):
            client.observe("x", "a", 1.0, context=[math.inf, 1.0])
        report = client.report("x")
        client.close()
        assert report["arms"][1]["estimate"] == pytest.approx(1.5 * 9 / 10)  # ridge regression at its features
        assert report["arms"][0]["pending"] == report["arms"][1]["pending"] == 0
        base = "/v1/experiments/x/export"
        lines = [json.loads(line) for line in call(server.address, "GET", base).body.splitlines()]
        contexts = [line["context"] for line in lines]
        assert contexts == [None, {"a": [1.0, 0.0], "b": [0.0, 3.0]}, [0.0, 3.0], [1.0, 0.0]]
        table = call(server.address, "GET", f"{base}?format=csv").body.decode().splitlines()
        assert '"[0.0,3.0]"' in table[3]
        page = call(server.address, "GET", "/experiments/x").body.decode()
        assert "decides by context" in page
        assert "no decision had a known chance to be for the control, a; a floor for a makes it possible" in page
        assert "estimate at average features" in page
        assert "has the highest mean" not in page
        assert "chart-cost" not in page
        assert "not replayed" in call(server.address, "GET", "/experiments/x/rivals").body.decode()


def test_the_page_makes_experiments_with_contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from heavybandits.service.replicas.learners import policy

    monkeypatch.setitem(policy.DEFAULT_POLICIES, ("linear", "mean"), "lin-ucb")  # the default takes a while to compile
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        for context, status in (("shared", 303), ("arms", 303), ("telepathy", 422)):
            form = f"name={context}&arms=a%0Ab&context={context}".encode()
            headers: dict[str, Any] = {
                "Content-Type": "application/x-www-form-urlencoded",
                "Origin": f"http://{server.address}",
            }
            assert call(server.address, "POST", "/experiments", form, **headers).status == status
        assert server("GET", "/shared").body["context"]["shared"]
        assert not server("GET", "/arms").body["context"]["shared"]


def test_decisions_in_the_thousands_are_remembered_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "MOST_PENDING_ROWS", 3)
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        made(server)
        for i in range(5):
            server("POST", "/x/decisions", {"id": f"d{i}", "context": {"a": [1, i], "b": [0, 1]}, "among": ["a"]})
        assert server("DELETE", "/x/decisions/d0").status == 201  # the agent has given it up by itself
        assert server("PUT", "/x/decisions/d1/reward", {"value": 1}).status == 201
        assert server("GET", "/x/report").body["pending"] == 3


READ_AT_ONCE = """
import os, sys, threading
from heavybandits.service.replicas.learners.linear import LinearLearner
from heavybandits.service.spec import Arm, ContextRule, Experiment

sys.setswitchinterval(1e-6)
spec = Experiment(arms=[Arm(f"arm {i}") for i in range(50)], policy="lin-ucb", context=ContextRule())
contents, ready, read_by = LinearLearner.made(spec).dumps(), threading.Barrier(4), []

def read():
    ready.wait()
    read_by.append(LinearLearner.loaded(spec, contents))

for _ in range(40):
    child = os.fork()  # in which nothing has been read before
    if child == 0:
        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(len(read_by) != 4)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_several_threads_may_be_the_first_to_read_an_experiment() -> None:
    subprocess.run([sys.executable, "-c", READ_AT_ONCE], check=True)
