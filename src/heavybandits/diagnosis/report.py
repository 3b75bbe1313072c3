"""The diagnosis of a file in words: tables, what they mean, which policy fits, and what it would have earned."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from functools import cached_property

from .._format import html_table, plural, text_table
from .advice import FEWEST, HEAVY, LIGHT, Advice, goal_of_auto, is_symmetric
from .contexts import Contexts
from .means import Levels
from .read import Rewards
from .replay import Replay
from .shape import Drift, Shape
from .tails import Estimate

ROWS = 20  # arms in the table
SURE = 0.01  # p-value of a drift that is reported
TIED = 0.1  # share of ties from which it is said whether auto compares means

LEGEND = """\
median    the middle reward, or the lower of the middle two
spread    distance between the quartiles
tails     tail index with a 95% interval: moments of higher order do not exist
skew      from -1 to 1, 0 if symmetric, with a 95% interval
ties      share of rewards equal to another reward of the arm
outliers  rewards more than three spreads beyond the quartiles
drift     p-value: how likely such a change of level would be by chance
pooled    all rewards, each minus the median of its arm
mean      with a 95% interval: Student's, corrected for skewness (Hall 1992)
zeros     share of rewards that are zero; others: the mean of those that are not
best      chance of being the best arm, given the rewards
"""


@dataclass(frozen=True, repr=False)
class Report:
    """What :func:`~heavybandits.diagnose` found.

    Attributes
    ----------
    rewards
        The rewards that were read; costs are negative rewards.
    why
        Why the goal is the mean or the location.
    levels
        How good the arms are by the goal.
    arms
        The shapes of the arms with the most rewards, by their numbers.
    pooled
        The shape of all residuals about the arms' medians.
    advice
        Which policy fits.
    replay
        What policies would have earned.
    contexts
        What the features are worth; None if the file has none.
    """

    rewards: Rewards
    why: str
    levels: Levels
    arms: dict[int, Shape]
    pooled: Shape
    advice: Advice
    replay: Replay
    contexts: Contexts | None = None

    @property
    def goal(self) -> str:
        """What arms are compared by, ``"mean"`` or ``"location"``."""
        return self.levels.goal

    @cached_property
    def snippet(self) -> str:
        """A program that uses the advised policy online."""
        rewards = self.rewards
        return self.advice.snippet(rewards.labels, len(rewards.rewards), float(rewards.rewards[-1]), rewards.minimised)

    def text(self) -> str:
        """Return the whole report as plain text."""
        program = "".join(f"    {line}".rstrip() + "\n" for line in self.snippet.splitlines())
        parts = [
            f"{self._heading()}Goal: {self.goal}.  {self._spoken(self.why)}\n",
            self._measured(),
            "What this means\n" + "".join(f"- {line}\n" for line in self.findings()),
            f"Which policy fits: {self.advice.name}\n{self._spoken(self.advice.reason)}\n\n{program}",
            self._replayed(),
            *([self._weighed(self.contexts)] if self.contexts else []),
        ]
        return "\n".join(parts)

    __str__ = text

    def __repr__(self) -> str:
        count, arms = plural(len(self.rewards.rewards), self._noun), plural(len(self.rewards.labels), "arm")
        return f"Report({self.rewards.source}: {count} of {arms}; goal {self.goal}, advice {self.advice.name})"

    def _repr_html_(self) -> str:
        """Show the arms, what the rewards say and which policy fits in a notebook."""
        head = ("arm", f"{self._noun}s", "median", "upper tail index", "lower tail index", "skew", "mean", "best")
        rows = [
            (label, *_row(label, shape)[1:3], *_row(label, shape)[4:7], *((good[0], good[-1]) if good else ("", "")))
            for label, shape, good in self._arms()
        ]
        said = "".join(f"<li>{html.escape(line)}</li>" for line in self.findings())
        return (
            html_table(self._heading().strip(), head, rows)
            + f"<p>Goal: {self.goal}. {html.escape(self._spoken(self.why))}</p><ul>{said}</ul><p>Which policy fits: "
            f"<b>{html.escape(self.advice.name)}</b>. {html.escape(self._spoken(self.advice.reason))}</p>"
            f"<pre>{html.escape(self.snippet)}</pre>"
            + (f"<pre>{html.escape(self._weighed(self.contexts))}</pre>" if self.contexts else "")
        )

    @property
    def _too_few(self) -> bool:
        return len(self.rewards.rewards) < FEWEST

    @property
    def _noun(self) -> str:
        return "cost" if self.rewards.minimised else "reward"

    def _spoken(self, text: str) -> str:
        """Speak of costs if the file has costs."""
        return text.replace("reward", self._noun).replace("Reward", self._noun.capitalize())

    def _in_units(self, value: float) -> float:
        """Return a reward in the units of the file."""
        return 0.0 - value if self.rewards.minimised else value

    def _heading(self) -> str:
        labels, count = self.rewards.labels, len(self.rewards.rewards)
        order = "in order of time" if self.rewards.timed else "in the order of the file"
        dropped = f"; {plural(self.rewards.dropped, 'row')} with missing values left out" * bool(self.rewards.dropped)
        arms = plural(len(labels), "arm")
        return f"{self.rewards.source}: {plural(count, self._noun)} of {arms}, {order}{dropped}\n"

    def _arms(self) -> list[tuple[str, Shape, tuple[str, ...]]]:
        """Return the label, shape and level of each arm, and at the end of all together, in the file's units."""
        mirrored = self.rewards.minimised
        rows = []
        for arm, shape in self.arms.items():
            level = self.levels.arms[arm]
            mean = level.mean.mirrored() if mirrored else level.mean
            others = "-" if level.zeros == 1 or math.isnan(level.others) else f"{self._in_units(level.others):.4g}"
            chance = "-" if self._too_few else f"{level.chance:.0%}"
            good = (_interval(mean), f"{level.zeros:.0%}", others, chance)
            rows.append((self.rewards.labels[arm], shape.mirrored() if mirrored else shape, good))
        return [*rows, ("pooled", self.pooled.mirrored() if mirrored else self.pooled, ())]

    def _measured(self) -> str:
        arms = self._arms()
        missing = len(self.rewards.labels) - len(self.arms)
        more = f"(and {plural(missing, 'arm')} with fewer {self._noun}s)\n" if missing else ""
        head = ["arm", "mean", "zeros", "others", "best"]
        good = text_table(head, [(label, *good) for label, _, good in arms if good])
        head = ["arm", "count", "median", "spread", "upper tail", "lower tail", "skew", "ties", "outliers", "drift"]
        shapes = text_table(head, [_row(label, shape) for label, shape, _ in arms])
        return f"{good}\n{more}\n{shapes}\n{more}\n{self._spoken(LEGEND)}"

    def _replayed(self) -> str:
        replay = self.replay
        if not replay.earned:
            return f"Replay\n{self._spoken(replay.note)}\n"
        rows = [
            (label, *(_band(self._band_in_units(band)) for band in earned[:2]), _band(earned.best),
             _band(earned.behind) if earned.behind[0] else "-")
            for label, earned in replay.earned.items()
        ]  # fmt: skip
        measure = "mean" if self.goal == "mean" else "median"
        return (
            f"Replay: {replay.replays} times {replay.pulls} pulls, each with a {self._noun} of its arm, drawn from "
            "resampled files\n"
            + text_table(("policy", "mean per pull", "median per pull", "share of the best", "behind the first"), rows)
            + f"\n\n{self._spoken(replay.note)}\nMean and median are those of the arms pulled; the best arm is the one "
            f"with the best {measure} in its resampled file.  How far a policy is behind the first is measured by the "
            "goal, with a 99% interval.\n"
        )

    def _weighed(self, contexts: Contexts) -> str:
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
        useless = f"Contexts predict {self._noun}s, but {contexts.policy} does no better with them than the best arm.\n"
        return (
            f"{known}\nReplay with contexts: {contexts.replays} times {contexts.pulls} pulls\n"
            + text_table(("policy", f"{self.goal} per pull"), rows)
            + f"\n\nContexts are drawn from the file, {self._noun}s from the lines plus their residuals.\n"
            + (useless if contexts.earned[0] <= contexts.one else "")
        )

    def _band_in_units(self, band: tuple[float, float, float]) -> tuple[float, float, float]:
        middle, low, high = (self._in_units(value) for value in band)
        return middle, min(low, high), max(low, high)

    def findings(self) -> list[str]:
        """Return what the numbers mean, one sentence each."""
        *arms, (_, pooled, _) = self._arms()
        drift = self._drift([(label, shape.drift) for label, shape, _ in arms], pooled.drift)
        return [*self._ranking(), *(self._spoken(line) for line in _noise(pooled)), drift]

    def _ranking(self) -> list[str]:
        found, labels = self.levels, self.rewards.labels
        if len(labels) == 1:
            return []
        if self._too_few:
            return [f"Best arm: too few {self._noun}s to tell."]
        best, second = labels[found.best], labels[found.second]
        measure = "mean" if self.goal == "mean" else "median"
        said = [f"Best arm: {best!r} has the best {measure}, and is the best arm with probability "
                f"{found.arms[found.best].chance:.2g}."]  # fmt: skip
        rows = min(len(self.rewards.by_arm[arm]) for arm in (found.best, found.second))
        gap = found.arms[found.best].median.value - found.arms[found.second].median.value
        if math.isfinite(found.pulls_needed):
            enough = "the file has enough" if found.pulls_needed <= rows else f"the file has {rows:,}"
            needed = _rounded_up(found.pulls_needed)
            said.append(f"Telling {best!r} and {second!r} apart takes about {needed} {self._noun}s of each; {enough}.")
        elif gap != math.inf:
            said.append(f"Nothing tells {best!r} and {second!r} apart so far.")
        if self.advice.name == "auto" and self.pooled.ties > TIED:
            goal = goal_of_auto(self.rewards.by_arm)
            said.append(f"Many {self._noun}s tie, and auto compares {goal}s: print(agent) shows the goal in force.")
        return said

    def _drift(self, arms: list[tuple[str, Drift]], pooled: Drift) -> str:
        """Say whether the level changes, over all arms together or, as when two arms change places, of one arm."""
        if math.isnan(pooled.p_value):
            return f"Drift: too few different {self._noun}s to tell."
        what, found = "the level changes, most likely after row", pooled
        if not pooled.p_value < SURE:
            tested = [(drift.p_value, label, drift) for label, drift in arms if not math.isnan(drift.p_value)]
            least, label, found = min(tested, default=(1.0, "", pooled), key=lambda one: one[0])
            what = f"the level of {label!r} changes, most likely after its {self._noun} number"
            if not least * len(tested) < SURE:  # of many arms, some seem to change by chance
                return f"Drift: none seen, in all arms together or in one, so old {self._noun}s are as good as new."
        return (
            f"Drift: {what} {found.after} and by {found.shift:.3g}.  The advised policy does not forget, so wrap it in "
            "hb.Restarting(policy), which starts afresh when it detects a change."
        )


