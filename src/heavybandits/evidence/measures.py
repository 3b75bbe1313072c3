"""What arms are compared by: the mean of clipped rewards, one measure for each clip, or a quantile."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Protocol

import numpy as np

from ..jit.background_compile import ChangingCode
from ..protocols import FloatArray
from .bets import HIGHER, RATIO_BLOCK, SIZED_UP, STATED, Border, Claim, log_evidence, lowest_mean, new_work
from .quantiles import gains, log_quantile_evidence, quantile_limits, roundest, shifted_slots
from .scale import CAPS, COLUMNS, RUNGS, TAU, WIDE, Clip, ladder
from .tally import Tally, counts_in_full, points_of

SHARES = (0.80, 0.08, 0.05, 0.04, 0.03)  # of delta, for each clip: most for the first, which needs the fewest rewards
RATIOS = range(-3, 8)  # blocks of ratios: up to 2^7.5, about 180
RATIO_CELLS = 128  # of a block: ratios are known to half a percent
COST_OF_MIXING = 2.0  # nats, about: what is lost because the best bet is not known
_HALVES = [0.5**k for k in range(13)]
SHIFT_BLOCKS = (*(-half for half in _HALVES), 0.0, *reversed(_HALVES))  # blocks of differences, in units of the clip
DIFFERENCE_BISECTIONS = 7
LARGEST_ASINH, QUANTILE_BISECTIONS = 7.0, 12  # differences of quantiles: up to 500 units of the scale


class Measure(Protocol):
    """A number for each arm that is to be high, with evidence about it."""

    share: float  # of delta
    limits: tuple[float, float]  # between which rewards count

    def estimates(self) -> FloatArray:
        """Return an estimate for each arm; NaN without rewards."""
        ...

    def log_evidence(
        self, b: int, a: int, *, eps: float = 0.0, times: float = 1.0, below: float = -math.inf,
        above: float = math.inf,
    ) -> float:  # fmt: skip
        """Return the logarithm of the evidence that b is better than a, or worse by less than ``eps``.

        It may stop as soon as that is sure to be below ``below`` or at least ``above``, with a result on that side.
        """
        ...

    def interval(self, arm: int, alpha: float) -> tuple[float, float]:
        """Return an interval that is wrong at any time with a probability of at most ``alpha``."""
        ...

    def least_difference(self, b: int, a: int, need: float) -> float:
        """Return a lower bound of b's number minus a's."""
        ...

    def least_ratio(self, b: int, a: int, need: float) -> float:
        """Return a lower bound of b's number, divided by a's; NaN if ratios make no sense."""
        ...


@cache
def _bets_on_means() -> ChangingCode:
    """Return :func:`log_evidence` and :func:`lowest_mean`; the types of their arguments never change."""
    common = SIZED_UP, new_work(SIZED_UP), np.zeros((1, COLUMNS)), Clip(0, COLUMNS - 1, 1.0)
    return ChangingCode(
        (log_evidence, *common, 0, 0, HIGHER, 1.0, False, 0.0, 0.0), (lowest_mean, *common, 0, False, 0.0)
    )


@cache
def _bets_on_quantiles() -> ChangingCode:
    """Return :func:`log_quantile_evidence`."""
    return ChangingCode(
        (log_quantile_evidence, SIZED_UP, gains(SIZED_UP, 0.5), np.zeros((1, 1)), np.zeros(1, np.int64), 0, 0, 1.0)
    )


class ClippedMean:
    """The mean of rewards, counted from one limit to another."""

    def __init__(self, tally: Tally, clip: Clip, share: float) -> None:
        self.tally, self.clip, self.share = tally, clip, share
        self.limits = clip.limits(tally.scale)
        self._bets = STATED if tally.scale[RUNGS] < CAPS and clip.spread == 1.0 else SIZED_UP
        self._work = new_work(self._bets)
        low, high = self.limits
        self._is_cost = high <= 0.0
        self._origin = -high / (high - low) if self._is_cost else low / (high - low)

    def estimates(self) -> FloatArray:
        """Return the means; NaN without rewards."""
        low, high = self.limits
        rows, (first, last, _) = self.tally.rows, self.clip
        inside = rows[:, first : last + 1] @ self.clip.x + rows[:, last + 1 :].sum(axis=1)
        with np.errstate(invalid="ignore"):
            return np.asarray(low + (high - low) * (inside / rows.sum(axis=1)))

    @property
    def first_mean(self) -> float:
        """The mean of the first rewards, which decided the scale, in units of the clip; 1/2 if there are none."""
        (low, high), (size, zeros) = self.limits, self.tally.sizes
        if size + zeros == 0:
            return 0.5
        inside = np.clip(np.append(self.tally.first[:size], 0.0), low, high)
        return float((inside[:-1].sum() + zeros * inside[-1]) / (size + zeros) - low) / (high - low)

    def log_evidence(
        self, b: int, a: int, *, eps: float = 0.0, times: float = 1.0, below: float = -math.inf,
        above: float = math.inf,
    ) -> float:  # fmt: skip
        """Return the logarithm of the evidence; see :class:`Measure`."""
        low, high = self.limits
        border = Border(1.0, -eps / (high - low))
        return self._claimed(b, a, Claim(border, border, border, 0.0), times, False, below, above)

    def log_ratio_evidence(self, b: int, a: int, ratio: float) -> float:
        """Return the logarithm of the evidence that b's mean exceeds a's times ``ratio``; 0 for rewards below zero."""
        if self._origin < 0.0 or self._is_cost:
            return 0.0
        border = Border(ratio, 0.0)
        claim = Claim(border, border, border, self._origin)
        return self._claimed(b, a, claim, 1.0, False, -math.inf, math.inf)

    def _claimed(
        self, b: int, a: int, claim: Claim, times: float, mirrored: bool, below: float, above: float
    ) -> float:  # fmt: skip
        evidence, _ = _bets_on_means().now()
        return float(
            evidence(self._bets, self._work, self.tally.rows, self.clip, b, a, claim, times, mirrored, below, above)
        )

    def interval(self, arm: int, alpha: float) -> tuple[float, float]:
        """Return an interval for the clipped mean; see :class:`Measure`."""
        low, high = self.limits
        if not self.tally.rows[arm].any():
            return low, high
        need = math.log(2.0 / alpha)
        _, lowest = _bets_on_means().now()
        ends = [lowest(self._bets, self._work, self.tally.rows, self.clip, arm, mirrored, need)
                for mirrored in (False, True)]  # fmt: skip
        return low + (high - low) * ends[0], high - (high - low) * ends[1]

    def least_difference(self, b: int, a: int, need: float) -> float:
        """Return a lower bound of the difference of two means.

        Differences within a block share their bets, for the same reason as ratios do.
        """
        low, high = self.limits
        bound = SHIFT_BLOCKS[0]
        for bottom, top in pairwise(SHIFT_BLOCKS):
            middle = Border(1.0, 0.5 * (bottom + top))

            def is_sure(shift: float, middle: Border = middle, top: float = top) -> bool:
                claim = Claim(Border(1.0, shift), middle, Border(1.0, top), 0.0)
                return self._claimed(b, a, claim, 1.0, False, need, need) >= need

            if not is_sure(top):
                bound = bisected(is_sure, bottom, top, DIFFERENCE_BISECTIONS)
                break
            bound = top
        return (high - low) * bound

    def least_ratio(self, b: int, a: int, need: float) -> float:
        """Return a lower bound of the ratio of two means that have one sign.

        Ratios within a block share their bets, so that the evidence falls as the ratio grows.  A bound that is too
        high needs too much evidence against the true ratio, with the bets of its block: one event for all bounds.
        """
        if self._origin < 0.0:
            return math.nan

        def is_sure(block: int, cell: int) -> bool:
            middle = RATIO_BLOCK**block
            top = middle * math.sqrt(RATIO_BLOCK)
            claim = Claim(Border(ratio(block, cell), 0.0), Border(middle, 0.0), Border(top, 0.0), self._origin)
            return self._claimed(b, a, claim, 1.0, self._is_cost, need, need) >= need

        def ratio(block: int, cell: int) -> float:
            return float(RATIO_BLOCK ** (block - 0.5 + cell / RATIO_CELLS))

        guess = self._likely_ratio(b, a, need)
        for block in RATIOS:
            if is_sure(block, RATIO_CELLS):
                continue
            likely = int(RATIO_CELLS * (guess - block + 0.5))
            cell = last_sure(partial(is_sure, block), RATIO_CELLS, likely)
            return ratio(block, cell) if cell > 0 or block > RATIOS[0] else 0.0
        return ratio(RATIOS[-1], RATIO_CELLS)

    def _likely_ratio(self, b: int, a: int, need: float) -> float:
        """Return in octaves where a lower bound of a ratio is if rewards are nearly normal: the search begins there."""
        rows, (first, last, _), x = self.tally.rows, self.clip, self.clip.x
        means, errors = [], []
        for row in (rows[b], rows[a]):
            n, above = max(float(row.sum()), 1.0), float(row[last + 1 :].sum())
            mean, square = ((float(row[first : last + 1] @ x**power) + above) / n for power in (1, 2))
            errors.append(2.0 * (need + COST_OF_MIXING) * (square - mean * mean) / n)
            means.append((1.0 - mean if self._is_cost else mean) + self._origin)
        product, denominator = means[0] * means[1], means[1] ** 2 - errors[1]
        root = product**2 - denominator * (means[0] ** 2 - errors[0])
        if denominator <= 0.0 or root < 0.0 or product <= math.sqrt(root):
            return RATIOS[0] - 0.5
        return math.log2((product - math.sqrt(root)) / denominator)


class Quantile:
    """A quantile of rewards, such as the median."""

    def __init__(self, tally: Tally) -> None:
        self.tally, self.share, self.limits = tally, 1.0, (-math.inf, math.inf)
        self._tau = float(tally.scale[TAU])
        self._points = points_of(tally.scale)
        self._gains = gains(SIZED_UP, self._tau)
        self._slots = {0.0: shifted_slots(self._points, 0.0)}

    def estimates(self) -> FloatArray:
        """Return the quantiles, to the resolution of the points; NaN without rewards."""
        upto = np.cumsum(self.tally.rows, axis=1)
        slots = (upto < self._tau * upto[:, -1:]).sum(axis=1)
        return np.array([self._between(slot, slot) if n else math.nan
                         for slot, n in zip(slots, upto[:, -1], strict=True)])  # fmt: skip

    def _between(self, first: int, last: int) -> float:
        low, high = self._end(first, 0), self._end(last, 1)
        if math.isfinite(low) and math.isfinite(high):
            return low if low == high else roundest(low, high)
        return high if math.isfinite(high) else low

    def _end(self, slot: int, side: int) -> float:
        """Return where a slot begins or ends."""
        j = slot // 2 if slot % 2 else slot // 2 - 1 + side
        return float(self._points[j]) if 0 <= j < len(self._points) else (math.inf if side else -math.inf)

    def log_evidence(
        self, b: int, a: int, *, eps: float = 0.0, times: float = 1.0, below: float = -math.inf,
        above: float = math.inf,
    ) -> float:  # fmt: skip
        """Return the logarithm of the evidence; see :class:`Measure`."""
        if eps not in self._slots:
            self._slots[eps] = shifted_slots(self._points, -eps)
        (evidence,) = _bets_on_quantiles().now()
        return float(evidence(SIZED_UP, self._gains, self.tally.rows, self._slots[eps], b, a, times))

    def interval(self, arm: int, alpha: float) -> tuple[float, float]:
        """Return an interval for the quantile; see :class:`Measure`."""
        first, last = quantile_limits(SIZED_UP, self._tau, self.tally.rows[arm], math.log(2.0 / alpha))
        return self._end(first, 0), self._end(last, 1)

    def least_difference(self, b: int, a: int, need: float) -> float:
        """Return a lower bound of the difference of two quantiles; all differences share their bets."""
        unit = float(self.tally.scale[WIDE])

        def is_sure(stretched: float) -> bool:
            return self.log_evidence(b, a, eps=-unit * math.sinh(stretched)) >= need

        if not is_sure(-LARGEST_ASINH):
            return -math.inf
        return unit * math.sinh(bisected(is_sure, -LARGEST_ASINH, LARGEST_ASINH, QUANTILE_BISECTIONS))

    def least_ratio(self, b: int, a: int, need: float) -> float:
        """Return NaN: ratios of quantiles are not supported."""
        return math.nan


def bisected(is_sure: Callable[[float], bool], low: float, high: float, times: int) -> float:
    """Return the largest of the numbers tried for which it is still sure; it is sure at ``low`` and not at ``high``.

    Examples
    --------
    >>> bisected(lambda x: x <= 0.3, 0.0, 1.0, 10)
    0.2998046875
    """
    for _ in range(times):
        middle = 0.5 * (low + high)
        if is_sure(middle):
            low = middle
        else:
            high = middle
    return low


def last_sure(is_sure: Callable[[int], bool], end: int, guess: int) -> int:
    """Return the last of the numbers from 0 on for which it is sure, near a guess if that is a good one.

    It is sure at 0 and not at ``end``.

    Examples
    --------
    >>> last_sure(lambda n: n <= 70, 128, 68), last_sure(lambda n: n <= 70, 128, -5)
    (70, 70)
    """
    low, high, step, at = 0, end, 1, guess if 0 < guess < end else end // 2
    while high - low > 1:
        if is_sure(at):
            low, following = at, at + step
        else:
            high, following = at, at - step
        at = following if low < following < high else (low + high) // 2
        step *= 2
    return low


def measures(tally: Tally) -> list[Measure]:
    """Return the measures of a tally whose scale is settled, from the narrowest clip to the widest.

    Coins have one: wider clips would say the same with less evidence.
    """
    if tally.scale[TAU] > 0.0:
        return [Quantile(tally)]
    clips = ladder(tally.scale)
    shares = SHARES if len(clips) > 1 else (1.0,)
    rungs = 1 if counts_in_full(tally) else len(clips)
    return [ClippedMean(tally, clip, share) for clip, share in zip(clips[:rungs], shares[:rungs], strict=True)]
