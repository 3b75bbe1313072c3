"""Logged rewards: reading them, describing them, the advice, the replay, and the whole report."""

import io
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import heavybandits as hb
from heavybandits.diagnosis.advice import Advice, advise, choose_goal, measured_sgd_ucb, overruled
from heavybandits.diagnosis.read import Rewards, read_rewards
from heavybandits.diagnosis.replay import ENOUGH, FEWEST, Earned, Replay, Resampled, replay
from heavybandits.diagnosis.report import Report
from heavybandits.diagnosis.shape import centred_ranks, drift, measure, quantile, skewness
from heavybandits.protocols import FloatArray


def parse(text: str) -> Rewards:
    return read_rewards(io.StringIO(text))


def logged(arms: dict[str, FloatArray], seed: int = 0) -> pd.DataFrame:
    """The rewards of the arms in random order."""
    frame = pd.DataFrame(
        [(arm, reward) for arm, rewards in arms.items() for reward in rewards], columns=["arm", "reward"]
    )
    return frame.sample(frac=1, random_state=seed)


# Reading.


def test_rows_are_put_in_order_of_time() -> None:
    by_number = parse("arm,time,reward\nb,10,1\na,9,2\nb,-1,3\na,9,4\n")
    assert by_number.labels == ("b", "a")
    assert by_number.rewards.tolist() == [3, 2, 4, 1]
    assert [values.tolist() for values in by_number.by_arm] == [[3, 1], [2, 4]]
    by_date = parse("arm,time,reward\nb,2024-03-01,1\na,2024-02-29T23:59:59,2\nb,2023-12-31T00:00:00Z,3\n")
    assert by_date.rewards.tolist() == [3, 2, 1]
    assert by_date.timed
    assert not parse("arm,reward\na,1\n").timed


