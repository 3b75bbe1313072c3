"""Features in logged rewards: reading them, whether they matter, and what a policy that uses them would earn."""

import io
import re

import numpy as np
import pandas as pd
import pytest

import heavybandits as hb
from heavybandits.diagnosis.contexts import fit_line, weigh_contexts
from heavybandits.logs.rewards import read_rewards
from heavybandits.protocols import FloatArray


def logged(effect: float, noise: str = "gauss", n: int = 900, seed: int = 0) -> pd.DataFrame:
    """Return a log of two arms, whose rewards rise and fall with one of two features."""
    rng = np.random.default_rng(seed)
    arm, age, size = rng.integers(2, size=n), rng.normal(size=n), 100.0 * rng.uniform(size=n)
    errors = rng.standard_cauchy(n) if noise == "cauchy" else rng.normal(size=n)
    if noise == "coins":
        reward = (rng.random(n) < 0.5 + np.clip(effect * np.where(arm == 1, age, -age), -0.4, 0.4)).astype(float)
    else:
        reward = effect * np.where(arm == 1, age, -age) + errors
    return pd.DataFrame({"arm": arm, "reward": reward, "age": age, "size": size})


def read(text: str, *features: str) -> FloatArray:
    return read_rewards(io.StringIO(text), feature_columns=features).features


