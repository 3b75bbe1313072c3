"""What a log says about an experiment: the verdict on the reward, with the checks and metrics that belong to it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._format import number as formatted
from ..._format import plural
from ..._validate import visible
from ...protocols import FloatArray, IntArray
from ..measures import ClippedMean, measures
from ..report import Evidence
from ..scale import ladder
from ..tally import Tally, counts_in_full, has_one_sign, is_sized_up, plain_means
from ..words import ONE_EACH, Terms, counting_between, shown
from .adjusted import Adjusted, AdjustedMean
from .guardrails import GuardrailState
from .once import FoldSums, OnceDifference
from .sample_ratio import FALSE_ALARMS, SampleRatio

if TYPE_CHECKING:
    import pandas as pd

MOST_SHARES = 5  # arms whose share beyond the cap is told
MOST_SHARE_DIGITS = 9  # of a share: the others are rounding errors


@dataclass
class Extras:
    """What is known beside the verdict on the reward."""

    sample_ratio: SampleRatio | None = None
    guardrails: Sequence[GuardrailState] = ()
    metrics: Mapping[str, Evidence] = field(default_factory=dict)
    once: Sequence[OnceDifference] = ()
    before: str | None = None
    adjusted: Adjusted | None = None
    sticky: bool = False
    dropped: int = 0  # rows that lack a value


class LogEvidence(Evidence):
    """What :func:`compare` finds in a log: evidence about arms, with checks, guardrails and other metrics.

    Attributes
    ----------
    sample_ratio
        How the arms' counts fit the planned shares, if there is a plan.
    guardrails
        What is known about each guardrail and arm.
    metrics
        The evidence by other metrics.
    once
        Differences to the control for those who look once, at the planned end; empty unless they were asked for.

    Examples
    --------
    >>> import heavybandits as hb
    >>> import pandas as pd
    >>> log = {"arm": ["blue", "green"] * 200, "reward": [0.0, 1.0, 1.0, 1.0] * 100}
    >>> found = hb.compare(pd.DataFrame(log), control="blue", cap=1.0, shares="equal")
    >>> found.winner, found.sample_ratio.is_alarm
    ('green', False)
    >>> found.table.loc[0, ["difference", "difference_low", "difference_high"]].round(2).tolist()
    [0.5, 0.38, 0.64]
    """

    def __init__(self, tally: Tally, terms: Terms, extras: Extras) -> None:
        adjusted = extras.adjusted
        fitted = adjusted.measures() if adjusted is not None and is_sized_up(tally) else None
        super().__init__(tally, terms, ladder=fitted)
        self._extras = extras
        self.sample_ratio, self.guardrails = extras.sample_ratio, list(extras.guardrails)
        self.metrics, self.once = dict(extras.metrics), list(extras.once)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What is known, in plain words: alarms first."""
        alarms, adjusted = [], self._extras.adjusted
        if self.sample_ratio is not None and self.sample_ratio.is_alarm:
            alarms.append(self.sample_ratio.sentence)
        if adjusted is not None and adjusted.log_imbalance() >= -math.log(FALSE_ALARMS):
            alarms.append(f"ALARM: the arms differ in {self._extras.before}, which is from before the experiment. "
                          "Find out why before you believe anything else here.")  # fmt: skip
        broken = [found.sentence for found in self.guardrails if found.state == "broken"]
        return (*alarms, *super().sentences, *[ONE_EACH] * self._extras.sticky, *broken)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each arm, the best first.

        The columns are those of :attr:`Evidence.table`; then ``difference`` to the control, with the interval from
        ``difference_low`` to ``difference_high``; and ``uncapped``, the plain mean of the rewards.
        """
        table, verdict, terms = super().table, self._verdict, self._terms
        rows = []
        plain = terms.sign * plain_means(self._tally) if verdict is not None and terms.is_mean else None
        for arm in table["arm"]:
            uncapped = math.nan if plain is None else float(plain[terms.arms.index(arm)])
            rows.append((*self.difference(arm), uncapped))
        table[["difference", "difference_low", "difference_high", "uncapped"]] = np.array(rows, float)
        return table

    def _cells(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Return the head and the rows of the table, as text, with differences if there is a control."""
        head, rows = super()._cells()
        if self._terms.control < 0:
            return head, rows
        differences = [_interval(*self.difference(row.arm)) for row in self._printed]
        return [*head[:5], "difference", *head[5:]], [
            [*row[:5], difference, *row[5:]] for row, difference in zip(rows, differences, strict=True)
        ]

    def _notes(self) -> list[str]:
        """Say what lies beyond the cap, how the column was used, and what else is known."""
        notes, adjusted = super()._notes(), self._extras.adjusted
        if dropped := self._extras.dropped:
            notes.append(f"{plural(dropped, 'row')} with missing values {'is' if dropped == 1 else 'are'} left out.")
        notes += self._beyond()
        if adjusted is not None:
            name = self._extras.before
            if isinstance(getattr(self._verdict, "measure", None), AdjustedMean):
                notes.append(f"Differences and evidence are adjusted by {name}, which must not have decided who got "
                             f"which arm; the first {adjusted.left_out:,} rows decided by how much, and are left out "
                             "of both.")  # fmt: skip
            else:
                notes.append(f"There are too few values of {name} that are not zero to adjust by it.")
        if self.sample_ratio is not None and not self.sample_ratio.is_alarm:
            notes.append(self.sample_ratio.sentence)
        notes += [found.sentence for found in self.guardrails if found.state != "broken"]
        for name, evidence in self.metrics.items():
            warning = f" {evidence.sentences[-1]}" if evidence.warns else ""
            notes.append(f"By {name}: {evidence.sentences[0]}{warning}")
        if self.once:
            limits = ladder(self._tally.scale)[0].limits(self._tally.scale)
            between = counting_between(*self.once[0].limits, has_one_sign(self._tally, limits))
            counted = "" if counts_in_full(self._tally) else f", {between} per decision"
            notes.append("If you look once, at the planned end, and decide by nothing else, each of these holds in "
                         f"about {100 * (1.0 - self._terms.delta):g}% of experiments{counted}:")  # fmt: skip
            for found in self.once:
                said = _interval(found.difference, found.low, found.high)
                notes.append(f"  {found.arm} minus {self._terms.arms[self._terms.control]}: {said}")
        return notes

    def _beyond(self) -> list[str]:
        """Say which share of the rewards' total lies beyond the cap."""
        verdict, terms, tally = self._verdict, self._terms, self._tally
        if verdict is None or not terms.is_mean:
            return []
        one = verdict.measure.plain if isinstance(verdict.measure, AdjustedMean) else verdict.measure
        assert isinstance(one, ClippedMean)
        low, high = one.limits
        if 0.0 not in (low, high) or not has_one_sign(tally, (low, high)):
            return []
        n = tally.rows.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            plain, counted = n * plain_means(tally), n * one.estimates()
            shares = np.nan_to_num(1.0 - counted / plain)
        whole = 1.0 - np.nansum(counted) / np.nansum(plain) if np.nansum(plain) else 0.0
        share = round(max(float(whole), 0.0), MOST_SHARE_DIGITS) if math.isfinite(whole) else 1.0
        each = [f"{arm} {100 * max(float(part), 0.0):.2g}%" for arm, part in zip(terms.arms, shares, strict=True)]
        of_each = f" ({', '.join(each)})" if 1 < len(each) <= MOST_SHARES and share > 0.0005 else ""
        return [f"{100 * share:.2g}% of the total lies beyond {shown(abs(low + high))}, which does not count{of_each}."]

    def as_dict(self) -> dict[str, Any]:
        """Return everything in plain values, with None for what is not known, as for JSON.

        Examples
        --------
        >>> import heavybandits as hb
        >>> hb.compare({"a": [0.0, 1.0] * 50, "b": [1.0] * 100}, cap=1.0).as_dict()["winner"]
        'b'
        """
        ratio, forecast = self.sample_ratio, self.forecast
        said = {
            "winner": self.winner, "leader": self.leader, "sentences": list(self.sentences), "notes": self._notes(),
            "cap": None if self.cap is None else list(self.cap), "left_out": self.left_out,
            "forecast": None if forecast is None else forecast._asdict(), "arms": self.table.to_dict("records"),
            "sample_ratio": None if ratio is None else {
                "p": ratio.p, "is_alarm": ratio.is_alarm, "counts": dict(zip(ratio.arms, ratio.counts, strict=True)),
                "shares": dict(zip(ratio.arms, ratio.shares, strict=True)),
            },
            "guardrails": [found._asdict() for found in self.guardrails],
            "metrics": {name: {"winner": one.winner, "leader": one.leader, "sentences": list(one.sentences),
                               "arms": one.table.to_dict("records")} for name, one in self.metrics.items()},
            "once": [found._asdict() for found in self.once],
        }  # fmt: skip
        return dict(_plain(said))


