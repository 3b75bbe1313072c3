"""Summaries and tables say what the stored results say."""

import io
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import HORIZON, INSTANCE, ROUNDS, result, study
from rich.console import Console

from heavybandits._format import number
from heavybandits.report.runtimes import best_times, runtime_table
from heavybandits.report.section import draw_figure, regret_sheet, times_sheets
from heavybandits.report.tables import (
    ROWS_ON_A_PAGE,
    latex_escape,
    latex_table,
    summary_table,
)
from heavybandits.report.terminal import terminal_summary
from heavybandits.results.result import Result
from heavybandits.results.study_result import StudyResult

# Summaries


def test_standard_error_and_distance_to_the_best() -> None:
    table = result([0.1, 0.2, 0.6], [0.3, 0.3, 0.3], [0.2, 0.3, 0.7]).summary()
    assert table["se"].to_numpy() == pytest.approx(np.std([10, 20, 60], ddof=1) / math.sqrt(3) * np.array([1, 0, 1]))
    assert table["above best"].to_numpy() == pytest.approx([0, 0, 10])
    assert table.loc["c", "above best low"] == pytest.approx(10)  # the difference is the same in every replication
    assert table.loc["c", "above best high"] == pytest.approx(10)
    assert table.loc["b", "above best low"] < 0 < table.loc["b", "above best high"]


def test_interval_is_that_of_a_plain_bootstrap_and_stays_the_same() -> None:
    rng = np.random.default_rng(1)
    worse = 0.5 + rng.exponential(size=200)
    made = result([0.1] * 200, worse.tolist())
    resampled = [rng.choice(100 * worse - 10, 200).mean() for _ in range(4000)]
    low, high = made.summary().loc["b", ["above best low", "above best high"]]
    spread = np.std(resampled)
    assert (low, high) == pytest.approx(tuple(np.quantile(resampled, (0.025, 0.975))), abs=0.25 * spread)
    assert made.summary().equals(made.summary())


def test_one_replication_has_no_error() -> None:
    table = result([0.1], [0.2]).summary()
    assert table[["se", "std", "above best low", "above best high"]].isna().all(axis=None)
    assert table["above best"].tolist() == [0, 10]


# Tables