def test_features_are_read_in_order_of_time() -> None:
    text = "arm,reward,time,z,w\na,1,2,10,5\nb,2,1,20,6\na,3,3,,7\n"
    assert read(text, "z", "w").tolist() == [[20.0, 6.0], [10.0, 5.0]]
    log = read_rewards(io.StringIO(text), feature_columns=["w"])
    assert log.features.tolist() == [[6.0], [5.0], [7.0]]
    assert log.feature_names == ("w",)
    assert read("arm;reward;z\na;1,5;2,5\n", "z").tolist() == [[2.5]]
    assert read(text).shape == (3, 0)


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        ("z", TypeError, "feature_columns must be a list of column names, got 'z'"),
        ([3], TypeError, "feature_columns must be a list of column names"),
        (["z", "z"], ValueError, "feature_columns must be columns other than arm, reward and time, each once"),
        (["reward"], ValueError, "feature_columns must be columns other than arm, reward and time"),
        (["size"], ValueError, "columns must be arm, reward, size and .* z; name yours with feature_columns"),
        (["z"], ValueError, "line 2 has no usable z, got inf"),
    ],
)
def test_features_that_are_wrong_are_named(features: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hb.diagnose(io.StringIO("arm,reward,z\na,1,inf\nb,2,3\n"), feature_columns=features)  # type: ignore[arg-type]


@pytest.mark.parametrize("goal", ["mean", "location"])
def test_lines_are_found(goal: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    y = 3.0 + x @ [2.0, -1.0] + 0.1 * rng.normal(size=500)
    if goal == "location":
        y[:50] = 1e12
    level, slopes = fit_line(x, y, goal)
    assert level == pytest.approx(3.0, abs=0.03)
    assert slopes == pytest.approx([2.0, -1.0], abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["gauss", "cauchy"])
def test_contexts_that_matter_are_seen_and_used(noise: str) -> None:
    found = weigh_contexts(read_rewards(logged(1.5, noise), feature_columns=["age", "size"]), "location")
    assert found.matter
    assert found.gain[1] < found.gain[0] < found.gain[2] < 1.0
    assert found.policy == "linear-auto"
    assert found.each == pytest.approx(1.5 * np.sqrt(2 / np.pi), rel=0.2)
    assert abs(found.one) < 0.2
    assert found.one < found.earned[1] <= found.earned[0] <= found.earned[2] < found.each


@pytest.mark.slow
def test_means_of_coins_are_told_by_contexts() -> None:
    found = weigh_contexts(read_rewards(logged(0.3, "coins", n=2000), feature_columns=["age"]), "mean")
    assert found.matter
    assert found.policy == "linear-auto-mean"
    assert found.one + 0.1 < found.earned[0] < found.each


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["gauss", "cauchy", "coins"])
def test_contexts_that_do_not_matter_are_seldom_taken_to(noise: str) -> None:
    goal = "mean" if noise == "coins" else "location"
    taken = [weigh_contexts(read_rewards(logged(0.0, noise, 300, seed), feature_columns=["age", "size"]), goal).matter
             for seed in range(20)]  # fmt: skip
    assert sum(taken) <= 1


@pytest.mark.slow
def test_contexts_that_do_not_change_which_arm_is_best_are_not_praised() -> None:
    table = logged(0.0, n=600)
    common = table.assign(reward=table["reward"] + table["arm"] + 2.0 * table["age"])  # the same slope for both arms
    text = hb.diagnose(common, feature_columns=["age"]).text()
    assert "They matter" in text
    assert "Contexts predict rewards, but linear-auto-mean does no better with them than the best arm." in text


@pytest.mark.parametrize("goal", ["mean", "location"])
@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_huge_and_tiny_numbers_are_weighed_as_others(goal: str, factor: float) -> None:
    table = logged(1.5, n=300)
    scaled = table.assign(age=factor * table["age"], reward=factor * table["reward"])
    one, two = (weigh_contexts(read_rewards(log, feature_columns=["age"]), goal) for log in (table, scaled))
    assert one.gain == pytest.approx(two.gain, rel=1e-6)


def test_the_scale_of_features_does_not_matter() -> None:
    table = logged(1.5)
    small = table.assign(age=table["age"] * 2.0**-20 + 7.0)
    one, two = (weigh_contexts(read_rewards(log, feature_columns=["age"]), "location") for log in (table, small))
    assert one.gain == pytest.approx(two.gain, rel=1e-6)


def test_a_feature_that_never_varies_and_few_rewards_do_no_harm() -> None:
    table = logged(1.5).assign(age=1.0)
    assert not weigh_contexts(read_rewards(table, feature_columns=["age"]), "location").matter
    few = weigh_contexts(read_rewards(logged(3.0, n=6), feature_columns=["age", "size"]), "location")
    assert few.pulls == 0
    table.loc[3, "reward"] = np.inf
    assert np.isfinite(weigh_contexts(read_rewards(table, feature_columns=["age"]), "location").gain).all()


@pytest.mark.slow
def test_the_report_speaks_of_contexts() -> None:
    report = hb.diagnose(logged(1.5), feature_columns=["age"])
    text = report.text()
    assert "Contexts: age\nThey matter: a line for each arm lowers the error on held-out rows by" in text
    assert "Replay with contexts: 20 times 900 pulls" in text
    assert "the best arm in each context" in text
    assert "the best arm in each context" in report._repr_html_()
    assert "Contexts predict" not in text
    assert report.contexts is not None
    assert f"Which policy fits: {report.advice.name}, or linear-auto-mean with contexts\n" in text
    n_arms = len(report.rewards.labels)
    exec(report.contexts.snippet(n_arms, report.rewards.paid), {})
    assert f"    agent = hb.LinearAgent(hb.make('linear-auto-mean'), n_features={2 * n_arms})\n" in text
    none = hb.diagnose(logged(0.0, n=200), feature_columns=["age"])
    assert "They do not matter, as far as one can tell" in none.text()
    assert "LinearAgent" not in none.text()
    assert none.contexts is not None
    assert f"changes the error on held-out rows by {-none.contexts.gain[0]:+.1%} (" in none.text()
    assert "Contexts" not in hb.diagnose(logged(1.5, n=200)).text()


def test_a_single_arm_leaves_nothing_to_choose() -> None:
    table = logged(1.5, n=200)
    text = hb.diagnose(table[table["arm"] == 1], feature_columns=["age"]).text()
    assert "They matter" in text
    assert "With a single arm there is nothing to choose." in text
    assert "too few rows" not in text


def test_costs_are_called_costs_and_names_stay() -> None:
    rng = np.random.default_rng(0)
    names = [f"reward {place % 25}" for place in range(150)]
    table = pd.DataFrame({"arm": names, "reward": rng.normal(size=150), "rewards before": rng.normal(size=150)})
    text = hb.diagnose(table, minimise=True, feature_columns=["rewards before"]).text()
    assert "(and 5 arms with fewer costs)" in text
    assert re.search(r"Best arm: .*reward \d+ leads", text)
    assert "Contexts: rewards before\n" in text
    assert "reward" not in text.replace("reward ", "").replace("rewards before", "").split("    import")[0]


@pytest.mark.slow
def test_costs_are_told_in_their_units() -> None:
    table = logged(1.5)
    report = hb.diagnose(table.assign(reward=10.0 - table["reward"]), minimise=True, feature_columns=["age"])
    assert report.contexts is not None
    line = next(line for line in report.text().splitlines() if line.startswith("the best arm in each context"))
    assert float(line.split()[-1]) == pytest.approx(10.0 - 1.2, abs=0.3)
