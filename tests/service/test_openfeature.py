"""The service as a provider of flags: OpenFeature's own providers run a bandit, and get the errors that they know."""

import json
import logging
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from callers import GUARD, in_time, silent, wire
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.track import TrackingEventDetails
from services import SECOND, Answer, FakeClock, Running, call, running

import heavybandits as hb
from heavybandits.service.client.openfeature import BanditProvider
from heavybandits.service.storage import open_storage

pytestmark = pytest.mark.slow
PATH = "/ofrep/v1/evaluate/flags"
CLOCK = FakeClock(3600 * SECOND)
BUTTON = {"arms": [{"name": "blue"}, {"name": "green"}], "policy": "ucb"}
COLOUR = {"arms": [{"name": "a", "payload": {"css": "#06c"}}]}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(open_storage(f"sqlite:///{tmp_path}/log.db"), CLOCK) as server:
        for name, spec in (("button", BUTTON), ("colour", COLOUR)):
            assert server("PUT", f"/{name}", {"policy": "ucb", **spec}).status == 201
        yield server


def evaluate(server: Running, flag: str = "/button", unit: str | None = "u", **headers: Any) -> Answer:
    context = {"plan": "pro"} | ({} if unit is None else {"targetingKey": unit})
    return call(server.address, "POST", f"{PATH}{flag}", {"context": context}, **headers)


def units(number: int) -> list[EvaluationContext]:
    return [EvaluationContext(f"visitor {unit}", {"plan": "pro"}) for unit in range(number)]


def test_the_official_provider_runs_a_bandit(server: Running) -> None:
    api.set_provider(OFREPProvider(f"http://{server.address}"))
    client, seen = api.get_client(), Counter[str]()
    for context in units(60):
        found = client.get_string_details("button", "none", context)
        assert (found.value, found.reason, found.flag_metadata["propensity"]) == (found.variant, "SPLIT", 1.0)
        path = f"/button/decisions/{found.flag_metadata['decision']}/reward"
        assert server("PUT", path, {"value": float(found.variant == "green")}).status == 201
        seen[found.value] += 1
    assert seen["green"] > seen["blue"] > 0
    report = server("GET", "/button/report").body
    assert (report["decisions"], report["rewards"]) == (60, 60)
    colour = client.get_object_details("colour", {}, units(1)[0])
    assert (colour.value, colour.variant, colour.reason) == ({"css": "#06c"}, "a", "STATIC")
    for flag, context, code in [
        ("nothing", units(1)[0], ErrorCode.FLAG_NOT_FOUND),
        ("a\\b", units(1)[0], ErrorCode.FLAG_NOT_FOUND),
        ("button", EvaluationContext(), ErrorCode.TARGETING_KEY_MISSING),
        ("button", EvaluationContext("x" * 2000), ErrorCode.INVALID_CONTEXT),
    ]:
        failed = client.get_string_details(flag, "default", context)
        assert (failed.value, failed.error_code) == ("default", code)
        assert failed.error_message
    api.clear_providers()


