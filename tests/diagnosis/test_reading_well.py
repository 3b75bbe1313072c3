"""What a reader of a diagnosis sees first, and what the advice says about changes and shapes."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from logged_rewards import logged

import heavybandits as hb
from heavybandits.diagnosis.export import as_values
from heavybandits.diagnosis.report import ARMS_SHOWN, Report
from heavybandits.report.diagnosis_page import diagnosis_page


def drifting(apart: bool) -> Report:
    """Diagnose two arms with a season that they share, or whose lead changes sides."""
    rng, time, arms = np.random.default_rng(1), np.arange(4000), np.arange(4000) % 2
    lead = np.where(time < 2000, arms, -arms) if apart else arms + np.sin(time / 500)
    return hb.diagnose(pd.DataFrame({"arm": arms, "reward": lead + rng.normal(size=4000), "time": time}))


def test_the_best_arm_comes_first_and_is_always_in_the_table() -> None:
    """The best of 80 arms has the fewest rewards."""
    rng = np.random.default_rng(0)
    arms = {f"item {i}": rng.normal(0.0, 1.0, 30) for i in range(79)} | {"gem": rng.normal(20.0, 1.0, 15)}
    report = hb.diagnose(logged(arms))
    assert report.evidence.leader == "gem"
    assert len(report.arms) == ARMS_SHOWN
    tables = report.text().split("\narm ")
    assert tables[1].splitlines()[1].startswith("gem ")
    assert tables[2].splitlines()[1].startswith("gem ")
    costs = hb.diagnose(logged({name: -values for name, values in arms.items()}), minimise=True)
    assert costs.text().split("\narm ")[1].splitlines()[1].startswith("gem ")


def test_the_answer_comes_before_the_tables_and_the_legend_last() -> None:
    text = hb.diagnose(logged({"a": np.arange(30.0), "b": np.arange(30.0)})).text()
    places = [text.index(part) for part in ("What this means", "\narm ", "Which policy fits", "What the columns say")]
    assert places == sorted(places)


def test_the_legend_says_which_rewards_do_not_count() -> None:
    arms = {"a": np.arange(30.0), "b": np.arange(30.0)}
    one, other = (hb.diagnose(logged(arms), goal=goal).text() for goal in ("mean", "location"))
    assert one.endswith("          the first 25 rewards do not count: they decided how far the others do\n")
    assert other.endswith("rewards do not count: they decided how finely the others are counted\n")
    assert "do not count" not in hb.diagnose(logged({"a": np.array([1.0, 2.0]), "b": np.array([3.0])})).text()


def test_drift_is_sought_only_in_rows_that_are_in_order() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"arm": ["a", "b"] * 500, "reward": rng.normal(size=1000) + np.repeat([0.0, 3.0], 500)})
    silent = hb.diagnose(table)
    assert not silent.drifts
    assert silent.findings()[-1].startswith("Drift: not checked.")
    for report in (hb.diagnose(table, ordered=True), hb.diagnose(table.assign(time=range(1000)))):
        assert report.drifts
        assert report.findings()[-1].startswith("Drift: the level changes, most likely after row")


def test_a_change_of_all_arms_together_does_not_ask_for_drift() -> None:
    together, apart = drifting(apart=False), drifting(apart=True)
    assert together.drifts
    assert together.common
    assert "All arms change together" in together.findings()[-1]
    assert "drift=True" not in together.text()
    assert not apart.common
    assert "So the agent needs drift=True" in apart.findings()[-1]
    assert ", drift=True)" in apart.snippet


def test_arms_that_differ_in_shape_are_not_left_to_auto() -> None:
    rng = np.random.default_rng(0)
    waits = {f"{sigma}": rng.lognormal(3.0, sigma, 1500) for sigma in (0.3, 0.7, 1.1)}
    report = hb.diagnose(logged(waits), minimise=True, goal="location")
    assert report.advice.name == "auto-mean"
    assert "by neither their medians nor their means" in report.advice.reason
    heavy = {f"{scale}": scale * rng.pareto(0.8, 1500) for scale in (1.0, 2.0, 4.0)}
    report = hb.diagnose(logged(heavy), minimise=True, goal="location")
    assert (report.advice.name, report.advice.parameters) == ("order-statistic-ucb", {"c": 0.25})
    assert "Their means may not exist" in report.advice.reason


@pytest.mark.parametrize("minimise", [False, True])
def test_the_program_feeds_the_file_to_an_agent(
    tmp_path: Path, minimise: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rng = tmp_path / "waits.csv", np.random.default_rng(0)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("server", "ms"), *((f"s{i % 3}", rng.exponential(9.0)) for i in range(300))])
    report = hb.diagnose(path, arm_column="server", reward_column="ms", minimise=minimise)
    known: dict[str, object] = {}
    exec(report.snippet, known)
    agent = known["agent"]
    assert isinstance(agent, hb.Agent)
    assert agent.pulls == {"s0": 100, "s1": 100, "s2": 100}
    assert known["arm"] in agent.arms
    assert "300 rewards" in capsys.readouterr().out


def test_the_control_must_be_an_arm() -> None:
    table = logged({"a": np.arange(30.0), "b": np.arange(30.0)})
    assert "\nthe control, always " in hb.diagnose(table, control="b").text()
    with pytest.raises(ValueError, match="diagnose: unknown control 'c'; known: a, b"):
        hb.diagnose(table, control="c")


def test_programs_get_the_numbers_of_the_report() -> None:
    rng = np.random.default_rng(0)
    waits = {"slow": rng.exponential(9.0, 60), "fast": np.append(rng.exponential(3.0, 60), [np.inf] * 2)}
    report = hb.diagnose(logged(waits), minimise=True)
    found = json.loads(json.dumps(as_values(report), allow_nan=False))
    assert found["leader"] == found["table"][0]["arm"] == report.evidence.leader
    assert found["table"][0]["mean"] is None or found["table"][0]["arm"] == "slow"
    assert found["findings"] == report.findings()
    assert found["advice"]["policy"] == report.advice.name
    logged_median = found["replay"]["as logged"]["earned"]
    assert 0 <= logged_median["low"] < logged_median["value"] < logged_median["high"]
    assert found["drifts"] is None


def test_the_page_of_a_diagnosis_needs_no_other_file() -> None:
    report = hb.diagnose(logged({"<b>": np.arange(40.0), "c": np.arange(40.0) + 1}))
    page = diagnosis_page(report)
    assert "<td><b></td>" not in page
    assert "&lt;b&gt;" in page
    assert "as logged" in page
    assert not [word for word in ("http://", "https://", "src=", "<link") if word in page]
