"""What a diagnosis says: sentences agree with the numbers, with the tables, and with each other."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from logged_rewards import logged

import heavybandits as hb
from heavybandits.diagnosis.findings import about_drift
from heavybandits.diagnosis.goals import choose_goal
from heavybandits.diagnosis.shape import Drift, measure
from heavybandits.protocols import FloatArray

NONE = Drift(math.nan, 0, math.nan)


def test_no_drift_of_arms_that_are_too_short_to_tell() -> None:
    said = about_drift([("a", NONE), ("b", NONE)], Drift(0.5, 8, -0.6), "reward", "mean", common=False)
    assert said == "Drift: none seen."


@pytest.mark.parametrize("one_arm", [False, True])
@pytest.mark.parametrize(
    ("shift", "together", "alone"),
    [
        (2.5, "the level changes, most likely after row 8; the median moves by +2.5.",
         "the level of 'b' changes, most likely after its cost number 8; the median moves by +2.5."),
        (0.0, "costs change, most likely after row 8, although their median stays the same.",
         "costs of 'b' change, most likely after its cost number 8, although their median stays the same."),
        (math.inf, "the level changes, most likely after row 8.",
         "the level of 'b' changes, most likely after its cost number 8."),
        (math.nan, "the level changes, most likely after row 8.",
         "the level of 'b' changes, most likely after its cost number 8."),
    ],
)  # fmt: skip
def test_the_words_for_a_change(shift: float, together: str, alone: str, one_arm: bool) -> None:
    changed = Drift(1e-6, 8, shift)
    arms, pooled = ([("a", NONE), ("b", changed)], Drift(0.5, 3, 1.0)) if one_arm else ([("a", NONE)], changed)
    said = about_drift(arms, pooled, "cost", "median", common=False)
    assert said.startswith(f"Drift: {alone if one_arm else together}  So the agent needs drift=True")


def test_drift_names_the_arm_that_changes_and_the_agent_watches_for_it() -> None:
    rng = np.random.default_rng(0)
    arms = {"a": rng.normal(np.repeat([9.0, 0.0], 500)), "b": rng.normal(4.0, size=1000)}
    table = pd.DataFrame({"arm": ["a", "b"] * 1000, "reward": np.stack(list(arms.values()), 1).ravel()})
    report = hb.diagnose(table, ordered=True)
    said = report.findings()
    assert "This is about the whole file; but there is drift, so another arm may be better by now." in said
    assert "The clearest case is 'a'." in said[-1]
    assert ", drift=True)" in report.snippet
    exec(report.snippet, {"table": table})
    steady = hb.diagnose(logged(arms | {"a": rng.normal(size=1000)}))
    assert not steady.drifts
    assert "drift" not in steady.snippet


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        (
            np.random.default_rng(0).exponential(size=150),
            r"The (only|heavier) .*tail .*has an index of .*, clearly above 1, ",
        ),
        (
            np.minimum((150 / np.arange(1.0, 151)) ** 2, 2500.0),
            "(No tail can be measured|The most extreme rewards are all the same)",
        ),
    ],
)
def test_means_are_only_assumed_to_exist_if_a_tail_cannot_be_measured(gains: FloatArray, said: str) -> None:
    """Twenty huge losses are too few to measure their tail."""
    gains = np.append(np.zeros(200), gains)
    losses = -1e6 * np.abs(np.random.default_rng(1).standard_cauchy(20))
    for rewards, so in ((gains, "so means exist."), (np.append(gains, losses), "so we assume that means exist.")):
        goal, why = choose_goal([rewards], np.array([0.0]), measure(rewards))
        assert goal == "mean"
        assert re.match(said, why)
        assert why.endswith(so)
        assert ("only tail that can be measured" in why) == ("assume" in so and "index" in said)


@pytest.mark.parametrize("rewards", [np.zeros(60), np.repeat([0.0, 1.0], (200, 10)), np.repeat([0.0, 1.0], (200, 60))])
def test_the_goal_and_the_findings_agree_that_no_tail_can_be_measured(rewards: FloatArray) -> None:
    report = hb.diagnose(logged({"a": rewards}))
    assert report.why == "No tail can be measured: rewards are bounded or take few values, so means exist."
    lower = "The lower tail: too few rewards on that side of the median to tell; at least 25 are needed."
    assert lower in report.findings()


def test_one_reward_is_too_few() -> None:
    said = hb.diagnose(logged({"a": np.ones(1)})).advice.reason
    assert said.startswith("1 reward is too few to tell what kind it is; at least 10 are needed.")


def test_what_is_unknown_is_a_dash() -> None:
    text = hb.diagnose(logged({"a": np.array([1.7e308, 1.7e308, 0.9e308])})).text()
    assert re.search(r"^a +1\.433e\+308 +0% +1\.433e\+308 +-$", text, re.MULTILINE)
