"""A picture of what is known: estimates and intervals of arms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..palette import BLUE, HERO, INK
from ..results.plot import NotebookFigure, plain

if TYPE_CHECKING:
    import pandas as pd

MOST_ARMS = 40


def plot_intervals(table: pd.DataFrame, winner: str | None, label: str) -> NotebookFigure:
    """Draw one line for each arm, the best on top; the winner has its own colour."""
    table = table.head(MOST_ARMS)
    figure = NotebookFigure(figsize=(6.4, 0.9 + 0.3 * len(table)), layout="constrained")
    axes = figure.add_subplot()
    low, high = (np.clip(table[name].to_numpy(float), -1e300, 1e300) for name in ("low", "high"))
    for at, (arm, estimate) in enumerate(zip(table["arm"], table["estimate"], strict=True)):
        colour = HERO if arm == winner else BLUE
        if np.isfinite(low[at]) and np.isfinite(high[at]):
            axes.plot([low[at], high[at]], [at, at], color=colour, linewidth=2.0, solid_capstyle="round")
        if np.isfinite(estimate):
            axes.plot([estimate], [at], "o", color=colour, markersize=6)
    axes.set_yticks(range(len(table)), [plain(str(arm)) for arm in table["arm"]])
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.set_xlabel(plain(label), color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
