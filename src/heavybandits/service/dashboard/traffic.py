"""How many decisions an experiment makes, from the spans of time that its totals keep."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..replicas.totals import Totals

DAY_MICROSECONDS = 86_400_000_000
SHORTEST_MICROSECONDS = 3_600_000_000  # over less, no pace is told


class Traffic(NamedTuple):
    """Decisions by span of time."""

    first_t: int
    last_t: int  # of the latest decision or reward; 0 if there was none
    width: int  # microseconds of a span
    spans: tuple[tuple[int, float], ...]  # when each begins, and how many decisions it has

    def between(self, since: int, until: int) -> float:
        """Return about how many decisions there were: those of a span count in part if only a part of it is asked for.

        Examples
        --------
        >>> Traffic(0, 25, 10, ((0, 8.0), (10, 4.0), (20, 6.0))).between(15, 30)
        8.0
        """
        found = 0.0
        for start, count in self.spans:
            end = min(start + self.width, max(self.last_t, start) + 1)
            inside = min(end, until) - max(start, since)
            found += count * min(max(inside / (end - start), 0.0), 1.0)
        return found

    @property
    def per_day(self) -> float:
        """Decisions a day, at the pace of the last day before the latest event; NaN if it is too early to tell."""
        since = max(self.first_t, self.last_t - DAY_MICROSECONDS)
        if self.last_t - since < SHORTEST_MICROSECONDS:
            return math.nan
        return self.between(since, self.last_t + 1) * DAY_MICROSECONDS / (self.last_t - since)


def traffic(totals: Totals) -> Traffic:
    """Return the traffic of an experiment."""
    spans = tuple((span.start, sum([row[0] for row in span.arms.values()])) for span in totals.spans)
    return Traffic(totals.first_t or 0, totals.last_t, totals.width, spans)
