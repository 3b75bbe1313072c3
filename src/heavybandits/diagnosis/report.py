"""The diagnosis of a file in words: tables, what they mean, which policy fits, and what it would have earned."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from functools import cached_property

from .._format import html_table, plural, text_table
from ..evidence.report import Evidence
from ..logs.rewards import Rewards
from .advice import Advice
from .changes import SURE_P_VALUE, changing
from .contexts import ContextsWorth
from .findings import about_drift, about_the_best, about_the_noise, about_the_replay
from .means import Level
from .replay import LOGGED, Replay
from .shape import MEASURES, Drift, Shape
from .tails import Estimate

ARMS_SHOWN = 20  # in the table

LEGEND = """\
What the columns say
median    the middle {noun}, or the worse of the middle two
spread    distance between the quartiles
tails     tail index with a 95% interval: moments of higher order do not exist
skew      from -1 to 1, 0 if symmetric, with a 95% interval
ties      share of {noun}s equal to another {noun} of the arm
outliers  {noun}s more than three spreads beyond the quartiles; - if the spread is zero or infinite
drift     p-value: how likely such a change of level would be by chance
pooled    all {noun}s, each minus the median of its arm
mean      the average of all {noun}s
zeros     share of {noun}s that are zero; others: the mean of those that are not
known     the {measure} of what counts, with an interval: whatever the law of {noun}s, wrong in at most 5% of files
{left_out}"""
LEFT_OUT = """\
          the first {count} {noun}s do not count: they decided {what}
