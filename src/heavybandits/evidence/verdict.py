"""Which arm leads, whether it is shown to be the best, and how many more decisions that may take."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..protocols import FloatArray
from .measures import Measure
from .tally import Tally

Peaks = dict[tuple[int, int, int], float]  # the highest log-evidence so far, by clip, better arm and worse arm

TOO_EARLY = 1.0  # below this log-evidence, forecasts err by factors of 3 and more
FARTHEST = 64.0  # times the rewards so far
CLOSEST_RIVALS = 3  # for which the forecast is worked out; the slowest counts
FORECAST_RANGE = (0.29, 4.8)  # times the forecast: the truth lies there three times in four
FORECAST_STEP = 1.05


class Forecast(NamedTuple):
    """How many more decisions a verdict takes, if things go on as so far; three times in four it is from low to high.

    It is infinite if that is more than 64 times the decisions so far.
    """

    decisions: float
    low: float
    high: float


class Verdict(NamedTuple):
    """What is known about the arms, by their numbers."""

    measure: Measure  # what the verdict is about: the widest clip with a winner, else the narrowest
    leader: int  # -1 if no arm has rewards that count
    is_winner: bool
    logs: FloatArray  # log-evidence that the leader beats each arm, at its highest so far; NaN for those not looked at
    need: float  # what a winner needs against every rival
    rival: int  # the one with the least evidence against it, or -1
    is_close: bool  # no arm is better than the leader by eps
    forecast: Forecast | None  # None if it is too early, or nothing is left to forecast


class _Rung:
    """One clip, with the pairs of arms that were looked at, today and before."""

    def __init__(self, number: int, measure: Measure, tally: Tally, delta: float, peaks: Peaks) -> None:
        self.number, self.measure, self.peaks, self.n = number, measure, peaks, tally.rows.sum(axis=1)
        self.need = math.log(len(self.n) / (delta * measure.share))
        self.estimates = measure.estimates()
        self.leader = -1 if np.isnan(self.estimates).all() else int(np.nanargmax(self.estimates))
        self.today: dict[tuple[int, int], float] = {}

    def peak(self, b: int, a: int) -> float:
        """Return the highest log-evidence so far that b beats a."""
        return self.peaks.get((self.number, b, a), -math.inf)

    def look(self, b: int, a: int, below: float = -math.inf) -> float:
        """Return the highest log-evidence so far, today's included, or something below ``below``."""
        if (b, a) not in self.today:
            log = self.measure.log_evidence(b, a, below=below)
            if log < below:
                return log
            self.today[b, a] = self.peaks[self.number, b, a] = max(log, self.peak(b, a))
        return self.today[b, a]

    def rivals(self, arm: int) -> list[int]:
        """Return all other arms, those first that are likely to be the closest."""
        n = np.maximum(self.n, 0.5)
        with np.errstate(over="ignore"):
            gaps = np.abs(np.nan_to_num(self.estimates[arm] - self.estimates)) / np.sqrt(1.0 / n + 1.0 / n[arm])
        return [rival for rival in np.argsort(gaps, kind="stable").tolist() if rival != arm]

    def winner(self) -> int:
        """Return the arm that is shown to beat all others, or -1; stop at the first rival that it does not beat."""
        rivals = range(len(self.n))
        for arm in sorted({b for rung, b, _ in self.peaks if rung == self.number}, key=lambda b: b != self.leader):
            if all(rival == arm or self.peak(arm, rival) >= self.need for rival in rivals):
                return arm
        if self.leader < 0 or len(self.n) == 1:
            return -1
        for rival in self.rivals(self.leader):
            if self.peak(self.leader, rival) < self.need and self.look(self.leader, rival, self.need) < self.need:
                return -1
        return self.leader


def judge(
    tally: Tally, ladder: list[Measure], delta: float, eps: float | None = None, peaks: Peaks | None = None,
    closest: int | None = None, forecasts: bool = True,
) -> Verdict:  # fmt: skip
    """Look at the arms, and note what is now known in ``peaks``: what has been shown once stays shown.

    Evidence against each rival takes time; with many arms it is enough to look at the ``closest``.
    Forecasts take longer still, so they can be left out.
    """
    n_arms, winner = len(tally.n), -1
    peaks = {} if peaks is None else peaks
    for number in reversed(range(len(ladder))):
        rung = _Rung(number, ladder[number], tally, delta, peaks)
        winner = rung.winner()
        if winner >= 0:
            break
    measure, need, leader = rung.measure, rung.need, winner if winner >= 0 else rung.leader
    if leader < 0 or n_arms == 1:
        return Verdict(measure, leader, False, np.full(n_arms, math.inf), need, -1, False, None)
    rivals = rung.rivals(leader)
    logs = np.full(n_arms, math.inf)
    logs[rivals] = math.nan
    looked_at = rivals[:closest]
    logs[looked_at] = [rung.look(leader, arm) for arm in looked_at]
    rival = int(np.nanargmin(logs))
    is_close = eps is not None and all(
        measure.log_evidence(leader, arm, eps=eps, below=need, above=need) >= need for arm in rivals
    )
    forecast = None
    if forecasts and winner < 0 and logs[rival] >= TOO_EARLY:
        slowest = sorted(looked_at, key=lambda arm: float(logs[arm]))[:CLOSEST_RIVALS]
        forecast = _forecast(tally, measure, leader, slowest, need)
    return Verdict(measure, leader, winner >= 0, logs, need, rival, is_close, forecast)


def _forecast(tally: Tally, measure: Measure, leader: int, rivals: list[int], need: float) -> Forecast:
    """Multiply all rewards until the evidence suffices against each of the rivals."""
    low, high = 1.0, FARTHEST

    def is_enough(times: float) -> bool:
        return all(measure.log_evidence(leader, arm, times=times, below=need, above=need) >= need for arm in rivals)

    if not is_enough(high):
        return Forecast(math.inf, math.inf, math.inf)
    while high / low > FORECAST_STEP:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    more = (high - 1.0) * float(tally.rows.sum())
    return Forecast(more, *(factor * more for factor in FORECAST_RANGE))
