"""Defaults that are learned at once, and corrected when rewards come."""

import math
from collections import Counter
from contextlib import closing
from typing import Any

import msgspec
import numpy as np
import pytest
from agents import totals_of_auto_mean
from services import ARMS, SECOND, FakeClock, asked, call, follow, replica_of, running, threadless

import heavybandits as hb
from heavybandits.service.experiments.creation import create
from heavybandits.service.experiments.decisions import Decide
from heavybandits.service.experiments.rewards import Cancel, Observe, Retract, Reward
from heavybandits.service.log.requests import ReadReplica
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.replicas.learners.arms import ArmsLearner
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.replicas.report import checked, full_report
from heavybandits.service.spec import Experiment
from heavybandits.service.storage import Storage

SEEN = "/v1/experiments/x"
RULE = {"window": 60, "default": 0}


def experiment(**fields: Any) -> Experiment:
    return msgspec.convert({"arms": [{"name": "a"}, {"name": "b"}, {"name": "c"}], **fields}, Experiment)


def agent_of(replica: Replica) -> hb.Agent:
    assert isinstance(replica.learner, ArmsLearner)
    return replica.learner.agent


@pytest.mark.slow
@pytest.mark.parametrize("combine", ["first", "sum"])
@pytest.mark.parametrize("minimise", [False, True])
def test_what_is_learned_is_what_each_decision_counts_as_so_far(
    storage: Storage, combine: str, minimise: bool
) -> None:  # fmt: skip
    """Every arm's mean is that of final rewards, of those that have come, and of defaults of the decisions left."""
    spec = experiment(reward={"window": 60, "default": 2.5, "combine": combine}, minimise=minimise)
    rng, clock, worth = np.random.default_rng(5), FakeClock(), dict[str, tuple[str, float]]()
    observed = list[tuple[str, float]]()
    with threadless(storage, clock) as log, closing(storage.connect()) as session:
        session.migrate()
        create(session, "x", spec, None, clock())
        follow(log, session)
        for n in range(150):
            clock.now += SECOND
            made = asked(log, Decide("x", f"d{n}", is_new=False))
            worth[f"d{n}"] = made.body.arm, 2.5
            old = f"d{rng.integers(max(n - 50, 0), n + 1)}"
            arm, value = worth.get(old, ("a", math.nan))
            amount = float(np.round(rng.exponential(9.0), 2))
            match rng.integers(4):
                case 0 | 1:
                    if asked(log, Reward("x", old, amount, f"r{n}" if combine == "sum" else None)).status == 201:
                        is_more = combine == "sum" and value != 2.5
                        worth[old] = arm, value + amount if is_more else amount
                case 2:
                    if asked(log, Retract("x", old)).status == 201:
                        worth[old] = arm, 2.5
                    if n % 5 == 0 and asked(log, Cancel("x", old)).status == 201:
                        del worth[old]
                case _:
                    asked(log, Observe("x", f"o{n}", False, "b", amount))
                    observed.append(("b", amount))
            follow(log, session)
            if n % 30 == 17:
                replica = replica_of(storage)
                assert agent_of(replica).dumps() == asked(log, ReadReplica("x", lambda one: agent_of(one).dumps())).body
                counted = [*worth.values(), *observed]
                assert agent_of(replica).pulls == Counter(arm for arm, _ in counted)
                totals = [(-1 if minimise else 1) * sum(v for arm, v in counted if arm == mine) for mine in "abc"]
                assert totals_of_auto_mean(agent_of(replica)) == pytest.approx(totals)
                report = full_report(*checked(replica))
                open_now = session.all_pending(replica.exp)
                assert report["pending"] == len(open_now)
                assert sum(arm["rewards"] for arm in report["arms"]) == len(worth) - len(open_now) + len(observed)
                assert replica.ledger is not None
                assert replica.ledger.n == report["rewards"]  # evidence is about final rewards only
        assert all(finding.ok for finding in verify(session))


