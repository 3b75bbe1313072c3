"""Files of costs: text and plots are in the units of the file."""

import io
from pathlib import Path

import numpy as np
import pytest
from logged_rewards import logged

import heavybandits as hb
from heavybandits.diagnosis.plots import drift_plot
from heavybandits.logs.rewards import read_rewards


def test_coins_that_cost() -> None:
    report = hb.diagnose(logged({"a": np.repeat([0.0, 1.0], (30, 10))}), minimise=True)
    text = report.text()
    assert "\nEvery cost is 0 or 1: a coin" in text
    assert "hb.make('thompson-beta', low=-1.0, high=0.0)" in report.snippet
    assert "-0" not in text.replace("low=-1.0", "")
    assert "the middle cost, or the worse of the middle two" in text


NOISE = np.random.default_rng(0).standard_cauchy(400)
FILES = {
    "too few": {"a": np.array([1.0])},
    "few of an arm": {"a": np.arange(9.0), "b": np.arange(40.0)},
    "hardly enough": {"a": np.arange(12.0), "b": np.arange(40.0)},
    "infinite": {"a": np.append(NOISE, np.inf), "b": NOISE},
    "capped": {"a": np.minimum(np.abs(NOISE), 5.0), "b": np.minimum(np.abs(NOISE), 6.0)},
    "ties": {"a": np.repeat([0.0, 1.0, 5.0], (300, 10, 10)), "b": np.repeat([0.0, 1.0], (300, 10))},
    "heavy": {"a": NOISE, "b": NOISE + 3.0},
}


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_a_file_of_costs_is_described_without_the_word_reward(file: str) -> None:
    costs, rewards = (hb.diagnose(logged(FILES[file]), minimise=minimise) for minimise in (True, False))
    for report, noun, other in ((costs, "cost", "reward"), (rewards, "reward", "cost")):
        assert noun in report.text()
        said = f"{report.text()}{report._repr_html_()}{report.why}{report.advice.reason}"
        program = ("read_rewards", "log.rewards", "agent.update")  # which names what the library has
        assert other not in "".join(line for line in said.splitlines() if not any(name in line for name in program))


@pytest.mark.parametrize("minimise", [False, True])
def test_zeros_have_no_sign(minimise: bool) -> None:
    rewards = read_rewards(io.StringIO("arm,reward\na,0.0\na,-0.0\n"), minimise=minimise).rewards
    assert not np.signbit(rewards).any()


def test_drift_is_plotted_in_the_units_of_the_file() -> None:
    costs = read_rewards(logged({"a": np.arange(1.0, 100.0)}), minimise=True)
    for goal in ("mean", "location"):
        line = drift_plot(costs, [0], goal).axes[0].lines[0]
        assert np.min(np.asarray(line.get_ydata(), float)) > 0


@pytest.mark.slow
def test_plots_of_costs_are_those_of_the_same_rewards(tmp_path: Path) -> None:
    table = logged({"a": 1 + np.random.default_rng(0).pareto(1.5, 301)})
    for minimise in (False, True):
        hb.diagnose(table, goal="mean", minimise=minimise, ordered=True, plots=tmp_path / str(minimise))
    for name in ("hill", "tails", "drift"):
        rewards, costs = ((tmp_path / str(minimise) / f"{name}.png").read_bytes() for minimise in (False, True))
        assert rewards == costs