def test_infinities_spaces_blank_lines_and_other_columns_are_fine() -> None:
    log = parse('\ufeffarm, reward,note\n"a, b", inf,x\n\n 7 ,-1e400,\n7,-Infinity,\n\n')
    assert log.labels == ("a, b", "7")
    assert log.rewards.tolist() == [math.inf, -math.inf, -math.inf]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "text: must be a CSV file: No columns"),
        ("arm,reward\n", "text: must have at least one reward, got none"),
        ("arm;cost\na;1\n", "text: columns must be arm, reward and perhaps time, each once, got arm, cost; name"),
        ("arm;reward\na;1.234,5\n", "text: line 2 has no usable reward, got '1.234.5'"),
        ("arm,reward\na,\n,NaN\n", "text: must have at least one reward, got none"),
        ("arm,reward\na,1,2\n", "rows have more fields than its header"),
        ("arm,reward\na,1\nb,1,2\n", "line 3, saw 3"),
        ("arm,reward,time\na,1,1\na,1,soon\n", "text: line 3 has no usable time, got 'soon'"),
        ("arm,reward,time\na,1,2024-01-01\na,1,2024-13-01\n", "text: line 3 has no usable time, got '2024-13-01'"),
    ],
)
def test_bad_files_are_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="text: ") as caught:
        parse(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rows_with_missing_values_are_left_out_and_counted() -> None:
    log = parse("arm,reward,time\na,1,5\n\n,2,1\nb,,2\nb,NA,3\nb,3,\nc,null,9\nb,4,1\n")
    assert (log.labels, log.rewards.tolist(), log.dropped) == (("a", "b"), [4, 1], 5)
    assert log.arms.tolist() == [1, 0]
    table = pd.DataFrame({"arm": ["a", None, "b"], "reward": [1.0, 2.0, math.nan]})
    assert read_rewards(table).dropped == 2
    assert "1 row with missing values left out" in hb.diagnose(table[:2]).text()
    assert "missing" not in hb.diagnose(table[:1]).text()


def test_semicolons_and_decimal_commas() -> None:
    log = parse("arm;reward;time\na;1,5;2,5\nb;-2;1\nb;;3\nc;1e3;0,5\n")
    assert log.rewards.tolist() == [1000, -2, 1.5]
    assert parse("arm;reward\na,b;1.5\n").labels == ("a,b",)
    assert parse('arm,"x;y",reward\na,1,2\n').rewards.tolist() == [2]


def test_columns_of_other_names_and_costs() -> None:
    log = read_rewards(io.StringIO("server,arm,ms\nx,1,5\ny,2,7\n"), arm_column="server", reward_column="ms",
                       minimise=True)  # fmt: skip
    assert (log.labels, log.rewards.tolist(), log.minimised) == (("x", "y"), [-5, -7], True)
    with pytest.raises(ValueError, match="columns must be ad, reward and perhaps time, each once, got arm, reward"):
        read_rewards(io.StringIO("arm,reward\na,1\n"), arm_column="ad")
    with pytest.raises(ValueError, match="arm_column and reward_column must be two columns, got 'x' for both"):
        read_rewards(io.StringIO("x\n1\n"), arm_column="x", reward_column="x")
    with pytest.raises(TypeError, match="arm_column must be the name of a column, got 3"):
        read_rewards(io.StringIO("x\n1\n"), arm_column=3)  # type: ignore[arg-type]


def test_many_bad_rows_are_counted() -> None:
    with pytest.raises(ValueError, match=r"line 6 has no usable reward, got 'x'; and 17 more$"):
        parse("arm,reward\n" + 22 * "a,x\n")


def test_files_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes("arm,reward\né,1\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"log\.csv: must be a CSV file: 'utf-8' codec"):
        read_rewards(path)
    with pytest.raises(ValueError, match=r"none\.csv: there is no such file"):
        read_rewards(str(tmp_path / "none.csv"))
    with pytest.raises(TypeError, match="diagnose: source must be a file, its path, or a pandas table, got 3"):
        read_rewards(3)
    with pytest.raises(ValueError, match=r": must be a file, not a folder"):
        read_rewards(tmp_path)
    path.write_text("arm,reward\na,1\n")
    assert read_rewards(path).source == str(path)
    with path.open(encoding="latin-1") as file:
        assert read_rewards(file).labels == ("a",)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"arm,reward\nb,2\n")))
    assert read_rewards("-").labels == ("b",)


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "log.parquet"
    days = pd.to_datetime(["2024-01-02", "2024-01-01", "2024-01-03"])
    frame = pd.DataFrame({"arm": [1, 2, 1], "reward": [0.5, math.inf, 2], "time": days})
    frame.to_parquet(path)
    assert read_rewards(path).rewards.tolist() == [math.inf, 0.5, 2]
    frame.assign(reward=[0.5, None, 2.0]).to_parquet(path)
    assert (read_rewards(path).rewards.tolist(), read_rewards(path).dropped) == ([0.5, 2], 1)
    frame.assign(reward=["0.5", "x", "2"]).to_parquet(path)
    with pytest.raises(ValueError, match=r"log\.parquet: row 2 has no usable reward, got 'x'"):
        read_rewards(path)
    path.write_text("arm,reward\na,1\n")
    with pytest.raises(ValueError, match=r"log\.parquet: must be a Parquet file"):
        read_rewards(path)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: Path) -> pd.DataFrame:
        raise ImportError("no engine")

    monkeypatch.setattr(pd, "read_parquet", missing)
    (tmp_path / "log.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match=r"needs pyarrow: pip install 'heavybandits\[parquet\]'"):
        read_rewards(tmp_path / "log.parquet")


# Shape.


def test_rewards_tie_with_those_of_their_arm_only() -> None:
    """Not by the medians that are taken off, and not by what another arm paid."""
    report = hb.diagnose(logged({"a": np.array([1.0]), "b": np.array([1.0, 2.0]), "c": np.array([3.0, 3.0, 4.0])}))
    assert report.pooled.ties == pytest.approx(2 / 6)
    assert "Ties" not in report.text()
    assert "Ties: 67% of the rewards repeat" in hb.diagnose(logged({"a": np.array([1.0, 1.0, 2.0])})).text()


def test_ties_outliers_and_infinities_are_counted() -> None:
    shape = measure(np.array([*range(10), 3.0, 3.0, 40.0, -math.inf, math.inf]))
    assert shape.ties == pytest.approx(3 / 15)
    assert (shape.outliers, shape.infinite) == (3, 2)
    assert (shape.size, shape.median, shape.spread) == (15, 4.0, 6.0)
    assert measure(np.array([0.0] * 30 + [1.0, math.inf])).outliers == 1  # no spread to measure others by


@pytest.mark.parametrize("rewards", [[5.0], [1.0] * 500, [math.inf] * 100, [math.inf, -math.inf] * 50, [1e308, -1e308]])
def test_what_cannot_be_told_is_not(rewards: list[float]) -> None:
    shape = measure(np.array(rewards))
    assert math.isnan(shape.upper.value)
    assert not shape.drift.p_value < 0.5
    assert not shape.skew.value > 0


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=60))
def test_any_rewards_have_a_shape(rewards: list[float]) -> None:
    shape = measure(np.array(rewards))
    assert min(rewards) <= shape.median <= max(rewards)
    assert sum(reward < shape.median for reward in rewards) <= len(rewards) / 2
    assert 0 <= shape.ties <= 1
    assert shape.infinite <= shape.outliers <= len(rewards)


