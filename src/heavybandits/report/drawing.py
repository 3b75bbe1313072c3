"""What all figures share: panels, how they make one figure, and how each becomes a picture in the page."""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..palette import FAINT, HERO, HUES, INK, NIGHT, Look, look, readable
from ..results.study_result import StudyResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

PANELS_IN_A_ROW = 3
FONT_SIZE = 8.5  # points
STYLE: Any = {"font.size": FONT_SIZE, "axes.titlesize": 9.5, "axes.titleweight": "bold", "axes.labelsize": FONT_SIZE,
              "axes.facecolor": "none", "text.color": INK, "axes.labelcolor": INK, "svg.fonttype": "path"}  # fmt: skip


class Panel(NamedTuple):
    """A part of a figure that can also stand alone."""

    title: str
    width: float  # inches
    height: float
    draw: Callable[[FigureBase], None]


class Drawing(NamedTuple):
    """A figure, in panels of one size, and the text that belongs under it."""

    panels: list[Panel]
    caption: str

    @property
    def figure(self) -> Figure:
        """All panels in one figure."""
        from matplotlib import rc_context
        from matplotlib.figure import Figure

        columns = min(PANELS_IN_A_ROW, len(self.panels))
        rows = -(-len(self.panels) // columns)
        width, height = self.panels[0].width * columns, self.panels[0].height * rows
        with rc_context(STYLE):
            figure = Figure(figsize=(width, height), dpi=150)
            parts = figure.subfigures(rows, columns, squeeze=False)
            for panel, part in zip(self.panels, parts.flat, strict=False):
                panel.draw(part)
        return figure


class PanelPicture(NamedTuple):
    """A panel in the page."""

    title: str
    svg: str
    data: list[dict[str, Any]]  # the values shown under the pointer, by axis


def save(figure: Figure, stem: Path) -> None:
    """Write ``stem.png``, ``stem.svg`` and ``stem.pdf``; the same figure always gives the same bytes."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "heavybandits"}):
        figure.savefig(f"{stem}.png")
        figure.savefig(f"{stem}.svg", metadata={"Date": None})
        figure.savefig(f"{stem}.pdf", metadata={"CreationDate": None})


def picture(panel: Panel, name: str) -> PanelPicture:
    """Draw a panel for the page: an SVG in the page's font and colours, with the values to show under the pointer.

    Parameters
    ----------
    panel
        What to draw.
    name
        A name that is unique on the page.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    file = io.StringIO()
    with rc_context({**STYLE, "svg.fonttype": "none", "svg.hashsalt": name}):
        figure = Figure(figsize=(panel.width, panel.height))
        figure.patch.set_alpha(0)
        panel.draw(figure)
        figure.savefig(file, format="svg", metadata={"Date": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)  # the page sets the size
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)  # other panels have the same ids
    svg = re.sub(r"\d+\.\d{3,}", lambda match: f"{float(match[0]):.2f}", svg)  # a hundredth of a point cannot be seen
    svg = re.sub(r"#[0-9a-f]{6}", lambda match: variable(match[0]), svg)
    return PanelPicture(panel.title, svg, [values for axes in figure.axes if (values := _values(axes))])


def _values(axes: Axes) -> dict[str, Any] | None:
    """Return the position of an axis in its panel, as fractions, and the lines on it."""
    lines = [line for line in axes.lines if line.get_gid()]
    if not lines:
        return None
    box = axes.get_window_extent().transformed(axes.figure.transFigure.inverted())
    return {
        "box": [round(value, 4) for value in (box.x0, 1 - box.y1, box.width, box.height)],
        "x": [*map(float, axes.get_xlim())], "y": [*map(float, axes.get_ylim())],
        "unit": axes.get_xlabel(), "share": axes.get_ylabel().startswith("share"),
        "lines": [{"name": line.get_gid(), "colour": variable(str(line.get_color())),
                   "step": line.get_drawstyle() == "steps-post",
                   "points": [[_rounded(x), _rounded(y)] for x, y in np.asarray(line.get_xydata())]}
                  for line in lines],
    }  # fmt: skip


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


def variable(colour: str) -> str:
    """Return the CSS variable of a palette colour, which changes in dark mode; other colours stay as they are."""
    return f"var(--c-{colour[1:]})" if colour in page_colours() else colour


@functools.cache
def page_colours() -> Mapping[str, str]:
    """Return the dark-mode counterpart of each colour of the palette."""
    ours = [colour for hue in (HERO, *HUES) for colour in (hue, Look(hue, (), 1).text)]
    return {**{colour: readable(colour, NIGHT) for colour in ours}, INK: "#c9d1dc", FAINT: "#4a515c"}


def best_variants(study: StudyResult) -> dict[str, str]:
    """Return the families that are drawn, by the label of their best variant."""
    return {label: family for family, label in study.best.items()}


def by_fame(names: list[str]) -> list[str]:
    """Return the names with the hero first, otherwise in order."""
    return sorted(names, key=lambda name: look(name).colour != HERO)


def replications(study: StudyResult) -> str:
    """Say over how many replications a mean is taken.

    Examples
    --------
    >>> import heavybandits as hb
    >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=10, replications=5)
    >>> replications(StudyResult("cauchy", "Cauchy noise", "", {"Env2": result}, {"UCB": "UCB"}, {}, {}, {}))
    '5 replications'
    """
    counts = sorted({result.regret.shape[1] for result in study.results.values()})
    text = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{text} replication{'s' * (counts != [1])}"


def variants_note(study: StudyResult) -> str:
    """Say what was left out, if anything was."""
    if len(study.best) == len(study.families):
        return ""
    return (
        " Each policy is shown at its best setting: the one with the lowest mean regret over the instances in the even "
        "replications. The numbers shown are over all replications, which flatters that choice slightly."
    )


def listing(words: list[str]) -> str:
    """Join words with commas and a final "and".

    Examples
    --------
    >>> listing(["a"]), listing(["a", "b"]), listing(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
