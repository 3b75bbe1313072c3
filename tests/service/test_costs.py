"""Experiments whose rewards are costs: they are the mirror image of others, and people see positive numbers."""

import json
from typing import Any

import numpy as np
import pytest
from histories import event, played
from services import Running, call, replica_of, running

from heavybandits.service.dashboard.known import known
from heavybandits.service.dashboard.panels import leaderboard, outliers, ranking
from heavybandits.service.dashboard.rivals import replayed_policies
from heavybandits.service.replicas.learners.policy import experiment_policy
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.replicas.report import checked, full_report, taken
from heavybandits.service.spec import Arm, ContextRule, Experiment, Goal
from heavybandits.service.storage import Storage

SEEN = "/v1/experiments/x"


def latencies(n: int = 300) -> list[tuple[str, float]]:
    rng = np.random.default_rng(3)
    return [(arm, mean * float(rng.exponential())) for _ in range(n) for arm, mean in (("slow", 300.0), ("fast", 90.0))]


def both(goal: Goal = "mean") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the reports of an experiment with costs, and of one with as many negative rewards."""
    arms, costs = [Arm("slow"), Arm("fast")], latencies()
    one = played(Experiment(arms=arms, goal=goal, minimise=True), costs)
    other = played(Experiment(arms=arms, goal=goal), [(arm, -cost) for arm, cost in costs])
    assert one.learner.dumps() == other.learner.dumps()
    return full_report(*checked(one)), full_report(*checked(other))


@pytest.mark.parametrize("goal", ["mean", "location"])
def test_costs_are_the_mirror_image_of_negative_rewards(goal: Goal) -> None:
    costs, rewards = both(goal)
    assert costs["evidence"]["winner"] == rewards["evidence"]["winner"] == "fast"
    for mine, theirs in zip(costs["arms"], rewards["arms"], strict=True):
        for field in ("total", "mean", "estimate", "median"):
            assert mine[field] == -theirs[field] > 0.0
        assert mine["standard_error"] == theirs["standard_error"]
        assert 0.0 <= mine["index"] == -theirs["index"] <= mine["estimate"]  # what the arm may cost at best
    for mine, theirs in zip(costs["evidence"]["arms"], rewards["evidence"]["arms"], strict=True):
        assert (mine["estimate"], mine["low"], mine["high"]) == (-theirs["estimate"], -theirs["high"], -theirs["low"])
        assert mine["evidence"] == theirs["evidence"]
    assert [one["value"] for one in costs["largest"]] == [-one["value"] for one in rewards["largest"]]
    assert costs["spans"][-1]["estimates"]["fast"] == -rewards["spans"][-1]["estimates"]["fast"]


def test_sentences_and_lifts_are_about_costs() -> None:
    found = both()[0]["evidence"]
    assert "it costs less than the other arm, and at least " in found["sentences"][0]
    assert found["cap"][0] == 0.0 < found["cap"][1]
    [slow, fast] = found["arms"]
    assert slow["lift"] == 0.0
    assert -1.0 < fast["lift_low"] <= fast["lift"] <= fast["lift_high"] < -0.3


def test_the_page_ranks_cheap_arms_first() -> None:
    page = known(taken(played(Experiment(arms=[Arm("slow"), Arm("fast")], minimise=True), latencies())))
    assert (page.standing.leader, ranking(page)) == ("fast", ["fast", "slow"])
    [slow, fast] = leaderboard(page, ["slow", "fast"])
    assert (slow.rank, fast.rank, fast.leads) == ("2", "1", True)
    assert fast.lift.startswith("-")
    assert outliers(page).verdict == "Dropping them does not change which arm has the lowest mean: fast."
    assert (gain := page.standing.gain) is not None
    assert 0.0 < gain.low < gain.value < gain.high  # saved, compared with slow alone


def test_a_replay_of_costs_pays_positive_costs() -> None:
    spec = Experiment(arms=[Arm("slow"), Arm("fast")], minimise=True)
    samples = [np.array([cost for arm, cost in latencies() if arm == name]) for name in ("slow", "fast")]
    rows = {row[0]: float(row[1]) for row in replayed_policies(experiment_policy(spec), "mean", samples, -1).rows}
    assert 0.0 < rows["the best arm, always"] <= rows["this policy"] < rows["an arm at random"]


def test_an_experiment_with_contexts_has_costs_too() -> None:
    spec = Experiment(arms=[Arm("slow"), Arm("fast")], minimise=True, context=ContextRule(shared=True, n_features=1))
    replica = played(spec, [])
    for arm, cost in latencies(40):
        replica.apply(event(replica, "decision", arm, None, body='{"context": [1.0]}'))
        replica.apply(event(replica, "reward", arm, cost, body="[1.0]"))
    standing = known(taken(replica)).standing
    assert standing.leader == "fast"
    assert 0.0 < standing.values["fast"] < standing.values["slow"]
    assert "a floor for slow makes it possible" in standing.sentences[0]


@pytest.mark.parametrize(
    ("policy", "status"),
    [
        ("thompson-beta", 422),
        ({"kind": "kl-ucb", "low": 0, "high": 10}, 422),
        ({"kind": "restarting", "policy": {"kind": "kl-ucb"}}, 422),
        ({"kind": "thompson-beta", "low": -1, "high": 0}, 201),
        ({"kind": "ucb", "c": 0.5}, 201),
    ],
)
def test_a_policy_whose_range_has_no_costs_is_refused(storage: Storage, policy: Any, status: int) -> None:
    with running(storage) as server:
        answer = server("PUT", "/x", {"arms": [{"name": "a"}, {"name": "b"}], "minimise": True, "policy": policy})
    assert answer.status == status
    assert status == 201 or answer.body["detail"].startswith("policy must have a range below 0, such as low=-1")


def test_costs_over_http_are_told_as_they_came_and_replay_bit_for_bit(storage: Storage) -> None:
    with running(storage) as server:
        made = call(server.address, "PUT", SEEN, {"arms": [{"name": "slow"}, {"name": "fast"}], "minimise": True,
                                                  "stop": {"then": "winner"}})  # fmt: skip
        assert (made.status, made.body["minimise"]) == (201, True)
        report_costs(server)
        shown = call(server.address, "GET", SEEN).body
        assert (shown["state"], shown["finished_with"]) == ("finished", "fast")
        exported = call(server.address, "GET", f"{SEEN}/export").body.decode().splitlines()
        values = [row["value"] for row in map(json.loads, exported) if row["kind"] == "observe"]
        assert values == [cost for _, cost in latencies()]
        page = call(server.address, "GET", "/experiments/x").body.decode()
        assert "minimises the mean" in page
        assert "costs less than" in page
        report = call(server.address, "GET", f"{SEEN}/report").body
    replica = replica_of(storage)
    assert replica.checksum() == report["checksum"]
    again = Replica.restored(replica.exp, "x", replica.snapshot())
    assert (again.spec.minimise, again.snapshot()) == (True, replica.snapshot())


def report_costs(server: Running) -> None:
    items = [{"observation": {"arm": arm, "value": cost}} for arm, cost in latencies()]
    answer = call(server.address, "POST", f"{SEEN}/batch", {"items": items})
    assert {item["status"] for item in answer.body["items"]} == {201}