def test_the_official_provider_in_javascript_runs_a_bandit(server: Running, node: str, node_modules: Path) -> None:
    script = Path(__file__).parent / "javascript" / "openfeature.mjs"
    command = [node, str(script), f"http://{server.address}"]
    done = subprocess.run(command, cwd=node_modules.parent, capture_output=True, text=True, timeout=GUARD, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["counts"]["green"] > said["counts"]["blue"] > 0
    assert said["reasons"] == {"SPLIT": 60}
    assert said["errors"] == [
        ["default", "ERROR", "FLAG_NOT_FOUND"],
        ["default", "ERROR", "TARGETING_KEY_MISSING"],
    ]
    assert said["object"] == [{"css": "#06c"}, "a", "STATIC"]
    assert server("GET", "/button/report").body["rewards"] == 60


def test_our_provider_reports_rewards(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    rewards = hb.Client(f"http://{server.address}")
    api.set_provider(BanditProvider(rewards))
    client = api.get_client()
    for context in units(40):
        shown = client.get_string_value("button", "none", context)
        client.track("button", context, TrackingEventDetails(float(shown == "green")))
    report = server("GET", "/button/report").body
    assert (report["decisions"], report["rewards"]) == (40, 40)
    best = max(report["arms"], key=lambda arm: arm["decisions"])
    assert best["name"] == "green"
    caplog.clear()
    client.track("button", EvaluationContext("stranger"), TrackingEventDetails(1.0))
    client.track("button", units(1)[0])
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert server("GET", "/button/report").body["rewards"] == 40
    api.clear_providers()
    rewards.close()


def test_tracking_waits_no_longer_than_its_time_and_never_raises(caplog: pytest.LogCaptureFixture) -> None:
    with wire(silent) as url:
        waits = BanditProvider(hb.Client(url, timeout=3600.0, patience=0.0), timeout=0.1)
        fails = BanditProvider(hb.Client("http://127.0.0.1:1", patience=0.0), timeout=3600.0)
        for provider in (waits, fails):
            memory: Any = provider.get_provider_hooks()[0]
            memory.decisions["button", "u"] = "d"
            in_time(partial(provider.track, "button", EvaluationContext("u"), TrackingEventDetails(1.0)))
        (said,) = caplog.messages
    assert said.startswith("a reward is lost: PUT /v1/experiments/button/decisions/d/reward: no answer from")


def test_within_an_hour_a_unit_gets_the_same_decision(server: Running) -> None:
    first = evaluate(server).body
    assert set(first) == {"key", "value", "variant", "reason", "metadata"}
    assert first["metadata"]["experiment"] == first["key"] == "button"
    assert evaluate(server).body == first
    others = {evaluate(server, unit="v").body["metadata"]["decision"], first["metadata"]["decision"]}
    CLOCK.now += 3600 * SECOND
    assert evaluate(server).body["metadata"]["decision"] not in others
    assert server("GET", "/button/report").body["decisions"] == 3


def test_the_id_tells_nobody_the_unit(server: Running, tmp_path: Path) -> None:
    with running(open_storage(f"sqlite:///{tmp_path}/other.db"), CLOCK) as other:
        other("PUT", "/button", BUTTON)
        ids = [evaluate(each).body["metadata"]["decision"] for each in (server, other, other)]
    assert ids[0] != ids[1] == ids[2]  # it depends on the experiment's secret salt


def test_a_flag_may_be_asked_for_before_there_is_an_experiment(server: Running) -> None:
    assert evaluate(server, "/later").status == 404
    assert server("PUT", "/later", {"arms": BUTTON["arms"], "context": {"attributes": True}}).status == 201
    ids = set()
    for plan in ("pro", "free"):
        answer = call(server.address, "POST", f"{PATH}/later", {"context": {"targetingKey": "u", "plan": plan}})
        ids.add(answer.body["metadata"]["decision"])
    assert len(ids) == 2  # a decision stands for one context


def test_an_experiment_that_was_made_again_has_ids_of_its_own(server: Running) -> None:
    before = evaluate(server).body["metadata"]["decision"]
    assert server("DELETE", "/button").status == 200
    assert server("PUT", "/button", {"arms": BUTTON["arms"], "context": {"attributes": True}}).status == 201
    ids = {before}
    for plan in ("pro", "free"):
        answer = call(server.address, "POST", f"{PATH}/button", {"context": {"targetingKey": "u", "plan": plan}})
        ids.add(answer.body["metadata"]["decision"])
    assert len(ids) == 3  # another salt, and each of the contexts that the new one takes


def test_an_id_may_be_given(server: Running) -> None:
    given: dict[str, Any] = {"Idempotency-Key": "mine"}
    assert evaluate(server, **given).body["metadata"]["decision"] == "mine"
    assert evaluate(server, **given).body["metadata"]["decision"] == "mine"
    other = evaluate(server, unit="v", **given)
    assert (other.status, other.body["errorCode"]) == (400, "GENERAL")
    bad = evaluate(server, **{"Idempotency-Key": "a/b"})
    assert (bad.status, bad.body["errorCode"]) == (400, "INVALID_CONTEXT")


def test_reasons_are_those_of_openfeature(server: Running) -> None:
    server("PUT", "/kept", {**BUTTON, "sticky": True})
    assert [evaluate(server, "/kept").body["reason"], evaluate(server, "/kept").body["reason"]] == ["SPLIT", "SPLIT"]
    CLOCK.now += 3600 * SECOND
    kept = evaluate(server, "/kept").body
    assert kept["reason"] == "TARGETING_MATCH"
    server("PATCH", "/kept", {"state": "paused"})
    CLOCK.now += 3600 * SECOND
    assert evaluate(server, "/kept").body["reason"] == "DISABLED"


def test_only_sticky_and_finished_experiments_are_evaluated_together(server: Running) -> None:
    server("PUT", "/kept", {**BUTTON, "sticky": True})
    server("PATCH", "/colour", {"state": "finished", "arm": "a"})
    flags = {flag["key"]: flag for flag in evaluate(server, "").body["flags"]}
    assert {key: flag["reason"] for key, flag in flags.items()} == {"kept": "SPLIT", "colour": "STATIC"}
    assert evaluate(server, "/kept").body["metadata"] == flags["kept"]["metadata"]
    assert server("GET", "/button/report").body["decisions"] == 0
    missing = evaluate(server, "", unit=None)
    assert (missing.status, missing.body["errorCode"]) == (400, "TARGETING_KEY_MISSING")


@pytest.mark.parametrize(("content", "code"), [(b"{", "PARSE_ERROR"), (b'{"context": 3}', "INVALID_CONTEXT")])
def test_nonsense_is_refused_in_the_words_of_openfeature(server: Running, content: bytes, code: str) -> None:
    refused = call(server.address, "POST", f"{PATH}/button", content)
    assert (refused.status, refused.body["key"], refused.body["errorCode"]) == (400, "button", code)
    assert refused.body["errorDetails"]


def test_an_experiment_with_contexts_says_what_it_needs(server: Running) -> None:
    server("PUT", "/offers", {**BUTTON, "policy": "lin-ucb", "context": {"shared": True, "n_features": 2}})
    refused = evaluate(server, "/offers")
    assert (refused.status, refused.body["errorCode"]) == (400, "INVALID_CONTEXT")
    assert "context" in refused.body["errorDetails"]
