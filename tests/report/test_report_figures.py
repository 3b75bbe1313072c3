"""Figures and the matrix show what the stored results say."""

import io
import itertools
import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from reports import HORIZON, INSTANCE, ROUNDS, grid, result, study

import heavybandits as hb
from heavybandits.palette import HERO, NIGHT, WHITE, _luminance, _rgb, look
from heavybandits.report import write_report
from heavybandits.report.curves import MOST_PANELS, MOST_STRIPS, thinned
from heavybandits.report.drawing import Drawing, page_colours, picture
from heavybandits.report.matrix import advice, failure_matrix, ratio_matrix
from heavybandits.report.section import draw_figure
from heavybandits.report.sweep import swept_parameter
from heavybandits.results.plot import MOST_LABELS, apart
from heavybandits.results.result import Result

# The palette


def test_every_policy_of_the_library_has_a_look_of_its_own() -> None:
    looks = [look(name)[:2] for name in hb.policies()]
    assert len(set(looks)) == len(looks)
    assert {name for name in hb.policies() if look(name).colour == HERO} <= {"auto", "auto-mean", "linear-auto",
                                                                              "lipschitz-auto"}  # fmt: skip


def test_a_look_depends_on_the_name_alone() -> None:
    assert look("RUCB-Median") == look("rucb-median ")
    assert look("mine") == look("Mine") != look("yours")
    assert all(look(f"policy {i}").colour != HERO for i in range(200))
    assert look("ucb c=1").colour == look("ucb").colour
    assert look("ucb c=1").dashes != look("ucb").dashes


def contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(_rgb(one)), _luminance(_rgb(other))))
    return (high + 0.05) / (low + 0.05)


def test_lines_and_names_are_readable_on_white_and_in_the_dark() -> None:
    for name in hb.policies():
        assert contrast(look(name).colour, WHITE) >= 2.9
        assert contrast(look(name).text, WHITE) >= 4.5
    dark = page_colours()
    for name in hb.policies():
        assert contrast(dark[look(name).colour], NIGHT) >= 4.5


# Figures


def axes_of(drawing: Drawing) -> list[Any]:
    """Return the axes of the first panel."""
    return list(drawing.figure.subfigs[0].axes)


def drawn(axes: Any) -> dict[str, Any]:
    return {line.get_gid(): line for line in axes.lines if line.get_gid()}


def test_curves_are_means_of_the_best_variants_with_two_bands() -> None:
    made = study({"x": result([0.1, 0.3], [0.5, 0.7], [0.2, 0.2], [0.4, 0.4])},
                 {"a": "one", "b": "one", "c": "two", "d": "three"})  # fmt: skip
    above, below = sorted(axes_of(draw_figure(made)), key=lambda axes: axes.bbox.y0, reverse=True)
    lines = drawn(above)
    assert set(lines) == {"one", "two", "three"}
    assert lines["one"].get_ydata() == pytest.approx(0.2 * ROUNDS)
    assert len(above.collections) == 2
    band = max((band.get_paths()[0].vertices for band in above.collections), key=lambda v: v[:, 1].max())
    assert band[:, 1].max() == pytest.approx(100 * 0.28)
    assert band[band[:, 0] == HORIZON][:, 1].min() == pytest.approx(100 * 0.12)
    assert above.get_title(loc="left") == "x: 2 arms, 1 apart"
    assert [text.get_text() for text in below.texts] == ["one", "two", "three"]
    assert below.lines[0].get_xdata() == pytest.approx([20, 20])  # the median of one
    assert "80% of the replications of one and two" in draw_figure(made).caption
    assert "over 2 replications" in draw_figure(made).caption


def test_auto_is_drawn_on_top_and_always_has_a_band() -> None:
    made = study({"x": result([0.5], [0.1], [0.2], labels=("auto", "b", "c"))})
    above = axes_of(draw_figure(made))[0]
    top = max(drawn(above).values(), key=lambda line: line.get_zorder())
    assert (top.get_gid(), top.get_color(), top.get_linewidth()) == ("auto", HERO, 2.6)
    assert "of auto and b" in draw_figure(made).caption


def test_a_policy_far_above_leaves_the_panel_with_an_arrow() -> None:
    axes = axes_of(draw_figure(study({"x": result([0.01], [0.015], [1.0])})))[0]
    axes.get_figure(root=True).savefig(io.BytesIO())
    assert axes.get_ylim()[1] == pytest.approx(1.25 * 1.5)
    assert sorted(text.get_text() for text in axes.texts) == ["a", "b", "c ↑ 100"]
    near = axes_of(draw_figure(study({"x": result([0.5], [0.9], [1.0])})))[0]
    assert near.get_ylim()[1] == pytest.approx(108)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 6, 40])
