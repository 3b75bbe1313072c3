"""Both clients make every call of the interface, and an answer from the future does not trouble them."""

import asyncio
import inspect
import io
import json
import math
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from callers import GUARD, KINDS
from services import Running, eventually, running

import heavybandits as hb
from heavybandits.service.client.calls import Call, Calls
from heavybandits.service.http.openapi import openapi_description
from heavybandits.service.storage import open_storage

EXAMPLES: dict[str, tuple[Any, ...]] = {  # arguments of each call, in the words of the description
    "create": ("{experiment}", ["a"]),
    "experiments": (),
    "show": ("{experiment}",),
    "change": ("{experiment}", "paused"),
    "finish": ("{experiment}", "a"),
    "change_control": ("{experiment}", "a"),
    "delete": ("{experiment}",),
    "add_arm": ("{experiment}", "{arm}"),
    "change_arm": ("{experiment}", "{arm}", "paused"),
    "retire_arm": ("{experiment}", "{arm}"),
    "decide": ("{experiment}",),
    "reward": ("{experiment}", "{decision}", 1.0),
    "retract": ("{experiment}", "{decision}"),
    "cancel": ("{experiment}", "{decision}"),
    "observe": ("{experiment}", "a", 1.0),
    "batch": ("{experiment}", [{"decision": {}}]),
    "report": ("{experiment}",),
    "audit": ("{experiment}",),
    "export": ("{experiment}",),
    "health": (),
    "ready": (),
    "metrics": (),
    "describe": (),
}
CLIENTS = (hb.Client, hb.AsyncClient)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(open_storage(f"sqlite:///{tmp_path_factory.mktemp('log')}/log.db")) as server:
        yield server


@pytest.fixture(params=KINDS)
def client(request: pytest.FixtureRequest, server: Running) -> Iterator[Any]:
    client = KINDS[request.param](f"http://{server.address}", patience=5)
    yield client
    client.close()


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")} - {"send", "close"}


def test_every_endpoint_of_the_interface_has_a_call() -> None:
    calls = Calls("http://h")
    made = [getattr(calls, name)(*arguments) for name, arguments in EXAMPLES.items()]
    made.append(calls.reward("{experiment}", "{decision}", 1.0, id="{reward}"))
    paths = openapi_description()["paths"]
    served = {(method.upper(), path) for path, methods in paths.items() for method in methods if "ofrep" not in path}
    assert {(call.method, unquote(call.path).partition("?")[0]) for call in made} == served


def test_every_call_is_a_method_of_both_clients() -> None:
    assert public(Calls) - {"url", "parts"} == set(EXAMPLES)
    for kind in CLIENTS:
        assert public(kind) == set(EXAMPLES)
        for name in EXAMPLES:
            assert getattr(kind, name).__doc__ == getattr(Calls, name).__doc__
    shown = inspect.signature(hb.Client.decide)
    assert list(shown.parameters) == list(inspect.signature(Calls.decide).parameters)
    assert shown.return_annotation == "Decision"


def test_attributes_are_of_arms() -> None:
    with pytest.raises(ValueError, match="attributes must be of arms, got \\['c'\\]"):
        Calls("http://h").create("x", ["a", "b"], {"c": {"words": 3}})


def test_arms_and_attributes_that_are_none_are_refused_in_clear_words() -> None:
    calls = Calls("http://h")
    with pytest.raises(TypeError, match=r"^Client: arms must be a list or a mapping, got 'ab'$"):
        calls.create("x", "ab")
    not_mapping: Any = []
    with pytest.raises(TypeError, match=r"^Client: attributes must be a mapping of names to values, got \[\]$"):
        calls.decide("x", attributes=not_mapping)
    with pytest.raises(TypeError, match=r"^Client: attributes must be a mapping"):
        calls.observe("x", "a", 1.0, attributes=not_mapping)


def test_what_json_has_no_form_for_is_not_sent() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        Calls("http://h").create("x", ["a"], stop={"eps": math.nan})


def test_attributes_are_sent_in_plain_types_and_nan_is_missing() -> None:
    at = datetime(2026, 1, 2)
    given = {"age": math.nan, "when": pd.NaT, "size": np.float32("nan"), "n": np.int64(3), "at": at}
    plain = {"age": None, "when": None, "size": None, "n": 3, "at": "2026-01-02T00:00:00"}
    given |= {"fine": np.datetime64(at, "ns"), "gap": np.datetime64("NaT", "ns")}
    plain |= {"fine": "2026-01-02T00:00:00", "gap": None}
    calls = Calls("http://h")
    assert json.loads(calls.decide("x", attributes=given).content or b"")["context"] == {"attributes": plain}
    assert json.loads(calls.add_arm("x", "a", attributes=given).content or b"")["attributes"] == plain
    made = calls.create("x", ["a"], {"a": given})
    assert json.loads(made.content or b"")["arms"][0]["attributes"] == plain


def test_queries_are_those_of_the_description() -> None:
    calls = Calls("http://h")
    for call in (calls.audit("x", after=3), calls.export("x", after=3, format="csv")):
        path, _, query = call.path.partition("?")
        described = openapi_description()["paths"][path.replace("/x/", "/{experiment}/")]["get"]["parameters"]
        assert re.findall(r"(\w+)=", query) == [each["name"] for each in described if each["in"] == "query"]


