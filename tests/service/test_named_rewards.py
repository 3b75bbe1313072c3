"""Named rewards, and guardrails that pause an arm."""

from contextlib import closing
from itertools import permutations
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from histories import event, played
from services import ARMS, Running, call, replica_of

import heavybandits as hb
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.replicas.named_rewards import NamedRewards
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.replicas.stopping import consequence
from heavybandits.service.spec import Arm, Experiment
from heavybandits.service.storage import Storage

SEEN = "/v1/experiments/x"


def make(server: Running, **fields: Any) -> None:
    """Create an experiment in which arms take turns at random."""
    made = call(server.address, "PUT", SEEN, {"arms": ARMS, "floor": {"a": 0.5, "b": 0.5}, **fields})
    assert made.status == 201, made.body


def play(server: Running, seed: int, n: int, **means: float) -> list[dict[str, Any]]:
    """Make decisions, and report an exponential latency for each, with these means by arm."""
    rng = np.random.default_rng(seed)
    made = batch(server, [{"decision": {"id": f"{seed}-{i}"}} for i in range(n)])
    items = [
        {"reward": {"decision": one["body"]["id"], "name": "latency",
                    "value": float(means[one["body"]["arm"]] * rng.exponential())}} for one in made
    ]  # fmt: skip
    return batch(server, items)


def batch(server: Running, items: list[Any]) -> list[dict[str, Any]]:
    """Send a batch, and again until the database has confirmed all of it: on a busy machine it may be late."""
    while True:
        answers = list(call(server.address, "POST", f"{SEEN}/batch", {"items": items}).body["items"])
        if all(answer["status"] != 503 for answer in answers):
            return answers


@pytest.mark.parametrize(("share", "is_told"), [(0.0, True), (0.05, True), (0.1, False)])
def test_a_note_asks_for_the_floor_that_guardrails_need(served: Running, share: float, is_told: bool) -> None:
    make(served, guardrails=["latency <= +20"], floor={"a": 0.2, "b": share} if share else {})
    notes = call(served.address, "GET", SEEN).body["notes"]
    assert any("give a floor of 0.1 to the control and to each arm" in note for note in notes) == is_told


@pytest.mark.parametrize("rail", ["latency <= +20", "latency <= +20%", "p90(latency) <= +60"])
def test_an_arm_that_breaks_a_guardrail_is_paused(served: Running, storage: Storage, rail: str) -> None:
    make(served, guardrails=[rail])
    for seed in range(4):
        assert {item["status"] for item in play(served, seed, 500, a=100.0, b=300.0)} <= {200, 201}
    shown = call(served.address, "GET", SEEN).body
    assert [arm["state"] for arm in shown["arms"]] == ["running", "paused"]
    change = call(served.address, "GET", f"{SEEN}/audit").body["changes"][-1]["change"]
    assert change["pause"] == "b"
    assert f"b breaks the guardrail {rail} against a" in change["why"]
    assert f"b was paused: {change['why'].rstrip('.')}." in shown["notes"]
    report = call(served.address, "GET", f"{SEEN}/report").body
    [fast, slow] = sorted(report["named_rewards"]["latency"], key=lambda row: str(row["arm"]))
    assert fast["low"] < fast["estimate"] < fast["high"] < slow["low"] < slow["estimate"]
    assert [(one["arm"], one["state"]) for one in report["guardrails"]] == [("b", "broken")]
    assert report["rewards"] == 0  # the policy has learned none of it
    replica = replica_of(storage)
    assert replica.checksum() == report["checksum"]
    assert Replica.restored(replica.exp, "x", replica.snapshot()).snapshot() == replica.snapshot()
    with closing(storage.connect()) as session:
        assert all(finding.ok for finding in verify(session))


