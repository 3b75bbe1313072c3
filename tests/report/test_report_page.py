"""The page of studies says first which policy wins, and is the same for the same results."""

import re
from pathlib import Path

import pytest
from reports import grid, result, study

from heavybandits.report import write_report
from heavybandits.report.opening import opening_of


def test_a_study_without_claims_is_headed_by_who_wins() -> None:
    better, worse = result([0.4, 0.4], [0.2, 0.2]), result([0.1, 0.1], [0.2, 0.2])
    head = opening_of([study({"x": better, "y": worse, "z": better}, title="Mine")])
    assert head.heading == "Mine"
    assert [card.number[:6] for card in head.cards] == ["2 of 3", "0.79 \N{MULTIPLICATION SIGN}", "6 of 6"]
    assert [card.kind for card in head.cards] == ["good", "news", "bad"]


@pytest.mark.slow
def test_tables_have_units_bold_bests_and_the_rest_behind_more(tmp_path: Path) -> None:
    slopes = {"x": result([0.4, 0.6], [0.2, 0.2], [0.9, 0.9])}
    page = write_report(study(slopes, {"a": "one", "b": "two", "c": "two"}), tmp_path).read_text()
    brief, rest = page.split('<details class="more">', 1)
    assert "Regret after 100 pulls, in units of reward (mean ± standard error)" in brief
    assert re.findall(r'best" data-key="([\d.]+)"', brief) == ["20.0"]
    assert "50.0\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}10.0" in brief
    assert "90.0" not in brief.split("<table")[1]  # a setting that is not the best
    assert "cost (ns per pull)" in rest


@pytest.mark.slow
def test_a_page_of_one_study_is_titled_by_it(tmp_path: Path) -> None:
    one, two = (study({"x": result([0.1, 0.2])}, name=name, title=f"The {name} < 2") for name in ("first", "second"))
    titles = [re.findall("<title>(.*)</title>", write_report(made, tmp_path).read_text()) for made in (one, [one, two])]
    assert titles == [["The first &lt; 2 - heavybandits report"], ["2 studies - heavybandits report"]]


@pytest.mark.slow
def test_a_report_of_the_same_results_is_the_same(tmp_path: Path) -> None:
    first, second = (write_report([grid()], tmp_path / name).parent for name in ("one", "two"))
    for path in sorted(first.glob("**/*.*")):
        assert path.read_bytes() == (second / path.relative_to(first)).read_bytes()


def test_what_is_no_study_is_refused(tmp_path: Path) -> None:
    for wrong in ("tails", [study({"x": result([0.1])}), 3]):
        with pytest.raises(TypeError, match=r"write_report: studies must be results such as hb.load_study\(folder\)"):
            write_report(wrong, tmp_path)  # type: ignore[arg-type]


def test_studies_need_names_of_their_own(tmp_path: Path) -> None:
    made = study({"x": result([0.1])})
    for studies in ([], [made, made]):
        with pytest.raises(ValueError, match="write_report: studies must be one or more, with different names, got"):
            write_report(studies, tmp_path)
    assert list(tmp_path.iterdir()) == []
