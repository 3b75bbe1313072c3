"""Files of costs: text and plots are in the units of the file."""

import io
from pathlib import Path

import numpy as np
import pytest
from logs import logged

import heavybandits as hb
from heavybandits.diagnosis.plots import drift_plot
from heavybandits.diagnosis.read import read_rewards


def test_coins_that_cost() -> None:
    report = hb.diagnose(logged({"a": np.repeat([0.0, 1.0], (30, 10))}), minimise=True)
    text = report.text()
    assert "\nEvery cost is 0 or 1: a coin" in text
    assert "hb.make('thompson-beta', low=-1.0, high=0.0)" in report.snippet
    assert "-0" not in text.replace("low=-1.0", "")
    assert "the middle cost, or the worse of the middle two" in text


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
        hb.diagnose(table, goal="mean", minimise=minimise, plots=tmp_path / str(minimise))
    for name in ("hill", "tails", "drift"):
        rewards, costs = ((tmp_path / str(minimise) / f"{name}.png").read_bytes() for minimise in (False, True))
        assert rewards == costs
