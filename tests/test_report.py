"""Figures, tables and the page say what the stored results say."""

import csv
import io
import itertools
import math
import re
import shutil
import subprocess
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import heavybandits as hb
from heavybandits.report import write_report
from heavybandits.report.figures import CUT, MOST_BANDS, MOST_PANELS, draw, swept_parameter, thinned
from heavybandits.report.matrix import advice, failure_matrix, ratio_matrix
from heavybandits.report.runtimes import best_times, runtime_table
from heavybandits.report.style import LINES, look
from heavybandits.report.tables import (
    LONGEST,
    failed_table,
    latex_escape,
    latex_table,
    number,
    summary_table,
    terminal_table,
)
from heavybandits.results import OKABE_ITO, Result, StudyResult

HORIZON = 100
ROUNDS = np.arange(1, HORIZON + 1)
INSTANCE = hb.Instance([0.0, 1.0], hb.Cauchy())


def result(*slopes: list[float], instance: hb.Instance = INSTANCE, labels: tuple[str, ...] = ()) -> Result:
    """Regret that grows linearly: a slope for each policy and replication."""
    given_slopes = np.array(slopes, float)
    regret = given_slopes[:, :, None] * ROUNDS
    pulls = np.zeros((*given_slopes.shape, instance.n_arms), np.int64)
    duration = np.arange(1.0, 1 + given_slopes.size).reshape(given_slopes.shape)
    labels = labels or tuple("abcdefghijklmnop"[: len(slopes)])
    return Result(instance, labels, ROUNDS, regret, pulls, duration, horizon=HORIZON, seed=0)


def study(results: dict[str, Result], families: dict[str, str] | None = None, **changes: Any) -> StudyResult:
    labels = next(iter(results.values())).regret["policy"].values.tolist()
    fields: dict[str, Any] = {
        "name": "made", "title": "Made by hand", "description": "", "results": results,
        "families": families or {label: label for label in labels}, "swept": {}, "spec": {}, "provenance": {},
    }  # fmt: skip
    return StudyResult(**{**fields, **changes})


@dataclass(frozen=True)
class Verdict:
    claim: str
    where: str = "Figure 1"
    study: str = "made"
    verdict: str = "holds"
    numbers: str = "1 against 2"
    rule: str = "smaller"
    note: str = ""


class Difference(NamedTuple):
    topic: str
    text: str
    code: str
    here: str


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
    assert failed_table(study({"x": first, "y": second})).loc["b"].tolist() == ["1 of 3", "3 of 3"]


def test_pulls_time_and_fails_of_a_curve_made_by_hand() -> None:
    regret = np.zeros((2, 3, HORIZON))
    regret[0, 0] = np.minimum(ROUNDS, 10) * 0.4  # 4 from round 10 on: below 0.1 after 41 pulls, below 0.05 after 81
    regret[0, 1] = np.minimum(ROUNDS, 10) * 0.8  # 8: below 0.1 after 81 pulls, never below 0.05
    regret[0, 2] = ROUNDS * 0.3
    regret[1] = ROUNDS * np.where(ROUNDS <= 2, 0.0, 0.2)  # a lucky start does not count
    made = Result(INSTANCE, ("a", "b"), ROUNDS, regret, np.zeros((2, 3, 2), np.int64),
                  np.array([[1e6, 2e6, 3e6]] * 2), horizon=HORIZON, seed=0)  # fmt: skip
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
    shares = {line.get_label(): line.get_xydata() for line in draw(timed).figure.axes[0].lines}
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
    assert max(page.split(r"\midrule")[1].count("\n") for page in pages) <= LONGEST + 2
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


def test_terminal_shows_labels_as_they_are() -> None:
    console = Console(file=io.StringIO(), width=100)
    console.print(terminal_table(pd.DataFrame({"policy": ["[bold]x[/]"], "mean": [math.nan]}), "A [title]"))
    text = console.file.getvalue()
    assert "[bold]x[/]" in text
    assert "A [title]" in text


