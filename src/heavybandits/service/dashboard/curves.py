"""Curves over time, drawn on the server; each has its name at its end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..._format import number
from ..events import iso
from .axes import has_room, ticks
from .known import Known
from .panels import hue
from .traffic import DAY_MICROSECONDS

SIZE = 1000  # of the square in which paths are drawn
TOPS = (0.1, 0.2, 0.5, 1.0)  # of the axis of shares
LARGEST_DRAWN = 1e300  # estimate, in absolute value: sums and differences of some are finite
LABEL_GAP = 8.0  # percent of the height between two labels
MOST_MOMENTS = 40  # whose values a picture tells
LAST_MICROSECONDS = {"day": DAY_MICROSECONDS, "week": 7 * DAY_MICROSECONDS}  # that may be looked at alone
FEWEST_SPANS = 4  # in a window, or there is nothing to see


class Curve(NamedTuple):
    """The curve of an arm, and where its label stands, in percent from the top."""

    name: str
    hue: int
    path: str
    label_at: float
    latest: str


class Moment(NamedTuple):
    """A time at which a picture tells the values of its curves, and the part of the picture that shows them."""

    x: int
    width: int
    time: str
    values: list[str]


class Chart(NamedTuple):
    """Curves with their axes, and their values in words."""

    title: str
    lines: list[Curve]
    ticks: list[tuple[float, str]]
    begin: str
    end: str
    moments: list[Moment]


def windows(known: Known) -> list[str]:
    """Return which windows leave something out, and show something."""
    totals = known.totals
    starts = [span.start for span in totals.spans]
    return [name for name, wide in LAST_MICROSECONDS.items()
            if FEWEST_SPANS <= sum(start >= totals.last_t - wide for start in starts) < len(starts)]  # fmt: skip


def charts(known: Known, window: str = "") -> list[Chart]:
    """Return the share of decisions and the policy's estimates over time, of the arms that are drawn."""
    since = known.totals.last_t - LAST_MICROSECONDS.get(window, known.totals.last_t)
    both = zip(known.totals.spans, known.estimates, strict=True)
    kept = [(span, each) for span, each in both if span.start >= since]
    spans = [span for span, _ in kept]
    if not spans:
        return []
    made = [sum(row[0] for row in span.arms.values()) for span in spans]
    shares = {name: _shares([span.arms.get(name, [0.0])[0] for span in spans], made) for name in known.drawn.values()}
    estimates = {
        name: [value if abs(value := each.get(name, math.nan)) <= LARGEST_DRAWN else math.nan
               for _, each in kept]
        for name in known.drawn.values()
    }  # fmt: skip
    times = [span.start for span in spans]
    largest = max((share for line in shares.values() for share in line if math.isfinite(share)), default=1.0)
    top = next(top for top in TOPS if largest <= top)
    drawn = []
    if known.spec.points is None:  # which would all be for one arm
        drawn.append(_chart("Share of decisions", known, times, shares, (0.0, top), "{:.0%}".format, "{:.0%}".format))
    values = [value for line in estimates.values() for value in line if math.isfinite(value)]
    if values:
        low, high = min(values), max(values)
        room = 0.05 * (high - low) or abs(high) or 1.0
        low, high = low - room, high + room
        if not has_room(low, high):
            return drawn
        where = {"arms": "of each arm", "linear": "of each arm at average features", "lipschitz": "at the best point"}
        what = f"What the policy expects {where[known.spec.kind]}"
        drawn.append(_chart(what, known, times, estimates, (low, high), number, "{:g}".format))
    return drawn


def _shares(counts: list[float], made: list[float]) -> list[float]:
    """Return the shares of an arm; the last span has just begun, so while it has few decisions, the one before counts.

    Examples
    --------
    >>> _shares([50.0, 20.0, 0.0], [100.0, 95.0, 5.0]), _shares([1.0, 0.0], [4.0, 0.0])
    ([0.5, 0.21..., 0.2], [0.25, 0.25])
    """
    if len(made) > 1 and made[-1] < made[-2]:
        counts, made = [*counts[:-1], sum(counts[-2:])], [*made[:-1], sum(made[-2:])]
    return [count / total if total else math.nan for count, total in zip(counts, made, strict=True)]


