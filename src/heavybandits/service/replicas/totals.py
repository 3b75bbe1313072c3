"""What a page shows of an experiment, kept up to date event by event so that pages need not read the log.

Sizes are bounded: a sample of fixed size stands for an arm's rewards, the largest rewards are kept, and time is cut
into spans that double in length when there are too many.
"""

from __future__ import annotations

import copy
import heapq
import math
from collections.abc import Callable

import numpy as np
from msgspec import Struct, field

from ...protocols import FloatArray
from ..events import Event

SAMPLED_REWARDS = 512  # rewards kept per arm
LARGEST_REWARDS = 10  # rewards kept for their size
MOST_SPANS = 120  # of time, at most
SHORTEST_SPAN_MICROSECONDS = 1_000_000  # microseconds that a span has at first
HASH_FACTOR, HASH_MODULUS = 0x9E3779B97F4A7C15, 1 << 63  # multiples of the first, modulo the second, are spread evenly
HASH_INVERSE = np.uint64(
    pow(HASH_FACTOR, -1, HASH_MODULUS)
)  # times a hash, modulo the second, is the number that it was made from


class ArmTotals(Struct):
    """Counts and sums of one arm."""

    decisions: int = 0
    by_policy: int = 0
    rewards: int = 0  # finite ones are in the sums
    infinite: int = 0
    zeros: int = 0
    total: float = 0.0
    squares: float = 0.0
    reported: int = 0  # rewards of decisions, counted when they came
    delay: float = 0.0  # seconds until they came, summed
    late: int = 0
    given_up: int = 0
    provisional: int = 0  # decisions whose windows are open, and that count as the default or as what has come so far
    sample: list[tuple[int, float]] = field(default_factory=list)  # a heap, by a hash of the sequence number

    def in_order(self) -> FloatArray:
        """Return the rewards of the sample in the order in which they came.

        Examples
        --------
        >>> ArmTotals(sample=[(seq * HASH_FACTOR % HASH_MODULUS, float(seq)) for seq in (7, 2, 9)]).in_order().tolist()
        [2.0, 7.0, 9.0]
        """
        sample = list(self.sample)  # in one step, because the log's thread may add to it
        chances = np.array([chance for chance, _ in sample], np.uint64)
        values = np.array([value for _, value in sample], np.float64)
        return values[
            np.argsort(chances * HASH_INVERSE % np.uint64(HASH_MODULUS))
        ]  # products wrap at a multiple of the modulus


class Span(Struct):
    """What happened in a span of time: by arm, the decisions, the rewards and their sum; at its end, the estimates."""

    start: int
    arms: dict[str, list[float]]
    estimates: dict[str, float]


class Large(Struct, order=True):
    """One of the largest rewards."""

    size: float
    value: float
    arm: str
    key: str | None
    t: int


class Totals(Struct):
    """All of an experiment's totals."""

    arms: dict[str, ArmTotals] = field(default_factory=dict)
    width: int = SHORTEST_SPAN_MICROSECONDS
    spans: list[Span] = field(default_factory=list)
    largest: list[Large] = field(default_factory=list)
    first_t: int | None = None
    last_t: int = 0

    def copied(self) -> Totals:
        """Return a copy for another thread to look at, which later events do not change, except for the samples.

        Copying those would take longer than all the rest; whoever needs one finds it with later rewards at worst.

        Examples
        --------
        >>> totals = Totals(arms={"a": ArmTotals(rewards=1)}, spans=[Span(0, {"a": [1.0, 1.0, 1.0]}, {})])
        >>> before = totals.copied()
        >>> totals.arms["a"].rewards += 1
        >>> totals.spans[0].arms["a"][0] += 1
        >>> before.arms["a"].rewards, before.spans[0].arms
        (1, {'a': [1.0, 1.0, 1.0]})
        """
        found = copy.copy(self)
        found.arms = {name: copy.copy(arm) for name, arm in self.arms.items()}
        found.spans = [Span(span.start, dict(span.arms), span.estimates) for span in self.spans]
        if found.spans:
            found.spans[-1].arms = _copied(found.spans[-1].arms)  # only there are rows changed
        found.largest = list(self.largest)
        return found

    def decided(self, event: Event, estimates: Callable[[], dict[str, float]]) -> None:
        """Count a decision."""
        arm = str(event.arm)
        totals = self.arms[arm]
        totals.decisions += 1
        if event.reason == "policy":
            totals.by_policy += 1
        self._in_span(arm, event.t, estimates)[0] += 1

    def reported(self, event: Event) -> None:
        """Count how long a reward took."""
        totals = self.arms[str(event.arm)]
        totals.reported += 1
        totals.delay += (event.t - (event.since or event.t)) / 1e6

    def rewarded(self, event: Event, estimates: Callable[[], dict[str, float]]) -> None:
        """Count a reward that was learned."""
        arm, value = str(event.arm), float(event.value or 0.0)
        totals = self.arms[arm]
        totals.rewards += 1
        if math.isinf(value):
            totals.infinite += 1
        else:
            totals.zeros += value == 0.0
            totals.total += value
            totals.squares += value * value
            row = self._in_span(arm, event.t, estimates)
            row[1] += 1
            row[2] += value
        chance = event.seq * HASH_FACTOR % HASH_MODULUS
        if len(totals.sample) < SAMPLED_REWARDS:
            heapq.heappush(totals.sample, (chance, value))
        elif chance > totals.sample[0][0]:  # the largest hashes are kept
            heapq.heapreplace(totals.sample, (chance, value))
        size = abs(value)
        if len(self.largest) < LARGEST_REWARDS or size > self.largest[0].size:
            heapq.heappush(self.largest, Large(size, value, arm, event.key, event.t))
            if len(self.largest) > LARGEST_REWARDS:
                heapq.heappop(self.largest)

    def _in_span(self, arm: str, t: int, estimates: Callable[[], dict[str, float]]) -> list[float]:
        """Return the arm's row in the span of this time, or in the latest one if the clock went back."""
        spans = self.spans
        if not spans or t >= spans[-1].start + self.width:
            if spans:
                spans[-1].estimates = estimates()
            else:
                self.first_t = t
            self._begin(t)
        self.last_t = max(self.last_t, t)
        return spans[-1].arms.setdefault(arm, [0.0, 0.0, 0.0])

    def _begin(self, t: int) -> None:
        """Begin a span, doubling the length of all until there are few enough."""
        while len(self.spans) >= MOST_SPANS:
            self.width *= 2
            self._merge()
        self.spans.append(Span(t - t % self.width, {}, {}))
        self._merge()

    def _merge(self) -> None:
        merged: list[Span] = []
        for span in self.spans:
            start = span.start - span.start % self.width
            if not merged or merged[-1].start < start:
                merged.append(Span(start, span.arms, span.estimates))
                continue
            for arm, row in span.arms.items():
                old = merged[-1].arms.setdefault(arm, [0.0, 0.0, 0.0])
                merged[-1].arms[arm] = [a + b for a, b in zip(old, row, strict=True)]
            merged[-1].estimates = span.estimates or merged[-1].estimates
        merged[-1].arms = _copied(merged[-1].arms)  # some may be rows of a span that a copy has too
        self.spans[:] = merged


def _copied(arms: dict[str, list[float]]) -> dict[str, list[float]]:
    """Return the rows of a span as lists of their own."""
    return {arm: row.copy() for arm, row in arms.items()}
