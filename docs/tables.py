"""What the scripts that print tables of the pages share."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def row(*cells: str) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def head(*cells: str) -> str:
    """Return the head of a table in Markdown."""
    return f"{row(*cells)}\n|{'---|' * len(cells)}"


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(list(values)))))


def print_ratio(name: str, ratio: float) -> None:
    """Print a ratio that the page states in a sentence."""
    print(f"{name}: {ratio:.2f}")
