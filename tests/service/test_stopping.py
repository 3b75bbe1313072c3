"""Experiments that end: by hand, by evidence, by a difference that does not matter, by a budget."""

from contextlib import closing
from typing import Any

import msgspec
import numpy as np
import pytest
from histories import played
from services import ARMS, Running, call, replica_of

import heavybandits as hb
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.replicas.stopping import ending
from heavybandits.service.spec import Arm, Experiment, StopRule
from heavybandits.service.storage import Storage

SEEN = "/v1/experiments/x"


def make(server: Running, **fields: Any) -> None:
    assert call(server.address, "PUT", SEEN, {"arms": ARMS, **fields}).status == 201


def decide(server: Running, **fields: Any) -> Any:
    return call(server.address, "POST", f"{SEEN}/decisions", fields).body


def observe(server: Running, rewards: list[tuple[str, float]]) -> None:
    """Report rewards that no decision led to, a thousand at a time."""
    items = [{"observation": {"arm": arm, "value": value}} for arm, value in rewards]
    for start in range(0, len(items), 1000):
        answer = call(server.address, "POST", f"{SEEN}/batch", {"items": items[start : start + 1000]})
        assert {item["status"] for item in answer.body["items"]} == {201}


def coins(seed: int, n: int, **chances: float) -> list[tuple[str, float]]:
    rng = np.random.default_rng(seed)
    return [(arm, float(rng.random() < chance)) for _ in range(n) for arm, chance in chances.items()]


def test_everyone_gets_the_arm_that_an_experiment_is_finished_with(served: Running) -> None:
    make(served, sticky=True, floor={"a": 0.5})
    kept = {decide(served, unit=f"u{n}")["arm"] for n in range(20)}
    assert kept == {"a", "b"}
    with closing(hb.Client(f"http://{served.address}")) as client:
        assert client.finish("x", "b")["state"] == "finished"
        for n in range(20):
            answer = decide(served, unit=f"u{n}")
            assert (answer["arm"], answer["reason"], answer["p"]) == ("b", "finished", 1.0)
        shown = client.change("x", "running")
    assert (shown["state"], shown["finished_with"]) == ("running", None)
    assert decide(served, unit="u0")["reason"] == "sticky"


def test_the_control_can_be_changed(served: Running, storage: Storage) -> None:
    make(served)
    with closing(hb.Client(f"http://{served.address}")) as client:
        assert client.change_control("x", "b")["control"] == "b"
        client.change("x", "paused")
    assert decide(served)["arm"] == "b"
    replica = replica_of(storage)
    assert Replica.restored(replica.exp, "x", replica.snapshot()).control == "b"


@pytest.mark.parametrize(
    ("change", "status", "detail"),
    [
        ({"state": "finished"}, 422, "arm must be given if the state is finished, and only then"),
        ({"state": "paused", "arm": "a"}, 422, "arm must be given if the state is finished, and only then"),
        ({}, 422, "a change must have either a state or a control"),
        ({"state": "paused", "control": "a"}, 422, "a change must have either a state or a control"),
        ({"state": "finished", "arm": "c"}, 404, "there is no arm 'c'"),
        ({"control": "c"}, 404, "there is no arm 'c'"),
    ],
)
def test_changes_that_make_no_sense_change_nothing(
    served: Running, change: dict[str, str], status: int, detail: str
) -> None:
    make(served)
    before = call(served.address, "GET", SEEN).body
    answer = call(served.address, "PATCH", SEEN, change)
    assert (answer.status, answer.body["detail"]) == (status, detail)
    assert call(served.address, "GET", SEEN).body == before


def test_a_winner_ends_an_experiment_once_and_replays_find_the_end(served: Running, storage: Storage) -> None:
    make(served, stop={"then": "winner"})
    observe(served, coins(0, 400, a=0.1, b=0.9))
    shown = call(served.address, "GET", SEEN).body
    assert (shown["state"], shown["finished_with"]) == ("finished", "b")
    ends = [change["change"] for change in call(served.address, "GET", f"{SEEN}/audit").body["changes"]
            if "finish" in change["change"]]  # fmt: skip
    assert [end["finish"] for end in ends] == ["b"]
    assert ends[0]["why"].startswith("b is the winner: it earns more than the other arm")
    report = call(served.address, "GET", f"{SEEN}/report").body
    assert report["evidence"]["winner"] == "b"
    assert report["evidence"]["sentences"][0] == "Finished: all new decisions are for b."
    replayed = replica_of(storage)
    assert replayed.checksum() == report["checksum"]
    assert Replica.restored(replayed.exp, "x", replayed.snapshot()).finished_with == "b"


