"""Pages, the list and reports of rewards at the ends of what a number can be: drawn or left out, never an error."""

import math
from pathlib import Path

import pytest
from histories import played
from services import ARMS, FakeClock, call, running

from heavybandits.service.dashboard.curves import charts
from heavybandits.service.dashboard.known import known
from heavybandits.service.dashboard.listing import glance, glimpse
from heavybandits.service.dashboard.panels import outliers
from heavybandits.service.dashboard.prepared import prepare_page
from heavybandits.service.replicas.report import full_report, taken
from heavybandits.service.spec import Arm, Experiment, Goal, QuantileGoal
from heavybandits.service.storage import open_storage

HUGE, TINY = 1.7e308, 5e-324
Rewards = list[tuple[str, float]]
EXTREMES: dict[str, Rewards] = {
    "one huge": [("a", 1e308)],
    "all huge": [("a", HUGE), ("a", HUGE), ("b", HUGE), ("b", -HUGE)] * 3,
    "some huge": [*[("a", 1.0), ("b", 2.0)] * 30, ("a", HUGE), ("b", -HUGE), ("a", HUGE)],
    "infinite": [("a", math.inf), ("b", HUGE)] * 5,
    "one tiny": [("a", TINY)],
    "all tiny": [("a", TINY), ("b", -TINY)] * 4,
}


@pytest.mark.parametrize("rewards", EXTREMES.values(), ids=EXTREMES)
@pytest.mark.parametrize("goal", ["mean", "location", QuantileGoal(0.9)], ids=str)
@pytest.mark.parametrize("minimise", [False, True])
def test_no_reward_is_too_extreme_for_a_page(rewards: Rewards, goal: Goal, minimise: bool) -> None:
    replica = played(Experiment(arms=[Arm("a"), Arm("b")], goal=goal, minimise=minimise), rewards)
    assert "<td" in prepare_page(taken(replica)).live
    assert glance(glimpse(replica)).choices == "2 arms"
    assert full_report(taken(replica), "")["rewards"] == len(rewards)


def test_a_curve_that_has_no_axis_is_left_out_and_others_are_drawn() -> None:
    spec = Experiment(arms=[Arm("a"), Arm("b")])
    huge, plain = (known(taken(played(spec, [("a", value)]))) for value in (1e308, 1e200))
    assert [chart.title for chart in charts(huge)] == ["Share of decisions"]
    assert len(charts(plain)) == 2


def test_means_that_are_too_large_for_a_number_are_not_ranked() -> None:
    rewards = [("a", HUGE), ("a", HUGE), ("a", -HUGE), ("b", 1.0)] * 4
    found = outliers(known(taken(played(Experiment(arms=[Arm("a"), Arm("b")]), rewards))))
    assert "too few rewards" in found.verdict


def test_pages_of_points_and_sums_show_huge_rewards(tmp_path: Path) -> None:
    kinds = {
        "points": {"points": {"price": [5, 25]}},
        "sums": {"arms": ARMS, "reward": {"window": 60, "combine": "sum"}},
    }
    clock = FakeClock()
    with running(open_storage(f"sqlite:///{tmp_path}/log.db"), clock=clock) as server:
        for name, made in kinds.items():
            assert server("PUT", f"/{name}", made).status == 201
            for value in (HUGE, HUGE, -HUGE):
                key = server("POST", f"/{name}/decisions", {}).body["id"]
                for part in ("reward",) if name == "points" else ("rewards/1", "rewards/2"):
                    server("PUT", f"/{name}/decisions/{key}/{part}", {"value": value})
        clock.now += 100_000_000
        for page in ("experiments/points", "experiments/sums", ""):
            assert call(server.address, "GET", f"/{page}").status == 200
