"""Round numbers for the axes of pictures."""

from __future__ import annotations

import math

MOST_TICKS = 5
WIDTHS = 1e-300, 1e300  # between which ratios of widths neither overflow nor vanish


def has_room(low: float, high: float) -> bool:
    """Return whether an axis can be drawn between two numbers.

    Examples
    --------
    >>> has_room(0.0, 1.0), has_room(0.0, 1e308), has_room(0.0, 5e-324), has_room(-math.inf, math.inf)
    (True, False, False, False)
    """
    return WIDTHS[0] < high - low < WIDTHS[1]


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two others.

    Examples
    --------
    >>> ticks(-0.13, 0.52), ticks(5.1, 8.7)
    ([0.0, 0.2, 0.4], [6.0, 7.0, 8.0])
    """
    wide = high - low
    power = math.floor(math.log10(wide / MOST_TICKS))
    step = next(step for step in (1, 2, 5, 10) if wide / (step * 10.0**power) < MOST_TICKS)
    size = step * 10.0**power
    return [round(k * size, max(-power, 0)) for k in range(math.ceil(low / size), math.floor(high / size) + 1)]
