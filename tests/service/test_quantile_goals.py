"""Experiments that compare quantiles."""

from typing import Any

import numpy as np
import pytest
from histories import played
from services import ARMS, Running, call

from heavybandits.service.dashboard.intervals import against_control
from heavybandits.service.dashboard.known import known
from heavybandits.service.dashboard.panels import leaderboard
from heavybandits.service.dashboard.wording import rules
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.replicas.report import checked, full_report, taken
from heavybandits.service.spec import Arm, Experiment, QuantileGoal

SEEN = "/v1/experiments/x"


def latencies(n: int) -> list[tuple[str, float]]:
    """Return latencies of two arms: the even one has the higher mean and the lower 95% quantile."""
    rng = np.random.default_rng(2)
    return [
        (arm, float(rng.gamma(*law))) for _ in range(n) for arm, law in (("wild", (0.5, 1.6)), ("even", (9.0, 0.1)))
    ]


def test_the_arm_with_the_lowest_quantile_wins_though_its_mean_is_higher() -> None:
    spec = Experiment(arms=[Arm("wild"), Arm("even")], goal=QuantileGoal(0.95), minimise=True)
    replica = played(spec, latencies(600))
    found = full_report(*checked(replica))
    assert found["evidence"]["winner"] == "even"
    assert "95% quantile" in found["evidence"]["sentences"][0]
    by_name = {arm["arm"]: arm for arm in found["evidence"]["arms"]}
    assert by_name["even"]["low"] <= by_name["even"]["estimate"] <= by_name["even"]["high"] < by_name["wild"]["low"]
    means = {arm["name"]: arm["mean"] for arm in found["arms"]}
    assert means["even"] > means["wild"]
    estimates = {arm["name"]: arm["estimate"] for arm in found["arms"]}
    rewards = [value for arm, value in latencies(600) if arm == "wild"]
    assert estimates["wild"] == pytest.approx(np.quantile(rewards, 0.95), rel=0.05)
    again = Replica.restored(replica.exp, "x", replica.snapshot())
    assert again.snapshot() == replica.snapshot()
    assert [replica.assign(f"d{n}", None, None).arm for n in range(20)].count("even") == 20
    assert rules(spec, "wild")[0] == "It looks for the arm with the lowest 95% quantile."


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"goal": {"quantile": 1.0}}, "goal.quantile"),
        ({"goal": "quantile"}, "goal"),
        ({"goal": {"quantile": 0.5}, "context": {}}, "no policy there looks for a 50% quantile"),
    ],
)
def test_quantiles_that_cannot_be_are_refused(served: Running, fields: dict[str, Any], detail: str) -> None:
    answer = call(served.address, "PUT", SEEN, {"arms": ARMS, **fields})
    assert answer.status == 422
    assert detail in answer.body["detail"]


def test_a_quantile_is_shown_on_the_page_and_in_views(served: Running) -> None:
    assert call(served.address, "PUT", SEEN, {"arms": ARMS, "goal": {"quantile": 0.9}}).status == 201
    rng = np.random.default_rng(0)
    seen = [{"observation": {"arm": arm, "value": float(rng.normal())}} for arm in "ab" * 100]
    call(served.address, "POST", f"{SEEN}/batch", {"items": seen})
    assert call(served.address, "GET", SEEN).body["goal"] == {"quantile": 0.9}
    page = call(served.address, "GET", "/experiments/x").body.decode()
    assert "maximises the 90% quantile" in page
    assert "90% quantile as counted" in page


def test_an_arm_of_which_no_reward_counts_is_told_from_those_that_count() -> None:
    """The first rewards decide how finely others are counted, and an arm may have had no others."""
    rng = np.random.default_rng(0)
    rewards = [("eager", float(rng.exponential(10.0))) for _ in range(18)]
    rewards += [("slow", float(rng.exponential(100.0))) for _ in range(200)]
    spec = Experiment(arms=[Arm("eager"), Arm("slow")], goal=QuantileGoal(0.9), minimise=True)
    found = known(taken(played(spec, rewards)))
    assert found.standing.sentences == (
        "Too early to tell: eager has had costs only among the first ones, which decide how costs are counted.",
    )
    assert found.standing.leader == "slow"
    assert found.standing.values["eager"] < found.standing.values["slow"]  # a mean, and a quantile
    assert {row.name: row.rank for row in leaderboard(found, ["eager", "slow"])} == {"eager": "2", "slow": "1"}
    picture = against_control(found)
    assert picture is not None
    assert [bar.text for bar in picture.bars] == ["", "no reward of eager counts yet"]