def test_an_order_counts_as_soon_as_it_comes(storage: Storage) -> None:
    with running(storage) as server:
        made = call(server.address, "PUT", SEEN, {"arms": ARMS, "reward": RULE}).body
        assert made["reward"]["provisional"] is True
        arm = call(server.address, "POST", f"{SEEN}/decisions", {"id": "d"}).body["arm"]
        answer = call(server.address, "PUT", f"{SEEN}/decisions/d/reward", {"value": 30.0})
        assert (answer.status, answer.body["learned"]) == (201, True)
        assert call(server.address, "PUT", f"{SEEN}/decisions/d/reward", {"value": 30.0}).body["learned"]
        report = call(server.address, "GET", f"{SEEN}/report").body
        [mine] = [one for one in report["arms"] if one["name"] == arm]
        assert (mine["estimate"], mine["pending"], mine["rewards"]) == (30.0, 1, 0)
        (said,) = report["evidence"]["sentences"]
        assert said.startswith("1 reward has come; rewards become final 1 minute after their decision. 1 decision is")
        lines = call(server.address, "GET", f"{SEEN}/export").body.splitlines()
        assert [msgspec.json.decode(line)["context"] for line in lines] == [None] * 3
        assert call(server.address, "DELETE", f"{SEEN}/decisions/d/reward").status == 201
    assert agent_of(replica_of(storage)).rows()[arm == "b"].estimate == 0.0


@pytest.mark.parametrize(
    ("fields", "provisional"),
    [
        ({"reward": {"window": 60}}, None),
        ({"reward": RULE, "goal": "location"}, None),
        ({"reward": RULE, "policy": "ucb"}, None),
        ({"reward": RULE, "context": {}}, None),
        ({"reward": {**RULE, "provisional": False}}, False),
        ({"reward": RULE, "policy": "thompson-beta"}, True),
    ],
)
def test_policies_that_cannot_unlearn_wait_for_the_end_of_the_window(
    storage: Storage, fields: dict[str, Any], provisional: bool | None
) -> None:  # fmt: skip
    with running(storage) as server:
        made = call(server.address, "PUT", SEEN, {"arms": ARMS, **fields})
        assert (made.status, made.body["reward"]["provisional"]) == (201, provisional)
        assert call(server.address, "PUT", SEEN, {"arms": ARMS, **fields}).status == 200


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"reward": {"window": 60, "provisional": True}}, "reward must have a default if that is provisional"),
        ({"reward": {**RULE, "provisional": True}, "policy": "ucb"}, "which cannot unlearn a reward"),
    ],
)
def test_a_default_is_provisional_only_where_that_works(storage: Storage, fields: dict[str, Any], detail: str) -> None:
    with running(storage) as server:
        answer = call(server.address, "PUT", SEEN, {"arms": ARMS, **fields})
    assert answer.status == 422
    assert detail in answer.body["detail"]


def test_an_experiment_from_before_is_the_same_as_one_that_says_nothing(storage: Storage) -> None:
    spec = experiment(reward=RULE)
    with closing(storage.connect()) as session:
        session.migrate()
        new = session.add_experiment("x", msgspec.json.encode(spec, order="deterministic").decode())
        assert new.name == "x"
        assert create(session, "x", spec, None, 0).status == 200
        assert create(session, "x", experiment(reward={**RULE, "provisional": True}), None, 0).status == 409


@pytest.mark.parametrize("rule", [RULE, {"window": 60, "combine": "sum"}])
def test_pages_tell_rewards_that_have_come_but_are_not_final(storage: Storage, rule: dict[str, Any]) -> None:
    clock = FakeClock()
    with running(storage, clock=clock) as server:
        assert server("PUT", "/x", {"arms": ARMS, "reward": rule}).status == 201
        for number in range(3):
            server("POST", "/x/decisions", {"id": f"d{number}"})
        part = "rewards/1" if "combine" in rule else "reward"
        for number in range(2):
            assert server("PUT", f"/x/decisions/d{number}/{part}", {"value": 1}).status == 201
        page, listed = (call(server.address, "GET", path).body.decode() for path in ("/experiments/x", "/"))
        assert "2 rewards have come; rewards become final 1 minute after their decision." in page
        assert "0 final rewards so far, 2 reported" in page
        assert "No rewards yet" not in page
        assert "no final rewards yet" in listed