@pytest.mark.slow
def test_skew_against_quantiles_and_its_coverage() -> None:
    """The interval covers the truth of a skewed law, and zero for a symmetric one without a mean, 19 times in 20."""
    low, middle, high = stats.expon.ppf([0.1, 0.5, 0.9])
    truth = (high + low - 2 * middle) / (high - low)
    rng = np.random.default_rng(0)
    for draw, skew in ((rng.standard_exponential, truth), (rng.standard_cauchy, 0.0)):
        found = [skewness(np.sort(draw(300))) for _ in range(400)]
        assert np.mean([one.low <= skew <= one.high for one in found]) == pytest.approx(0.95, abs=0.035)
        assert np.mean([one.value for one in found]) == pytest.approx(skew, abs=0.02)


def test_drift_is_found_as_often_as_it_should() -> None:
    rng = np.random.default_rng(0)
    still = [drift(rng.standard_cauchy(400)).p_value < 0.05 for _ in range(2000)]
    assert 0.02 < np.mean(still) < 0.065
    ramp = np.linspace(0, 2, 400)
    assert np.mean([drift(rng.standard_cauchy(400) + ramp).p_value < 0.05 for _ in range(100)]) > 0.9


def test_ranks_share_ties() -> None:
    assert centred_ranks(np.array([2.0, 1.0, 2.0])) == pytest.approx([1 / 6, -1 / 3, 1 / 6])
    assert quantile(np.array([1.0, 2.0, 3.0, 4.0]), 0.5) == 2.0


# Advice.


def noise_of(law: str, size: int = 6000) -> FloatArray:
    rng = np.random.default_rng(1)
    draws: dict[str, Callable[[], FloatArray]] = {
        "normal": lambda: rng.standard_normal(size),
        "cauchy": lambda: rng.standard_cauchy(size),
        "log-normal": lambda: np.exp(rng.standard_normal(size)),
        "clicks": lambda: (rng.random(size) < 0.2).astype(float),
        "orders": lambda: np.where(rng.random(size) < 0.3, 1 + rng.pareto(1.5, size), 0.0),
    }
    return draws[law]()


def advised(goal: str, medians: list[float], noise: FloatArray) -> Advice:
    arms = [noise + median for median in medians]
    return advise(arms, goal, np.array(medians, float), measure(noise), noise)