def _noise(pooled: Shape) -> list[str]:
    said = [_tail("upper", pooled.upper), _tail("lower", pooled.lower)]
    if pooled.infinite:
        said.append(f"Infinite: {plural(pooled.infinite, 'reward')}; tail indices leave them out, averages cannot.")
    if math.isnan(pooled.skew.value):
        said.append("Symmetry: too few different rewards to tell.")
    elif is_symmetric(pooled):
        said.append("Symmetry: no skew worth mentioning, so mean (if any) and median rank arms with equal noise alike.")
    else:
        longer = "upper" if pooled.skew.value > 0 else "lower"
        said.append(f"Symmetry: the {longer} side reaches further, so mean and median may rank the arms differently.")
    if pooled.ties > 0.5:
        said.append(f"Ties: {pooled.ties:.0%} of the rewards repeat; they may be counts, rounded, or often zero.")
    if pooled.outliers > 0:
        share = f"{100.0 * pooled.outliers / pooled.size:.2g}%"
        said.append(f"Outliers: {plural(pooled.outliers, 'reward')}, {share}; normal noise would give 2 in a million.")
    return said


def _row(label: str, shape: Shape) -> tuple[str, ...]:
    numbers = (shape.median, shape.spread)
    drift = "-" if math.isnan(shape.drift.p_value) else f"{shape.drift.p_value:.2g}"
    return (label, f"{shape.size}", *(f"{x:.4g}" for x in numbers), str(shape.upper), str(shape.lower),
            str(shape.skew), f"{shape.ties:.0%}", f"{shape.outliers}", drift)  # fmt: skip


