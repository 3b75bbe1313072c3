"""Files of logged rewards: what is read, and what is refused."""

import io
import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from logged_rewards import parse

import heavybandits as hb
from heavybandits.logs.rewards import read_rewards


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
        ("", "text: must be a CSV file with the names of columns"),
        ("arm,reward\n", "text: must have at least one reward, got none"),
        ("arm;cost\na;1\n", "text: columns must be arm, reward and optionally time, each once, got arm, cost; name"),
        ("arm;reward\na;1.234,5\n", "text: line 2 has no usable reward, got '1.234.5'"),
        ("arm,reward\na,\n,NaN\n", "text: must have at least one reward, got none"),
        ("arm,reward\na,1,2\n", "must be a CSV file, but line 2 has 3 fields, and the header 2"),
        ("arm,reward\na,1\nb,1,2\n", "must be a CSV file, but line 3 has 3 fields, and the header 2"),
        ('arm,reward\na,1\n"b,1\n', "must be a CSV file: unexpected end of data"),
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
    with pytest.raises(ValueError, match="columns must be ad, reward and optionally time, each once, got arm, reward"):
        read_rewards(io.StringIO("arm,reward\na,1\n"), arm_column="ad")
    with pytest.raises(ValueError, match="arm_column and reward_column must be different, got 'x' for both"):
        read_rewards(io.StringIO("x\n1\n"), arm_column="x", reward_column="x")
    with pytest.raises(TypeError, match="arm_column must be the name of a column, got 3"):
        read_rewards(io.StringIO("x\n1\n"), arm_column=3)  # type: ignore[arg-type]


def test_many_bad_rows_are_counted() -> None:
    with pytest.raises(ValueError, match=r"line 6 has no usable reward, got 'x'; and 17 more$"):
        parse("arm,reward\n" + 22 * "a,x\n")


def test_files_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes("arm,reward\né,1\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"log\.csv: must be a CSV file in UTF-8, but is in another"):
        read_rewards(path)
    with pytest.raises(ValueError, match=r"none\.csv: there is no such file"):
        read_rewards(str(tmp_path / "none.csv"))
    with pytest.raises(TypeError, match="diagnose: source must be a file, its path, or a table, got 3"):
        read_rewards(3)
    with pytest.raises(ValueError, match=r": must be a file, not a folder"):
        read_rewards(tmp_path)
    path.write_text("arm,reward\na,1\n")
    assert read_rewards(path).source == str(path)
    with path.open(encoding="latin-1") as file:
        assert read_rewards(file).labels == ("a",)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"arm,reward\nb,2\n")))
    assert read_rewards("-").labels == ("b",)


def test_rewards_may_be_times() -> None:
    waits = pd.DataFrame({"arm": ["a", "b"], "time": [3.0, 1.0]})
    found = read_rewards(waits, reward_column="time", minimise=True)
    assert (found.rewards.tolist(), found.timed) == ([-3.0, -1.0], False)
    dates = pd.DataFrame({"arm": ["a"], "time": ["2024-01-02"]})
    with pytest.raises(ValueError, match="row 0 has no usable time, got '2024-01-02'"):
        read_rewards(dates, reward_column="time")


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
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "log.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match=r"needs pyarrow: pip install 'heavybandits\[parquet\]'"):
        read_rewards(tmp_path / "log.parquet")


@pytest.mark.parametrize("sign", ["", "-"])
def test_numbers_of_hundreds_of_digits_are_infinite(sign: str) -> None:
    digits = sign + "9" * 400
    rewards = read_rewards(io.StringIO(f"arm,reward,time\na,1,1\nb,{digits},2\na,2,3\n"))
    assert rewards.rewards.tolist() == [1.0, float(f"{sign}inf"), 2.0]
    assert read_rewards(io.StringIO(f"arm,reward,time\na,1,{digits}\nb,2,3\n")).rewards.tolist() in ([1, 2], [2, 1])


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("18446744073709551616", 2.0**64), ("-9223372036854775809", -(2.0**63)), ("1e400", math.inf),
        ("-1e400", -math.inf), ("9" * 400, math.inf), ("-" + "9" * 400, -math.inf),
    ],
)  # fmt: skip
def test_numbers_beyond_whole_numbers_of_64_bits(number: str, value: float, separator: str) -> None:
    text = f"arm,reward,time,x\na,{number},{number},1\nb,1,7,{2**70}\n".replace(",", separator)
    log = read_rewards(io.StringIO(text), feature_columns=["x"])
    assert dict(zip(log.labels, [rewards.tolist() for rewards in log.by_arm], strict=True)) == {"a": [value], "b": [1]}
    assert sorted(log.features[:, 0]) == [1, 2.0**70]


