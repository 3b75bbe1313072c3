"""The evidence about arms, for people: sentences, a table, a picture."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._format import html_table, number, text_table
from .._validate import require_extra, visible
from ..protocols import FloatArray
from .measures import Measure, measures
from .tally import Tally, is_sized_up
from .verdict import Forecast, Peaks, Verdict, judge
from .words import (
    Terms,
    counting,
    lift_in_words,
    odds,
    sentences,
    shares_of,
    shown,
    sizing_up,
    starved,
    tail_warning,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..results.plot import NotebookFigure

ROWS = 20  # arms in the printed table
LARGEST_LOG = 700.0  # whose exponential is a float


class ArmEvidence(NamedTuple):
    """What is known about one arm; NaN where nothing is.  See :attr:`Evidence.table`."""

    arm: str
    n: int
    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    lift: float = math.nan
    lift_low: float = math.nan
    lift_high: float = math.nan
    evidence: float = 1.0
    p: float = 1.0


class Evidence:
    """What is known about arms, valid at all times and however they were chosen.

    :func:`compare` makes it.  ``print`` shows the sentences and the table; a notebook shows it by itself.

    Attributes
    ----------
    winner
        The arm that is shown to be better than every other one, or None.
    leader
        The arm with the best estimate, or the winner; None before any reward counts.
    sentences
        What is known, in plain words.
    forecast
        How many more decisions a verdict takes if things go on as so far, with a range; None if it is too early to say
        or nothing is left to decide.
    cap
        From which amount to which rewards count in these statements; None before that is decided.
    left_out
        How many of the first rewards were left out because they decided the cap.

    Examples
    --------
    >>> import heavybandits as hb
    >>> found = hb.compare({"blue": [0.0, 1.0] * 100, "green": [1.0, 1.0, 1.0, 0.0] * 50}, cap=1.0)
    >>> found.winner, found.leader
    ('green', 'green')
    >>> print(found.sentences[0])
    green is the winner: it earns more than the other arm.
    >>> found.table[["arm", "n", "estimate"]].to_dict("list")
    {'arm': ['green', 'blue'], 'n': [200, 200], 'estimate': [0.75, 0.5]}
    """

    def __init__(
        self, tally: Tally, terms: Terms, peaks: Peaks | None = None, *, level: float | None = None,
        closest: int | None = None, ladder: list[Measure] | None = None,
    ) -> None:  # fmt: skip
        self._tally, self._terms = tally, terms
        self._rows: dict[tuple[str, bool], ArmEvidence] = {}  # that were asked for
        self._verdict: Verdict | None = None
        if is_sized_up(tally):
            self._verdict = judge(tally, ladder or measures(tally), level or terms.delta, terms.eps, peaks, closest)
        leader = -1 if self._verdict is None else self._verdict.leader
        self.leader: str | None = terms.arms[leader] if leader >= 0 else None
        self.winner: str | None = self.leader if self._verdict is not None and self._verdict.is_winner else None
        self.forecast: Forecast | None = None if self._verdict is None else self._verdict.forecast
        self.left_out = int(tally.n.sum() - round(float(tally.rows.sum())))

    @property
    def measure(self) -> Measure | None:
        """What arms are compared by; None before that is decided."""
        return None if self._verdict is None else self._verdict.measure

    @property
    def cap(self) -> tuple[float, float] | None:
        """From which amount to which rewards count."""
        if self._verdict is None:
            return None
        low, high = sorted(self._terms.sign * limit for limit in self._verdict.measure.limits)
        return low + 0.0, high + 0.0

    @property
    def counted(self) -> str:
        """Between what rewards count, in words; empty if all of them count in full, or nothing is decided yet."""
        return "" if self._verdict is None else counting(self._tally, self._verdict, self._terms)

    @property
    def is_close(self) -> bool:
        """Whether no arm is better than the leader by more than eps."""
        return self._verdict is not None and self._verdict.is_close

    @property
    def starved(self) -> str | None:
        """The one of the leader and its closest rival that gets too few decisions to be judged soon."""
        verdict = self._verdict
        if verdict is None or verdict.is_winner or verdict.rival < 0 or math.isnan(self._estimates[verdict.rival]):
            return None
        arm = starved(verdict, shares_of(self._tally))
        return self._terms.arms[arm] if arm >= 0 else None

    @property
    def warns(self) -> bool:
        """Whether rewards beyond the cap may make another arm better than the leader."""
        verdict = self._verdict
        return self._terms.is_mean and verdict is not None and verdict.leader >= 0 and (
            tail_warning(self._tally, verdict) >= 0
        )  # fmt: skip

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What is known, in plain words."""
        verdict, terms = self._verdict, self._terms
        if verdict is None:
            return tuple(sizing_up(self._tally, terms))
        lift = math.nan
        if self.winner is not None:
            row = self.about(self.winner)
            lift = -row.lift_high if terms.minimise else row.lift_low
        return tuple(sentences(self._tally, verdict, terms, lift))

    def _lift(self, verdict: Verdict, arm: int, need: float) -> tuple[float, float]:
        """Return bounds of an arm's lift over the control."""
        measure, control = verdict.measure, self._terms.control
        low, other = measure.least_ratio(arm, control, need), measure.least_ratio(control, arm, need)
        return low - 1.0, 1.0 / other - 1.0 if other > 0.0 else (math.nan if math.isnan(other) else math.inf)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each arm, the best first.

        The columns are ``arm``; ``n``, its rewards; ``estimate``, with the interval from ``low`` to ``high``; ``lift``
        over the control, with the interval from ``lift_low`` to ``lift_high``, as fractions; ``evidence`` that the
        leader is better than this arm, for the leader the least against any other arm; ``p``, the always-valid p-value
        of the same.  Each interval is wrong at any time with a probability of at most delta.
        """
        import pandas as pd

        others = [self.about(arm) for arm in self._order()[ROWS:]]
        return pd.DataFrame([row._asdict() for row in (*self._printed, *others)])

    @cached_property
    def _printed(self) -> list[ArmEvidence]:
        """The rows of the table that are printed."""
        return [self.about(arm) for arm in self._order()[:ROWS]]

    def about(self, arm: str, lift: bool = True) -> ArmEvidence:
        """Return what is known about one arm: its row of the table; the bounds of a lift take the longest."""
        if (arm, lift) not in self._rows:
            self._rows[arm, lift] = self._about(arm, lift)
        return self._rows[arm, lift]

    def _about(self, arm: str, lift: bool) -> ArmEvidence:
        terms, verdict, number = self._terms, self._verdict, self._terms.arms.index(arm)
        n = int(self._tally.n[number])
        if verdict is None:
            return ArmEvidence(arm, n)
        measure, alpha = verdict.measure, terms.delta * verdict.measure.share
        low, high = sorted(terms.sign * end for end in measure.interval(number, alpha))
        log = float(verdict.logs[verdict.rival if number == verdict.leader else number])
        if len(terms.arms) == 1:
            log = 0.0  # there is nothing to be better than
        lifts = self._lifts(verdict, measure, number, alpha) if lift else (math.nan, math.nan, math.nan)
        estimate, evidence = terms.sign * float(self._estimates[number]), math.exp(min(log, LARGEST_LOG))
        return ArmEvidence(arm, n, estimate, low + 0.0, high + 0.0, *lifts, evidence, min(1.0, math.exp(-log)))

    def difference(self, arm: str) -> tuple[float, float, float]:
        """Return an arm's difference to the control with bounds, which are wrong at any time as rarely as verdicts.

        Examples
        --------
        >>> import heavybandits as hb
        >>> coins = {"blue": [0.0, 1.0] * 100, "green": [1.0, 1.0, 1.0, 0.0] * 50}
        >>> [round(end, 2) for end in hb.compare(coins, control="blue", cap=1.0).difference("green")]
        [0.25, 0.09, 0.41]
        """
        verdict, terms, number = self._verdict, self._terms, self._terms.arms.index(arm)
        if verdict is None or terms.control < 0:
            return math.nan, math.nan, math.nan
        if number == terms.control:
            return 0.0, 0.0, 0.0
        measure, sign, need = verdict.measure, terms.sign, math.log(2.0 / (terms.delta * verdict.measure.share))
        low = sign * measure.least_difference(number, terms.control, need)
        high = -sign * measure.least_difference(terms.control, number, need)
        low, high = sorted((low, high))
        return sign * float(self._estimates[number] - self._estimates[terms.control]), low, high

    @cached_property
    def _estimates(self) -> FloatArray:
        """The measure's estimates, as rewards."""
        return np.full(len(self._terms.arms), math.nan) if self._verdict is None else self._verdict.measure.estimates()

    @cached_property
    def estimates(self) -> dict[str, float]:
        """What arms are compared by; NaN without rewards that count."""
        return dict(zip(self._terms.arms, (self._terms.sign * self._estimates).tolist(), strict=True))

    def _order(self) -> list[str]:
        """Return the arms, the best first, or as they were given before any reward counts."""
        order = np.argsort(-np.nan_to_num(self._estimates, nan=-math.inf), kind="stable").tolist()
        if self._verdict is not None and self._verdict.leader >= 0:
            order.remove(self._verdict.leader)
            order.insert(0, self._verdict.leader)
        return [self._terms.arms[number] for number in order]

    def _lifts(self, verdict: Verdict, measure: Measure, arm: int, alpha: float) -> tuple[float, float, float]:
        """Return an arm's lift over the control, with bounds: those of the winner hold together with the verdict."""
        control = self._terms.control
        if control < 0 or not self._terms.is_mean:
            return math.nan, math.nan, math.nan
        if arm == control:
            return 0.0, 0.0, 0.0
        is_winner = verdict.is_winner and arm == verdict.leader
        low, high = self._lift(verdict, arm, verdict.need if is_winner else math.log(2.0 / alpha))
        base = float(self._estimates[control])
        lift = float(self._estimates[arm]) / base - 1.0 if base != 0.0 and not math.isnan(low) else math.nan
        return lift, low, high

    def __repr__(self) -> str:
        return f"Evidence(winner={self.winner!r}, leader={self.leader!r}, n={int(self._tally.n.sum())})"

    def __str__(self) -> str:
        return visible("\n".join((*self.sentences, "", text_table(*self._cells()), *self._notes())))

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{html.escape(visible(line))}</p>" for line in (*self.sentences, *self._notes()))
        return said + html_table("Evidence", *self._cells())

    def _notes(self) -> list[str]:
        """Say which rows are not shown, and which rewards were left out."""
        notes = []
        if len(self._terms.arms) > ROWS:
            notes.append(f"The table shows {ROWS} of {len(self._terms.arms)} arms.")
        if self.left_out and self._verdict is not None:
            what = "how far rewards count" if self._terms.is_mean else "how finely rewards are counted"
            notes.append(f"The first {self.left_out} rewards decided {what}, and are left out of everything else.")
        if self.left_out and self.cap is not None and self._terms.is_mean and not self.counted:
            coin, noun = shown(max(self.cap, key=abs)), self._terms.noun
            notes.append(f"Every {noun} so far was 0 or {coin}; all of this takes for granted that no other comes.")
        return notes

    def _cells(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Return the head and the rows of the table, as text."""
        lifted = self._terms.control >= 0 and self._terms.is_mean
        head = ["arm", "n", "estimate", "low", "high", *(["lift"] if lifted else []), "evidence", "p"]
        rows = []
        for row in self._printed:
            lift = [lift_in_words(row.lift, row.lift_low, row.lift_high)] if lifted else []
            cells = [number(end) for end in (row.estimate, row.low, row.high)]
            log = math.log(max(row.evidence, 1e-300))
            rows.append([row.arm, f"{row.n:,}", *cells, *lift, odds(log), f"{row.p:.2g}"])
        return head, rows

    def plot(self) -> NotebookFigure:
        """Return a figure with the estimates and intervals of the arms."""
        require_extra("plot", "matplotlib")
        from .picture import plot_intervals

        return plot_intervals(self.table, self.winner, self._label())

    def _label(self) -> str:
        """Return what the axis of the figure shows."""
        terms = self._terms
        what = f"{terms.measure} {'cost' if terms.minimise else 'reward'}" if not terms.is_mean else (
            f"mean {'cost' if terms.minimise else 'reward'}"
        )  # fmt: skip
        return f"{what}, {self.counted}" if self.counted else what
