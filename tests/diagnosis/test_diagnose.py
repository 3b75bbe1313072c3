"""The report of a diagnosis, and its plots."""

import io
import math
import re
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from logged_rewards import is_beaten, logged, noise_of, parse

import heavybandits as hb
from heavybandits.diagnosis.findings import about_the_noise
from heavybandits.diagnosis.goals import choose_goal
from heavybandits.diagnosis.plots import NOTHING, drift_plot, hill_plot, tail_plot
from heavybandits.diagnosis.report import Report
from heavybandits.diagnosis.shape import measure
from heavybandits.diagnosis.tails import Estimate

FILES = {
    "one row": {"a": np.array([2.0])},
    "constant": {"a": np.ones(60), "b": np.ones(60)},
    "infinite": {"a": np.array([math.inf, -math.inf, 1, 2, 3] * 20), "b": np.array([1, math.inf] * 40)},
    "huge": {"a": np.array([1e308, -1e308, 1.0] * 20), "b": np.array([1e308, 2.0] * 30)},
    "opposite": {"a": np.array([1e308, 1e308, math.inf] * 20), "b": np.array([-1e308, 1.7e308, -math.inf] * 20)},
    "always infinite": {"a": np.full(30, math.inf), "b": np.full(30, -math.inf)},
    "one arm": {"a": noise_of("cauchy", 300)},
    "clicks": {'it\'s "a"': noise_of("clicks", 300), "b": noise_of("clicks", 200)},
    "many arms": {f"arm {i}": noise_of("normal", 12) + i for i in range(30)},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_odd_files_have_a_report_whose_snippet_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    log = logged(FILES[name])
    report = hb.diagnose(log)
    text = report.text()
    assert all(line.strip() in text for line in report.snippet.splitlines())
    assert "nan" not in text
    assert report.pooled.infinite == sum(np.isinf(values).sum() for values in FILES[name].values())
    exec(report.snippet, {"table": log})
    table = capsys.readouterr().out
    assert re.search(f", {len(log):,} rewards?[,;\n]", table)
    assert table.startswith(f"{report.advice.name}, ")
    assert not is_beaten(report)


@pytest.fixture(scope="module")
def drifting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    """Diagnose Cauchy rewards of three arms that all rise by 2 after two thirds of the rows."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("plots") / "new"
    arms = rng.integers(0, 3, 6000)
    rewards = 3 * arms + rng.standard_cauchy(6000) + np.where(np.arange(6000) < 4000, 0, 2)
    lines = [f"arm {arm},{reward}" for arm, reward in zip(arms, rewards, strict=True)]
    return hb.diagnose(io.StringIO("\n".join(["arm,reward", *lines])), plots=folder, ordered=True), folder


@pytest.mark.slow
def test_report_of_heavy_tails_that_drift(drifting: tuple[Report, Path]) -> None:
    report, _ = drifting
    text = report.text()
    assert text.startswith("text: 6,000 rewards of 3 arms, in the order of the file\n")
    assert text.count("is very heavy") == 2
    assert "no skew worth mentioning" in text
    assert "Drift: the level changes" in text
    assert abs(report.pooled.drift.after - 4000) < 100
    assert report.pooled.drift.shift == pytest.approx(2, abs=0.4)
    assert set(report.arms) == {0, 1, 2}
    assert {name.split("(")[0] for name in report.replay.policies} == {"sgd-ucb", "auto", "ucb"}
    assert report.goal == "location"
    assert "Goal: location.  The heavier tail has an index of" in text


@pytest.mark.slow
def test_a_report_of_costs_speaks_of_costs() -> None:
    rng = np.random.default_rng(0)
    waits = logged({"slow": rng.exponential(9, 200), "fast": rng.exponential(3, 200)})
    report = hb.diagnose(waits, minimise=True)
    text = report.text()
    assert report.evidence.winner == "fast"
    assert "reward" not in "".join(part for part in text.split("\n\n") if "import" not in part and "log = " not in part)
    assert "what the arm cost, negated" in report.snippet
    assert "The upper tail" in text
    assert report.levels[report.rewards.labels.index("fast")].mean == pytest.approx(-3, rel=0.2)
    line = next(line for line in text.splitlines() if line.startswith("fast "))
    assert float(line.split()[1]) == pytest.approx(3, rel=0.2)
    assert "costs of 2 arms" in report._repr_html_()


def test_a_few_rewards_tell_nothing() -> None:
    text = hb.diagnose(logged({"a": np.ones(5), "b": np.zeros(4)})).text()
    assert "There are too few rewards to tell whether means exist" in text
    assert "- Best arm: Too early: 5 of the first 24 rewards that are not zero are in; " in text
    assert "\n9 rewards are too few to tell what kind they are; at least 10 are needed.  This policy" in text
    assert "coin" not in text


@pytest.mark.parametrize(("law", "goal"), [("counts", "means"), ("rounded", "locations")])
def test_many_ties_are_explained(law: str, goal: str) -> None:
    """Auto compares means of counts, but locations of numbers that are rounded and have heavy tails."""
    rng = np.random.default_rng(5)
    draws = rng.poisson(2.0, 900).astype(float) if law == "counts" else np.round(2 * rng.standard_t(1.5, 900))
    report = hb.diagnose(logged({"a": draws[:450], "b": draws[450:] + 1.0}), goal="location")
    assert report.advice.name == "auto"
    assert f"Many rewards tie, and auto compares {goal}: print(agent) shows the goal in force." in report.findings()


def test_an_infinite_arm_is_apart_from_others() -> None:
    endless = np.full(20, math.inf)
    said = hb.diagnose(logged({"a": np.arange(20.0), "c": endless})).findings()
    assert said[0].startswith("Best arm: Too early to tell. c leads ")
    assert "a and b tie" in hb.diagnose(logged({"a": endless, "b": endless})).findings()[0]


@pytest.mark.parametrize("goal", ["mean", "location"])
def test_a_diagnosis_says_of_the_best_arm_what_a_comparison_says(goal: Literal["mean", "location"]) -> None:
    rng = np.random.default_rng(3)
    table = logged({"a": rng.pareto(1.5, 400), "b": 2.0 * rng.pareto(1.5, 600), "c": rng.pareto(1.5, 60)})
    for minimise in (False, True):
        report = hb.diagnose(table, goal=goal, minimise=minimise)
        found = hb.compare(table, goal=goal, minimise=minimise)
        said = report.findings()
        assert said[: len(found.sentences)] == [f"Best arm: {found.sentences[0]}", *found.sentences[1:]]
        row = found.table.set_index("arm").loc["a"]
        [shown] = re.findall(r"^a +\S+ +\S+ +\S+ +(\S+) \((\S+) to (\S+)\)$", report.text(), re.MULTILINE)
        assert shown == tuple(f"{row[name]:.4g}" for name in ("estimate", "low", "high"))


def test_outliers_are_not_counted_without_a_spread() -> None:
    orders = np.repeat([0.0, 9.0, 70.0], (95, 3, 2))
    text = hb.diagnose(logged({"a": orders, "b": orders})).text()
    assert "- Outliers: not counted, because they are measured in spreads, and the spread is 0.\n" in text
    assert all(line.split()[-2] == "-" for line in text.splitlines() if re.match("(a|b|pooled) +[12]00 ", line))
    spiked = hb.diagnose(logged({"a": np.append(np.arange(99.0), 900.0)})).text()
    assert "- Outliers: 1 reward, 1%" in spiked


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        (Estimate(5.0, 4.5, math.inf), "is light, index above 4.5"),
        (Estimate(3.0, 2.2, math.inf), "is moderate, index 3 (2.2 to inf): a variance exists"),
        (Estimate(3.0, 2.04, math.inf), "may be heavy, index 3 (2 to inf): a mean exists, but perhaps no variance"),
        (Estimate(2.5, 1.3, math.inf), "may be heavy, index 2.5 (1.3 to inf): a mean exists, but perhaps no variance"),
        (Estimate(1.5, 1.3, 1.8), "is heavy, index 1.5 (1.3 to 1.8): a mean exists, but no variance"),
        (Estimate(1.5, 1.3, 2.04), "is heavy, index 1.5 (1.3 to 2): a mean exists, but no variance"),
        (Estimate(2.5, 0.9, math.inf), "may be very heavy, index 2.5 (0.9 to inf): even the mean may not exist"),
        (Estimate(1.3, 1.02, 1.7), "is very heavy, index 1.3 (1 to 1.7): even the mean may not exist"),
    ],
)
def test_the_words_for_a_tail_agree_with_its_interval(tail: Estimate, said: str) -> None:
    noise = measure(noise_of("cauchy", 100))._replace(upper=tail)
    assert about_the_noise(noise)[0].startswith(f"The upper tail {said}")
    goal, why = choose_goal([np.array([0.0]), np.arange(20.0)], np.array([0.0, 9.0]), noise._replace(lower=tail))
    assert (goal == "mean") == ("a mean exists" in said or "variance exists" in said or "light" in said)
    assert ("not clearly above 1" in why) == (goal == "location")


def test_revenue_that_changes_is_described_by_means(tmp_path: Path) -> None:
    """Medians of rewards that are mostly zero never change."""
    rng = np.random.default_rng(0)
    paid = rng.random(4000) < np.where(np.arange(4000) < 2000, 0.05, 0.2)
    log = pd.DataFrame({"arm": rng.permutation(np.repeat(["a", "b"], 2000)), "reward": np.where(paid, 10.0, 0.0)})
    log.loc[0, "reward"] = 20.0
    report = hb.diagnose(log, ordered=True)
    assert report.goal == "mean"
    assert report.pooled.drift.shift == pytest.approx(1.5, abs=0.2)
    assert re.match(
        r"Drift: the level changes, most likely after row \d+; the mean moves by \+1\.", report.findings()[-1]
    )
    axes = drift_plot(report.rewards, [0, 1], report.goal).axes[0]
    assert axes.get_ylabel() == "mean in a window"
    for line in axes.lines:
        levels = np.asarray(line.get_ydata(), float)
        assert np.mean(levels[:10]) == pytest.approx(0.5, abs=0.2)
        assert np.mean(levels[10:]) == pytest.approx(2.0, abs=0.3)
    by_median = hb.diagnose(log, goal="location", ordered=True)
    assert ", although their median stays the same.  " in by_median.findings()[-1]
    assert drift_plot(by_median.rewards, [0], "location").axes[0].get_ylabel() == "median in a window"


def test_a_mean_of_infinite_rewards_is_refused() -> None:
    with pytest.raises(ValueError, match="the goal 'mean' needs finite rewards, got 1 infinite; leave"):
        hb.diagnose(logged({"a": np.array([1.0, math.inf])}), goal="mean")
    with pytest.raises(ValueError, match="goal must be 'mean' or 'location', got 'median'"):
        hb.diagnose(logged({"a": np.array([1.0])}), goal="median")  # type: ignore[arg-type]


@pytest.mark.slow
def test_plots_are_pictures(drifting: tuple[Report, Path]) -> None:
    _, folder = drifting
    for name in ("hill", "tails", "drift"):
        assert (folder / f"{name}.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_plots_of_next_to_nothing(tmp_path: Path) -> None:
    hb.diagnose(logged({"a": np.array([1.0])}), plots=tmp_path, ordered=True)
    assert len(list(tmp_path.glob("*.png"))) == 3


@pytest.mark.slow
@pytest.mark.parametrize("rewards", [[1e308, -1e308], [1e308, -1e308, math.inf, 1.0, 5e-324], [0.0, 5e-324, 1e-323]])
def test_plots_of_the_largest_and_the_smallest_numbers(tmp_path: Path, rewards: list[float]) -> None:
    hb.diagnose(logged({"a": np.resize(rewards, 100), "b": np.resize(rewards, 97)}), plots=tmp_path, ordered=True)
    assert len(list(tmp_path.glob("*.png"))) == 3


@pytest.mark.slow
def test_arms_beyond_twenty_are_counted_not_listed() -> None:
    text = hb.diagnose(logged(FILES["many arms"])).text()
    assert "(and 10 arms with fewer rewards)" in text
    assert "arm 29" in text


def test_a_single_reward_has_no_interval() -> None:
    text = hb.diagnose(logged({"a": np.array([1.5]), "b": np.array([2.5, 3.5])})).text()
    assert re.search(r"^a +1\.5 +0%", text, re.MULTILINE)
    assert re.search(r"^b +3 +0%", text, re.MULTILINE)


@pytest.mark.parametrize("rewards", [[0.0], [0.0] * 50, [1.0, 2.0]])
def test_plots_say_so_if_there_is_nothing_to_show(rewards: list[float]) -> None:
    residuals = np.array(rewards) - rewards[0]
    for plot in (hill_plot, tail_plot):
        (axes,) = plot(residuals, measure(residuals)).axes
        assert (NOTHING in [text.get_text() for text in axes.texts]) == (not axes.lines)
    (axes,) = drift_plot(parse("arm,reward\n" + "".join(f"$a$,{x}\n" for x in rewards)), [0], "mean").axes
    assert axes.lines[0].get_label() == r"\$a\$"