@pytest.mark.parametrize(
    ("law", "goal", "medians", "expected"),
    [
        ("normal", "mean", [0, 1], "ucb"),
        ("normal", "location", [0, 1], "ucb"),
        ("cauchy", "location", [0, 9, 2], "sgd-ucb"),
        ("cauchy", "location", [0, 9, 8.5], "auto"),
        ("log-normal", "location", [0, 1], "auto"),
        ("log-normal", "mean", [0, 1], "auto-mean"),
        ("clicks", "mean", [0, 0], "thompson-beta"),
        ("orders", "mean", [0, 0], "auto-mean"),
    ],
)
def test_rules(law: str, goal: str, medians: list[float], expected: str) -> None:
    advice = advised(goal, medians, noise_of(law))
    assert advice.name == expected
    assert advice.policy().init(2, 100) is not None


@pytest.mark.parametrize(
    ("law", "goal"), [("normal", "mean"), ("cauchy", "location"), ("clicks", "mean"), ("orders", "mean")]
)
def test_the_goal_is_the_mean_where_it_exists(law: str, goal: str) -> None:
    noise = noise_of(law)
    found, why = choose_goal([noise, noise + 1], np.array([0.0, 1.0]), measure(noise))
    assert found == goal
    assert "mean" in why


def test_the_goal_where_tails_are_heavy() -> None:
    """Infinite rewards have no mean; a timeout ends a tail; and medians that tie are of no use."""
    noise = noise_of("cauchy")
    capped = np.clip(noise, -20, 20)
    arms, medians = [noise, noise + 1], np.array([0.0, 1.0])
    assert choose_goal([capped, capped], medians, measure(noise))[0] == "mean"
    assert choose_goal([np.minimum(noise, 20), noise], medians, measure(noise))[0] == "location"
    assert choose_goal(arms, np.array([0.0, 0.0]), measure(noise))[0] == "mean"
    assert choose_goal(arms, medians, measure(np.append(noise_of("normal"), math.inf)))[0] == "location"


def test_arms_of_different_spread_are_compared_by_means() -> None:
    noise = noise_of("normal")
    residuals = np.concatenate([noise, 2 * noise])
    for goal, expected in (("mean", "auto-mean"), ("location", "auto")):
        advice = advise([noise, 2 * noise + 1], goal, np.array([0.0, 1.0]), measure(residuals), residuals)
        assert advice.name in (expected, "ucb")
        assert goal == "location" or advice.name == expected


def test_measured_parameters_scale_with_the_rewards() -> None:
    noise = noise_of("cauchy")
    for factor in (1.0, 1000.0):
        advice = measured_sgd_ucb(factor * np.array([0.0, 3.0]), measure(factor * noise))
        assert advice.parameters["clip"] == pytest.approx(3 * factor)
        assert advice.parameters["coeff"] == pytest.approx(0.3 * factor, rel=0.05)
    assert advised("mean", [0, 0], 7 * noise_of("clicks") - 2).parameters == {"low": -2, "high": 5}


def test_infinite_rewards_are_never_averaged() -> None:
    noise = np.append(noise_of("normal"), [math.inf, -math.inf])
    assert advised("location", [0, 1], noise).name == "sgd-ucb"
    assert advised("location", [0, 0], noise).name == "auto"


def test_rare_spikes_are_not_light_tails() -> None:
    """The tail indices do not see two spikes in six thousand rewards."""
    spiked = np.append(noise_of("normal"), [50.0, -50.0])
    assert min(measure(spiked).upper.low, measure(spiked).lower.low) > 4
    assert advised("location", [0, 1], spiked).name == "auto"


def test_few_data_give_the_policy_that_need_not_know() -> None:
    assert advised("location", [0, 1], noise_of("normal", 30)).name == "auto"