def _chart(
    title: str, known: Known, times: list[int], columns: dict[str, list[float]], limits: tuple[float, float],
    shown: Callable[[float], str], mark: Callable[[float], str],
) -> Chart:  # fmt: skip
    low, high = limits

    def height(value: float) -> float:
        return (high - value) / (high - low)

    positions = {name: position for position, name in known.drawn.items()}
    latest = {name: next((v for v in reversed(line) if math.isfinite(v)), math.nan) for name, line in columns.items()}
    names = sorted((name for name in columns if math.isfinite(latest[name])), key=lambda name: height(latest[name]))
    places = spread([100.0 * height(latest[name]) for name in names], LABEL_GAP)
    lines = [
        Curve(name, hue(positions[name]), path(times, [height(v) for v in columns[name]]), place, shown(latest[name]))
        for name, place in zip(names, places, strict=True)
    ]
    marks = [(100.0 * height(value), mark(value)) for value in ticks(low, high)]
    begin, end = (_minute(t) for t in (times[0], max(known.totals.last_t, times[-1])))
    values = [[shown(v) if math.isfinite(v) else "-" for v in columns[name]] for name in names]
    return Chart(title, lines, marks, begin, end, list(picked_moments(times, values)))


def picked_moments(times: Sequence[int], values: list[list[str]]) -> Iterator[Moment]:
    """Yield some of the times, the latest among them, with the part of the picture that is nearest to each.

    Examples
    --------
    >>> [(one.x, one.width, one.values) for one in picked_moments([0, 1, 4], [["1", "2", "3"]])]
    [(0, 125, ['1']), (125, 500, ['2']), (625, 375, ['3'])]
    """
    step = math.ceil(len(times) / MOST_MOMENTS)
    picked = list(range(len(times) - 1, -1, -step))[::-1]
    first, wide = times[0], max(times[-1] - times[0], 1)
    places = [SIZE * (times[k] - first) / wide for k in picked]
    edges = [0, *[round((a + b) / 2) for a, b in pairwise(places)], SIZE]
    for k, (left, right) in zip(picked, pairwise(edges), strict=True):
        yield Moment(left, right - left, _minute(times[k]), [row[k] for row in values])


def _minute(t: int) -> str:
    return iso(t)[:16].replace("T", " ")


def path(times: Sequence[int], heights: Sequence[float]) -> str:
    """Return a curve as an SVG path in a square of 1000 by 1000, with gaps where a height is missing.

    Examples
    --------
    >>> path([0, 1, 2, 4], [0.0, 0.5, math.nan, 1.0]), path([7], [0.25])
    ('M0 0L250 500M1000 1000h1', 'M0 250h1000')
    """
    first, wide = times[0], times[-1] - times[0]
    if wide == 0:
        return f"M0 {SIZE * heights[0]:.0f}h{SIZE}" if math.isfinite(heights[0]) else ""
    parts: list[str] = []
    length = 0
    for t, height in zip(times, heights, strict=True):
        if not math.isfinite(height):
            parts += ["h1"] * (length == 1)
            length = 0
            continue
        parts.append(f"{'L' if length else 'M'}{SIZE * (t - first) / wide:.0f} {SIZE * height:.0f}")
        length += 1
    return "".join([*parts, *["h1"] * (length == 1)])


def spread(places: list[float], gap: float) -> list[float]:
    """Move sorted places apart, within 0 and 100 if they fit.

    Examples
    --------
    >>> spread([10.0, 11.0, 50.0, 99.0, 100.0], 8.0)
    [10.0, 18.0, 50.0, 92.0, 100.0]
    """
    down: list[float] = []
    for place in places:
        down.append(max(place, down[-1] + gap) if down else place)
    up: list[float] = []
    for place in reversed(down):
        up.append(min(place, up[-1] - gap if up else 100.0))
    return up[::-1]