def test_an_arm_that_broke_a_guardrail_is_not_the_winner(served: Running) -> None:
    make(served, guardrails=["latency <= +20"], stop={"then": "winner"})
    for seed in range(4):
        play(served, seed, 500, a=100.0, b=300.0)
    assert call(served.address, "GET", SEEN).body["arms"][1]["state"] == "paused"
    rng = np.random.default_rng(0)
    items = [{"observation": {"arm": arm, "value": float(mean * rng.exponential())}}
             for _ in range(400) for arm, mean in (("a", 1.0), ("b", 3.0))]  # fmt: skip
    call(served.address, "POST", f"{SEEN}/batch", {"items": items})
    shown = call(served.address, "GET", SEEN).body
    assert (shown["state"], shown["finished_with"]) == ("running", None)
    assert call(served.address, "GET", f"{SEEN}/report").body["evidence"]["winner"] is None
    page = call(served.address, "GET", "/experiments/x").body.decode()
    assert "give b to everybody" not in page
    assert call(served.address, "PATCH", f"{SEEN}/arms/b", {"state": "running"}).status == 200  # people know better
    assert call(served.address, "GET", f"{SEEN}/report").body["evidence"]["winner"] == "b"


def test_an_arm_that_people_resume_is_not_paused_again(served: Running) -> None:
    make(served, guardrails=["latency <= +20"])
    for seed in range(3):
        play(served, seed, 500, a=100.0, b=400.0)
    resumed = call(served.address, "PATCH", f"{SEEN}/arms/b", {"state": "running"})
    assert resumed.body["state"] == "running"
    play(served, 9, 500, a=100.0, b=400.0)
    assert [arm["state"] for arm in call(served.address, "GET", SEEN).body["arms"]] == ["running", "running"]


def test_arms_that_keep_their_guardrails_go_on_and_the_control_always_does(served: Running) -> None:
    make(served, guardrails=["latency <= +50"], control="b")
    for seed in range(3):
        play(served, seed, 500, a=100.0, b=300.0)
    assert [arm["state"] for arm in call(served.address, "GET", SEEN).body["arms"]] == ["running", "running"]
    assert call(served.address, "GET", f"{SEEN}/report").body["guardrails"][0]["state"] == "kept"


@pytest.mark.parametrize(("factor", "is_paused"), [(1.0, False), (1.2, False), (2.0, True)])
def test_a_planted_break_pauses_an_arm_and_equal_arms_go_on(factor: float, is_paused: bool) -> None:
    rng = np.random.default_rng(0)
    replica = played(Experiment(arms=[Arm(name) for name in "abc"], guardrails=["latency <= +20%"]), [])
    paused = []
    for arm, size in zip(rng.choice(list("abc"), 2500), 1.0 + rng.pareto(1.5, 2500), strict=True):
        latency = float(factor * size if arm == "c" else size)
        reported = event(replica, "named", str(arm), latency)._replace(key=f"{replica.seq}/latency")
        replica.apply(reported)
        paused += [change.pause for change in [consequence(replica, reported)] if change is not None]
    assert set(paused) == ({"c"} if is_paused else set())


@pytest.mark.parametrize(("created", "least"), [(1, 0.004), (2, 0.047), (5, 0.047)])
def test_all_arms_and_controls_that_may_come_share_one_level(created: int, least: float) -> None:
    names = [f"arm {number}" for number in range(30)]
    spec = Experiment(arms=[Arm(name) for name in names[:created]], guardrails=["x <= +1", "p95(y) <= +1"])
    named = NamedRewards(spec, names[:created])
    at_first = {(arm, control): named.level(arm, control, 0.05) for arm, control in permutations(names[:created], 2)}
    for name in names[created:]:
        named.add_arm(name)
    levels = {(arm, control): named.copied().level(arm, control, 0.05) for arm, control in permutations(names, 2)}
    assert at_first.items() <= levels.items()
    assert least < 2 * sum(levels.values()) <= 0.05
    assert 2 * sum(levels[arm, names[0]] for arm in names[1:created]) == pytest.approx(0.0405 * (created > 1))