def test_the_replay_overrules_the_rule() -> None:
    rule, rival = Advice("ucb", {}, "Tails are light."), Advice("auto", {}, "")
    nothing, band = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)

    def replayed(behind: tuple[float, float, float]) -> Replay:
        earned = {"ucb": Earned(band, band, band, behind), "auto": Earned(band, band, band, nothing)}
        return Replay(earned, 100, 50, "")

    assert overruled(rule, [rule, rival], replayed((0.5, -0.1, 1.1))) is rule
    assert overruled(rule, [rule, rival], Replay({}, 0, 0, "")) is rule
    found = overruled(rule, [rule, rival], replayed((0.5, 0.1, 0.9)))
    assert found.name == "auto"
    assert "rule of thumb says ucb: tails are light." in found.reason
    assert "replay disagrees: there it is worse by 0.5 (0.1 to 0.9)" in found.reason


# Replay.


def test_resampled_rewards_are_those_of_the_arm() -> None:
    drawn = Resampled(np.array([1.0, 2.0, 2.0])).sample(np.random.default_rng(0), 3000)
    assert set(drawn) == {1.0, 2.0}
    assert np.mean(drawn) == pytest.approx(5 / 3, abs=0.05)


def test_replay_of_arms_without_noise_is_exact() -> None:
    """Greedy play pulls each arm once and then the best: shares and earnings can be counted."""
    earned = replay([np.full(50, 1.0), np.full(150, 5.0)], {"greedy": hb.UCB(c=0.0)}, "mean").earned["greedy"]
    assert earned.best == pytest.approx((199 / 200,) * 3)
    assert earned.mean == earned.median == pytest.approx((996 / 200,) * 3)


@pytest.mark.slow
def test_replay_tells_good_from_bad_policies() -> None:
    rng = np.random.default_rng(0)
    log = [rng.standard_cauchy(1000) + 5 * arm for arm in range(3)]
    policies = {"UCB": hb.UCB(c=1.0), "SGD-UCB": hb.make("sgd-ucb", clip=10.0, coeff=0.3)}
    replayed = replay(log, policies, "location")
    good, bad = replayed.earned["SGD-UCB"], replayed.earned["UCB"]
    assert good.best[0] > 0.95 > bad.best[0]
    assert good.median[0] > bad.median[0]
    assert bad.behind[0] == pytest.approx(good.median[0] - bad.median[0])
    assert (bad.is_beaten, good.is_beaten, good.behind[0]) == (True, False, 0)
    assert replayed.pulls == 3000
    assert "Too few" not in replayed.note


def test_replay_says_when_there_are_too_few_data() -> None:
    few, some = np.arange(FEWEST - 1.0), np.arange(ENOUGH - 1.0)
    nothing = replay([few, some], {"UCB": hb.UCB()}, "mean")
    assert nothing.earned == {}
    assert f"has {FEWEST - 1} rewards, fewer than {FEWEST}" in nothing.note
    assert f"has {ENOUGH - 1} rewards, fewer than {ENOUGH}" in replay([some, some], {"UCB": hb.UCB()}, "mean").note
    assert "one arm only" in replay([some], {"UCB": hb.UCB()}, "mean").note


# The report.


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
    report = hb.diagnose(logged(FILES[name]))
    text = report.text()
    assert all(line.strip() in text for line in report.snippet.splitlines())
    assert "nan" not in text
    assert report.pooled.infinite == sum(np.isinf(values).sum() for values in FILES[name].values())
    exec(report.snippet, {})
    table = capsys.readouterr().out
    assert re.search(", 1 reward[,;\n]", table)
    assert table.startswith(f"{report.advice.name}, ")
    assert not (report.replay.earned and report.replay.earned[str(report.advice)].is_beaten)


