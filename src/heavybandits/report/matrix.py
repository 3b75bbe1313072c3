"""Policies against instances: how much more each loses than the best, where it fails, and which to use when."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..palette import HERO, VERMILION, look
from ..results.result import Result
from ..results.stored_instance import noise_of
from ..results.study_result import StudyResult
from .drawing import Drawing, Panel, best_variants, replications, variants_note

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

FAILS = 0.1  # a policy fails in an instance if at least this share of its replications does
DARKEST = 10.0  # times the regret of the best


def ratio_matrix(study: StudyResult) -> pd.DataFrame:
    """Return mean regrets at the horizon divided by the smallest in the instance; NaN if the smallest is 0.

    Rows are the best variants of the families, the smallest geometric mean first; columns are the instances.

    Examples
    --------
    >>> import heavybandits as hb
    >>> policies = {"UCB": hb.UCB(), "KL-UCB": hb.KLUCB()}
    >>> result = hb.simulate(hb.env2(hb.Gaussian()), policies, horizon=100, replications=5)
    >>> families = {label: label for label in policies}
    >>> study = StudyResult("all", "All", "", {"Gaussian": result}, families, {}, {}, {})
    >>> float(ratio_matrix(study)["Gaussian"].min())
    1.0
    """
    means = _matrix(study, lambda result: result.regret.to_numpy()[:, :, -1].mean(axis=1))
    smallest = means.min(axis=0)
    ratios = means / smallest.where(smallest > 0)
    return ratios.loc[geometric_mean(ratios).sort_values(kind="stable").index]


def failure_matrix(study: StudyResult) -> pd.DataFrame:
    """Return the share of failed replications by policy, in the order of the study, and instance."""
    return _matrix(study, lambda result: result.failed.mean(axis=1))


def _matrix(study: StudyResult, measure: Callable[[Result], Any]) -> pd.DataFrame:
    columns = {instance: measure(result) for instance, result in study.results.items()}
    return pd.DataFrame(columns, index=list(study.families)).loc[list(best_variants(study))]


def geometric_mean(ratios: pd.DataFrame) -> pd.Series:
    """Return the geometric mean of each row, over the columns that have a number."""
    return np.exp(np.log(ratios).mean(axis=1))


def draw_matrix(study: StudyResult) -> Drawing:
    """Draw a cell per policy and instance: the ratio, coloured, with a mark where the policy fails."""
    ratios, names = ratio_matrix(study), best_variants(study)
    rows, columns = ratios.shape
    longest_row = max(len(names[label]) for label in ratios.index)
    longest_column = max(len(label) for label in ratios.columns)
    left, top = 0.25 + 0.075 * longest_row, 0.2 + 0.075 * longest_column * math.sin(math.radians(50))
    right = 0.3 + 0.075 * longest_column * math.cos(math.radians(50))
    width, height = left + 0.46 * (columns + 1) + right, top + 0.25 * rows + 0.1
    box = (left / width, 0.1 / height, 0.46 * (columns + 1) / width, 0.25 * rows / height)
    caption = (
        f"Mean regret at the horizon, over {replications(study)}, as a multiple of the lowest in that instance; 1 is "
        "the best. The first column is the geometric mean over all instances. A dot marks failure: at least "
        f"{FAILS:.0%} of the replications ended in linear regret."
    )

    def draw(figure: FigureBase) -> None:
        fails = failure_matrix(study).loc[ratios.index].to_numpy() >= FAILS
        _draw_cells(figure.add_axes(box), ratios, [names[label] for label in ratios.index], fails)

    return Drawing([Panel(study.title, width, height, draw)], caption + variants_note(study))


def _draw_cells(axes: Axes, ratios: pd.DataFrame, names: list[str], fails: Any) -> None:
    from matplotlib.colors import LogNorm

    from ..results.plot import plain

    values = np.column_stack([geometric_mean(ratios).to_numpy(), ratios.to_numpy()])
    axes.pcolormesh(values, cmap="YlGnBu", norm=LogNorm(1, DARKEST), edgecolors="white", linewidth=0.6)
    for row, column in np.ndindex(values.shape):
        value = float(values[row, column])
        dark = value > DARKEST**0.6
        axes.text(column + 0.5, row + 0.5, ratio_text(value), ha="center", va="center", fontsize=7,
                  color="white" if dark else "black", weight="bold" if column == 0 else "normal")  # fmt: skip
    marked = np.argwhere(fails)
    axes.scatter(marked[:, 1] + 1.88, marked[:, 0] + 0.22, marker="o", s=11, color=VERMILION, edgecolors="white",
                 linewidths=0.4)  # fmt: skip
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(np.arange(len(names)) + 0.5, list(map(plain, names)), fontsize=8)
    for name, tick in zip(names, axes.get_yticklabels(), strict=True):
        if look(name).colour == HERO:
            tick.set(color=HERO, weight="bold")
    axes.set_xticks(np.arange(values.shape[1]) + 0.5, ["all", *map(plain, ratios.columns)], fontsize=8, rotation=50,
                    ha="left", rotation_mode="anchor")  # fmt: skip
    axes.xaxis.tick_top()
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def ratio_text(value: float) -> str:
    """Return the ratio in about three characters.

    Examples
    --------
    >>> [ratio_text(value) for value in (1.0, 3.14159, 27.18, 2718.0, math.nan)]
    ['1.0', '3.1', '27', '2.7e3', '-']
    """
    if math.isnan(value):
        return "-"
    if value < 9.95:
        return f"{value:.1f}"
    return f"{value:.0f}" if value < 999.5 else f"{value:.1e}".replace("e+0", "e").replace("e+", "e")


def advice(study: StudyResult) -> list[str]:
    """Say which policy to use when, by rules from the matrix.

    The best overall has the smallest geometric mean of ratios over all instances.  If it fails in some instance (see
    ``FAILS``), the best of the policies that fail least often is named too.  The best under a noise has the smallest
    geometric mean over the instances with that noise, among the policies that never fail there if there are any.
    """
    ratios = ratio_matrix(study)
    fails = failure_matrix(study).loc[ratios.index] >= FAILS
    overall = geometric_mean(ratios)
    if overall.isna().all():
        return []
    first = overall.index[0]
    sentences = [f"Overall: {first}, {overall[first]:.2f} times the best on average, {_where(fails.loc[first])}."]
    if fails.loc[first].any():
        failures = fails.sum(axis=1)
        safest = failures.index[failures == failures.min()][0]
        need = "Every policy fails somewhere; least often" if failures.min() else "If it must never fail"
        sentences.append(
            f"{need}: {safest}, {overall[safest]:.2f} times the best on average, {_where(fails.loc[safest])}."
        )
    for noise, instances in _by_noise(study).items():
        mean = geometric_mean(ratios[instances])
        never = mean[~fails[instances].any(axis=1)]
        candidates = (never if len(never) else mean).dropna()
        if len(candidates):
            best = candidates.idxmin()
            sentences.append(
                f"Under {noise}: {best}, {mean[best]:.2f} times the best, {_where(fails.loc[best, instances])}."
            )
    return sentences


def _where(fails: pd.Series) -> str:
    count = int(fails.sum())
    return f"fails in {count} of {len(fails)} instances" if count else "never fails"


def _by_noise(study: StudyResult) -> dict[str, list[str]]:
    """Group the instances by the law of their noise."""
    groups: dict[str, list[str]] = {}
    for label, result in study.results.items():
        groups.setdefault(noise_of(result.instance), []).append(label)
    return groups
