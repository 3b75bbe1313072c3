"""The analysis of an experiment's log: checks, guardrails, other metrics, and the command."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import heavybandits as hb
from heavybandits.cli import app, main

NAMES = np.array(["blue", "green"])


def log(seed: int = 0, n: int = 6000, gain: float = 0.15, slower: float = 80.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    arms, level = rng.integers(2, size=n), rng.pareto(2.0, n)
    return pd.DataFrame({
        "arm": NAMES[arms],
        "reward": (level + rng.exponential(0.3, n)) * (1.0 + gain * arms),
        "spent": level + rng.exponential(0.3, n),
        "latency": rng.exponential(100.0 + slower * arms),
        "clicks": 1.0 * (rng.random(n) < 0.2 + 0.1 * arms),
    })  # fmt: skip


def everything(table: Any, **more: Any) -> Any:
    return hb.compare(
        table, control="blue", before="spent", shares="equal", guardrails=["latency <= +20"], metrics=["clicks"],
        costs=["latency"], once=True, **more,
    )  # fmt: skip


def test_all_parts_are_told() -> None:
    found = everything(log())
    assert found.winner == found.metrics["clicks"].winner == "green"
    assert found.metrics["latency"].winner == "blue"
    assert [state.state for state in found.guardrails] == ["broken"]
    text = str(found)
    for part in (
        "green breaks the guardrail latency <= +20 against blue",
        "% of the total lies beyond",
        "adjusted by spent, which must not have decided who got which arm; the first 50 rows",
        "The arms' counts do not refute the planned shares",
        "By clicks: green is the winner",
        "By latency: blue is the winner",
        "If you look once, at the planned end, and decide by nothing else, each of these holds in about 95% of "
        "experiments, counting at most ",
    ):
        assert part in text
    row = found.table.set_index("arm").loc["green"]
    assert 0.0 < row["difference_low"] < row["difference"] < row["difference_high"]
    assert row["uncapped"] > row["estimate"]
    (once,) = found.once
    assert once.high - once.low < row["difference_high"] - row["difference_low"]


def test_other_metrics_pass_on_their_tail_warning() -> None:
    rng = np.random.default_rng(4)
    arms = np.arange(6000) % 2
    visits = np.where(arms == 1, rng.exponential(1.5, 6000), np.where(arms + np.arange(6000) % 500 == 0, 500.0, 1.0))
    found = hb.compare(
        pd.DataFrame({"arm": NAMES[arms], "reward": np.ones(6000), "visits": visits}), metrics=["visits"]
    )
    assert found.metrics["visits"].warns
    (line,) = [line for line in str(found).splitlines() if line.startswith("By visits: ")]
    assert line.endswith("Counting everything, blue may be better.")


def test_the_column_helps_and_changes_no_estimate_by_much() -> None:
    table = log()
    plain, adjusted = (
        hb.compare(table, control="blue", cap=3.0),
        hb.compare(table, control="blue", cap=3.0, before="spent"),
    )
    widths = [float((one.table["difference_high"] - one.table["difference_low"]).max()) for one in (plain, adjusted)]
    assert widths[1] < 0.8 * widths[0]
    for one in (plain, adjusted):
        assert one.table.set_index("arm").loc["blue", "low"] > 0.0
    assert adjusted.estimates["blue"] == pytest.approx(plain.estimates["blue"], rel=0.1)


def test_costs_mirror_rewards() -> None:
    table = log()
    costs = table.assign(reward=-table["reward"])
    one, other = everything(table), everything(costs, minimise=True)
    mine, theirs = one.table.set_index("arm"), other.table.set_index("arm")
    assert mine["difference"].to_numpy() == pytest.approx(-theirs["difference"].to_numpy())
    assert mine["difference_low"].to_numpy() == pytest.approx(-theirs["difference_high"].to_numpy())
    assert mine["uncapped"].to_numpy() == pytest.approx(-theirs["uncapped"].to_numpy())
    assert one.once[0].low == pytest.approx(-other.once[0].high)
    assert one.once[0].limits == tuple(-limit for limit in reversed(other.once[0].limits))


def test_alarms_come_first() -> None:
    table = log()
    uneven = pd.concat([table, table[table["arm"] == "blue"]])
    assert everything(uneven).sentences[0].startswith("ALARM: the arms did not get their planned shares")
    chosen = table.assign(spent=table["spent"] * np.where(table["arm"] == "blue", 1.0, 2.0))
    assert everything(chosen).sentences[0].startswith("ALARM: the arms differ in spent")


def test_quantiles_have_differences_too() -> None:
    found = hb.compare(log(gain=0.5), goal=0.75, control="blue")
    row = found.table.set_index("arm").loc["green"]
    assert 0.0 < row["difference_low"] < row["difference"] < row["difference_high"]
    assert "difference" in str(found)


def test_rows_that_lack_a_value_are_counted() -> None:
    table = log(n=300)
    assert "missing values" not in str(everything(table))
    table.loc[[3, 4], "latency"] = math.nan
    assert "\n2 rows with missing values are left out.\n" in str(everything(table))
    assert "1 row with missing values is left out." in str(hb.compare(table.assign(reward=[math.nan, *[1.0] * 299])))


def test_the_share_beyond_the_cap_is_exact() -> None:
    table = log()
    found = hb.compare(table, cap=2.0)
    share = 1.0 - table["reward"].clip(upper=2.0).sum() / table["reward"].sum()
    assert f"{100 * share:.2g}% of the total lies beyond 2, which does not count (blue " in str(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"guardrails": ["latency <= +20"]}, "compare: guardrails must come with a control, got control=None"),
        ({"metrics": ["time"]}, "compare: before, guardrails, metrics and costs must be columns other"),
        ({"once": True}, "compare: once must come with a control, got control=None"),
        ({"before": "spent", "goal": "location"}, "compare: before must be None unless the goal is 'mean'"),
        ({"metrics": "clicks"}, "compare: metrics must be a list of text, got 'clicks'"),
        ({"before": "spend"}, "table: columns must be arm, reward, spend"),
        ({"shares": {"blue": 1}}, "compare: shares: unknown arm 'green'"),
    ],
)
def test_what_arguments_may_be(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match="^" + message.replace("(", r"\(")):
        hb.compare(log(n=100), **arguments)


def test_rewards_by_arm_have_no_columns() -> None:
    with pytest.raises(ValueError, match=r"^compare: rewards by arm have no column 'spent'; give a table or a file$"):
        hb.compare({"a": [1.0], "b": [2.0]}, before="spent")


def test_the_command_prints_json(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    log().to_csv(path, index=False)
    options = ["--control", "blue", "--before", "spent", "--shares", "blue=1,green=1", "--guardrail", "latency <= +20",
               "--metric", "clicks", "--cost", "latency", "--once", "--json"]  # fmt: skip
    result = CliRunner().invoke(app, ["compare", str(path), *options])
    assert result.exit_code == 0
    said = json.loads(result.stdout)
    assert said["winner"] == "green"
    assert [rail["state"] for rail in said["guardrails"]] == ["broken"]
    assert math.isclose(said["sample_ratio"]["shares"]["blue"], 0.5)
    assert said["arms"][0]["difference_low"] > 0.0
    assert said["metrics"]["latency"]["winner"] == "blue"
    assert said["once"][0]["arm"] == "green"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--shares", "blue=1,green=many"], "--shares: must be a number, got 'many'"),
        (["--shares", "blue"], "compare: shares must be 'equal' or weights by arm, got 'blue'"),
        (["--shares", "blue=1,green=-1"], "compare: the share of 'green' must be "),
        (["--shares", "blue=1,red=1"], "compare: shares: unknown arm 'green'"),
        (["--guardrail", "latency <= +20"], "compare: guardrails must come with a control, got control=None"),
        (["--control", "blue", "--guardrail", "latency < 20"], "compare: a guardrail must read like 'latency <= +20'"),
        (["--control", "blue", "--guardrail", "speed <= +1"], "LOG: columns must be arm, reward, speed"),
        (["--control", "red"], "compare: unknown control 'red'"),
        (["--before", "spend"], "LOG: columns must be arm, reward, spend"),
        (["--metric", "note"], "LOG"),
        (["--cost", "nothing"], "LOG: columns must be arm, reward, nothing"),
        (["--once"], "compare: once must come with a control, got control=None"),
    ],
)
def test_the_command_refuses_in_one_line(
    options: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    log(n=100).assign(note="fine").to_csv(path, index=False)
    monkeypatch.setattr("sys.argv", ["heavybandits", "compare", str(path), *options])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    assert (ended.value.code, told.out, told.err.count("\n")) == (2, "", 1)
    assert told.err.startswith("heavybandits: " + said.replace("LOG", str(path)))


def test_the_help_of_the_command_is_whole() -> None:
    shown = " ".join(CliRunner().invoke(app, ["compare", "--help"]).stdout.split())
    options = get_command(app).commands["compare"].params  # type: ignore[attr-defined]
    assert len(options) > 15
    for option in options:
        assert " ".join(str(option.help).split()) in shown, option.name


def test_printing_works_out_the_rows_that_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    found = hb.compare({str(arm): [0.5, 1.5, 2.5 + arm] * 4 for arm in range(300)}, control="7", cap=1000.0)
    looked, difference = list[str](), found.difference

    def noted(arm: str) -> tuple[float, float, float]:
        looked.append(arm)
        return difference(arm)

    monkeypatch.setattr(found, "difference", noted)
    assert "The table shows 20 of 300 arms." in str(found)
    assert len(looked) == 20