@pytest.fixture(scope="module")
def drifting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    """Cauchy rewards of three arms that all rise by 2 after two thirds of the rows."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("plots") / "new"
    arms = rng.integers(0, 3, 6000)
    rewards = 3 * arms + rng.standard_cauchy(6000) + np.where(np.arange(6000) < 4000, 0, 2)
    lines = [f"arm {arm},{reward}" for arm, reward in zip(arms, rewards, strict=True)]
    return hb.diagnose(io.StringIO("\n".join(["arm,reward", *lines])), plots=folder), folder


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
    assert {name.split("(")[0] for name in report.replay.earned} == {"sgd-ucb", "auto", "ucb"}
    assert report.goal == "location"
    assert "Goal: location.  The heavier tail has the index" in text


def test_a_report_of_costs_speaks_of_costs() -> None:
    rng = np.random.default_rng(0)
    waits = logged({"slow": rng.exponential(9, 200), "fast": rng.exponential(3, 200)})
    report = hb.diagnose(waits, minimise=True)
    text = report.text()
    assert report.rewards.labels[report.levels.best] == "fast"
    assert "reward" not in text.replace("agent.update(arm, -", "")
    assert "what the arm cost, negated" in report.snippet
    assert "The upper tail" in text
    assert report.levels.arms[report.levels.best].mean.value == pytest.approx(-3, rel=0.2)
    line = next(line for line in text.splitlines() if line.startswith("fast "))
    assert float(line.split()[1]) == pytest.approx(3, rel=0.2)
    assert "costs of 2 arms" in report._repr_html_()


def test_a_mean_of_infinite_rewards_is_refused() -> None:
    with pytest.raises(ValueError, match="the goal 'mean' needs finite rewards, got 1 that are not"):
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
    hb.diagnose(logged({"a": np.array([1.0])}), plots=tmp_path)
    assert len(list(tmp_path.glob("*.png"))) == 3


@pytest.mark.slow
@pytest.mark.parametrize("rewards", [[1e308, -1e308], [1e308, -1e308, math.inf, 1.0, 5e-324], [0.0, 5e-324, 1e-323]])
def test_plots_of_the_largest_and_the_smallest_numbers(tmp_path: Path, rewards: list[float]) -> None:
    hb.diagnose(logged({"a": np.resize(rewards, 100), "b": np.resize(rewards, 97)}), plots=tmp_path)
    assert len(list(tmp_path.glob("*.png"))) == 3


def test_pooled_drift_ignores_which_arms_come_when() -> None:
    """A log of one arm after the other, with very different rewards, does not drift."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"arm": np.repeat(["a", "b"], 500), "reward": np.r_[rng.pareto(1, 500), 5 - rng.pareto(1, 500)]}
    )
    assert hb.diagnose(frame).pooled.drift.p_value > 0.05


@pytest.mark.slow
def test_arms_beyond_twenty_are_counted_not_listed() -> None:
    text = hb.diagnose(logged(FILES["many arms"])).text()
    assert "(and 10 arms with fewer rewards)" in text
    assert "n_arms=30" in text


def test_advice_reads_as_a_call() -> None:
    assert str(Advice("ucb", {"c": 0.5}, "")) == "ucb(c=0.5)"
    assert str(Advice("auto", {}, "")) == "auto"


@pytest.mark.parametrize("sign", ["", "-"])
def test_numbers_of_hundreds_of_digits_are_infinite(sign: str) -> None:
    digits = sign + "9" * 400
    rewards = read_rewards(io.StringIO(f"arm,reward,time\na,1,1\nb,{digits},2\na,2,3\n"))
    assert rewards.rewards.tolist() == [1.0, float(f"{sign}inf"), 2.0]
    assert read_rewards(io.StringIO(f"arm,reward,time\na,1,{digits}\nb,2,3\n")).rewards.tolist() in ([1, 2], [2, 1])


def test_a_complaint_stays_short() -> None:
    with pytest.raises(ValueError, match="line 2 has no usable reward") as caught:
        read_rewards(io.StringIO(f"arm,reward\na,{'x' * 5000}\n"))
    assert len(str(caught.value)) < 200
