"""Regret at the horizon against a swept parameter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..palette import look
from ..protocols import FloatArray
from ..results.study_result import StudyResult
from .curves import banded, mark_lines
from .drawing import Drawing, Panel, best_variants, listing, replications, variants_note

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase


def swept_parameter(study: StudyResult) -> str | None:
    """Return the one parameter that tells the instances apart; None if there is no such parameter."""
    settings = [study.swept.get(label, {}) for label in study.results]
    names = set().union(*settings)
    varying = [name for name in names if len({setting.get(name) for setting in settings}) > 1]
    one = len(varying) == 1 and all(varying[0] in setting for setting in settings)
    return varying[0] if one else None


def draw_sweep(study: StudyResult) -> Drawing:
    """Draw regret at the horizon against the swept parameter, from the first value at which the arms differ."""
    parameter = swept_parameter(study)
    assert parameter is not None  # draw has checked
    labels = sorted(study.results, key=lambda label: study.swept[label][parameter])
    while len(labels) > 2 and not study.results[labels[0]].instance.gaps.any():
        del labels[0]
    values = np.array([study.swept[label][parameter] for label in labels])
    final = np.stack([study.results[label].regret.to_numpy()[:, :, -1] for label in labels])
    order, band = list(study.families), banded(study)
    by_family = {family: final[:, order.index(label)] for label, family in best_variants(study).items()}
    horizons = sorted({result.horizon for result in study.results.values()})
    height = f"regret after {' or '.join(f'{horizon:,}' for horizon in horizons)} pulls"

    def draw(figure: FigureBase) -> None:
        _draw_panel(figure, parameter, height, values, by_family, band)

    left_out = len(study.results) - len(labels)
    caption = (
        f"Mean regret at the horizon against {parameter}, over {replications(study)} on common noise. The bands reach "
        f"two standard errors to either side, for {listing(band)}. An arrow marks a policy that leaves the panel, with "
        "its last value."
    )
    if left_out:
        caption += f" Below {parameter} = {values[0]:g} all arms are equal, so any choice is as good as another."
    return Drawing([Panel(study.title, 7.4, 3.6, draw)], caption + variants_note(study))


def _draw_panel(
    figure: FigureBase, parameter: str, height: str, values: FloatArray, final: dict[str, FloatArray], band: list[str]
) -> None:
    from ..results.plot import name_lines, plain, tidy, visible_top

    axes = figure.add_axes((0.08, 0.13, 0.74, 0.82))
    lines = []
    for name, regrets in sorted(final.items(), key=lambda one: look(one[0]).width):
        mean = regrets.mean(axis=1)
        lines += axes.plot(values, mean, label=plain(name), marker="o", markersize=2.5, **look(name).line)
        if name in band:
            n = regrets.shape[1]
            twice = 2 * regrets.std(axis=1, ddof=min(1, n - 1)) / math.sqrt(n)
            axes.fill_between(values, np.maximum(mean - twice, 0), mean + twice, color=look(name).colour, alpha=0.14,
                              linewidth=0, zorder=1)  # fmt: skip
    top = visible_top([float(np.quantile(regrets.mean(axis=1), 0.9)) for regrets in final.values()])
    axes.set(xlim=(values[0], values[-1]), ylim=(0, top), xlabel=plain(parameter), ylabel=height)
    tidy(axes)
    name_lines(axes, lines)
    mark_lines(axes)