def _plain(value: Any) -> Any:
    """Return plain values: numbers that are not finite become None."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return visible(value) if isinstance(value, str) else value


def _interval(value: float, low: float, high: float) -> str:
    """Format a difference with its interval."""
    if math.isnan(value):
        return "-"
    return "0" if value == low == high else f"{formatted(value)} ({formatted(low)} to {formatted(high)})"


def look_once(
    tally: Tally, terms: Terms, arms: IntArray, rewards: FloatArray, adjusted: Adjusted | None,
    column: FloatArray | None,
) -> list[OnceDifference]:  # fmt: skip
    """Return differences to the control that hold if one looks once, at the planned end."""
    if not is_sized_up(tally) or not all(isinstance(one, ClippedMean) for one in measures(tally)):
        return []
    left_out, before = int(tally.n.sum() - round(float(tally.rows.sum()))), (0.0, 0.0)
    if adjusted is not None and adjusted.parts:
        left_out, before = adjusted.left_out, adjusted.parts[0].before
    else:
        column = None
    sums = FoldSums(len(terms.arms), ladder(tally.scale)[0].limits(tally.scale), before)
    sums.add(arms[left_out:], rewards[left_out:], None if column is None else column[left_out:])
    found = sums.differences(terms.arms, terms.control, terms.delta)
    if not terms.minimise:
        return found
    low, high = sums.limits
    return [OnceDifference(one.arm, 0.0 - one.difference, 0.0 - one.high, 0.0 - one.low, (0.0 - high, 0.0 - low))
            for one in found]  # fmt: skip
