"""The scripts of the gallery run without a warning, draw something, and show what their texts say."""

import contextlib
import io
import re
import runpy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))


class Ran(NamedTuple):
    """What a script leaves behind."""

    printed: str
    names: dict[str, Any]
    figures: list[Figure]

    def line(self, beginning: str) -> str:
        (found,) = (line for line in self.printed.splitlines() if line.startswith(beginning))
        return found.removeprefix(beginning)

    def first_number(self, beginning: str) -> float:
        return float(re.findall(r"-?[\d.]+", self.line(beginning))[0])


@cache
def ran(script: str) -> Ran:
    plt.switch_backend("template")  # shows nothing, without a warning
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        names = runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    figures = [plt.figure(number) for number in plt.get_fignums()]
    plt.close("all")
    return Ran(output.getvalue(), names, figures)


def percentages(text: str) -> list[float]:
    return [float(share) for share in re.findall(r"([\d.]+)%", text)]


def test_the_gallery_is_large() -> None:
    assert len(SCRIPTS) >= 15


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_short_has_a_title_and_draws(script: str) -> None:
    text = (EXAMPLES / script).read_text()
    assert len(text.splitlines()) < 40
    _, title, rule = text.splitlines()[:3]
    assert rule == "=" * len(title)
    figures = ran(script).figures
    assert figures
    for axes in (axes for figure in figures for axes in figure.axes):
        assert axes.has_data()
        assert axes.get_xlabel() or axes.get_title(loc="left") or axes.get_title()


def test_one_outlier_moves_ucb_and_not_the_robust_policy() -> None:
    clean, *ucb = percentages(ran("one_outlier.py").line("ucb "))
    assert clean > 95 > 5 > max(ucb)
    clean, *robust = percentages(ran("one_outlier.py").line("auto "))
    assert robust == pytest.approx([clean, clean], abs=2)


def test_only_averages_follow_an_outlier() -> None:
    moved = ran("ten_means.py").names["moved"][1e6]
    assert len(moved) == 10
    assert set(moved[moved > 1000].index) == {"average", "moving average"}
    assert sum(moved < 1) == 8


def test_requests_go_to_the_quickest_server() -> None:
    _, _, rome, _ = percentages(ran("choose_server.py").line("auto"))
    assert rome > 90
    ucb, auto = (ran("choose_server.py").first_number(f"{name} median ") for name in ("ucb", "auto"))
    assert auto < 0.9 * ucb


def test_calls_to_language_models_take_less_time_than_by_gateways() -> None:
    for what in ("mean ", "s, 95% within "):
        lowest, greedy, ours = (
            float(ran("route_language_models.py").line(f"{name}: ").split(what)[1].split()[0])
            for name in ("lowest latency", "epsilon-greedy", "auto-mean")
        )
        assert ours < 0.9 * min(lowest, greedy)


def test_ads_need_a_scale_or_auto_mean() -> None:
    wrong, told, auto = (
        ran("ad_revenue.py").first_number(name) for name in ("ucb c=1 ", "ucb c=15 ", "auto-mean ")
    )  # fmt: skip
    assert auto < 0.3 * wrong
    assert told < 0.3 * wrong


def test_own_policy_never_fails_and_ucb_does() -> None:
    mine, ucb = (numbers(ran("own_policy.py").line(name)) for name in ("mine", "ucb"))
    assert mine[-1] == 0 < ucb[-1]
    assert mine[0] < 0.3 * ucb[0]


def numbers(text: str) -> list[float]:
    return [float(number) for number in text.split()]


@pytest.mark.parametrize(
    ("script", "better", "worse", "factor"),
    [
        ("cauchy_regret.py", "auto", "sgd-ucb", 0.7),
        ("cauchy_regret.py", "sgd-ucb", "ucb", 0.4),
        ("drift.py", "restarting", "auto", 0.5),
        ("flights.py", "auto", "ucb c=40", 0.5),
        ("personalised_offers.py", "linear-auto", "oful", 0.5),
    ],
)
def test_the_better_policy_has_less_regret(script: str, better: str, worse: str, factor: float) -> None:
    low, high = (ran(script).first_number(f"{name} ") for name in (better, worse))
    assert low < factor * high


def test_prices_earn_most_of_what_can_be_earned() -> None:
    best, earned = re.findall(r"([\d.]+) per visitor", ran("price_on_an_interval.py").printed)
    assert float(earned) > 0.93 * float(best)


def test_averages_of_cauchy_rewards_do_not_settle() -> None:
    lines = ran("running_means.py").printed.splitlines()
    off = [float(re.findall(r"off by ([\d.]+)", line)[0]) for line in lines]
    assert off[2] > 1 > 0.1 > max(off[0], off[1], off[3])


def test_the_betting_interval_is_right_all_the_time() -> None:
    usual, betting = ([*percentages(ran("confidence_sequences.py").line(name))][-1] for name in ("usual", "betting"))
    assert usual < 90 < 95 < betting


def test_each_goal_finds_its_arm() -> None:
    shares = ran("mean_or_location.py").names["shares"].isel(arm=1)
    assert shares.sel(policy="auto") < 0.1
    assert shares.sel(policy="auto-mean") > 0.8


def test_robust_policies_are_never_lost() -> None:
    shares = ran("heat_map.py").names["shares"]
    assert shares[:2, -1].min() > 0.5  # UCB and Thompson sampling under Cauchy noise
    assert shares[2:].max() < 0.2


def test_pending_decisions_cost_little_more_than_the_delay() -> None:
    regret = [float(one) for one in ran("late_rewards.py").line("auto ").split()]
    for delay, one in zip(ran("late_rewards.py").names["DELAYS"], regret, strict=True):
        assert one < 1.1 * delay + 100


def test_linear_auto_stands_cauchy_noise() -> None:
    gaussian, cauchy = (ran("linear_features.py").line(f"{name} lin-ucb ") for name in ("Gaussian", "Cauchy"))
    (lin_ucb, auto), (lin_ucb_cauchy, auto_cauchy) = (
        [float(number) for number in re.findall(r"\d+", line)] for line in (gaussian, cauchy)
    )
    assert auto < 1.5 * lin_ucb
    assert auto_cauchy < 0.2 * lin_ucb_cauchy


def test_lipschitz_auto_settles_near_the_best_point() -> None:
    points = ran("lipschitz_points.py").names["points"]  # of the last function, whose plateau is from 0.55 to 0.7
    assert sum(0.5 < point[0] < 0.75 for point in points[-100:]) > 80