@pytest.mark.slow
def test_every_call_works(client: Any) -> None:
    name = f"my shop {type(client).__name__}"
    assert client.create(name, {"a": {"css": "b"}, "b": None, "c": None}, policy="ucb")["name"] == name
    assert name in [each["name"] for each in client.experiments()]
    assert client.add_arm(name, "d", {"css": "d"})["payload"] == {"css": "d"}
    assert client.change_arm(name, "d", "paused")["state"] == "paused"
    known = {"attributes": True}
    made = client.create(f"{name}, named", ["a", "b"], {"a": {"words": 3}}, policy="lin-ucb", context=known)
    assert [arm.get("attributes") for arm in made["arms"]] == [{"words": 3}, None]
    assert client.add_arm(f"{name}, named", "d", attributes={"words": 4})["attributes"] == {"words": 4}
    assert client.retire_arm(name, "d")["state"] == "retired"
    decision = client.decide(name, unit="visitor 7", fallback="z", timeout=GUARD)
    assert (decision.reason, decision.arm in "abc") == ("policy", True)
    assert client.reward(name, decision, 12.5)["learned"]
    assert client.cancel(name, client.decide(name, timeout=GUARD))["learned"] is False
    assert client.observe(name, "a", -float("inf"))["learned"]
    items = [{"decision": {}}, {"observation": {"arm": "b", "value": float("inf")}}, {"cancel": "nothing"}]
    assert [item["status"] for item in client.batch(name, items)] == [201, 201, 404]
    assert client.change(name, "paused")["state"] == "paused"
    assert client.show(name)["state"] == "paused"
    report = client.report(name)
    assert (report["decisions"], report["rewards"], report["pending"]) == (3, 3, 1)
    assert [change["seq"] for change in client.audit(name, after=1)] == [2, 3, 4, 12]
    assert [json.loads(line)["seq"] for line in client.export(name).splitlines()] == list(range(1, 13))
    assert len(pd.read_csv(io.BytesIO(client.export(name, after=2, format="csv")))) == 10
    assert client.health() == {"status": "ok", "version": hb.__version__}
    assert client.ready() | {"compiling": []} == {"status": "ready", "problems": [], "compiling": [], "replaying": []}
    assert "heavybandits_" in client.metrics()
    assert client.describe() == openapi_description()
    assert client.delete(name) == {"name": name, "seq": 12}
    with pytest.raises(hb.ServiceError, match="404: unknown experiment"):
        client.show(name)


@pytest.mark.slow
def test_rewards_are_taken_back_and_added(client: Any) -> None:
    name = type(client).__name__
    client.create(name, ["a"], policy="ucb", reward={"window": 3600, "default": 0})
    decision = client.decide(name)
    client.reward(name, decision, 1.0)
    assert client.retract(name, decision)["learned"] is False
    client.create(f"{name} sum", ["a"], policy="ucb", reward={"window": 3600, "combine": "sum"})
    decision = client.decide(f"{name} sum")
    assert [client.reward(f"{name} sum", decision, 1.0, id=key)["seq"] for key in ("1", "2", "1")] == [3, 4, 3]


@pytest.mark.slow
def test_what_was_stored_for_a_fallback_is_cancelled(server: Running, client: Any, monkeypatch: Any) -> None:
    name = f"late {type(client).__name__}"
    client.create(name, ["a", "b"], policy="ucb")
    ask, left = server.service.ask, threading.Event()

    async def slow(command: Any) -> Any:
        outcome = await ask(command)  # it is stored by now
        while not left.is_set():
            await asyncio.sleep(0.01)
        return outcome

    monkeypatch.setattr(server.service, "ask", slow)
    assert client.decide(name, fallback="b", timeout=0.05).reason == "fallback"
    monkeypatch.undo()
    left.set()
    eventually(lambda: client.report(name)["decisions"] == 1 and client.report(name)["pending"] == 0)


@pytest.mark.slow
def test_a_batch_counts_once_however_often_it_is_sent(client: Any, server: Running) -> None:
    name = f"batch {type(client).__name__}"
    client.create(name, ["a", "b"], policy="ucb")
    call: Call[Any] = Calls(f"http://{server.address}").batch(name, [{"decision": {}}, {"decision": {"id": "mine"}}])
    first, again = client.send(call), client.send(call)
    assert [item["status"] for item in first] == [201, 201]
    assert [item["status"] for item in again] == [200, 200]
    assert first[1]["body"]["id"] == "mine"


@pytest.mark.slow
def test_threads_share_a_client(client: Any) -> None:
    name = f"threads {type(client).__name__}"
    client.create(name, ["a", "b"], policy="ucb")
    keys = [f"{number}" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda key: client.decide(name, id=key, fallback="z", timeout=GUARD).id, keys))
    assert found == keys
    assert client.report(name)["decisions"] == len(keys)


FORK = """
import os, sys
import heavybandits as hb
client = hb.Client(sys.argv[1])
client.create("fork", ["a", "b"], policy="ucb")
child = os.fork()
keys = [f"{child == 0} {number}" for number in range(50)]
same = [client.decide("fork", id=key).id for key in keys] == keys
os._exit(not same) if child == 0 else sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or not same)
"""


@pytest.mark.slow
def test_processes_that_fork_share_no_connection(server: Running) -> None:
    subprocess.run([sys.executable, "-c", FORK, f"http://{server.address}"], check=True, timeout=GUARD)