def test_a_named_reward_counts_once_and_needs_a_name_that_was_declared(served: Running) -> None:
    make(served, named_rewards=["quality"], reward={"window": 60, "combine": "sum"})
    with closing(hb.Client(f"http://{served.address}")) as client:
        decision = client.decide("x", id="d")
        answer = client.reward("x", decision, 0.75, name="quality")
        assert answer == client.reward("x", decision, 0.75, name="quality")
        assert (answer["id"], answer["learned"]) == ("d/quality", False)
        assert client.show("x")["named_rewards"] == ["quality"]
        with pytest.raises(hb.ServiceError, match="quality was reported before"):
            client.reward("x", decision, 0.5, name="quality")
        with pytest.raises(hb.ServiceError, match="name must be one of quality, got 'speed'"):
            client.reward("x", decision, 0.5, name="speed")
        with pytest.raises(hb.ServiceError, match="not have both a name and an id"):
            client.reward("x", decision, 0.5, name="quality", id="r")
        client.cancel("x", client.decide("x", id="e"))
        with pytest.raises(hb.ServiceError, match="'e' was never shown"):
            client.reward("x", "e", 0.5, name="quality")
        assert client.add_arm("x", "c")["state"] == "running"
        rows = client.report("x")["named_rewards"]["quality"]
    assert sorted(row["n"] for row in rows) == [0, 0, 1]


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"guardrails": ["latency < 3"]}, "a guardrail must read like 'latency <= +20'"),
        ({"guardrails": ["a/b <= +3"]}, "guardrails must be about names of rewards, got 'a/b <= +3'"),
        ({"guardrails": ["quality >= -1"], "context": {}}, "guardrails must not be given with a context"),
        ({"drift": True, "policy": "restarting"}, "drift must not be given with the policy 'restarting'"),
        (
            {"drift": True, "policy": {"kind": "linear-restarting", "policy": {"kind": "lin-ucb"}}, "context": {}},
            "drift must not be given with the policy 'linear-restarting'",
        ),
        ({"drift": True, "stop": {"then": "winner"}}, "stop must leave the end to people if there is drift"),
        ({"drift": True, "guardrails": ["quality >= -0.05"]}, "guardrails must not be given with drift"),
    ],
)
def test_what_cannot_be_is_refused(served: Running, fields: dict[str, Any], detail: str) -> None:
    answer = call(served.address, "PUT", SEEN, {"arms": ARMS, **fields})
    assert answer.status == 422
    assert detail in answer.body["detail"]


def test_a_policy_starts_afresh_when_arms_change(served: Running) -> None:
    make(served, drift=True, floor={})
    shown = call(served.address, "GET", SEEN).body
    assert shown["drift"] is True
    assert any("evidence is about all rewards since the beginning" in note for note in shown["notes"])
    rng = np.random.default_rng(0)
    for good in ("a", "b"):
        seen = [{"observation": {"arm": arm, "value": float(rng.normal(3.0 * (arm == good)))}} for arm in "ab" * 100]
        call(served.address, "POST", f"{SEEN}/batch", {"items": seen})
    arms = [call(served.address, "POST", f"{SEEN}/decisions", {}).body["arm"] for _ in range(20)]
    assert arms.count("b") > 14


def test_the_form_offers_guardrails_drift_and_an_end(served: Running) -> None:
    fields = {"name": "x", "arms": "a\nb", "guardrails": "quality >= -0.05\n", "stop": "winner", "floor": ""}
    headers: Any = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://{served.address}"}
    assert call(served.address, "POST", "/experiments", urlencode(fields).encode(), **headers).status == 303
    shown = call(served.address, "GET", SEEN).body
    assert (shown["guardrails"], shown["stop"]["then"], shown["drift"]) == (["quality >= -0.05"], "winner", False)
    other = {"stop": "ask", "drift": "yes", "guardrails": "", "named": "quality\nstars", "sticky": "yes"}
    content = urlencode({**fields, "name": "y", **other}).encode()
    assert call(served.address, "POST", "/experiments", content, **headers).status == 303
    shown = call(served.address, "GET", "/v1/experiments/y").body
    assert (shown["drift"], shown["sticky"], shown["named_rewards"]) == (True, True, ["quality", "stars"])


@pytest.mark.slow
@pytest.mark.parametrize("context", [{}, {"attributes": True}, {"n_features": 512}])
def test_every_kind_of_context_may_have_drift(served: Running, context: dict[str, Any]) -> None:
    make(served, drift=True, floor={}, context=context)


def test_a_linear_policy_starts_afresh_too(served: Running) -> None:
    make(served, drift=True, floor={}, policy="lin-ucb", context={"n_features": 2})
    asked = {"id": "d", "context": {"a": [1.0, 0.0], "b": [0.0, 1.0]}}
    assert call(served.address, "POST", f"{SEEN}/decisions", asked).status == 201
    assert call(served.address, "PUT", f"{SEEN}/decisions/d/reward", {"value": 1.0}).body["learned"]
