"""Plots of logged rewards: a Hill plot, the tails, and drift."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._files import named
from ..logs.rewards import Rewards
from ..palette import FAINT, HUES, INK
from ..protocols import FloatArray, IntArray
from .changes import SURE_P_VALUE
from .shape import MEASURES, NOT_SOUGHT, Drift, Shape, level
from .tails import distances, hill_estimates, order_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS_PER_CURVE = 2000  # more could not be seen
WINDOWS = 50  # at most, in the plot of drift
FEWEST_IN_WINDOW = {"mean": 100, "location": 20}  # rewards in a window: means of rare rewards need many
FARTHEST_SHOWN = 1e250  # from zero that axes can show: margins and ticks need room beyond
NOTHING = "nothing to show: too few rewards differ"
SIDES = {"upper": 1, "lower": -1}


def save_plots(
    folder: Path, rewards: Rewards, residuals: FloatArray, pooled: Shape, arms: list[int], goal: str
) -> list[Path]:
    """Save the plots in a folder, which is created if needed, and return their paths; without arms, none of drift."""
    folder.mkdir(parents=True, exist_ok=True)
    if rewards.minimised:  # plots are in the units of the file, as the report is
        residuals, pooled = -residuals, pooled.mirrored()
    figures = {
        "hill": hill_plot(residuals, pooled),
        "tails": tail_plot(residuals, pooled),
    }
    if arms:
        figures["drift"] = drift_plot(rewards, arms[: len(HUES)], goal, pooled.drift)
    for name, figure in figures.items():
        with named(folder / f"{name}.png"):
            figure.savefig(folder / f"{name}.png", dpi=150)
    return [folder / f"{name}.png" for name in figures]


def hill_plot(residuals: FloatArray, pooled: Shape) -> Figure:
    """Plot Hill's estimates against the number of largest residuals used, beside the estimate in the report."""
    figure, axes = _figure("largest residuals used", "tail index", "Hill plot of the pooled residuals")
    top = 4.0
    for (side, sign), colour in zip(SIDES.items(), HUES, strict=False):
        sizes, (value, low, high) = distances(residuals, 0.0, sign), getattr(pooled, side)
        curve = hill_estimates(sizes)
        if len(sizes) < 3 or not np.isfinite(curve).any():
            continue
        shown = _spaced(len(curve))
        axes.plot(shown + 1, curve[shown], color=colour, label=f"{side} tail, Hill's estimate")
        if math.isfinite(value):
            top = max(top, min(1.5 * value, 12.0))
            bar = [[value - low], [min(high, 1e6) - value]]  # beyond the axes
            used = [order_count(len(sizes))]
            axes.errorbar(used, [value], bar, fmt="o", color=colour, capsize=4, label=f"{side} tail, as reported")
    for index, word, grey in ((0, "no mean", "0.85"), (1, "no variance", "0.93")):
        axes.axhspan(index, index + 1, color=grey, linewidth=0, zorder=0)
        axes.text(0.01, index + 0.5, word, transform=axes.get_yaxis_transform(), va="center", color=INK)
    axes.set(xscale="log", ylim=(0, top))
    return _finished(figure)


def tail_plot(residuals: FloatArray, pooled: Shape) -> Figure:
    """Plot the share of residuals beyond a distance, on logarithmic axes, beside a normal law of the same spread."""
    from scipy import special

    figure, axes = _figure("distance to the median", "share of residuals beyond", "Tails: power laws are straight")
    lowest, nearest = 1.0, math.inf
    for (side, sign), colour in zip(SIDES.items(), HUES, strict=False):
        sizes = np.clip(distances(residuals, 0.0, sign), 1 / FARTHEST_SHOWN, FARTHEST_SHOWN)
        if len(sizes):
            shown = _spaced(len(sizes))
            share = (shown + 1) / len(residuals)
            lowest, nearest = min(lowest, float(share[0])), min(nearest, float(np.median(sizes)) / 10)
            axes.plot(sizes[shown], share, ".", markersize=3, color=colour, label=f"{side} tail")
    if 0 < pooled.spread < np.inf:
        share = np.geomspace(lowest / 3, 0.45, 200)
        size = np.clip(-special.ndtri(share) * (pooled.spread / 1.349), 1 / FARTHEST_SHOWN, FARTHEST_SHOWN)
        axes.plot(size, share, ":", color=INK, linewidth=1, label="normal")
    axes.set(xscale="log", yscale="log")
    if nearest < math.inf:
        axes.set_xlim(left=nearest)
    return _finished(figure)


def drift_plot(rewards: Rewards, arms: list[int], goal: str, change: Drift = NOT_SOUGHT) -> Figure:
    """Plot the means of the arms over time, or their medians, in windows and in the file's units, and a sure change."""
    from ..results.plot import plain

    figure, axes = _figure("row, in order of time", f"{MEASURES[goal]} in a window", "Level of the arms over time")
    for arm, colour in zip(arms, HUES, strict=False):
        values, rows = rewards.by_arm[arm], rewards.rows[arm]
        windows = np.array_split(np.arange(len(values)), max(1, min(WINDOWS, len(values) // FEWEST_IN_WINDOW[goal])))
        levels = (-1 if rewards.minimised else 1) * np.array([level(values[window], goal) for window in windows])
        levels = np.where(np.isfinite(levels), np.clip(levels, -FARTHEST_SHOWN, FARTHEST_SHOWN), levels)
        axes.plot(
            [rows[window].mean() for window in windows], levels, ".-", color=colour, label=plain(rewards.labels[arm])
        )
    if change.p_value < SURE_P_VALUE:
        axes.axvline(change.after, color=INK, linestyle="--", linewidth=1, label="most likely change")
    return _finished(figure)


def _figure(xlabel: str, ylabel: str, title: str) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set_title(title, color=INK, fontweight="bold")
    return figure, axes


def _finished(figure: Figure) -> Figure:
    """Add the legend, or say why there is nothing to show."""
    (axes,) = figure.axes
    if axes.get_legend_handles_labels()[0]:
        figure.legend(frameon=False, loc="outside right upper", labelcolor=INK)
    else:
        axes.text(0.5, 0.75, NOTHING, transform=axes.transAxes, ha="center", va="center", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(which="both", labelcolor=INK, color=FAINT)
    return figure


def _spaced(size: int) -> IntArray:
    """Return as many of the numbers below ``size`` as can be told apart, even on a logarithmic axis."""
    return np.unique(np.geomspace(1, size, POINTS_PER_CURVE).astype(np.int64)) - 1
