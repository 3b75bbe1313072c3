"""The figure of a study: curves over rounds, a sweep over a parameter, or what the other files here draw."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.results import Result, StudyResult
from ..protocols import FloatArray, IntArray
from .matrix import draw_matrix
from .runtimes import draw_runtimes
from .style import PLAIN, SMALL, Drawing, add_legend, look, plain_log_ticks, shown, tidy, variants_note

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS, MOST_PANELS, POINTS = 4, 24, 200
MOST_BANDS, MOST_COUNTS = 6, 8  # policies; more bands cover each other, more numbers do not fit below a panel
CUT = 4  # a panel ends at this multiple of the median policy's regret: one that loses far more would hide the others


def draw(study: StudyResult) -> Drawing:
    """Draw what ``spec["report"]["figure"]`` asks for: curves (the default), sweep, runtime or matrix.

    A sweep of no parameter, or of several at once, is drawn as curves.

    Examples
    --------
    >>> import heavybandits as hb
    >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
    >>> study = StudyResult("cauchy", "Cauchy noise", "", {"Env2": result}, {"UCB": "UCB"}, {}, {}, {})
    >>> draw(study).caption
    'Regret (above) and regret per pull (below): mean over 5 replications, and a band ...'
    """
    from matplotlib import rc_context

    kinds = {"curves": draw_curves, "sweep": draw_sweep, "runtime": draw_runtimes, "matrix": draw_matrix}
    kind = study.spec.get("report", {}).get("figure", "curves")
    if kind not in kinds:
        raise ValueError(f"study {study.name!r}: report.figure must be one of {', '.join(kinds)}, got {kind!r}")
    if kind == "sweep" and swept_parameter(study) is None:
        kind = "curves"
    with rc_context({"text.parse_math": False}):  # labels are a user's: $ is a dollar
        return kinds[kind](study)


def draw_curves(study: StudyResult) -> Drawing:
    """Regret over rounds, and below it regret per pull if there are few instances; a column per instance."""
    from matplotlib.figure import Figure

    names, instances = shown(study), list(study.results.items())[:MOST_PANELS]
    few = len(instances) <= COLUMNS
    columns = min(COLUMNS, len(instances))
    rows = 2 if few else math.ceil(len(instances) / columns)
    width, bottom = max(5.5, 3.3 * columns), 0.5 + 0.35 * few
    figure = Figure(figsize=(width, 1), dpi=150)
    grid = figure.subplots(rows, columns, squeeze=False)
    for place, (title, result) in enumerate(instances):
        top = grid[0, place] if few else grid.flat[place]
        top.set_title(title, fontsize=10)
        _curves(top, study, result, names, per_pull=False)
        if few:
            _curves(grid[1, place], study, result, names, per_pull=True)
            if len(names) <= MOST_COUNTS:
                _failures(grid[1, place], study, result, names)
    for unused in grid.flat[len(instances) * (1 + few) :]:
        unused.set_visible(False)
    for row, axes in enumerate(grid[:, 0]):
        axes.set_ylabel("regret per pull" if few and row else "regret", fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel("round", fontsize=9)
    legend = add_legend(figure, grid[0, 0], columns=max(2, int(width // 2.6)))
    height = 0.35 + 2.5 * rows + bottom + legend
    figure.set_size_inches(width, height)
    figure.subplots_adjust(
        left=0.75 / width, right=1 - 0.25 / width, top=1 - 0.35 / height, bottom=(bottom + legend) / height,
        wspace=0.22, hspace=0.22 if few else 0.4,
    )  # fmt: skip
    return Drawing(figure, _curves_caption(study, few))


def _curves(axes: Axes, study: StudyResult, result: Result, names: dict[str, str], *, per_pull: bool) -> None:
    rounds, regret = thinned(result)
    if per_pull:
        late = rounds >= min(result.instance.n_arms, result.horizon)  # earlier every policy is trying each arm
        rounds, regret = rounds[late], regret[:, :, late] / rounds[late]
    from matplotlib.ticker import MaxNLocator

    order = list(study.families)
    for place, (label, name) in enumerate(names.items()):
        curves = regret[order.index(label)]
        axes.plot(rounds, curves.mean(axis=0), label=name, linewidth=1.6, **look(place))
        if len(names) <= MOST_BANDS:
            low, high = np.quantile(curves, (0.1, 0.9), axis=0)
            axes.fill_between(rounds, low, high, color=look(place)["color"], alpha=0.13, linewidth=0)
    if math.isfinite(result.lai_robbins_slope):
        limit = result.lai_robbins_slope * np.log(rounds) / (rounds if per_pull else 1)
        axes.plot(rounds, limit, color="black", linestyle=":", linewidth=1, label="Lai-Robbins slope")
    means = regret[[order.index(label) for label in names]].mean(axis=1)
    if not means.any():  # no arm is better than another
        axes.set(xlim=(0, result.horizon), ylim=(0, 1))
    elif per_pull:
        axes.set(xscale="log", yscale="log", xlim=(rounds[0], 1.01 * result.horizon),
                 ylim=(means[:, -1][means[:, -1] > 0].min() / 2, 1.5 * means.max()))  # fmt: skip
        plain_log_ticks(axes.xaxis, *axes.get_xlim())
        plain_log_ticks(axes.yaxis, *axes.get_ylim())
    else:
        axes.set(xlim=(0, result.horizon), ylim=(0, min(1.05 * means.max(), CUT * np.median(means[:, -1])) or None))
        axes.xaxis.set_major_locator(MaxNLocator(4))
    tidy(axes)


def _failures(axes: Axes, study: StudyResult, result: Result, names: dict[str, str]) -> None:
    """Numbers of failed replications in the colours of the curves, below the panel."""
    failed, order = result.failed.sum(axis=1), list(study.families)
    font: dict[str, Any] = {"transform": axes.transAxes, "fontsize": SMALL, "va": "top"}
    axes.text(0, -0.23, f"failed of {result.failed.shape[1]}:", **font)
    for place, label in enumerate(names):
        at = 0.3 + 0.7 * (place + 0.5) / len(names)
        number = str(failed[order.index(label)])
        axes.text(at, -0.23, number, color=look(place)["color"], ha="center", weight="bold", **font)


def _curves_caption(study: StudyResult, few: bool) -> str:
    replications = {result.regret.shape[1] for result in study.results.values()}
    what = "Regret (above) and regret per pull (below)" if few else "Regret"
    text = f"{what}: mean over {' or '.join(map(str, sorted(replications)))} replications"
    if len(study.best) <= MOST_BANDS:
        text += (
            ", and a band from the 10% to the 90% quantile. Few replications that lose much can lift a mean above its "
            "band"
        )
    text += "."
    if few and len(study.best) <= MOST_COUNTS:
        text += " The numbers below count the replications that ended in linear regret, in the colours of the curves."
    text += f" A policy that loses more than {CUT} times what the median one does leaves the panel of the regret."
    if any(math.isfinite(result.lai_robbins_slope) for result in study.results.values()):
        text += " The dotted line has the slope that by Lai and Robbins no policy can beat as the horizon grows."
    if len(study.results) > MOST_PANELS:
        text += f" Only the first {MOST_PANELS} of {len(study.results)} instances are drawn."
    return text + variants_note(study)


def thinned(result: Result) -> tuple[IntArray, FloatArray]:
    """Rounds and regret at no more checkpoints than a curve needs, the last one included."""
    rounds, regret = result.regret["round"].to_numpy(), result.regret.to_numpy()
    if len(rounds) > POINTS:
        kept = np.unique(np.linspace(0, len(rounds) - 1, POINTS).astype(int))
        rounds, regret = rounds[kept], regret[:, :, kept]
    return rounds, regret


def swept_parameter(study: StudyResult) -> str | None:
    """The one parameter that tells the instances apart; None if there is no such."""
    settings = [study.swept.get(label, {}) for label in study.results]
    names = set().union(*settings)
    varying = [name for name in names if len({setting.get(name) for setting in settings}) > 1]
    one = len(varying) == 1 and all(varying[0] in setting for setting in settings)
    return varying[0] if one else None


def draw_sweep(study: StudyResult) -> Drawing:
    """Regret at the horizon against the swept parameter."""
    from matplotlib.figure import Figure

    parameter = swept_parameter(study)
    assert parameter is not None  # draw asks before
    by_value = sorted(study.results, key=lambda label: study.swept[label][parameter])
    values = [study.swept[label][parameter] for label in by_value]
    final = np.stack([study.results[label].regret.to_numpy()[:, :, -1] for label in by_value])
    names, order, n = shown(study), list(study.families), final.shape[2]
    figure = Figure(figsize=(7.5, 1), dpi=150)
    axes = figure.subplots()
    means = {label: final[:, order.index(label)].mean(axis=1) for label in names}
    for place, (label, name) in enumerate(names.items()):
        axes.plot(values, means[label], label=name, linewidth=1.6, marker="o", markersize=2.5, **look(place))
        twice = 2 * final[:, order.index(label)].std(axis=1, ddof=min(1, n - 1)) / math.sqrt(n)
        low, high = np.maximum(means[label] - twice, 0), means[label] + twice
        axes.fill_between(values, low, high, color=look(place)["color"], alpha=0.13, linewidth=0)
    peaks = np.array([mean.max() for mean in means.values()])
    wide = peaks.max() > 5 * peaks.min() > 0
    if wide:  # one policy far above would press the others to the axis
        smallest = min(mean[mean > 0].min() for mean in means.values())
        axes.set_yscale("symlog", linthresh=10 ** math.floor(math.log10(smallest)))
        axes.yaxis.set_major_formatter(PLAIN)
    horizons = sorted({result.horizon for result in study.results.values()})
    axes.set_xlabel(parameter, fontsize=9)
    axes.set_ylabel(f"regret after {' or '.join(map(str, horizons))} rounds", fontsize=9)
    axes.set(xlim=(values[0], values[-1]), ylim=(0, None))
    tidy(axes)
    legend = add_legend(figure, axes, columns=3)
    height = 4.3 + legend
    figure.set_size_inches(7.5, height)
    figure.subplots_adjust(left=0.09, right=0.98, top=1 - 0.1 / height, bottom=(0.5 + legend) / height)
    caption = (
        f"Regret at the horizon against {parameter}: mean over {n} replications, and a band of two "
        "standard errors on both sides."
    )
    if wide:
        caption += " The vertical axis is logarithmic, and linear next to 0, so that all policies can be read."
    return Drawing(figure, caption + variants_note(study))