"""


@dataclass(frozen=True, repr=False)
class Report:
    """What :func:`~heavybandits.diagnose` found.

    Attributes
    ----------
    rewards
        The rewards that were read; costs are negative rewards.
    goal
        What arms are compared by, ``"mean"`` or ``"location"``.
    why
        Why that is the goal.
    evidence
        Which arm is best, as far as that is known; :func:`~heavybandits.compare` says the same.
    levels
        What arms paid, by their numbers.
    arms
        The shapes of the arms with the most rewards, by their numbers.
    pooled
        The shape of all residuals about the arms' medians.
    common
        Whether all arms change together, if they change; None if rows are in no known order.
    advice
        Which policy fits.
    replay
        What policies would have earned.
    reading
        The arguments with which a program reads the same rewards.
    contexts
        What the features are worth; None if the file has none.
    """

    rewards: Rewards
    goal: str
    why: str
    evidence: Evidence
    levels: dict[int, Level]
    arms: dict[int, Shape]
    pooled: Shape
    common: bool | None
    advice: Advice
    replay: Replay
    reading: str
    contexts: ContextsWorth | None = None

    @cached_property
    def snippet(self) -> str:
        """A program that uses the advised policy online."""
        return self.advice.snippet(self.reading, self.rewards.paid, self.needs_drift)

    @property
    def drifts(self) -> bool:
        """Whether levels surely change."""
        return self.pooled.drift.p_value < SURE_P_VALUE or bool(changing(self._drift_of_arms()))

    @property
    def needs_drift(self) -> bool:
        """Whether arms change, and not all together, so that the best arm may change."""
        return self.drifts and (not self.common or len(self.rewards.labels) == 1)

    def _drift_of_arms(self) -> list[tuple[str, Drift]]:
        return [(label, shape.drift) for label, shape, _ in self._arms()[:-1]]

    def text(self) -> str:
        """Return the whole report as plain text."""
        program = _indented(self.snippet)
        parts = [
            f"{self._heading()}Goal: {self.goal}.  {self.why}\n",
            "What this means\n" + "".join(f"- {line}\n" for line in self.findings()),
            self._measured(),
            f"Which policy fits: {self._fitting()}\n{self.advice.reason}\n\n{program}",
            self._replayed(),
            *([self._weighed(self.contexts)] if self.contexts else []),
            self._legend(),
        ]
        return "\n".join(parts)

    def _legend(self) -> str:
        noun, count = self.rewards.noun, self.evidence.left_out
        what = "how far the others do" if self.goal == "mean" else "how finely the others are counted"
        left_out = LEFT_OUT.format(count=count, noun=noun, what=what) if self.evidence.cap is not None else ""
        return LEGEND.format(noun=noun, measure=MEASURES[self.goal], left_out=left_out)

    __str__ = text

    def __repr__(self) -> str:
        count, arms = plural(len(self.rewards.rewards), self.rewards.noun), plural(len(self.rewards.labels), "arm")
        return f"Report({self.rewards.source}: {count} of {arms}; goal {self.goal}, advice {self.advice.name})"

    def _repr_html_(self) -> str:
        """Show the arms, what the rewards say and which policy fits in a notebook."""
        noun = self.rewards.noun
        head = ("arm", f"{noun}s", "median", "upper tail index", "lower tail index", "skew", "mean", "known")
        rows = [
            (label, *_row(label, shape)[1:3], *_row(label, shape)[4:7], *((good[0], good[-1]) if good else ("", "")))
            for label, shape, good in self._arms()
        ]
        said = "".join(f"<li>{html.escape(line)}</li>" for line in self.findings())
        return (
            html_table(self._heading().strip(), head, rows)
            + f"<p>Goal: {self.goal}. {html.escape(self.why)}</p><ul>{said}</ul><p>Which policy fits: "
            f"<b>{html.escape(self._fitting())}</b>. {html.escape(self.advice.reason)}</p>"
            f"<pre>{html.escape(self.snippet)}</pre>"
            + (html_table(*self._replay_table()) if self.replay.shares else "")
            + f"<p>{html.escape(self._about_the_replay())}</p>"
            + (f"<pre>{html.escape(self._weighed(self.contexts))}</pre>" if self.contexts else "")
        )

    def _fitting(self) -> str:
        """Return the name of the advised policy, and of one that uses the contexts if that pays."""
        contexts = self.contexts
        return (
            f"{self.advice.name}, or {contexts.policy} with contexts" if contexts and contexts.pay else self.advice.name
        )

    def _in_units(self, value: float) -> float:
        """Return a reward in the units of the file."""
        return 0.0 - value if self.rewards.minimised else value

    def _heading(self) -> str:
        labels, count = self.rewards.labels, len(self.rewards.rewards)
        order = (
            "" if self.common is None else ", in order of time" if self.rewards.timed else ", in the order of the file"
        )
        dropped = f"; {plural(self.rewards.dropped, 'row')} with missing values left out" * bool(self.rewards.dropped)
        arms = plural(len(labels), "arm")
        return f"{self.rewards.source}: {plural(count, self.rewards.noun)} of {arms}{order}{dropped}\n"

    def _arms(self) -> list[tuple[str, Shape, tuple[str, ...]]]:
        """Return the label, shape and level of each arm, and at the end of all together, in the file's units."""
        mirrored = self.rewards.minimised
        rows = []
        for arm, shape in self.arms.items():
            level, known = self.levels[arm], self.evidence.about(self.rewards.labels[arm])
            others = "-" if level.zeros == 1 else _value(self._in_units(level.others))
            counted = _interval(Estimate(known.estimate, known.low, known.high))
            good = (_value(self._in_units(level.mean)), f"{level.zeros:.0%}", others, counted)
            rows.append((self.rewards.labels[arm], shape.mirrored() if mirrored else shape, good))
        return [*rows, ("pooled", self.pooled.mirrored() if mirrored else self.pooled, ())]

    def _measured(self) -> str:
        arms = self._arms()
        missing = len(self.rewards.labels) - len(self.arms)
        more = f"(and {plural(missing, 'arm')} with fewer {self.rewards.noun}s)\n" if missing else ""
        head = ["arm", "mean", "zeros", "others", "known"]
        good = text_table(head, [(label, *good) for label, _, good in arms if good])
        head = ["arm", "count", "median", "spread", "upper tail", "lower tail", "skew", "ties", "outliers", "drift"]
        shapes = text_table(head, [_row(label, shape) for label, shape, _ in arms])
        return f"{good}\n{more}\n{shapes}\n{more}"

    def _replayed(self) -> str:
        if not self.replay.shares:
            return f"Replay\n{self._about_the_replay()}\n"
        caption, head, rows = self._replay_table()
        return f"{caption}\n{text_table(head, rows)}\n\n{self._about_the_replay()}\n"

    def _replay_table(self) -> tuple[str, tuple[str, str, str], list[tuple[str, str, str]]]:
        """Return the caption, the head and the rows of what would have been earned."""
        head = "what chooses", f"{MEASURES[self.goal]} {self.rewards.noun} per pull", f"{self._better} than logged"
        rows = [(label, *self._promised(label)) for label in self.replay.shares]
        return f"Replay: {self.replay.pulls:,} pulls on half of the file, paid by the other half", head, rows

    def _about_the_replay(self) -> str:
        """Return what the replay promises, or why there is none."""
        if not self.replay.shares:
            return self.replay.note
        return " ".join(about_the_replay(self.rewards, self.replay, str(self.advice), MEASURES[self.goal]))

    @property
    def _better(self) -> str:
        return "less" if self.rewards.minimised else "more"

    def _promised(self, label: str) -> tuple[str, str]:
        """Return what a row of the replay earns, and how much better than the log that is, in the file's units."""
        earned = self.replay.earned(label)
        better = "-" if label == LOGGED else _interval(self.replay.lead(label, LOGGED))
        return _interval(earned.mirrored() if self.rewards.minimised else earned), better

    def _weighed(self, contexts: ContextsWorth) -> str:
        """Say what the features are worth."""
        gain, least, most = contexts.gain
        known = f"Contexts: {', '.join(contexts.names)}\n"
        if not contexts.matter:
            change = f"{-gain:+.1%} ({-most:+.1%} to {-least:+.1%})"
            other = f"a line for each arm changes the error on held-out rows by {change}"
            return f"{known}They do not matter, as far as one can tell: {other}.\n"
        lowered = f"{gain:.1%} ({least:.1%} to {most:.1%})"
        known += f"They matter: a line for each arm lowers the error on held-out rows by {lowered}.\n"
        if len(self.rewards.labels) == 1:
            return known + "With a single arm there is nothing to choose.\n"
        if not contexts.pulls:
            return known + "An arm has too few rows, or there are too many coefficients, for a replay with contexts.\n"
        rows = [
            (contexts.policy, _band(self._band_in_units(contexts.earned))),
            ("the best arm", f"{self._in_units(contexts.one):.4g}"),
            ("the best arm in each context", f"{self._in_units(contexts.each):.4g}"),
        ]
        noun = self.rewards.noun
        useless = f"Contexts predict {noun}s, but {contexts.policy} does no better with them than the best arm.\n"
        return (
            f"{known}\nReplay with contexts: {contexts.replays} times {contexts.pulls} pulls\n"
            + text_table(("policy", f"{self.goal} per pull"), rows)
            + f"\n\nContexts are drawn from the file, {noun}s from the lines plus their residuals.\n"
            + (
                f"\n{_indented(contexts.snippet(len(self.rewards.labels), self.rewards.paid))}"
                if contexts.pay
                else useless
            )
        )

    def _band_in_units(self, band: tuple[float, float, float]) -> tuple[float, float, float]:
        middle, low, high = (self._in_units(value) for value in band)
        return middle, min(low, high), max(low, high)

    def findings(self) -> list[str]:
        """Return what the numbers mean, one sentence each."""
        _, pooled, _ = self._arms()[-1]
        return [
            *about_the_best(self.rewards, self.evidence, self.advice, self.pooled, self.needs_drift),
            *about_the_noise(pooled, self.rewards.noun),
            about_drift(self._drift_of_arms(), pooled.drift, self.rewards.noun, MEASURES[self.goal], self.common),
        ]


def _row(label: str, shape: Shape) -> tuple[str, ...]:
    numbers = (shape.median, shape.spread)
    outliers = f"{shape.outliers}" if shape.has_fences else "-"
    drift = "-" if math.isnan(shape.drift.p_value) else f"{shape.drift.p_value:.2g}"
    return (label, f"{shape.size}", *(f"{x:.4g}" for x in numbers), str(shape.upper), str(shape.lower),
            str(shape.skew), f"{shape.ties:.0%}", outliers, drift)  # fmt: skip


def _value(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"


def _interval(estimate: Estimate) -> str:
    if not math.isfinite(estimate.value):
        return "-"
    low, high = (f"{end:.4g}" if math.isfinite(end) else "-" for end in (estimate.low, estimate.high))
    return f"{estimate.value:.4g} ({low} to {high})"


def _indented(program: str) -> str:
    return "".join(f"    {line}".rstrip() + "\n" for line in program.splitlines())


def _band(values: tuple[float, float, float]) -> str:
    return "-" if any(map(math.isnan, values)) else f"{values[0]:.4g} ({values[1]:.4g} to {values[2]:.4g})"