@pytest.mark.parametrize("number", ["0x10", "1_000", "1e", "18446744073709551616n"])
@pytest.mark.parametrize("separator", [",", ";"])
def test_what_is_no_number_is_refused_in_one_line(number: str, separator: str) -> None:
    text = f"arm,reward\na,1\nb,{number}\n".replace(",", separator)
    with pytest.raises(ValueError, match=r"\Atext: line 3 has no usable reward, got [^\n]{,80}\Z"):
        read_rewards(io.StringIO(text))


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize("name", ["arm", "reward", "time", "x"])
def test_repeated_columns_are_refused(name: str, separator: str, tmp_path: Path) -> None:
    header = ["arm", "reward", "time", "x", name]
    complaint = f"there must be one column '{name}', got 2 of that name"
    frame = pd.DataFrame([[1, 2, 3, 4, 5]], columns=header)
    with pytest.raises(ValueError, match=f"table: {complaint}"):
        read_rewards(frame, feature_columns=["x"])
    for last in (name, f" {name} "):
        text = separator.join([*header[:4], last]) + "\n" + separator.join("12345") + "\n"
        with pytest.raises(ValueError, match=f"text: {complaint}"):
            read_rewards(io.StringIO(text), feature_columns=["x"])
        (tmp_path / "log.csv").write_text(text)
        with pytest.raises(ValueError, match=rf"log\.csv: {complaint}"):
            read_rewards(tmp_path / "log.csv", feature_columns=["x"])


def test_names_of_columns_that_are_not_used_may_be_repeated() -> None:
    assert read_rewards(io.StringIO("arm,reward,x,x,reward.1,\na,1,2,3,4,5\n")).rewards.tolist() == [1]


def test_spaces_around_the_name_of_a_column_change_nothing() -> None:
    log = read_rewards(io.StringIO("arm ; reward\n007;1,5\na,b;2\n"))
    assert (log.labels, log.rewards.tolist()) == (("007", "a,b"), [1.5, 2])


def test_a_complaint_stays_short() -> None:
    with pytest.raises(ValueError, match="line 2 has no usable reward") as caught:
        read_rewards(io.StringIO(f"arm,reward\na,{'x' * 5000}\n"))
    assert len(str(caught.value)) < 200


WIDE = "time,blue,green\n3,1.5,4\n1,,-inf\n2,7,0\n"


def test_a_column_for_each_arm() -> None:
    """Rows are sorted by time, and an empty cell is no reward."""
    log = read_rewards(io.StringIO(WIDE))
    assert log.labels == ("blue", "green")
    assert log.rewards.tolist() == [-math.inf, 7, 0, 1.5, 4]
    assert (log.timed, log.dropped) == (True, 0)
    costs = read_rewards({"a": [1.0, 2.0], "b": [None, None], "c": [0.0, 3.0]}, minimise=True)
    assert costs.labels == ("a", "c")
    assert [rewards.tolist() for rewards in costs.by_arm] == [[-1, -2], [0, -3]]


@pytest.mark.slow
def test_wide_and_long_logs_say_the_same() -> None:
    rng = np.random.default_rng(0)
    paid = {"blue": rng.pareto(2, 500), "green": 2 + rng.pareto(2, 500)}
    wide = pd.DataFrame(paid)
    long = pd.DataFrame({"arm": ["blue", "green"] * 500, "reward": wide.to_numpy().ravel()})
    assert hb.compare(wide).sentences == hb.compare(long).sentences
    found = hb.diagnose(wide).text()
    assert found.startswith("table, a column for each arm: 1,000 rewards of 2 arms\n")
    assert found.splitlines()[1:8] == hb.diagnose(long).text().splitlines()[1:8]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("blue,green\n1,2\n3,lots\n", "line 3 has no usable green, got 'lots'"),
        ("blue,blue\n1,2\n", "there must be one column 'blue', got 2 of that name"),
        ("ad,euros\nblue,2\n", "columns must be arm, reward .*or give numbers in a column for each arm"),
        ("euros\n2\n", "columns must be arm, reward "),
        ("blue,green\n,\n", "must have at least one reward, got none"),
        ("reward,green\n1,2\n", "columns must be arm, reward "),
    ],
)
def test_what_is_wrong_with_a_wide_log(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^text: {said}"):
        read_rewards(io.StringIO(text))
    with pytest.raises(ValueError, match="columns of arms must be blue, green, as elsewhere, got blue, red"):
        read_rewards([{"blue": [1], "green": [2]}, {"blue": [1], "red": [2]}])


@pytest.mark.parametrize(
    ("text", "arm"),
    [
        ("variant,value\n0,1.5\n1,2.5\n0,0.5\n1,7\n", "variant"),
        ("euros,ad\n1.5,1\n2.5,2\n0.5,1\n7,2\n", "ad"),
        ("x,z\n1,100\n2,250\n1,31\n2,44\n1,5\n2,66\n1,99\n", "x"),
        ("variant,clicks\n0,1\n1,0\n0,0\n1,1\n", "variant"),
    ],
)
def test_numbers_of_arms_are_not_taken_for_rewards(text: str, arm: str) -> None:
    other = next(name for name in text.split("\n")[0].split(",") if name != arm)
    with pytest.raises(ValueError, match=f"text: {arm} may hold the numbers of arms and {other} their rewards") as info:
        hb.compare(io.StringIO(text))
    assert f"say arm_column='{arm}' and reward_column='{other}'" in str(info.value)
    assert hb.compare(io.StringIO(text), arm_column=arm, reward_column=other).table["n"].sum() == text.count("\n") - 1


@pytest.mark.parametrize(
    "text",
    ["blue,green\n0,1\n1,0\n0,0\n", "blue,green\n0,0\n1,0\n0,0\n", "blue,green\n0.5,1.5\n1,2\n3,4.5\n",
     "blue,green,red\n0,0.5,1\n1,2,0\n"],
)  # fmt: skip
def test_what_cannot_be_numbers_of_arms_is_wide(text: str) -> None:
    assert set(hb.compare(io.StringIO(text)).table["arm"]) == set(text.split("\n")[0].split(","))
