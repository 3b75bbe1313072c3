"""The style of the site's pictures."""

from typing import Any

import matplotlib as mpl

from heavybandits.palette import FAINT, INK

STYLE: dict[str, Any] = {
    "figure.figsize": (7.2, 4.2),
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 200,
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}


def set_style(gallery: dict[str, Any], file: str) -> None:
    """Set the style before each script of the gallery."""
    mpl.rcParams.update(STYLE)
