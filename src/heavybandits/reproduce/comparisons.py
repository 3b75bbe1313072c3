"""Comparisons that decide a claim, and how many replications they would need.

A rule turns a claim into *comparisons*.  Each is made of two statements about independent replications: one that
supports the claim and one that contradicts it, with evidence for each (:mod:`heavybandits.evidence.statements`).  The
claim

- *holds* if every comparison supports it with evidence of at least 20 : 1,
- *does not hold* if one of J comparisons contradicts it with evidence of at least 20 J : 1,
- is *undecided* otherwise, or if the studies lack what the claim is about.

If the claim is wrong, so is a statement that supports it, and evidence of 20 : 1 for a wrong statement ever comes with
a probability of at most 1/20.  If the claim is right, all J statements that contradict it are wrong, and evidence of
20 J : 1 for one of them ever comes with a probability of at most J/(20 J).  So the verdict on a claim is wrong with a
probability of at most 5%, whatever the law of regret is, and however often one looks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..evidence.statements import MeanAbove, Statement
from .measures import Measured

ERROR = 0.05  # the probability of a wrong verdict, at most
LONGEST = 2.0**20  # times the replications: beyond, there is no forecast
MOST_ODDS = 1_000_000


class Comparison(NamedTuple):
    """What is compared, in words and numbers, and the statements that support and contradict the claim."""

    words: str
    supporting: Statement
    contradicting: Statement
    margin: str = ""  # in words, if it is a mean

    @classmethod
    def of(cls, words: str, margin: Measured) -> Comparison:
        """Return the comparison with a margin whose mean is claimed to be above 0."""
        above, below = MeanAbove(margin.numbers, -margin.low), MeanAbove(-margin.numbers, margin.high)
        return cls(words, above, below, str(margin))

    @property
    def strength(self) -> float:
        """The logarithm of the evidence for the claim, divided by that against it."""
        return self.supporting.log_evidence() - self.contradicting.log_evidence()

    def speaks_for(self) -> bool:
        """Return whether there is enough evidence for the claim."""
        return self.supporting.log_evidence() >= math.log(1.0 / ERROR)

    def speaks_against(self, comparisons: int) -> bool:
        """Return whether there is enough evidence against the claim in one of several comparisons."""
        return self.contradicting.log_evidence() >= math.log(comparisons / ERROR)

    def __str__(self) -> str:
        odds = f"{_odds(self.supporting)} for it, {_odds(self.contradicting)} against it"
        return f"{self.words}; {f'margin {self.margin}; ' if self.margin else ''}evidence {odds}"


class Rule(NamedTuple):
    """How a claim is decided: in words, and as comparisons in the claim's study and any others that it needs."""

    words: str
    compare: Callable[..., Iterable[Comparison]]
    families: tuple[str, ...] = ()  # whose policies it compares
    needs: tuple[str, ...] = ()  # other studies


def growth_needed(comparisons: Sequence[Comparison]) -> float:
    """Return the factor by which replications must grow to decide a claim, if they go on like those so far.

    Examples
    --------
    >>> import numpy as np
    >>> def comparison(mean: float) -> Comparison:
    ...     return Comparison.of("", Measured(np.full(100, mean), -1.0, 1.0))
    >>> for_it, against, neither = map(comparison, (0.01, -0.01, 0.0))
    >>> [round(growth_needed(group), 1) for group in ([for_it], [for_it, against], [neither])]
    [3.8, 4.6, inf]
    """
    for_it = max(_times(comparison.supporting, 1.0 / ERROR) for comparison in comparisons)
    against = min(_times(comparison.contradicting, len(comparisons) / ERROR) for comparison in comparisons)
    return min(for_it, against)


def _times(statement: Statement, odds: float) -> float:
    """Return how many times the numbers must come to show a statement; infinity if that is not in sight."""
    need, low, high = math.log(odds), 0.0, 1.0
    while statement.log_evidence(high) < need:
        low, high = high, 2.0 * high
        if high > LONGEST:
            return math.inf
    while high - low > 0.01 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if statement.log_evidence(middle) < need else (low, middle)
    return high


def _odds(statement: Statement) -> str:
    """Return the evidence for a statement in words, rounded down."""
    odds = math.exp(min(statement.log_evidence(), 99.0))
    if odds < 1.0:
        return "below 1 : 1"
    return f"over {MOST_ODDS:,} : 1" if odds > MOST_ODDS else f"{math.floor(odds):,} : 1"