def _tail(side: str, tail: Estimate) -> str:
    if math.isnan(tail.value):
        return f"The {side} tail: too few rewards on that side of the median to tell."
    if tail.low == math.inf:
        return f"There is no {side} tail: the most extreme reward on that side is a common one."
    if tail.low > LIGHT:
        return f"The {side} tail is light, its index above {tail.low:.2g}: averages settle as with normal noise."
    if tail.low <= 1 and tail.value <= HEAVY:
        return f"The {side} tail is very heavy, index {tail}: even the mean may not exist, and averages mislead."
    if tail.value <= HEAVY:
        return f"The {side} tail is heavy, index {tail}: a mean seems to exist but no variance; averages settle slowly."
    return f"The {side} tail is moderate, index {tail}: a variance seems to exist, but outliers still move averages."


def _interval(estimate: Estimate) -> str:
    if not math.isfinite(estimate.value):
        return "-"
    return f"{estimate.value:.4g} ({estimate.low:.4g} to {estimate.high:.4g})"


def _rounded_up(count: float) -> str:
    """Return a count rounded up to two digits."""
    if count >= 1e6:
        return f"{count:.2g}"
    digits = max(0, len(str(int(count))) - 2)
    return f"{math.ceil(count / 10**digits) * 10**digits:,}"


def _band(values: tuple[float, float, float]) -> str:
    return "-" if any(map(math.isnan, values)) else f"{values[0]:.4g} ({values[1]:.4g} to {values[2]:.4g})"