def test_people_are_asked_unless_they_said_otherwise(served: Running) -> None:
    make(served)
    observe(served, coins(0, 400, a=0.1, b=0.9))
    shown = call(served.address, "GET", SEEN).body
    assert (shown["state"], shown["finished_with"]) == ("running", None)
    assert call(served.address, "GET", f"{SEEN}/report").body["evidence"]["winner"] == "b"


def test_a_difference_that_does_not_matter_ends_an_experiment(served: Running) -> None:
    make(served, stop={"then": "winner", "eps": 0.25, "delta": 0.1})
    observe(served, coins(1, 900, a=0.5, b=0.5))
    said = call(served.address, "GET", f"{SEEN}/report").body["evidence"]["sentences"]
    assert "(wrong in at most 10% of experiments)" in said[1]
    [end] = [change["change"] for change in call(served.address, "GET", f"{SEEN}/audit").body["changes"]
             if "finish" in change["change"]]  # fmt: skip
    assert end["why"].startswith("It hardly matters: no arm is better than ")


def test_a_budget_ends_an_experiment_with_its_control(served: Running) -> None:
    make(served, control="b", stop={"then": "winner", "budget": 5})
    reasons = [decide(served)["reason"] for _ in range(7)]
    assert reasons == ["policy"] * 5 + ["finished"] * 2
    assert decide(served)["arm"] == "b"
    end = call(served.address, "GET", f"{SEEN}/audit").body["changes"][-1]["change"]
    assert end["why"] == "the budget of 5 decisions was used up without a winner"


def test_a_winner_is_looked_for_before_the_budget_is_said_to_be_used_up() -> None:
    spec = Experiment(arms=[Arm("a"), Arm("b")], control="a", stop=StopRule(then="winner", budget=1), policy="ucb")
    replica = played(spec, [])
    assert replica.ledger is not None
    for arm, reward in coins(0, 400, a=0.1, b=0.9):
        replica.ledger.learn(arm, reward)  # with no look in between
    replica.decisions = 1
    end = ending(replica, "decision")
    assert end is not None
    assert end.finish == "b"
    assert str(end.why).startswith("b is the winner: ")


def test_a_page_says_that_a_budget_is_used_up_if_people_decide(served: Running) -> None:
    make(served, stop={"budget": 3})
    said = []
    for _ in range(3):
        call(served.address, "PUT", f"{SEEN}/decisions/{decide(served)['id']}/reward", {"value": 1.0})
        said.append(call(served.address, "GET", f"{SEEN}/report").body["evidence"]["sentences"][0])
    assert "budget" not in said[1]
    assert said[2] == "The budget of 3 decisions is used up without a winner."
    assert call(served.address, "PATCH", SEEN, {"state": "finished", "arm": "b"}).status == 200
    assert "budget" not in str(call(served.address, "GET", f"{SEEN}/report").body["evidence"]["sentences"])


def test_experiments_with_contexts_cannot_stop_by_themselves(served: Running) -> None:
    answer = call(served.address, "PUT", SEEN, {"arms": ARMS, "context": {}, "stop": {"then": "winner"}})
    assert answer.status == 422
    assert answer.body["detail"].startswith("stop must not be given with a context")


@pytest.mark.slow
def test_equal_arms_hardly_ever_end_an_experiment() -> None:
    spec = Experiment(arms=[Arm("b"), Arm("a")], stop=StopRule(then="winner"), policy="ucb")
    ended = 0
    for seed in range(30):
        rng, replica = np.random.default_rng(seed), played(spec, [])
        for _ in range(1500):
            arm = "ab"[int(rng.integers(2))]
            assert replica.ledger is not None
            replica.ledger.learn(arm, float(rng.pareto(1.2)) if rng.random() < 0.3 else 0.0)
            end = ending(replica, "reward")
            if end is not None:
                ended += 1
                break
    assert ended <= 4  # 5% of thirty are 1.5


def test_old_events_have_no_stop_rule() -> None:
    old = msgspec.json.decode(b'{"arms": [{"name": "a"}]}', type=Experiment)
    assert old.stop.then == "ask"