def test_summary_table_has_every_variant_and_counts_failures() -> None:
    first, second = result([0.05, 0.2, 0.3], [0.0, 0.0, 0.5]), result([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    made = study({"x": first, "y": second}, {"a": "one", "b": "one"})
    table = summary_table(made)
    assert table[["instance", "policy", "family"]].to_numpy().tolist() == [
        ["x", "a", "one"], ["x", "b", "one"], ["y", "a", "one"], ["y", "b", "one"],
    ]  # fmt: skip
    assert table["failed"].tolist() == [2, 1, 0, 3]
    assert table["replications"].tolist() == [3] * 4
    assert table["mean"].tolist() == pytest.approx([55 / 3, 50 / 3, 0, 100])
    sheet = regret_sheet(study({"x": first, "y": second}))
    assert sheet is not None
    assert [cell.note for cell in sheet.rows[1][1:]] == ["1 of 3 failed", "3 of 3 failed"]


def test_pulls_time_and_fails_of_a_curve_made_by_hand() -> None:
    regret = np.zeros((2, 3, HORIZON))
    regret[0, 0] = np.minimum(ROUNDS, 10) * 0.4  # 4 from round 10 on: below 0.1 after 41 pulls, below 0.05 after 81
    regret[0, 1] = np.minimum(ROUNDS, 10) * 0.8  # 8: below 0.1 after 81 pulls, never below 0.05
    regret[0, 2] = ROUNDS * 0.3
    regret[1] = ROUNDS * np.where(ROUNDS <= 2, 0.0, 0.2)  # a lucky start does not count
    made = Result(
        INSTANCE, labels=("a", "b"), rounds=ROUNDS, regret=regret, pulls=np.zeros((2, 3, 2), np.int64),
        wall_time=np.array([[1e6, 2e6, 3e6]] * 2), horizon=HORIZON, seed=0,
    )  # fmt: skip
    timed = study({"x": made}, spec={"report": {"figure": "runtime", "targets": [0.1, 0.05]}})
    table = runtime_table(timed).set_index("policy")
    assert table.loc["a", ["pulls to 0.1", "ms to 0.1"]].tolist() == pytest.approx([41 + 0.9 * 40, 2 * (41 + 0.9 * 40)])
    assert table.loc["a", ["pulls to 0.05", "ms to 0.05"]].tolist() == pytest.approx([81, 2 * 81])
    assert table[["fails at 0.1", "fails at 0.05"]].to_numpy().tolist() == [[1, 2], [3, 3]]
    assert table.loc["b", ["pulls to 0.1", "ms to 0.1"]].tolist() == [math.inf] * 2
    best = best_times(timed, runtime_table(timed))
    assert best["ms to 0.1"].tolist() == [True, False]
    assert best["ms to 0.05"].tolist() == [False, False]  # it got there in one replication of three
    assert best["fails at 0.05"].tolist() == [True, False]
    first, second = times_sheets(timed)
    assert first.columns == ["policy", "time (ms)", "pulls", "never (of 3 replications)"]
    assert [cell.text for cell in first.rows[0]] == ["a", "154", "77.0", "1"]
    assert [[cell.best for cell in row] for row in first.rows] == [[False, True, True, True], [False] * 4]
    assert [cell.text for cell in second.rows[1]] == ["b", "never", "never", "3"]
    axes: Any = draw_figure(timed).figure.subfigs[0].axes[0]
    shares = {line.get_gid(): line.get_xydata() for line in axes.lines}
    assert shares["a"].tolist() == [[0, 0], [41, 1 / 3], [81, 2 / 3], [HORIZON, 2 / 3]]
    assert shares["b"].tolist() == [[0, 0], [HORIZON, 0]]


def test_latex_has_bold_blocks_and_pages() -> None:
    frame = pd.DataFrame({
        "instance": np.repeat([f"100% {i}" for i in range(20)], 5),
        "policy": [f"p_{i}" for i in range(100)],
        "mean": np.arange(100.0),
    })  # fmt: skip
    latex = latex_table(frame, {"mean": frame["mean"] == 7})
    pages = latex.split(r"\begin{tabular}{lr}")[1:]
    assert len(pages) == latex.count(r"\end{tabular}") > 1
    assert max(page.split(r"\midrule")[1].count("\n") for page in pages) <= ROWS_ON_A_PAGE + 2
    assert latex.count(r"\multicolumn{2}{l}{\emph{100\% 3}} \\") == 1
    assert r"p\_7 & \textbf{7.00} \\" in latex
    assert latex.count("textbf") == 1
    assert all(f"p\\_{i} & " in latex for i in range(100))


@given(st.text(st.sampled_from("\\&%$#_{}~^<>|ab é")))
def test_latex_text_has_no_active_character(text: str) -> None:
    escaped = latex_escape(text)
    commands = re.sub(r"\\(text[a-z]+\{\}|[&%$#_{}])", "", escaped)
    assert not set(commands) & set("\\&%$#_{}~^")
    assert commands == re.sub(r"[\\&%$#_{}~^<>|]", "", text)


@given(st.floats(-1e300, 1e300))
def test_numbers_keep_three_digits(value: float) -> None:
    assert float(number(value)) == pytest.approx(value, rel=0.005)


def printed(made: StudyResult, **options: Any) -> str:
    file = io.StringIO()
    console = Console(file=file, width=80, **options)
    for part in terminal_summary([made]):
        console.print(part)
    return file.getvalue()


def test_terminal_shows_labels_as_they_are_but_no_control_characters() -> None:
    text = printed(study({"A [red]": result([0.1], labels=("[bold]x[/]\x1b[31m",))}, title="[i]\x1b]0;x\x07\nT"))
    assert r"[bold]x[/]\x1b[31m" in text
    assert "A [red]" in text
    assert r"[i]\x1b]0;x\x07 T: regret after 100 pulls, in units of reward" in text
    assert "\x1b" not in text


def test_terminal_has_the_colours_of_the_palette_and_the_best_in_bold() -> None:
    text = printed(study({"x": result([0.1], [0.2], labels=("auto", "UCB"))}), force_terminal=True,
                   color_system="truecolor")  # fmt: skip
    assert "\x1b[1;38;2;194;24;91mauto" in text
    assert "\x1b[38;2;112;112;112mUCB" in text
    assert re.search(r"\x1b\[1m *10\.0", text)


def test_eighty_columns_show_names_and_numbers_whole() -> None:
    labels = ("SGD-UCB-Median coeff=0.1", "RUCB-Median eps=0")
    made = study({"x": result([0.01, 0.02], [0.3, 0.4], labels=labels)}, spec={"report": {"figure": "runtime"}})
    lines = printed(made).splitlines()
    rows = [line.split() for line in lines]
    assert [*labels[0].split(), "4.50e-06", "3.00", "0"] in rows
    assert [*labels[1].split(), "never", "never", "2"] in rows
    assert ["policy", "time", "(ms)", "pulls", "never", "(of", "2", "replications)"] in rows
