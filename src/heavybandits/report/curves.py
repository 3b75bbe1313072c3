"""Regret over rounds, one panel per instance, with the final regret of each replication below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..palette import FAINT, INK, Look, look
from ..protocols import FloatArray, IntArray
from ..results.result import Result
from ..results.stored_instance import PlayedInstance
from ..results.study_result import StudyResult
from .drawing import FONT_SIZE, Drawing, Panel, best_variants, by_fame, listing, replications, variants_note

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

MOST_PANELS, CHECKPOINTS_PER_CURVE = 24, 200
MOST_STRIPS = 12  # policies whose replications are shown one by one
MOST_DOTS = 300  # replications shown per policy


def draw_curves(study: StudyResult) -> Drawing:
    """Draw regret over rounds, a panel per instance."""
    from ..results.plot import limit_shown

    names, instances = best_variants(study), list(study.results.items())[:MOST_PANELS]
    strips = len(names) if len(names) <= MOST_STRIPS else 0
    band = banded(study)

    def panel(label: str, result: Result) -> Panel:
        def draw(figure: FigureBase) -> None:
            _draw_panel(figure, title(label, result.instance), result, list(study.families), names, band, strips)

        return Panel(label, 4.4, 2.75 + (0.6 + 0.16 * strips if strips else 0), draw)

    text = f"Mean regret over {replications(study)} on common noise."
    if band:
        text += f" The bands hold 80% of the replications of {listing(band)}; a few bad replications can lift a mean "
        text += "above its band."
    if strips:
        text += " Below: the final regret of each replication, with a bar at the median."
    text += " An arrow marks a policy that leaves the panel, with its last value."
    rows = [list(study.families).index(label) for label in names]
    thin = [(*thinned(result), result.lai_robbins_slope) for _, result in instances]
    if any(limit_shown(rounds, regret[rows].mean(axis=1), slope) for rounds, regret, slope in thin):
        text += " The dotted line has the slope that no policy can beat as the horizon grows (Lai and Robbins)."
    if len(study.results) > MOST_PANELS:
        text += f" Only the first {MOST_PANELS} of {len(study.results)} instances are drawn."
    return Drawing([panel(*one) for one in instances], text + variants_note(study))


def banded(study: StudyResult) -> list[str]:
    """Return the two families with a band: the hero, if it plays, and the best of the others."""
    final = {family: float(np.mean([np.log(np.maximum(result.regret.sel(policy=label).to_numpy()[:, -1].mean(), 1e-300))
                                    for result in study.results.values()]))
             for family, label in study.best.items()}  # fmt: skip
    order = sorted(final, key=final.__getitem__)
    return by_fame(order)[:1] + [name for name in order if name != by_fame(order)[0]][:1]


def _draw_panel(
    figure: FigureBase, heading: str, result: Result, order: list[str], names: dict[str, str], band: list[str],
    strips: int,
) -> None:  # fmt: skip
    from ..results.plot import plain, plot_regret

    rounds, regret = thinned(result)
    curves = {family: regret[order.index(label)] for label, family in names.items()}
    if strips:
        low = 0.42 + 0.16 * strips
        upper, lower = _axes(figure, low + 0.55, 2.0), _axes(figure, 0.42, 0.16 * strips)
        draw_strip(lower, {name: curves[name][:, -1] for name in by_fame(list(curves))})
    else:
        upper = _axes(figure, 0.42, 2.0)
    plot_regret(upper, rounds, curves, band, limit=result.lai_robbins_slope)
    mark_lines(upper)
    upper.set_title(plain(heading), loc="left")
    upper.set(ylabel="regret", xlabel="pulls")


def _axes(figure: FigureBase, bottom: float, height: float) -> Axes:
    """Add axes at a position given in inches, with room for names on the right."""
    sheet: Any = figure  # a Figure or a SubFigure, which both have a size
    size = sheet.bbox.width / sheet.dpi, sheet.bbox.height / sheet.dpi
    return figure.add_axes((0.55 / size[0], bottom / size[1], 2.3 / size[0], height / size[1]))


def mark_lines(axes: Axes) -> None:
    """Tag the lines of policies, so that the page can show their values under the pointer."""
    for line in axes.lines:
        if line.get_label() != "Lai-Robbins":
            line.set_gid(str(line.get_label()).replace(r"\$", "$"))


def draw_strip(axes: Axes, final: dict[str, FloatArray]) -> None:
    """Draw a row of dots per policy, one per replication, and a bar at the median."""
    from matplotlib.ticker import FuncFormatter

    from ..results.plot import brief, few_log_ticks, plain, short

    values = np.concatenate(list(final.values()))
    positive = values[values > 0]
    floor = float(positive.min()) if len(positive) else 1.0
    for row, (name, regrets) in enumerate(final.items()):
        drawn = look(name)
        at = np.maximum(regrets[:MOST_DOTS], floor)  # a logarithmic axis has no zero
        spread = (np.arange(len(at)) * 0.618034 % 1.0 - 0.5) * 0.6
        _dots(axes, at, row + spread, drawn)
        middle = max(float(np.median(regrets)), floor)
        axes.plot([middle, middle], [row - 0.42, row + 0.42], color=drawn.colour, linewidth=1.8, zorder=4)
        axes.text(1.02, row, plain(brief(name)), transform=axes.get_yaxis_transform(), color=drawn.text, va="center",
                  fontsize=FONT_SIZE - 1, weight="bold" if drawn.width > 2 else "normal")  # fmt: skip
    axes.set(xscale="log", xlim=(floor / 1.2, 1.2 * max(float(values.max()), floor)), ylim=(len(final) - 0.4, -0.6))
    few_log_ticks(axes.xaxis)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.set_yticks([])
    axes.tick_params(colors=INK, length=3, color=FAINT, labelsize=FONT_SIZE - 1)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.set_xlabel("final regret of each replication")


def _dots(axes: Axes, x: FloatArray, y: Any, drawn: Look) -> None:
    """Draw round dots as one path, a tenth of the size of separate markers."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    ends = np.stack([np.column_stack([x, y]), np.column_stack([x * 1.0005, y])], axis=1).reshape(-1, 2)
    path = Path(ends, [Path.MOVETO, Path.LINETO] * len(x))
    path.should_simplify = False
    patch: Any = PathPatch(path, edgecolor=drawn.colour, facecolor="none", linewidth=2.2, capstyle="round", alpha=0.45,
                           snap=False)  # fmt: skip
    axes.add_patch(patch)


def title(label: str, instance: PlayedInstance) -> str:
    """Say which instance a panel shows and what it is.

    Examples
    --------
    >>> import heavybandits as hb
    >>> title("Env2", hb.env2(hb.Cauchy())), title("shop", hb.Instance([0, 1, 5], hb.Cauchy()))
    ('Env2: 10 arms, 0.1 apart', 'shop: 3 arms')
    """
    if "arms" in label:
        return label
    steps = np.diff(np.sort(instance.means))
    apart = f", {steps[0]:.3g} apart" if len(steps) and np.allclose(steps, steps[0]) and steps[0] > 0 else ""
    return f"{label}: {instance.n_arms} arm{'s' * (instance.n_arms != 1)}{apart}"


def thinned(result: Result) -> tuple[IntArray, FloatArray]:
    """Return rounds and regret at no more checkpoints than a curve needs, including the last."""
    rounds, regret = result.regret["round"].to_numpy(), result.regret.to_numpy()
    if len(rounds) > CHECKPOINTS_PER_CURVE:
        kept = np.unique(np.linspace(0, len(rounds) - 1, CHECKPOINTS_PER_CURVE).astype(int))
        rounds, regret = rounds[kept], regret[:, :, kept]
    return rounds, regret
