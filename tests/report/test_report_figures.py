"""Figures and the matrix show what the stored results say."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from reports import HORIZON, INSTANCE, ROUNDS, grid, result, study

import heavybandits as hb
from heavybandits.engine.results import Result
from heavybandits.palette import OKABE_ITO
from heavybandits.report import write_report
from heavybandits.report.figures import CUT, MOST_BANDS, MOST_PANELS, draw, swept_parameter, thinned
from heavybandits.report.matrix import advice, failure_matrix, ratio_matrix
from heavybandits.report.style import LINES, look

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