def test_names_at_the_ends_of_lines_do_not_overlap(n: int) -> None:
    labels = tuple(f"policy {i}" for i in range(n))
    figure: Any = result(*([0.5 + 0.001 * i] for i in range(n)), labels=labels).plot()
    for height in (4.0, 9.0):  # also after the figure has been changed
        figure.set_size_inches(7, height)
        figure.axes[0].set_ylim(0, 80)
        figure.savefig(io.BytesIO())
        canvas: Any = FigureCanvasAgg(figure)
        renderer = canvas.get_renderer()
        boxes = sorted((text.get_window_extent(renderer) for text in figure.axes[0].texts), key=lambda box: box.y0)
        assert len(boxes) == min(n, MOST_LABELS)
        assert all(low.y1 <= high.y0 + 2 for low, high in itertools.pairwise(boxes))


def test_apart_moves_no_more_than_it_must() -> None:
    assert apart([0.1, 0.9], 0.2) == pytest.approx([0.1, 0.9])
    assert apart([0.0, 0.0, 0.0], 0.1) == pytest.approx([0, 0.1, 0.2])
    assert apart([1.0, 1.0, 1.0], 0.4) == pytest.approx([0.2, 0.6, 1.0])
    assert apart([0.5, 0.5], 0.2) == pytest.approx([0.4, 0.6])


@pytest.mark.slow
def test_the_lai_robbins_line_is_left_out_where_it_lies_above_a_curve() -> None:
    labels = [[line.get_label() for line in result(*slopes).plot().axes[0].lines]
              for slopes in ([[1.5], [1.4]], [[1.5], [0.1]])]  # fmt: skip
    assert [("Lai-Robbins" in some) for some in labels] == [True, False]
    assert "Lai and Robbins" in draw_figure(study({"x": result([1.5], [1.4])})).caption
    assert "Lai and Robbins" not in draw_figure(study({"x": result([1.5], [0.1])})).caption


def test_many_instances_have_panels_and_many_policies_no_strips() -> None:
    slopes = [[0.1, 0.2]] * (MOST_STRIPS + 1)
    drawing = draw_figure(study({f"x{i}": result(*slopes, labels=tuple(f"p{j}" for j in range(MOST_STRIPS + 1)))
                          for i in range(MOST_PANELS + 6)}))  # fmt: skip
    assert [panel.title for panel in drawing.panels] == [f"x{i}" for i in range(MOST_PANELS)]
    assert f"first {MOST_PANELS} of {MOST_PANELS + 6}" in drawing.caption
    figure = matplotlib.figure.Figure(figsize=(4, 3))
    drawing.panels[0].draw(figure)
    assert len(figure.axes) == 1


def test_a_picture_of_the_page_has_its_values_and_colours() -> None:
    made = study({"x": result([0.1, 0.3], [0.5, 0.7], labels=("auto", "$<b>&\x1b"))})
    _, svg, (data,) = picture(draw_figure(made).panels[0], "one")
    ET.fromstring(svg)
    assert f"var(--c-{HERO[1:]})" in svg
    assert HERO not in svg
    assert 'id="figure' not in svg
    assert [line["name"] for line in data["lines"]] == [r"$<b>&\x1b", "auto"]
    assert data["lines"][1]["points"][-1] == [HORIZON, 20]
    left, top, width, height = data["box"]
    assert 0 < left < left + width < 1
    assert 0 < top < top + height < 1
    assert data["x"] == [0, HORIZON]


# A result's own plot


