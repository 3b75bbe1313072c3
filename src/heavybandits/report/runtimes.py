"""How long policies take to reach a mean regret: a table, and the share of replications that got there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..engine.results import StudyResult
from ..engine.time_to_target import late_quantile, pulls_to_target, seconds_to_target
from .style import Drawing, add_legend, look, shown, tidy, variants_note
from .tables import lowest

NOTE = (
    "Time and pulls are 90% quantiles over the replications that got there; here a replication fails if it never does. "
    "Time is pulls times what a pull costs the policy, the median over the replications, noise not included. The first "
    "fiftieth of the horizon does not count. In the LaTeX table the best is bold; of time and pulls, among policies "
    "that got there in at least half of the replications: the few replications in which a poor policy does are quick."
)


def targets(study: StudyResult) -> list[float]:
    """The mean regrets to reach."""
    return [float(target) for target in study.spec.get("report", {}).get("targets", (0.1, 0.05))]


def runtime_table(study: StudyResult) -> pd.DataFrame:
    """A row per instance and policy; per target the 90% quantiles of time and pulls, and the number of fails.

    The quantiles are over the replications that reached the target, and infinite if none did.

    Examples
    --------
    >>> import heavybandits as hb
    >>> instance = hb.Instance(means=[0, 1], noise=hb.Gaussian())
    >>> result = hb.simulate(instance, {"UCB": hb.UCB()}, horizon=1000, replications=3, checkpoints="all")
    >>> spec = {"report": {"figure": "runtime", "targets": [0.1]}}
    >>> study = StudyResult("time", "Time", "", {"two arms": result}, {"UCB": "UCB"}, {}, spec, {})
    >>> runtime_table(study).columns.tolist()
    ['instance', 'policy', 'ms to 0.1', 'pulls to 0.1', 'fails at 0.1']
    """
    rows = []
    for instance, result in study.results.items():
        reached = {target: (pulls_to_target(result, target), seconds_to_target(result, target))
                   for target in targets(study)}  # fmt: skip
        for place, label in enumerate(study.families):
            row: dict[str, Any] = {"instance": instance, "policy": label}
            for target, (pulls, seconds) in reached.items():
                row[f"ms to {target:g}"] = 1000 * float(late_quantile(seconds[place]))
                row[f"pulls to {target:g}"] = float(late_quantile(pulls[place]))
                row[f"fails at {target:g}"] = int(np.isinf(pulls[place]).sum())
            rows.append(row)
    return pd.DataFrame(rows)


def best_times(study: StudyResult, table: pd.DataFrame) -> dict[str, pd.Series]:
    """Which rows are the best, by column; a policy that fails in most replications cannot be the quickest."""
    replications = table["instance"].map({label: result.regret.shape[1] for label, result in study.results.items()})
    best = {}
    for target in targets(study):
        fails = table[f"fails at {target:g}"]
        best[f"fails at {target:g}"] = lowest(table, f"fails at {target:g}")
        for name in (f"ms to {target:g}", f"pulls to {target:g}"):
            best[name] = lowest(table.assign(**{name: table[name].where(fails <= replications / 2)}), name)
    return best


def draw_runtimes(study: StudyResult) -> Drawing:
    """The share of replications that reached each target against pulls; a row per instance, a column per target."""
    from matplotlib.figure import Figure

    names, order, goals = shown(study), list(study.families), targets(study)
    rows, columns = len(study.results), len(goals)
    width = max(5.5, 3.8 * columns)
    figure = Figure(figsize=(width, 1), dpi=150)
    grid = figure.subplots(rows, columns, squeeze=False)
    for row, (instance, result) in enumerate(study.results.items()):
        for column, target in enumerate(goals):
            axes, pulls = grid[row, column], pulls_to_target(result, target)
            for place, (label, name) in enumerate(names.items()):
                arrived = np.sort(pulls[order.index(label)])
                share = np.arange(1, len(arrived) + 1) / len(arrived)
                finite = np.isfinite(arrived)
                reached = share[finite][-1] if finite.any() else 0.0
                x = np.concatenate([[0.0], arrived[finite], [result.horizon]])
                y = np.concatenate([[0.0], share[finite], [reached]])
                axes.step(x, y, where="post", label=name, linewidth=1.6, **look(place))
            axes.set_title(f"{instance}: regret per pull below {target:g}", fontsize=10)
            axes.set(xlim=(0, result.horizon), ylim=(0, 1.02))
            tidy(axes)
        grid[row, 0].set_ylabel("share of replications", fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel("pulls", fontsize=9)
    legend = add_legend(figure, grid[0, 0], columns=max(2, int(width // 2.6)))
    height = 0.35 + 2.7 * rows + 0.5 + legend
    figure.set_size_inches(width, height)
    figure.subplots_adjust(
        left=0.6 / width, right=1 - 0.25 / width, top=1 - 0.35 / height, bottom=(0.5 + legend) / height, wspace=0.18,
        hspace=0.4,
    )  # fmt: skip
    caption = "Share of replications whose regret per pull has been below the target by then." + variants_note(study)
    return Drawing(figure, caption)