def test_eighty_columns_show_names_and_numbers_whole() -> None:
    names = ["SGD-UCB-Median coeff=0.1", "RUCB-Median eps=0"]
    times = {f"{what} {target}": [1 / 99, 1 / 7] for target in ("0.1", "0.05") for what in ("ms to", "pulls to")}
    console = Console(file=io.StringIO(), width=80)
    console.print(terminal_table(pd.DataFrame({"policy": names, **times, "fails at 0.1": [4, 19]}), "Time"))
    lines = console.file.getvalue().splitlines()
    assert [line.split() for line in lines if "-" in line] == [
        [*names[0].split(), *4 * ["0.0101"], "4"],
        [*names[1].split(), *4 * ["0.143"], "19"],
    ]


# Figures


def test_curves_are_means_with_bands_of_the_best_variants() -> None:
    made = study({"x": result([0.1, 0.3], [0.5, 0.7], [0.2, 0.2])}, {"a": "one", "b": "one", "c": "two"})
    above, below = draw(made).figure.axes
    lines = {line.get_label(): line for line in above.lines}
    assert list(lines) == ["one: a", "two: c", "Lai-Robbins slope"]
    assert lines["one: a"].get_ydata() == pytest.approx(0.2 * ROUNDS)
    slope = INSTANCE.lai_robbins(HORIZON) / math.log(HORIZON)
    assert lines["Lai-Robbins slope"].get_ydata() == pytest.approx(slope * np.log(ROUNDS))
    assert below.lines[0].get_ydata() == pytest.approx(np.full(HORIZON - 1, 0.2))
    band = above.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(100 * 0.28)
    at_the_end = band[band[:, 0] == HORIZON][:, 1]
    assert at_the_end.min() == pytest.approx(100 * 0.12)
    assert [text.get_text() for text in below.texts] == ["failed of 2:", "1", "2"]


def test_a_policy_far_above_does_not_hide_the_others() -> None:
    axes = draw(study({"x": result([0.01], [0.01], [1.0])})).figure.axes[0]
    assert axes.get_ylim()[1] == pytest.approx(CUT * 1.0)
    assert draw(study({"x": result([0.5], [0.9], [1.0])})).figure.axes[0].get_ylim()[1] == pytest.approx(105)