def test_plot_takes_an_axis_policies_a_band_and_a_scale() -> None:
    made = result([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    figure = matplotlib.figure.Figure()
    left, right = figure.subplots(1, 2)
    assert made.plot(left, policies=["c", "a"], band=["c"], scale="log") is left
    assert [line.get_label() for line in left.lines] == ["c", "a"]
    assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
    assert len(left.collections) == 1
    assert not right.lines
    assert len(made.plot().axes[0].collections) == 2
    assert not made.plot(band=[]).axes[0].collections
    for wrong, message in (({"policies": ["d"]}, "unknown policy 'd'"), ({"band": ["A"]}, "did you mean 'a'"),
                           ({"scale": "cubic"}, "scale must be"), ({"policies": []}, "at least one")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            made.plot(**wrong)
    with pytest.raises(TypeError, match="policies must be a list of labels, got 'a'"):
        made.plot(policies="a")
    with pytest.raises(TypeError, match="ax must be a matplotlib axis, got 3"):
        made.plot(ax=3)  # type: ignore[call-overload]


def test_names_are_shown_as_they_are() -> None:
    figure: Any = result([0.1], [0.2], labels=(r"$\frac$", "\x1b[31m$")).plot()
    figure.axes[0].legend()  # a user's own legend parses them too
    figure.savefig(io.BytesIO(), format="svg")
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_long_records_are_thinned_to_curves_that_end_where_they_did() -> None:
    rounds = np.arange(1, 5001)
    long = Result(
        INSTANCE, labels=("a",), rounds=rounds, regret=rounds * np.ones((1, 2, 1)),
        pulls=np.zeros((1, 2, 2), np.int64), wall_time=np.ones((1, 2)), horizon=5000, seed=0,
    )  # fmt: skip
    kept, regret = thinned(long)
    assert len(kept) <= 200
    assert (kept[0], kept[-1]) == (1, 5000)
    assert np.array_equal(regret[0, 0], kept)


def test_sweep_draws_final_regret_on_a_linear_axis_from_where_arms_differ() -> None:
    equal = hb.Instance([1.0, 1.0], hb.Cauchy())
    results = {"high": result([0.5, 0.7], [0.5, 0.5]), "low": result([0.1, 0.3], [0.4, 0.4]),
               "zero": result([0.0, 0.0], [0.0, 0.0], instance=equal)}  # fmt: skip
    swept = {"high": {"delta": 2.0, "scale": 1.0}, "low": {"delta": 1.0, "scale": 1.0},
             "zero": {"delta": 0.0, "scale": 1.0}}  # fmt: skip
    made = study(results, swept=swept, spec={"report": {"figure": "sweep"}})
    drawing = draw_figure(made)
    axes = axes_of(drawing)[0]
    assert axes.get_xlabel() == "delta"
    assert drawn(axes)["a"].get_xydata() == pytest.approx(np.array([[1, 20], [2, 60]]))
    assert axes.get_yscale() == "linear"
    assert axes.get_xlim() == (1, 2)
    assert "Below delta = 1 all arms are equal" in drawing.caption
    peaks = {float(band.get_paths()[0].vertices[:, 1].max()) for band in axes.collections}
    assert max(peaks) == pytest.approx(60 + 2 * np.std([50, 70], ddof=1) / math.sqrt(2))


@pytest.mark.parametrize(
    "swept", [{}, {"x": {"d": 1.0}}, {"x": {"d": 1.0}, "y": {"d": 1.0}}, {"x": {"d": 1, "e": 1}, "y": {"d": 2, "e": 2}}]
)
def test_what_is_no_sweep_of_one_parameter_is_drawn_as_curves(swept: dict[str, dict[str, float]]) -> None:
    made = study({"x": result([0.1]), "y": result([0.2])}, swept=swept, spec={"report": {"figure": "sweep"}})
    assert swept_parameter(made) is None
    assert [panel.title for panel in draw_figure(made).panels] == ["x", "y"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["curves", "sweep", "runtime", "matrix"])
def test_arms_that_do_not_differ_can_be_drawn(kind: str, tmp_path: Path) -> None:
    equal = hb.Instance([1.0, 1.0], hb.Cauchy())
    results = {"x": result([0.0], [0.0], instance=equal), "y": result([0.0], [0.0], instance=equal)}
    made = study(results, swept={"x": {"d": 1.0}, "y": {"d": 2.0}}, spec={"report": {"figure": kind}})
    assert write_report([made], tmp_path).exists()


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(ValueError, match=r"study 'made': report.figure must be one of curves, .*, got 'pie'"):
        draw_figure(study({"x": result([0.1])}, spec={"report": {"figure": "pie"}}))


# The matrix


def test_matrix_is_relative_to_the_best_of_each_instance() -> None:
    ratios = ratio_matrix(grid())
    assert ratios.index.tolist() == ["a", "c", "b"]  # geometric means 2, sqrt(30), sqrt(60)
    assert ratios["Cauchy"].tolist() == pytest.approx([2, 30, 1])
    assert ratios["Gaussian"].tolist() == pytest.approx([2, 1, 60])
    assert failure_matrix(grid()).loc["b"].tolist() == [0, 1]
    axes = axes_of(draw_figure(grid()))[0]
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
        "If it must never fail: a, 1.53 times the best on average, never fails.",
        "Under Cauchy(scale=1.0): a, 1.53 times the best, never fails.",
    ]
    risky = study({"x": result([0.01] * 9 + [0.9]), "y": result([0.01] * 10)})
    assert advice(risky)[1] == "Every policy fails somewhere; least often: a, 1.00 times the best on average, " \
        "fails in 1 of 2 instances."  # fmt: skip
