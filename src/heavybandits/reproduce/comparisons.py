"""Comparisons that decide a claim, and how many replications they would need.

A rule turns a claim into *comparisons*.  Each has a margin, which is positive if the comparison supports the claim, and
the standard error of that margin over paired replications.  The claim

- *holds* if every margin is above zero by Student's t test,
- *does not hold* if one margin is below zero by that test, its level divided by the number of comparisons, because one
  of many may be low by chance (Bonferroni),
- is *undecided* otherwise, or if the studies lack what the claim is about.

A claim may be looked at up to eight times, each time with twice the replications of the time before.  Each look may err
with probability 5% / 8, so the verdict on a claim is wrong with probability at most 5%, however many looks it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from scipy.special import stdtr, stdtrit

from .measures import Measured, value_and_error

MOST_LOOKS = 8
LOOK_LEVEL = 0.05 / MOST_LOOKS


class Comparison(NamedTuple):
    """What is compared, in words and numbers, and the margin with its standard error and its degrees of freedom."""

    words: str
    margin: float
    error: float
    freedom: int

    @classmethod
    def of(cls, words: str, margin: Measured) -> Comparison:
        """Return the comparison with a measured margin."""
        return cls(words, margin.value, margin.error, margin.freedom)

    @property
    def strength(self) -> float:
        """The margin in standard errors."""
        if not self.margin or math.isnan(self.margin) or math.isinf(self.error):
            return 0.0
        return self.margin / self.error if self.error else math.copysign(math.inf, self.margin)

    def speaks_for(self) -> bool:
        """Return whether the margin is significantly above zero, at the level of one look."""
        return float(stdtr(self.freedom, -self.strength)) < LOOK_LEVEL

    def speaks_against(self, comparisons: int) -> bool:
        """Return whether the margin is significantly below zero, as one of several comparisons."""
        return float(stdtr(self.freedom, self.strength)) < LOOK_LEVEL / comparisons

    def __str__(self) -> str:
        return f"{self.words}; margin {value_and_error(self.margin, self.error)}"


class Rule(NamedTuple):
    """How a claim is decided: in words, and as comparisons in the claim's study and any others that it needs."""

    words: str
    compare: Callable[..., Iterable[Comparison]]
    families: tuple[str, ...] = ()  # whose policies it compares
    needs: tuple[str, ...] = ()  # other studies


def growth_needed(comparisons: Sequence[Comparison]) -> float:
    """Return the factor by which replications must grow for these margins to decide a claim.

    Errors fall with the square root of the number of replications; margins are assumed to stay as they are.

    Examples
    --------
    >>> for_it, against, neither = (Comparison("", margin, 1.0, 59) for margin in (1.0, -0.5, 0.0))
    >>> [round(growth_needed(group), 1) for group in ([for_it], [for_it, against], [neither])]
    [6.6, 32.2, inf]
    """
    weakest = min(comparisons, key=lambda comparison: comparison.strength)
    level = LOOK_LEVEL if weakest.strength > 0 else LOOK_LEVEL / len(comparisons)
    if not weakest.strength:
        return math.inf
    return float((stdtrit(weakest.freedom, level) / weakest.strength) ** 2)