def test_many_instances_and_policies_have_panels_and_no_bands() -> None:
    slopes = [[0.1, 0.2]] * (MOST_BANDS + 1)
    drawing = draw(study({f"x{i}": result(*slopes) for i in range(MOST_PANELS + 6)}))
    panels = [axes for axes in drawing.figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == [f"x{i}" for i in range(MOST_PANELS)]
    assert not any(axes.collections for axes in panels)
    assert f"first {MOST_PANELS} of {MOST_PANELS + 6}" in drawing.caption
    few = draw(study({f"x{i}": result([0.1, 0.2]) for i in range(5)})).figure.axes
    assert [axes.get_visible() for axes in few] == [True] * 5 + [False] * 3


def test_neighbours_differ_in_colour_and_line() -> None:
    looks = [look(place) for place in range(40)]
    assert len({str(one) for one in looks}) == 40
    assert all(a["color"] != b["color"] and a["linestyle"] != b["linestyle"]
               for a, b in itertools.pairwise(looks))  # fmt: skip
    assert len(OKABE_ITO) * len(LINES) == 40


def test_long_records_are_thinned_to_curves_that_end_where_they_did() -> None:
    rounds = np.arange(1, 5001)
    long = Result(INSTANCE, ("a",), rounds, rounds * np.ones((1, 2, 1)), np.zeros((1, 2, 2), np.int64),
                  np.ones((1, 2)), horizon=5000, seed=0)  # fmt: skip
    kept, regret = thinned(long)
    assert len(kept) <= 200
    assert (kept[0], kept[-1]) == (1, 5000)
    assert np.array_equal(regret[0, 0], kept)


def test_sweep_draws_final_regret_in_the_order_of_the_parameter() -> None:
    results = {"high": result([0.5, 0.7], [9.0, 9.0]), "zero": result([0.0, 0.0], [0.0, 0.0])}
    swept = {"high": {"delta": 2.0, "scale": 1.0}, "zero": {"delta": 0.0, "scale": 1.0}}
    made = study(results, swept=swept, spec={"report": {"figure": "sweep"}})
    drawing = draw(made)
    axes = drawing.figure.axes[0]
    assert axes.get_xlabel() == "delta"
    assert axes.lines[0].get_xydata() == pytest.approx(np.array([[0, 0], [2, 60]]))
    assert axes.get_yscale() == "symlog"
    assert "logarithmic" in drawing.caption
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(60 + 2 * np.std([50, 70], ddof=1) / math.sqrt(2))


@pytest.mark.parametrize(
    "swept", [{}, {"x": {"d": 1.0}}, {"x": {"d": 1.0}, "y": {"d": 1.0}}, {"x": {"d": 1, "e": 1}, "y": {"d": 2, "e": 2}}]
)
def test_what_is_no_sweep_of_one_parameter_is_drawn_as_curves(swept: dict[str, dict[str, float]]) -> None:
    made = study({"x": result([0.1]), "y": result([0.2])}, swept=swept, spec={"report": {"figure": "sweep"}})
    assert swept_parameter(made) is None
    assert draw(made).figure.axes[0].get_title() == "x"


@pytest.mark.parametrize("kind", ["curves", "sweep", "runtime", "matrix"])
def test_arms_that_do_not_differ_can_be_drawn(kind: str, tmp_path: Path) -> None:
    equal = hb.Instance([1.0, 1.0], hb.Cauchy())
    results = {"x": result([0.0], [0.0], instance=equal), "y": result([0.0], [0.0], instance=equal)}
    made = study(results, swept={"x": {"d": 1.0}, "y": {"d": 2.0}}, spec={"report": {"figure": kind}})
    assert write_report(tmp_path, [made]).exists()


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(ValueError, match=r"study 'made': report.figure must be one of curves, .*, got 'pie'"):
        draw(study({"x": result([0.1])}, spec={"report": {"figure": "pie"}}))


# The matrix


def grid() -> StudyResult:
    gaussian = hb.Instance([0.0, 1.0], hb.Gaussian())
    return study(
        {
            "Cauchy": result([0.04, 0.04], [0.01, 0.03], [0.6, 0.6]),
            "Gaussian": result([0.02, 0.02], [0.5, 0.7], [0.01, 0.01], instance=gaussian),
        },
        spec={"report": {"figure": "matrix"}},
    )


def test_matrix_is_relative_to_the_best_of_each_instance() -> None:
    ratios = ratio_matrix(grid())
    assert ratios.index.tolist() == ["a", "c", "b"]  # geometric means 2, sqrt(30), sqrt(60)
    assert ratios["Cauchy"].tolist() == pytest.approx([2, 30, 1])
    assert ratios["Gaussian"].tolist() == pytest.approx([2, 1, 60])
    assert failure_matrix(grid()).loc["b"].tolist() == [0, 1]
    axes = draw(grid()).figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["2.0", "2.0", "2.0", "5.5", "30", "1.0", "7.7", "1.0", "60"]
    marks = axes.collections[-1].get_offsets()
    assert [(int(x) - 1, int(y)) for x, y in marks] == [(0, 1), (1, 2)]  # c fails under Cauchy noise, b under Gaussian


def test_advice_follows_its_rules() -> None:
    assert advice(grid()) == [
        "Overall: a, 2.00 times the best on average, never fails.",
        "Under Cauchy(scale=1.0): b, 1.00 times the best, never fails.",
        "Under Gaussian(scale=1.0): c, 1.00 times the best, never fails.",
    ]
    careful = study({"x": result([0.09] * 10, [0.01] * 9 + [0.5])})
    assert advice(careful) == [
        "Overall: b, 1.00 times the best on average, fails in 1 of 1 instances.",
        "When it must not fail: a, 1.53 times the best on average, never fails.",
        "Under Cauchy(scale=1.0): a, 1.53 times the best, never fails.",
    ]
    risky = study({"x": result([0.01] * 9 + [0.9]), "y": result([0.01] * 10)})
    assert advice(risky)[1] == "No policy never fails; most seldom: a, 1.00 times the best on average, " \
        "fails in 1 of 2 instances."  # fmt: skip


# The page


class Reader(HTMLParser):
    """Checks that elements nest, and collects references and text."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.anchors: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.references += [value or "" for name, value in attributes if name in {"src", "href"}]
        self.anchors += [value or "" for name, value in attributes if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_page_stands_alone_and_holds_everything(tmp_path: Path) -> None:
    nasty = "<script>alert('x')</script> & 5% of_$x^{$"
    made = study(
        {nasty: result([0.1, 0.2], [0.3, 0.4], labels=(nasty, "b"))},
        name="a & <b>", title=f"Title {nasty}", description=f"About {nasty}",
        spec={"note": f"Spec {nasty}"},
        provenance={"version": "1.2.3", "digest": "abc", "seed": 7, "complete": False, "missing replications": 3,
                    "sessions": [{"started": "today", "seconds": 200.0, "machine": f"Box {nasty}"}]},
    )  # fmt: skip
    timed = study(
        {"x": result([0.01, 0.2])}, name="timed", provenance=made.provenance, spec={"report": {"figure": "runtime"}}
    )
    verdicts = [Verdict(f"Claim {i} {nasty}", verdict=verdict, note=f"Note {i}", study="timed")
                for i, verdict in enumerate(["holds", "does not hold", "undecided", "holds"])]  # fmt: skip
    differences = [Difference(f"Topic {nasty}", "As written", "As coded", "As run")]
    page = write_report(tmp_path / "new" / "folder", [made, timed], verdicts, differences)
    html = page.read_text()
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert all(reference.startswith(("#", "data:image/png;base64,")) for reference in reader.references)
    assert "http" not in re.sub(r"base64,[^\"]*", "", html)
    assert {reference[1:] for reference in reader.references if reference[0] == "#"} <= set(reader.anchors)
    assert "<script>alert" not in html
    text = "".join(reader.words)
    for i in range(4):
        assert f"Claim {i} {nasty}" in text
        assert f"Note {i}" in text
    assert "4 claims: holds 2, does not hold 1, undecided 1." in text
    for part in (f"Topic {nasty}", "As written", "As coded", "As run", f"Title {nasty}", f"About {nasty}",
                 f"Box {nasty}", "1.2.3", "abc", "3 replications are missing", "in 3 minutes of"):  # fmt: skip
        assert part in text
    assert {path.name for path in page.parent.glob("*/*")} == {
        "a-b.png", "a-b.svg", "a-b.csv", "a-b.tex", "timed.png", "timed.svg", "timed.csv", "timed.tex",
        "timed-times.csv", "timed-times.tex",
    }  # fmt: skip
    with (page.parent / "tables" / "a-b.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == [nasty, "b"]
    assert [float(row["mean"]) for row in rows] == pytest.approx([15, 35])


def test_a_page_of_one_study_is_titled_by_it(tmp_path: Path) -> None:
    one, two = (study({"x": result([0.1, 0.2])}, name=name, title=f"The {name} < 2") for name in ("first", "second"))
    titles = [
        re.findall("<title>(.*)</title>", write_report(tmp_path, made).read_text()) for made in ([one], [one, two])
    ]
    assert titles == [["The first &lt; 2 - heavybandits report"], ["heavybandits report"]]


def test_a_report_of_the_same_results_is_the_same(tmp_path: Path) -> None:
    first, second = (write_report(tmp_path / name, [grid()]).parent for name in ("one", "two"))
    for path in sorted(first.glob("**/*.*")):
        assert path.read_bytes() == (second / path.relative_to(first)).read_bytes()


def test_studies_need_names_of_their_own(tmp_path: Path) -> None:
    made = study({"x": result([0.1])})
    for studies in ([], [made, made]):
        with pytest.raises(ValueError, match="write_report: studies must be at least one, each with a name of its own"):
            write_report(tmp_path, studies)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs a browser")
def test_a_click_on_a_head_sorts_by_the_column(tmp_path: Path) -> None:
    page = write_report(tmp_path, [study({"x": result([0.2], [0.05], [1.0])})])
    click = """<script>
    const heads = [...document.querySelectorAll("table.sortable th")], mean = heads.find(h => h.textContent === "mean");
    const order = () => [...document.querySelectorAll("table.sortable tbody tr")].map(r => r.cells[1].textContent).join("");
    mean.firstChild.click(); const up = order(); mean.firstChild.click();
    document.title = `${up} ${order()} ${mean.getAttribute("aria-sort")}`;
    </script></body>"""  # noqa: E501
    page.write_text(page.read_text().replace("</body>", click))
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    dom = subprocess.run([*browser, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120).stdout
    assert "<title>bac cab descending</title>" in dom
