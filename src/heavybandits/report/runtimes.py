"""How long policies take to reach a target regret per pull: a table, and the share of replications that reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..palette import look
from ..protocols import FloatArray
from ..results.study_result import StudyResult
from ..results.time_to_target import late_quantile, pulls_to_target, seconds_to_target
from .curves import mark_lines
from .drawing import Drawing, Panel, best_variants, replications, variants_note
from .tables import lowest_of_instance

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

NOTE = (
    "Time and pulls are 90% quantiles over the replications that reach the target. Time is pulls times the policy's "
    "median cost per pull, without drawing the noise. The first fiftieth of the horizon does not count. The best is "
    "bold; for time and pulls, only policies that reach the target in at least half of the replications compete."
)


def runtime_table(study: StudyResult) -> pd.DataFrame:
    """Return a row per instance and policy: for each target the 90% quantiles of time and pulls, and failures.

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
                   for target in study.targets}  # fmt: skip
        for row_number, label in enumerate(study.families):
            row: dict[str, Any] = {"instance": instance, "policy": label}
            for target, (pulls, seconds) in reached.items():
                row[f"ms to {target:g}"] = 1000 * float(late_quantile(seconds[row_number]))
                row[f"pulls to {target:g}"] = float(late_quantile(pulls[row_number]))
                row[f"fails at {target:g}"] = int(np.isinf(pulls[row_number]).sum())
            rows.append(row)
    return pd.DataFrame(rows)


def best_times(study: StudyResult, table: pd.DataFrame) -> dict[str, pd.Series]:
    """Return which rows are best, by column; a policy that fails in most replications cannot be the fastest."""
    replications = table["instance"].map({label: result.regret.shape[1] for label, result in study.results.items()})
    best = {}
    for target in study.targets:
        fails = table[f"fails at {target:g}"]
        best[f"fails at {target:g}"] = lowest_of_instance(table, f"fails at {target:g}")
        for name in (f"ms to {target:g}", f"pulls to {target:g}"):
            best[name] = lowest_of_instance(table.assign(**{name: table[name].where(fails <= replications / 2)}), name)
    return best


def draw_runtimes(study: StudyResult) -> Drawing:
    """Draw the share of replications that reached each target against pulls; a panel per instance and target."""
    names, order = best_variants(study), list(study.families)

    def panel(instance: str, target: float) -> Panel:
        result = study.results[instance]
        reached = pulls_to_target(result, target)
        pulls = {family: reached[order.index(label)] for label, family in names.items()}
        heading = f"{instance}: regret per pull below {target:g}"

        def draw(figure: FigureBase) -> None:
            _draw_panel(figure, heading, pulls, result.horizon)

        return Panel(heading, 4.4, 2.75, draw)

    panels = [panel(instance, target) for instance in study.results for target in study.targets]
    caption = (
        f"Share of {replications(study)} whose regret per pull has fallen below the target by then. Higher and further "
        "to the left is better."
    )
    return Drawing(panels, caption + variants_note(study))


def _draw_panel(figure: FigureBase, heading: str, pulls: dict[str, FloatArray], horizon: int) -> None:
    from ..results.plot import name_lines, plain, tidy

    axes = figure.add_axes((0.14, 0.16, 0.57, 0.72))
    lines = []
    for name, arrivals in sorted(pulls.items(), key=lambda one: look(one[0]).width):
        arrived = np.sort(arrivals)
        share = np.arange(1, len(arrived) + 1) / len(arrived)
        finite = np.isfinite(arrived)
        end = share[finite][-1] if finite.any() else 0.0
        x = np.concatenate([[0.0], arrived[finite], [horizon]])
        y = np.concatenate([[0.0], share[finite], [end]])
        lines += axes.plot(x, y, drawstyle="steps-post", label=plain(name), **look(name).line)
    axes.set(xlim=(0, horizon), ylim=(0, 1.02), xlabel="pulls", ylabel="share of replications")
    axes.set_title(plain(heading), loc="left")
    tidy(axes)
    name_lines(axes, lines)
    mark_lines(axes)
